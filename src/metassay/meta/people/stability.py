"""What to hold a metric's values against: people among themselves, and differences that people notice.

*Ceiling*: one rater's scores taken as a metric for the others. A metric that agrees with people as well as
one more rater would is at the ceiling: no data of this kind can show that it is better than that.

*Thresholds*: over all pairs of systems, whether people prefer the system that the metric prefers is regressed
on the size of the metric's difference, as a function that never falls (isotonic regression). The threshold
for 80 % is the smallest difference at which that function reaches 80 %. Intervals resample systems, which
pairs share.

How finely metrics, and systems, are told apart, and how many segments that takes.

Discrimination (Thompson et al. 2024, sections 4.3 and 4.4, table 1) counts the distinct values a meta-metric
gives, the comparisons that come out significant, and the significance clusters. Metrics with exactly the same
scores are one metric here; `significant_..._with_copies` counts each of them, as the table of the paper does.

Power: for a mean difference d with deviation s per segment, a one-sided test at level alpha finds it with the
wanted power on about ((z_alpha + z_power) s / d)^2 segments. For two metrics the deviation of the difference
of their meta-metric comes from the bootstrap, and shrinks with the square root of the number of segments.

How much a ranking of metrics owes to the systems and segments it happens to rest on.

Thompson et al. (2024), sections 4.1 and 4.2. Systems: rank the metrics on random subsets of the systems and
correlate (Pearson) their values with those on all systems; the closer to 1, the more stable. Segments: draw
fewer segments with replacement and see how wide the 95 % interval of each metric's value becomes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.intervals import bootstrap_values, percentile_interval, subsampled_values
from metassay.meta.people.meta_metrics import MetaMetric, Procedure
from metassay.meta.people.meta_metrics.base import pair_differences
from metassay.meta.people.metric_comparison import ALPHA, best_first, cluster_ranks, metric_differences
from metassay.meta.people.ranking_data import RankingData
from metassay.stats.arrays import FloatArray, to_json_values
from metassay.stats.correlation import correlate_systems
from metassay.stats.isotonic import fit_isotonic
from metassay.stats.random import AGREEMENT_THRESHOLDS, SYSTEM_SUBSETS, make_branch_generator
from metassay.stats.sign_flip import sum_differences
from metassay.stats.sorted_scores import sort_scores

AGREEMENTS = (0.8, 0.9, 0.95)


def human_ceiling(
    meta: MetaMetric, raters: Mapping[str, FloatArray], *, draws: int = 1000, seed: int = 0
) -> list[dict[str, Any]]:
    """Each rater against the mean of the others, on the segments where both rated every system.

    `raters` maps a rater to scores `[systems, segments]`, NaN where there is none. A rater who shares no
    segment with the others has no value.
    """
    rows = []
    for name, scores in raters.items():
        others = np.stack([other for rater, other in raters.items() if rater != name])
        counts = (~np.isnan(others)).sum(axis=0)
        mean = np.where(counts > 0, np.nansum(others, axis=0) / np.maximum(counts, 1), np.nan)
        both = ~(np.isnan(scores) | np.isnan(mean)).any(axis=0)
        row: dict[str, Any] = {
            "rater": name,
            "segments": int(both.sum()),
            "value": None,
            "low": None,
            "high": None,
        }
        if both.any():
            judged = ScoreArrays(mean[:, both], scores[None][:, :, both])
            row["value"] = to_json_values(meta.values(judged)[0])
            drawn = bootstrap_values(meta, judged, draws=draws, seed=seed)
            if drawn is not None:
                low, high = percentile_interval(drawn)
                row |= {"low": to_json_values(low[0]), "high": to_json_values(high[0])}
        rows.append(row)
    return rows


@dataclass(frozen=True)
class Threshold:
    """The difference of system means at which people agree in a share of system pairs; NaN if never."""

    agreement: float
    difference: float
    low: float
    high: float


def agreement_thresholds(
    data: list[ScoreArrays], metric: list[int], *, resamples: int = 200, seed: int = 0
) -> list[Threshold]:
    """Thresholds of one metric over the system pairs of one or more data sets.

    `metric[d]` is its index in data set d. A resample in which the share is never reached counts as infinite,
    so an upper end of infinity (NaN here) means that the data cannot exclude it.
    """
    means = [(j.human.mean(axis=1), j.metrics[m].mean(axis=1)) for j, m in zip(data, metric)]
    rng = make_branch_generator(seed, AGREEMENT_THRESHOLDS)
    found = _thresholds(means)
    drawn = np.full((resamples, len(AGREEMENTS)), np.inf)
    for resample in range(resamples):
        chosen = [rng.integers(len(h), size=len(h)) for h, _ in means]
        drawn[resample] = _thresholds([(h[k], m[k]) for (h, m), k in zip(means, chosen)])
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0, method="nearest")
    return [
        Threshold(share, *(float(v) if np.isfinite(v) else np.nan for v in (found[k], low[k], high[k])))
        for k, share in enumerate(AGREEMENTS)
    ]


def _thresholds(means: list[tuple[FloatArray, FloatArray]]) -> FloatArray:
    size, agrees = [], []
    for human, metric in means:
        first, second = np.triu_indices(len(human), 1)
        h, m = human[first] - human[second], metric[first] - metric[second]
        apart = (m != 0) & (h != 0)
        size.append(np.abs(m[apart]))
        agrees.append((np.sign(h) == np.sign(m))[apart])
    x, y = np.concatenate(size), np.concatenate(agrees).astype(np.float64)
    if not len(x):
        return np.full(len(AGREEMENTS), np.inf)
    scores = sort_scores(x)
    fitted = fit_isotonic(scores, y)
    reached = [np.flatnonzero(fitted >= share - 1e-12) for share in AGREEMENTS]
    return np.array([scores.knots[where[0]] if len(where) else np.inf for where in reached])


def discrimination(meta: MetaMetric, judged: ScoreArrays, procedure: Procedure) -> dict[str, Any]:
    """The counts of table 1, with one- and two-sided tests."""
    copies = _copies(judged)
    different = ScoreArrays(judged.human, judged.metrics[list(copies)], judged.clusters)
    values = meta.values(different, procedure)
    found: dict[str, Any] = {
        "metrics": len(judged.metrics),
        "different_metrics": len(values),
        "distinct_values": len(np.unique(np.round(values[~np.isnan(values)], 10))),
        "comparisons": len(values) * (len(values) - 1) // 2,
    }
    differences = metric_differences(meta, different, procedure)
    if differences is None:
        return found
    order = best_first(values, [str(m) for m in range(len(values))])
    first, second = np.triu_indices(len(values), 1)
    times = np.array(list(copies.values()))
    for side, p in zip(("one_sided", "two_sided"), differences.p_values()):
        significant = np.zeros((len(values), len(values)), dtype=np.bool_)
        significant[first, second] = p <= ALPHA
        ranks = cluster_ranks(order, significant | significant.T)
        found[f"significant_{side}"] = int((p <= ALPHA).sum())
        found[f"significant_{side}_with_copies"] = int((times[first] * times[second])[p <= ALPHA].sum())
        found[f"clusters_{side}"] = max(ranks.values(), default=0)
    return found


def _copies(judged: ScoreArrays) -> dict[int, int]:
    """The first metric with each set of scores, and how many metrics have these scores."""
    seen: dict[bytes, int] = {}
    count: dict[int, int] = {}
    for m, metric in enumerate(judged.metrics):
        first = seen.setdefault(metric.tobytes(), m)
        count[first] = count.get(first, 0) + 1
    return count


def segments_to_separate_systems(
    scores: FloatArray, *, alpha: float = 0.05, power: float = 0.8
) -> FloatArray:
    """Segments needed for every pair of systems, `[..., pairs]`; infinite where their means are equal."""
    segments = scores.shape[-1]
    sums, squares = sum_differences(scores)
    mean = sums / segments
    variance = np.maximum(squares / segments - mean**2, 0.0)
    return _needed(variance, mean, alpha, power)


def segments_to_separate_metrics(
    meta: MetaMetric,
    judged: ScoreArrays,
    *,
    alpha: float = 0.05,
    power: float = 0.8,
    draws: int = 1000,
    seed: int = 0,
) -> FloatArray | None:
    """Segments needed for every pair of metrics A < B; infinite where their values are equal."""
    drawn = bootstrap_values(meta, judged, draws=draws, seed=seed)
    if drawn is None:
        return None
    spread = pair_differences(drawn).var(axis=1) * judged.human.shape[1]
    return _needed(spread, pair_differences(meta.values(judged)), alpha, power)


def _needed(variance: FloatArray, mean: FloatArray, alpha: float, power: float) -> FloatArray:
    factor = (ndtri(1 - alpha) + ndtri(power)) ** 2
    needed = np.divide(factor * variance, mean**2, out=np.full(mean.shape, np.inf), where=mean != 0)
    segments: FloatArray = np.maximum(np.ceil(needed), 1.0)
    return segments


SHARES_OF_SEGMENTS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


def stability_over_systems(
    meta: MetaMetric, judged: ScoreArrays, *, trials: int = 1000, seed: int = 0
) -> list[dict[str, Any]]:
    """For each number of systems kept, the mean correlation of the metrics' values with those on all."""
    systems = len(judged.human)
    full = meta.values(judged)
    rows = []
    for kept in range(3, systems):
        rng = make_branch_generator(seed, SYSTEM_SUBSETS, kept)
        chosen = np.argsort(rng.random((trials, systems)), axis=1)[:, :kept]
        values = meta.on_subsets(judged, chosen)
        if values is None:
            return []
        r = correlate_systems("pearson", full, values.T)
        defined = r[~np.isnan(r)]
        mean = float(defined.mean()) if len(defined) else None
        rows.append({"systems": kept, "correlation": mean, "trials": len(defined)})
    return rows


def stability_over_segments(
    meta: MetaMetric, judged: ScoreArrays, *, trials: int = 1000, seed: int = 0
) -> list[dict[str, Any]]:
    """For each number of segments, the 95 % interval of each metric, which is named by its index."""
    rows = []
    units = judged.cluster_count
    for size in sorted({max(2, round(share * units)) for share in SHARES_OF_SEGMENTS}):
        drawn = bootstrap_values(meta, judged, draws=trials, seed=seed, stream=size, size=size)
        if drawn is None:
            return []
        low, high = percentile_interval(drawn)
        rows += [
            {"segments": size, "metric": m, "low": float(low[m]), "high": float(high[m])}
            for m in range(len(judged.metrics))
            if not np.isnan(low[m])
        ]
    return rows


READABLE = 20
"""Systems up to which the preferences of every pair are kept, to be drawn."""
SUBSETS = 100
"""Random subsets of the segments for each of their numbers."""
FEW = 10
"""Segments that are worth making fewer."""


def preferences(data: RankingData, meta: MetaMetric, procedure: Procedure) -> dict[str, Any] | None:
    """The p-values behind a meta-metric that compares pairs of systems; None where it has none.

    `systems` are in the order of people, best first. For each metric `human` and `own` are the p-values that
    the first system of each pair i < j is better by chance alone, on the segments the metric has: 0 the first
    is surely better, 1 the second. Not with more than `READABLE` systems, nor where pairs have gaps.
    """
    systems = len(data.cube.systems)
    if data.pairwise or not 3 <= systems <= READABLE:
        return None
    order = np.argsort(-data.scores.human.mean(axis=1), kind="stable")
    first, second = np.triu_indices(systems, 1)
    rows = []
    for kept, scores in data.scores.select_metrics(data.metric_positions).split_by_complete_items():
        found = meta.pair_preferences(scores, procedure)
        if found is None:
            return None
        square = np.zeros((len(found), systems, systems))
        square[:, first, second], square[:, second, first] = found, 1.0 - found
        human, *own = np.round(square[:, order[first], order[second]], 4).tolist()
        rows += [{"metric": data.metric_names[m], "human": human, "own": p} for m, p in zip(kept, own)]
    return {"systems": [data.cube.systems[k] for k in order], "rows": rows} if rows else None


def downsampled(data: RankingData, meta: MetaMetric, procedure: Procedure) -> list[dict[str, Any]]:
    """Each metric's value on random subsets of the segments that all have: median, 95 % range, times first.

    `first` is the share of subsets on which no other metric has a higher value. The baseline that never
    differs is beside them, since SPA falls for it as segments grow in number.
    """
    segments = data.items_of_all_metrics
    total, count = int(segments.sum()), data.metric_count
    if data.pairwise or total < FEW or count < 2:
        return []
    judged = data.scores.select_metrics(np.arange(count + 1)).restrict_to(items=segments)
    stream: dict[str, Any] = {
        "seed": procedure.seed,
        "stream": procedure.stream,
        "workers": procedure.workers,
    }
    rows: list[dict[str, Any]] = []
    for size in sorted({max(2, round(share * total)) for share in SHARES_OF_SEGMENTS}):
        values = (
            subsampled_values(meta, judged, segments=size, draws=SUBSETS, **stream)
            if size < total
            else meta.values(judged, procedure)[:, None]
        )
        if values is None:
            return []
        low, high = percentile_interval(values)
        best = (values[:count] >= np.fmax.reduce(values[:count], axis=0)).mean(axis=1)
        rows += [
            {"segments": size, "metric": data.metric_names[m], "median": float(np.median(values[m]))}
            | {"low": float(low[m]), "high": float(high[m]), "first": float(best[m]) if m < count else None}
            for m in range(count + 1)
            if not np.isnan(values[m]).any()
        ]
    return rows
