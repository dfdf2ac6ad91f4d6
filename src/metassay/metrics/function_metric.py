"""A function of the user as a metric."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from metassay import plugins
from metassay.errors import InputError
from metassay.metrics.base import Batch, Metric, Parameters, Scores
from metassay.metrics.user_scores import convert_to_score_array

REMEDY = "A metric is a function from outputs and references to numbers, or a subclass of metassay's Metric."
# The field of a function that takes the only reference of each output, as a text.
SINGLE_REFERENCE = "reference"
_FIELD_OF_PARAMETER = {
    "references": "references",
    "refs": "references",
    "reference": SINGLE_REFERENCE,
    "ref": SINGLE_REFERENCE,
    "source": "source",
    "src": "source",
    "system": "system",
    "item": "item",
    "qrels": "qrels",
}


@dataclass(frozen=True)
class FunctionMetric(Metric):
    """A metric that calls a Python function of the user. It has the name of the function.

    The function takes either all outputs and all references (a list for each output) and returns a list of
    numbers, or one output and its references and returns one number. The first call shows which.
    Parameters after the first one are fields of the data, by name: references, source, system, item, or
    `reference`, which is the only reference of each output as a text. If there is a single further parameter
    with another name, it gets the references. Set the attribute `higher_is_better` of the function to False
    if lower is better.
    """

    function: Callable[..., Any]

    task: ClassVar[str] = "any"
    can_share_cache: ClassVar[bool] = False
    fields: ClassVar[tuple[str, ...]] = ()
    """What the function reads after the outputs."""

    def __post_init__(self) -> None:
        parameters = _get_required_parameters(self.function)[1:]
        fields = tuple(_find_field_of_parameter(self.function, parameter) for parameter in parameters)
        needs = {"references" if field == SINGLE_REFERENCE else field for field in fields}
        object.__setattr__(self, "name", self.function.__name__.strip("<>"))
        object.__setattr__(self, "fields", fields)
        object.__setattr__(self, "needs", frozenset({"output", *needs}))
        higher_is_better = bool(getattr(self.function, "higher_is_better", True))
        object.__setattr__(self, "higher_is_better", higher_is_better)
        # The hash of the source does not cover the values that a closure refers to.
        has_closure = bool(getattr(self.function, "__closure__", None))
        object.__setattr__(self, "is_cacheable", not has_closure)

    @property
    def non_default_parameters(self) -> Parameters:
        """Always empty. Such a metric is identified by the name of its function."""
        return {}

    def get_parameters_for_language(self, language: str | None) -> Parameters:
        """Return the parameters of the metric: a hash of the function's source code. A metric with changed
        code counts as another metric.
        """
        del language
        return {"source": plugins.hash_user_code(self.function)}

    def score(self, batch: Batch) -> Scores:
        """Call the function once with lists of all texts if it accepts lists, otherwise once for each
        output.
        """
        columns = [batch["output"], *(self._get_batch_column(batch, field) for field in self.fields)]
        if len(batch) == 0:
            return np.empty(0)
        if self._user_function_accepts_lists(columns):
            scores = self.function(*map(list, columns))
        else:
            scores = [self.function(*row) for row in zip(*columns)]
        array = convert_to_score_array(scores, len(batch))
        if array is None:
            raise InputError(
                f"{self.name} did not return a number for each of {len(batch)} outputs.",
                location=plugins.find_source_location(self.function),
                remedy=REMEDY,
            )
        return array

    def _get_batch_column(self, batch: Batch, field_name: str) -> Sequence[Any]:
        """Return the values of a field, such as the sources, for all outputs of a batch."""
        if field_name != SINGLE_REFERENCE:
            return batch[field_name]
        if any(len(references) != 1 for references in batch.references):
            raise InputError(
                f"{self.name} takes one reference, but some outputs have several.",
                location=plugins.find_source_location(self.function),
                remedy="Rename its parameter to references. It then gets all references of an output as "
                "a list.",
            )
        return [references[0] for references in batch.references]

    def _user_function_accepts_lists(self, batch_columns: Sequence[Sequence[Any]]) -> bool:
        """Return whether the function accepts lists of texts. This is tried with the first output."""
        try:
            scores = self.function(*([column[0]] for column in batch_columns))
            returns_list = bool(np.shape(scores) == (1,))
        except Exception:  # code of the user may raise anything when it gets a list in place of a text
            if isinstance(self.function(*(column[0] for column in batch_columns)), Real):
                return False
            raise
        return returns_list


def _get_required_parameters(function: Callable[..., Any]) -> list[str]:
    """Return the names of a function's parameters that have no default."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    required = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in positional and parameter.default is parameter.empty:
            required.append(parameter.name)
    if not required:
        raise InputError(
            f"{function.__name__} has no parameter for outputs.",
            location=plugins.find_source_location(function),
            remedy=REMEDY,
        )
    return required


def _find_field_of_parameter(metric_function: Callable[..., Any], parameter_name: str) -> str:
    """Return the field of a batch, such as `source`, that a function expects in the parameter with this
    name.
    """
    for name in (parameter_name.lower(), parameter_name.lower().rstrip("s")):
        if name in _FIELD_OF_PARAMETER:
            return _FIELD_OF_PARAMETER[name]
    if len(_get_required_parameters(metric_function)) == 2:
        return "references"
    raise InputError(
        f"{metric_function.__name__} has the parameter {parameter_name}, which is not a known field.",
        location=plugins.find_source_location(metric_function),
        remedy=f"Rename it to one of: {', '.join(dict.fromkeys(_FIELD_OF_PARAMETER.values()))}.",
    )
