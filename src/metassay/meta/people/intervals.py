"""Bootstrap intervals of meta-metrics: segments, or clusters of them, drawn with replacement.

People's scores are drawn with the metrics'.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metassay.meta.people.meta_metrics import Judged, MetaMetric, Procedure
from metassay.meta.people.rated import Rated
from metassay.stats.arrays import FloatArray, map_blocks
from metassay.stats.random import PAIRWISE_DELETION, SEGMENT_SUBSETS, branch
from metassay.stats.resampling import bootstrap, subset_blocks
from metassay.stats.sign_flip import CLOSED_FORM

SUBSAMPLES = 200
"""Random subsets over which a context's value is averaged when contexts differ in size."""


def drawn_if_poor(data: Rated, meta: MetaMetric, procedure: Procedure) -> tuple[Procedure, Rated, bool]:
    """By draws, and a note that says so, where a few segments decide and the closed form is poor.

    The last is whether the meta-metric has a closed form at all.
    """
    worst: float | None = None
    for metrics, segments in [] if data.pairwise else data.patterns():
        kept = metrics[metrics < len(data.ranked)]
        error = meta.closed_form_error(data.judged(kept, segments)) if segments.any() and len(kept) else None
        if error is not None:
            worst = max(worst or 0.0, error)
    if worst is None or worst <= CLOSED_FORM or procedure.method != "normal":
        return procedure, data, worst is not None
    note = (
        f"{data.cube.dataset}: a few segments carry most differences, so the closed form of "
        f"{meta.name.upper()} would be off by {worst:.3f} per pair of systems; p-values are from "
        f"{procedure.permutations} permutations instead."
    )
    noted = replace(data, cube=replace(data.cube, notes=(*data.cube.notes, note)))
    return replace(procedure, method="permutation"), noted, True


def values_with_intervals(
    data: Rated, meta: MetaMetric, procedure: Procedure, size: int | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Value and interval of each metric, each on the segments it has."""
    values, low, high = (np.full(len(data.names), np.nan) for _ in range(3))
    if data.pairwise:
        for m, scores in enumerate(data.scores):
            found = pairwise_deletion(meta, data.human, scores, draws=procedure.draws, seed=procedure.seed)
            values[m], low[m], high[m] = found.value, found.low, found.high
        return values, low, high
    for metrics, segments in data.patterns():
        if not segments.any():
            continue
        judged = data.judged(metrics, segments)
        under_weights, units = meta.resampled(judged), judged.count
        stream: dict[str, Any] = {
            "seed": procedure.seed,
            "stream": procedure.stream,
            "workers": procedure.workers,
        }
        values[metrics] = meta.values(judged, procedure)
        if size is not None and size < segments.sum():
            subsets = subsampled_values(meta, judged, segments=size, draws=SUBSAMPLES, **stream)
            values[metrics] = values[metrics] if subsets is None else subsets.mean(axis=1)
        if under_weights is not None:
            alike = size if judged.units is None else None
            resampled = bootstrap(under_weights, units, draws=procedure.draws, size=alike, **stream)
            low[metrics], high[metrics] = percentile_interval(resampled)
    return values, low, high


def bootstrap_values(
    meta: MetaMetric,
    judged: Judged,
    *,
    draws: int,
    seed: int,
    stream: int = 0,
    size: int | None = None,
    workers: int | None = None,
) -> FloatArray | None:
    """The meta-metric of each metric on each resample, `[metrics, draws]`; None where it takes too long.

    A resample has as many units as the data, or `size`.
    """
    function = meta.resampled(judged)
    if function is None:
        return None
    return bootstrap(
        function, judged.count, draws=draws, seed=seed, stream=stream, size=size, workers=workers
    )


def subsampled_values(
    meta: MetaMetric,
    judged: Judged,
    *,
    segments: int,
    draws: int,
    seed: int,
    stream: int = 0,
    workers: int | None = None,
) -> FloatArray | None:
    """The meta-metric of each metric on random subsets of the segments, `[metrics, draws]`."""
    alone = Judged(judged.human, judged.metrics)
    blocks = subset_blocks(judged.human.shape[1], segments, draws, seed, (stream, SEGMENT_SUBSETS))
    return weighted_values(meta, alone, blocks, workers)


def weighted_values(
    meta: MetaMetric, judged: Judged, blocks: Iterable[FloatArray], workers: int | None = None
) -> FloatArray | None:
    """The meta-metric of each metric under blocks of weights; None where it takes too long."""
    function = meta.resampled(judged)
    return None if function is None else np.concatenate(map_blocks(function, blocks, workers), axis=1)


def percentile_interval(values: FloatArray, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Percentile interval over the last axis; NaN where some resample is undefined."""
    low: FloatArray
    high: FloatArray
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2], axis=-1)
    return low, high


@dataclass(frozen=True)
class Deletion:
    """The value of one metric, its 95 % interval, and on what it rests; NaN where no pair has a segment."""

    value: float
    low: float
    high: float
    segments: int
    pairs: int


def pairwise_deletion(
    meta: MetaMetric, human: FloatArray, metric: FloatArray, *, draws: int = 1000, seed: int = 0
) -> Deletion:
    """PA or SPA of `[systems, segments]` scores with gaps: each pair of systems on what both have.

    Where raters saw different segments of different systems no segment is complete. People and metric are
    compared on the same ones; pairs without a common segment are left out. p-values are the normal ones.
    """
    first, second = np.triu_indices(len(human), 1)
    people, ours = human[first] - human[second], metric[first] - metric[second]
    both = ~(np.isnan(people) | np.isnan(ours))
    used = both.any(axis=1)
    if not used.any():
        return Deletion(np.nan, np.nan, np.nan, 0, 0)
    differences = np.stack([np.where(both, d, 0.0)[used] for d in (people, ours)])
    segments = human.shape[1]
    rng = branch(seed, PAIRWISE_DELETION)
    weights = rng.multinomial(segments, np.full(segments, 1 / segments), size=draws).astype(np.float64)
    low, high = np.quantile(meta.with_gaps(differences, weights), [0.025, 0.975])
    value = meta.with_gaps(differences, np.ones((1, segments)))[0]
    return Deletion(float(value), float(low), float(high), int(both.any(axis=0).sum()), int(used.sum()))
