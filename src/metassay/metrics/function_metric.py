"""Metrics of the user: a function, or a class that is a metric, from Python or from a file."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from metassay import plugins
from metassay.errors import InputError
from metassay.metrics.base import Batch, Metric, Scores
from metassay.metrics.program_metric import ComputeMetric

HOW = "A metric is a function from outputs and references to numbers, or a subclass of metassay's Metric."
ONLY = "reference"
"""The one reference of each output, as a text."""
_FIELDS = {
    "references": "references",
    "refs": "references",
    "reference": ONLY,
    "ref": ONLY,
    "source": "source",
    "src": "source",
    "system": "system",
    "item": "item",
    "qrels": "qrels",
}


def convert_to_metric(thing: Any) -> Metric:
    """A metric as it is, a metric class made, a function or an object that computes as one; else an error."""
    if isinstance(thing, type):
        return _made(thing)
    if isinstance(thing, Metric):
        return thing
    if callable(getattr(thing, "compute", None)):
        return ComputeMetric(thing)
    if callable(thing) and hasattr(thing, "__name__"):
        return FunctionMetric(thing)
    raise InputError(f"{thing!r} is no metric.", remedy=HOW)


def _made(kind: type) -> Metric:
    place = plugins.find_definition(kind)
    if not issubclass(kind, Metric):
        raise InputError(f"the class {kind.__name__} is no metric.", place=place, remedy=HOW)
    if not isinstance(getattr(kind, "name", None), str) or not kind.name:
        raise InputError(
            f"the metric {kind.__name__} has no name.",
            place=place,
            remedy=f'Give it one: name = "{kind.__name__.lower()}"',
        )
    try:
        return kind()
    except TypeError as error:
        raise InputError(f"the metric {kind.__name__} cannot be made: {error}.", place=place) from error


@dataclass(frozen=True)
class FunctionMetric(Metric):
    """A function as a metric, under the function's name.

    It is called with all outputs and all references (a list for each output) and returns a number each, or
    with one output and its references and returns one number: which of the two shows when it is first called.
    A parameter after the outputs is the references, unless it is named source, system, item, or `reference`:
    the only one of each output, as a text. The function's attribute `higher_is_better`, where it is False,
    says that a lower score is better.
    """

    function: Callable[..., Any]

    task: ClassVar[str] = "any"
    can_share_cache: ClassVar[bool] = False
    fields: ClassVar[tuple[str, ...]] = ()
    """What the function reads beside the outputs."""

    def __post_init__(self) -> None:
        fields = tuple(_field(self.function, name) for name in _parameters(self.function)[1:])
        for name, value in {
            "name": self.function.__name__.strip("<>"),
            "fields": fields,
            "needs": frozenset({"output", *("references" if name == ONLY else name for name in fields)}),
            "higher_is_better": bool(getattr(self.function, "higher_is_better", True)),
            # what a closure holds is in no hash of the source
            "is_cacheable": not getattr(self.function, "__closure__", None),
        }.items():
            object.__setattr__(self, name, value)

    @property
    def parameters(self) -> dict[str, Any]:
        """None: a function is its own spec."""
        return {}

    def settings(self, language: str | None) -> dict[str, Any]:
        """The hash of the function's source, which is all that decides its values."""
        del language
        return {"source": plugins.hash_user_source(self.function)}

    def score(self, batch: Batch) -> Scores:
        """The function's numbers."""
        columns = [batch["output"], *(self._column(batch, name) for name in self.fields)]
        if len(batch) == 0:
            return np.empty(0)
        if self._takes_all(columns):
            return self._checked(self.function(*map(list, columns)), len(batch))
        return self._checked([self.function(*row) for row in zip(*columns)], len(batch))

    def _column(self, batch: Batch, name: str) -> Sequence[Any]:
        if name != ONLY:
            return batch[name]
        if any(len(own) != 1 for own in batch.references):
            raise InputError(
                f"{self.name} takes one reference, and some outputs have several.",
                place=plugins.find_definition(self.function),
                remedy="Name its parameter references: it is then given all of them as a list.",
            )
        return [own[0] for own in batch.references]

    def _takes_all(self, columns: Sequence[Sequence[Any]]) -> bool:
        """Whether the function takes lists: tried with the first output alone."""
        try:
            together = self.function(*([column[0]] for column in columns))
            if np.shape(together) == (1,):
                return True
        except Exception:  # the user's code may raise anything where it gets a list in place of a text
            if isinstance(self.function(*(column[0] for column in columns)), Real):
                return False
            raise
        return False

    def _checked(self, scores: Any, size: int) -> Scores:
        try:
            numbers = np.asarray([np.nan if score is None else score for score in scores], dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.empty(0)
        if numbers.shape != (size,):
            raise InputError(
                f"{self.name} did not return a number for each of {size} outputs.",
                place=plugins.find_definition(self.function),
                remedy=HOW,
            )
        return numbers


def _parameters(function: Callable[..., Any]) -> list[str]:
    """The names of what the function must be given."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    found = [
        parameter.name
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind in kinds and parameter.default is parameter.empty
    ]
    if not found:
        raise InputError(
            f"{function.__name__} takes no outputs.", place=plugins.find_definition(function), remedy=HOW
        )
    return found


def _field(function: Callable[..., Any], name: str) -> str:
    """The field of a batch that a parameter stands for."""
    for known in (name.lower(), name.lower().rstrip("s")):
        if known in _FIELDS:
            return _FIELDS[known]
    if len(_parameters(function)) == 2:
        return "references"
    raise InputError(
        f"{function.__name__}: it is not clear what the parameter {name} is.",
        place=plugins.find_definition(function),
        remedy=f"Name it one of: {', '.join(dict.fromkeys(_FIELDS.values()))}.",
    )
