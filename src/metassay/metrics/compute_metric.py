"""An object with a `compute` method, as in Hugging Face `evaluate`, as a metric."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from metassay import plugins
from metassay.errors import InputError
from metassay.metrics.base import Batch, Parameters, Scores
from metassay.metrics.external import ExternalMetric
from metassay.metrics.user_scores import convert_to_score_array

# Under which objects with several results usually return the main one.
_USUAL_KEYS = ("score", "scores", "mean_score", "f1")


@dataclass(frozen=True)
class ComputeMetric(ExternalMetric):
    """A metric that calls the method `compute(predictions=…, references=…)` of a Hugging Face `evaluate`
    object.

    If `compute` returns a list, the list must have a score for each output. If it returns one number, it is
    called for each output by itself. `key` chooses one of several results. References are passed as texts if
    each output has one, otherwise as lists. Sources are passed if `compute` has a parameter `sources`.
    """

    computer: Any
    key: str | None = None
    lock: Any = field(default_factory=threading.Lock, repr=False, compare=False)
    """Held while it computes, because such objects keep state."""

    is_cacheable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        name = getattr(self.computer, "name", None)
        if not isinstance(name, str) or not name:
            name = type(self.computer).__name__
        needs = {"output", "references"}
        if self._user_metric_accepts_sources():
            needs.add("source")
        higher_is_better = bool(getattr(self.computer, "higher_is_better", True))
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "needs", frozenset(needs))
        object.__setattr__(self, "higher_is_better", higher_is_better)

    def get_parameters_for_language(self, language: str | None) -> Parameters:
        """Return what identifies the scores: a hash of the source code, the key of the result, and whether
        higher is better.
        """
        del language
        return {
            "source": plugins.hash_user_code(self.computer),
            "key": self.key,
            "higher_is_better": self.higher_is_better,
        }

    def score(self, batch: Batch) -> Scores:
        """Call `compute` once for all outputs if it returns a list, otherwise once for each output."""
        if len(batch) == 0:
            return np.empty(0)
        columns = self._build_user_metric_arguments(batch)
        with self.lock:
            # Two equal predictions show whether the object returns a list or one number for all.
            probe = self._call_user_metric({name: values[:1] * 2 for name, values in columns.items()})
            if isinstance(probe, list):
                scores = self._call_user_metric(columns)
            else:
                scores = []
                for i in range(len(batch)):
                    scores.append(
                        self._call_user_metric({name: [values[i]] for name, values in columns.items()})
                    )
        array = convert_to_score_array(scores, len(batch))
        if array is None:
            raise InputError(f"{self.name} did not compute a number for each of {len(batch)} outputs.")
        return array

    def _build_user_metric_arguments(self, batch: Batch) -> dict[str, list[Any]]:
        """Return the texts of a batch as the keyword arguments of `compute`: `predictions`, `references` and,
        if needed, `sources`.
        """
        has_single_references = all(len(references) == 1 for references in batch.references)
        references: list[Any] = [list(output_references) for output_references in batch.references]
        if has_single_references:
            references = [output_references[0] for output_references in references]
        columns = {"predictions": list(batch.output), "references": references}
        if "source" in self.needs:
            columns["sources"] = list(batch["source"])
        return columns

    def _user_metric_accepts_sources(self) -> bool:
        """Return whether the `compute` method of the user's object has a parameter `sources`."""
        # In `evaluate`, `compute` takes any keyword and `_compute` has the parameters of the metric.
        for function in (getattr(self.computer, "_compute", None), self.computer.compute):
            if callable(function) and "sources" in inspect.signature(function).parameters:
                return True
        return False

    def _call_user_metric(self, keyword_arguments: Mapping[str, Sequence[Any]]) -> Any:
        """Call the `compute` method of the user's object. Returns one number, or a list of numbers."""
        result = self.computer.compute(**keyword_arguments)
        if isinstance(result, Mapping):
            result = self._extract_scores_from_result(result, len(keyword_arguments["predictions"]))
        return result.tolist() if isinstance(result, np.ndarray) else result

    def _extract_scores_from_result(self, results: Mapping[str, Any], output_count: int) -> Any:
        """Choose the scores from a dictionary of several results that `compute` returned."""
        key = self.key
        if key is None:
            candidates = [name for name, value in results.items() if _is_score_list(value, output_count)]
            if not candidates:
                candidates = [name for name, value in results.items() if isinstance(value, Real)]
            if len(candidates) == 1:
                key = candidates[0]
            else:
                key = next((name for name in (self.name, *_USUAL_KEYS) if name in candidates), None)
        if key is None or key not in results:
            raise InputError(
                f"{self.name} computes several scores: {', '.join(map(str, results))}.",
                remedy=f'Choose one: ComputeMetric({self.name}, key="…") of metassay.metrics.compute_metric.',
            )
        return results[key]


def _is_score_list(value: Any, output_count: int) -> bool:
    """Return whether a value is a list with one number for each output."""
    if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str) or len(value) != output_count:
        return False
    return all(isinstance(element, Real) or element is None for element in value)
