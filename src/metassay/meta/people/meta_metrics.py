"""What "agrees with people" can mean: the meta-metrics, by name and level.

| name | level | agreement of |
|---|---|---|
| `spa`, `pa` | system | the orders of systems (`metassay.meta.people.pairwise`) |
| `pearson`, `spearman`, `kendall` (b), `kendall_c` | system | mean scores of systems |
| `pearson:segment` and the like | segment | all cells of systems x segments at once |
| `pearson:item` and the like | item | the systems' scores within one segment, averaged over segments |
| `pearson:per_system` and the like | per_system | the segments of one system, averaged over systems |
| `acc_eq` | item | better, worse or tied within one segment (`metassay.meta.people.ties`) |
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, UnknownName
from metassay.meta.people.pairwise import agreement, preferences
from metassay.meta.people.ties import tie_calibrated_accuracy
from metassay.stats.correlation import correlate, system_agreement
from metassay.stats.sign_flip import FloatArray, difference_signs

CORRELATIONS = ("pearson", "spearman", "kendall", "kendall_c")
SYSTEM, SEGMENT, ITEM, PER_SYSTEM = "system", "segment", "item", "per_system"
LEVELS = (SYSTEM, SEGMENT, ITEM, PER_SYSTEM)
OWN_LEVEL = {"spa": SYSTEM, "pa": SYSTEM, "acc_eq": ITEM}


@dataclass(frozen=True)
class MetaMetric:
    """One way to measure agreement with people."""

    name: str
    level: str = SYSTEM

    def __str__(self) -> str:
        plain = OWN_LEVEL.get(self.name, SYSTEM)
        return self.name if self.level == plain else f"{self.name}:{self.level}"

    @property
    def is_correlation(self) -> bool:
        """Whether it runs from -1 to 1; averages over data sets map it to 0 to 1."""
        return self.name in CORRELATIONS


def parse_meta(texts: str | Iterable[str]) -> tuple[MetaMetric, ...]:
    """Meta-metrics from `spa,pa,kendall:segment` or a list of such names.

    >>> [str(meta) for meta in parse_meta("spa,pearson:item")]
    ['spa', 'pearson:item']
    """
    parts = texts.split(",") if isinstance(texts, str) else [p for text in texts for p in text.split(",")]
    found = tuple(dict.fromkeys(_parse_one(part.strip().lower()) for part in parts if part.strip()))
    if not found:
        raise InputError("no meta-metric was named.", remedy="Try --meta spa.")
    return found


def _parse_one(text: str) -> MetaMetric:
    name, _, level = text.partition(":")
    if name not in (*OWN_LEVEL, *CORRELATIONS):
        raise UnknownName("meta-metric", text, (*OWN_LEVEL, *CORRELATIONS))
    level = level or OWN_LEVEL.get(name, SYSTEM)
    if level not in LEVELS:
        raise UnknownName("level", level, LEVELS)
    if name in OWN_LEVEL and level != OWN_LEVEL[name]:
        raise InputError(f"{name} is defined at {OWN_LEVEL[name]} level only.", remedy=f"Write it as {name}.")
    return MetaMetric(name, level)


@dataclass(frozen=True)
class Judged:
    """Complete scores of people and metrics on the same segments, and what counts as one independent unit.

    `human` is `[systems, segments]`, `metrics` `[metrics, systems, segments]`; `units` numbers the cluster of
    each segment from 0, or is None where each segment stands for itself.
    """

    human: FloatArray
    metrics: FloatArray
    units: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if self.human.ndim != 2 or self.metrics.shape[1:] != self.human.shape:
            raise InputError(f"metrics {self.metrics.shape} do not fit human scores {self.human.shape}.")
        if not (np.isfinite(self.human).all() and np.isfinite(self.metrics).all()):
            raise InputError("scores must be complete here: a gap or an infinite score was left.")

    @cached_property
    def standardised(self) -> FloatArray:
        """Metrics with mean 0 and deviation 1 over all cells, so that two can be exchanged; 0 if constant."""
        centred = self.metrics - self.metrics.mean(axis=(1, 2), keepdims=True)
        deviation = centred.std(axis=(1, 2), keepdims=True)
        largest = np.abs(self.metrics).max(axis=(1, 2), keepdims=True, initial=0.0)
        varies = deviation > 1e-13 * largest
        scaled: FloatArray = np.where(varies, centred / np.where(varies, deviation, 1.0), 0.0)
        return scaled

    def per_unit(self, scores: FloatArray) -> FloatArray:
        """Sums over each unit's segments, `[..., units]`: what is flipped, swapped or drawn as a whole."""
        if self.units is None:
            return scores
        members = np.zeros((len(self.units), int(self.units.max()) + 1))
        members[np.arange(len(self.units)), self.units] = 1.0
        return np.asarray(scores @ members, dtype=np.float64)


def meta_values(
    meta: MetaMetric, judged: Judged, *, method: str = "normal", permutations: int = 1000, seed: int = 0
) -> FloatArray:
    """The meta-metric of each metric, `[metrics]`; NaN where it is undefined."""
    if meta.name == "spa":
        both = judged.per_unit(np.concatenate([judged.human[None], judged.metrics]))
        p = preferences(both, method=method, permutations=permutations, seed=seed)
        return agreement(p[0], p[1:])
    if meta.name == "pa":
        signs = difference_signs(np.concatenate([judged.human[None], judged.metrics]))
        same: FloatArray = (signs[1:] == signs[0]).mean(axis=-1)
        return same
    if meta.level == SYSTEM:
        return system_agreement(meta.name, judged.human.mean(axis=-1), judged.metrics.mean(axis=-1))
    if meta.level == SEGMENT:
        cells = judged.human.ravel()
        return np.array([correlate(meta.name, cells, metric.ravel()) for metric in judged.metrics])
    if meta.level == PER_SYSTEM:
        return mean_where_defined(system_agreement(meta.name, judged.human, judged.metrics, exact=True))
    return mean_where_defined(values_by_item(meta, judged))


def values_by_item(meta: MetaMetric, judged: Judged) -> FloatArray:
    """An item-level meta-metric per metric and segment, `[metrics, segments]`, NaN where undefined."""
    if meta.name == "acc_eq":
        return np.stack([tie_calibrated_accuracy(judged.human, metric).by_item for metric in judged.metrics])
    return system_agreement(meta.name, judged.human.T, judged.metrics.swapaxes(-1, -2), exact=True)


def mean_where_defined(values: FloatArray) -> FloatArray:
    """Mean over the items, or systems, where the value is defined; NaN where it is nowhere."""
    defined = ~np.isnan(values)
    count = defined.sum(axis=-1)
    total = np.where(defined, values, 0.0).sum(axis=-1)
    mean: FloatArray = np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)
    return mean
