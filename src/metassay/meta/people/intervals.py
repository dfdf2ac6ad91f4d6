"""Meta-metrics on other segments: bootstrap intervals, and a mapping of scores tried on held-out folds.

In the bootstrap segments, or clusters of them, are drawn with replacement, people's scores with the metrics'.
Of a mapping every fold is judged by itself, and values are means over folds: SPA and PA of the systems'
order, Kendall's tau within segments, how many pairs of outputs fall together that the metric tells apart, and
how far systems are flattered apart from each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics import MetaMetric, Procedure, meta_metric
from metassay.meta.people.ranking_data import RankingData
from metassay.stats.arrays import FloatArray, LongArray, to_json_values
from metassay.stats.parallel import map_blocks
from metassay.stats.random import CORRECTION_DRAWS, PAIRWISE_DELETION, SEGMENT_SUBSETS, make_branch_generator
from metassay.stats.resampling import draw_subset_blocks, map_bootstrap
from metassay.stats.soft_accuracy import MAX_NORMAL_ERROR

SUBSAMPLES = 200
"""Random subsets over which a context's value is averaged when contexts differ in size."""
RAW, POOLED, UNSEEN, OWN = "raw", "f_G", "f_G unseen", "f_k"
"""A metric as it is; read through f_G; through an f_G that saw neither of two systems; through f_k."""
_SAME = 1e-12


def drawn_if_poor(
    data: RankingData, meta: MetaMetric, procedure: Procedure
) -> tuple[Procedure, RankingData, bool]:
    """By draws, and a note that says so, where a few segments decide and the closed form is poor.

    The last is whether the meta-metric has a closed form at all.
    """
    worst: float | None = None
    if not data.pairwise:
        for _, scores in data.scores.select_metrics(data.metric_positions).split_by_complete_items():
            error = meta.closed_form_error(scores)
            if error is not None:
                worst = max(worst or 0.0, error)
    if worst is None or worst <= MAX_NORMAL_ERROR or procedure.method != "normal":
        return procedure, data, worst is not None
    note = (
        f"{data.cube.dataset}: a few segments carry most differences, so the closed form of "
        f"{meta.name.upper()} would be off by {worst:.3f} per pair of systems; p-values are from "
        f"{procedure.permutations} permutations instead."
    )
    return replace(procedure, method="permutation"), data.add_notes(note), True


def values_with_intervals(
    data: RankingData, meta: MetaMetric, procedure: Procedure, size: int | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Value and interval of each metric, each on the segments it has."""
    values, low, high = (np.full(len(data.metric_names), np.nan) for _ in range(3))
    if data.pairwise:
        for m, scores in enumerate(data.scores.metrics):
            found = pairwise_deletion(
                meta, data.scores.human, scores, draws=procedure.draws, seed=procedure.seed
            )
            values[m], low[m], high[m] = found.value, found.low, found.high
        return values, low, high
    for metrics, judged in data.scores.split_by_complete_items():
        under_weights, units = meta.resampled(judged), judged.cluster_count
        stream: dict[str, Any] = {
            "seed": procedure.seed,
            "stream": procedure.stream,
            "workers": procedure.workers,
        }
        values[metrics] = meta.values(judged, procedure)
        if size is not None and size < judged.human.shape[1]:
            subsets = subsampled_values(meta, judged, segments=size, draws=SUBSAMPLES, **stream)
            values[metrics] = values[metrics] if subsets is None else subsets.mean(axis=1)
        if under_weights is not None:
            alike = size if judged.clusters is None else None
            resampled = map_bootstrap(under_weights, units, draws=procedure.draws, size=alike, **stream)
            low[metrics], high[metrics] = percentile_interval(resampled)
    return values, low, high


def bootstrap_values(
    meta: MetaMetric,
    judged: ScoreArrays,
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
    return map_bootstrap(
        function, judged.cluster_count, draws=draws, seed=seed, stream=stream, size=size, workers=workers
    )


def subsampled_values(
    meta: MetaMetric,
    judged: ScoreArrays,
    *,
    segments: int,
    draws: int,
    seed: int,
    stream: int = 0,
    workers: int | None = None,
) -> FloatArray | None:
    """The meta-metric of each metric on random subsets of the segments, `[metrics, draws]`."""
    alone = ScoreArrays(judged.human, judged.metrics)
    blocks = draw_subset_blocks(judged.human.shape[1], segments, draws, seed, (stream, SEGMENT_SUBSETS))
    return weighted_values(meta, alone, blocks, workers)


def weighted_values(
    meta: MetaMetric, judged: ScoreArrays, blocks: Iterable[FloatArray], workers: int | None = None
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
    rng = make_branch_generator(seed, PAIRWISE_DELETION)
    weights = rng.multinomial(segments, np.full(segments, 1 / segments), size=draws).astype(np.float64)
    low, high = np.quantile(meta.with_gaps(differences, weights), [0.025, 0.975])
    value = meta.with_gaps(differences, np.ones((1, segments)))[0]
    return Deletion(float(value), float(low), float(high), int(both.any(axis=0).sum()), int(used.sum()))


class Mapped(Protocol):
    """Scores as mapped, `[systems, segments]`, and pairs of unseen systems, `[pairs, segments]`."""

    @property
    def pooled(self) -> FloatArray:
        """Through f_G."""
        ...

    @property
    def own(self) -> FloatArray:
        """Through f_k."""
        ...

    @property
    def unseen(self) -> FloatArray:
        """Differences of two systems through an f_G that saw neither."""
        ...

    @property
    def fold(self) -> LongArray:
        """The fold of each segment."""
        ...


class Trial:
    """Human scores `[systems, segments]` against which mappings are tried; the same resamples for all."""

    def __init__(self, human: FloatArray, clusters: LongArray, *, draws: int, seed: int) -> None:
        units = int(clusters.max()) + 1
        rng = make_branch_generator(seed, CORRECTION_DRAWS)
        weights = rng.multinomial(units, np.full(units, 1 / units), size=draws)
        self.human = human
        self.weights = np.concatenate([np.ones((1, len(clusters))), weights[:, clusters]])
        """The first row is the data itself."""

    def rows(self, metric: FloatArray, mapped: Mapped) -> list[dict[str, Any]]:
        """One row per mapping; empty where fewer than two systems are rated, or no segment is complete."""
        rated = np.flatnonzero(~(np.isnan(self.human) | np.isnan(metric)).all(axis=1))
        complete = ~np.isnan(self.human[rated] + metric[rated] + mapped.pooled[rated] + mapped.own[rated])
        segments = np.asarray(complete.all(axis=0))
        if len(rated) < 2 or not segments.any():
            return []
        part = np.ix_(rated, np.flatnonzero(segments))
        scores = {RAW: metric[part], POOLED: mapped.pooled[part], OWN: mapped.own[part]}
        human, fold = self.human[part], mapped.fold[segments]
        i, j = np.triu_indices(len(rated), 1)
        gaps = {name: own[i] - own[j] for name, own in scores.items()}
        gaps[UNSEEN] = mapped.unseen[np.ix_(_places(len(self.human), rated), np.flatnonzero(segments))]
        order = {
            name: np.stack([human[i] - human[j], np.where(np.abs(gaps[name]) < _SAME, 0.0, gaps[name])])
            for name in (RAW, POOLED, UNSEEN, OWN)
        }
        agreement = {
            meta: self._by_fold(meta, order, fold, self.weights[:, segments]) for meta in ("spa", "pa")
        }
        within = _within_segments(human, scores)
        return [
            {
                "mapping": name,
                "segments": int(segments.sum()),
                **_gains(agreement, name),
                "kendall_item": within.get(name),
                "tied": None if name == UNSEEN else _tied(gaps[RAW], gaps[name]),
                "sysdep": _spread(human, scores[name], fold) if name in {POOLED, OWN} else None,
            }
            for name in order
        ]

    @staticmethod
    def _by_fold(
        meta: str, order: Mapping[str, FloatArray], fold: LongArray, weights: FloatArray
    ) -> dict[str, FloatArray]:
        """The mean over folds of a meta-metric, `[1 + draws]`, for each mapping."""
        judge = meta_metric(meta)
        return {
            name: np.mean(
                [judge.with_gaps(gaps, weights * (fold == held)) for held in np.unique(fold)], axis=0
            )
            for name, gaps in order.items()
        }


def _places(systems: int, rated: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where the pairs of rated systems stand among all pairs."""
    place = np.full((systems, systems), -1)
    place[np.triu_indices(systems, 1)] = np.arange(systems * (systems - 1) // 2)
    i, j = np.triu_indices(len(rated), 1)
    found: NDArray[np.int64] = place[rated[i], rated[j]]
    return found


def _gains(agreement: Mapping[str, Mapping[str, FloatArray]], name: str) -> dict[str, float | None]:
    """SPA and PA of a mapping, and what it has more than the metric as it is, with 95 % intervals."""
    found: dict[str, float | None] = {}
    for meta, values in agreement.items():
        more = values[name] - values[RAW]
        low, high = percentile_interval(more[1:])
        found[meta] = to_json_values(float(values[name][0]))
        for part, value in (("gain", more[0]), ("low", low), ("high", high)):
            found[f"{meta}_{part}"] = None if name == RAW else to_json_values(float(value))
    return found


def _within_segments(human: FloatArray, scores: Mapping[str, FloatArray]) -> dict[str, float | None]:
    values = meta_metric("kendall:item").values(ScoreArrays(human, np.stack(list(scores.values()))))
    return {name: to_json_values(float(value)) for name, value in zip(scores, values)}


def _tied(raw: FloatArray, mapped: FloatArray) -> float | None:
    """Of the pairs of outputs that the metric tells apart, the share that the mapping does not."""
    apart = raw != 0
    return float((np.abs(mapped[apart]) < _SAME).mean()) if apart.any() else None


def _spread(human: FloatArray, mapped: FloatArray, fold: LongArray) -> float:
    """How much further one system is flattered than another, within a fold, on average."""
    ranges = []
    for held in np.unique(fold):
        deviation = (mapped - human)[:, fold == held].mean(axis=1)
        ranges.append(deviation.max() - deviation.min())
    return float(np.mean(ranges))
