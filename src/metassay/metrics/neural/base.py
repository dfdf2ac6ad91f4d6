"""What neural metrics share: a model by name, each input scored once, several references, warnings."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metassay.errors import Counted
from metassay.metrics.base import Batch, Metric, Scores
from metassay.metrics.neural.checkpoints import require_torch
from metassay.metrics.neural.models import known

Case = tuple[str, str | None, str | None]
"""Output, source, reference; None for what the metric does not read."""
_LOCK = threading.RLock()


@dataclass(frozen=True)
class NeuralMetric(Metric):
    """A metric computed by a model that the user has on this machine, named as on the hub or by its folder.

    `dtype` is the precision of the encoder (float32, bfloat16, float16); float32 on the CPU is the reference.
    Scores are the same whatever the order of rows and the number of threads.
    """

    model: str = ""
    dtype: str = "float32"

    task: ClassVar[str] = "mt"
    several: ClassVar[str] = "mean"
    """How the scores against several references become one: mean or max."""
    needs_torch: ClassVar[bool] = True

    def load(self) -> Any:
        """The model in memory, loaded once for all metrics with the same `loading`."""
        raise NotImplementedError

    def cases(self, model: Any, cases: Sequence[Case]) -> NDArray[np.float64]:
        """Scores of distinct cases: [cases], or [cases, parts] where the family has several."""
        raise NotImplementedError

    def hashes(self) -> Mapping[str, str]:
        """Hashes of weights and tokenizer."""
        raise NotImplementedError

    @property
    def cost_class(self) -> str:
        """Models of three billion parameters and more (XL, XXL) need a graphics card."""
        large = {"xl", "xxl"} & set(self.model.lower().replace("_", "-").split("-"))
        return "neural GPU" if large else "neural CPU"

    @property
    def sharing(self) -> Hashable:
        """Metrics with equal values here score the same cases in one pass and differ only in `part`."""
        return self

    def part(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """This metric's own scores among those of the family."""
        return scores

    @property
    def signature(self) -> str:
        """What was computed, with the hashes of the model's weights and tokenizer."""
        if self.needs_torch:
            require_torch()
        parts = super().signature.split("|")
        own = [f"{name}:{value}" for name, value in self.hashes().items()]
        return "|".join([*parts[:-1], *own, parts[-1]])

    def score(self, batch: Batch) -> Scores:
        """One number per output; NaN where a field that the metric reads is missing."""
        if self.needs_torch:
            require_torch()
        self._warn_of_language(batch.language)
        found, index, row_of = _cases(batch, self.needs)
        if not found:
            return np.full(len(batch), np.nan)
        made = batch.derived(("neural", self.sharing, self.needs), lambda: self._scored(found))
        return _over_references(self.part(made)[index], row_of, len(batch), self.several)

    def _scored(self, found: Sequence[Case]) -> NDArray[np.float64]:
        with _LOCK:  # a model uses all cores, or the whole GPU, for one batch at a time
            return self.cases(self.load(), found)

    def _warn_of_language(self, language: str | None) -> None:
        model = known(self.model)
        if language and model is not None and model.languages is not None:
            code = language.split("-")[0].split("_")[0].lower()
            if code not in model.languages:
                warnings.warn(
                    f"{self.name}: {self.model} was not trained on texts in the language {code!r}.",
                    stacklevel=3,
                )


def once(load: Callable[..., Any]) -> Callable[..., Any]:
    """Load a model once for each set of arguments, for the life of the process."""
    kept = functools.cache(load)

    @functools.wraps(load)
    def guarded(*given: Any, **named: Any) -> Any:
        with _LOCK:
            return kept(*given, **named)

    return guarded


def report_truncation(metric: str, truncated: int, limit: int) -> None:
    """Say how many inputs were too long for the model."""
    if truncated:
        kind = f"inputs were longer than the {limit} tokens that the model of {metric} reads, and were cut."
        warnings.warn(Counted(truncated, kind), stacklevel=2)


def distinct(texts: Sequence[str]) -> tuple[list[str], NDArray[np.int64]]:
    """Each text once, in an order that depends on the texts alone, and where each one is."""
    ordered = sorted(set(texts))
    place = dict(zip(ordered, range(len(ordered))))
    return ordered, np.fromiter(map(place.__getitem__, texts), np.int64, len(texts))


def _cases(batch: Batch, needs: frozenset[str]) -> tuple[list[Case], NDArray[np.int64], NDArray[np.int64]]:
    """The distinct cases of a batch, and for each row's each reference, its case and the row."""
    sources = batch["source"] if "source" in needs else [None] * len(batch)
    references = batch.references if "references" in needs else [(None,)] * len(batch)
    wanted: list[Case] = []
    row_of: list[int] = []
    for row, (output, source, own) in enumerate(zip(batch.output, sources, references)):
        missing = (output, source) if "source" in needs else (output,)
        if None in missing:
            continue
        for reference in own:
            if reference is not None or "references" not in needs:
                wanted.append((output, source, reference))
                row_of.append(row)
    ordered = sorted(set(wanted), key=lambda case: tuple(part or "" for part in case))
    place = {case: number for number, case in enumerate(ordered)}
    index = np.fromiter((place[case] for case in wanted), np.int64, len(wanted))
    return ordered, index, np.array(row_of, dtype=np.int64)


def _over_references(
    scores: NDArray[np.float64], row_of: NDArray[np.int64], rows: int, several: str
) -> Scores:
    counts = np.bincount(row_of, minlength=rows)
    if several == "max":
        best = np.full(rows, -np.inf)
        np.maximum.at(best, row_of, scores)
        return np.where(counts > 0, best, np.nan)
    sums = np.bincount(row_of, weights=scores, minlength=rows)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def settings_of(metric: NeuralMetric, *leave_out: str) -> tuple[Any, ...]:
    """The parameters of a metric but for some, as a key."""
    return tuple(getattr(metric, f.name) for f in fields(metric) if f.name not in leave_out)
