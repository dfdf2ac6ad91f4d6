"""How finely metrics, and systems, are told apart, and how many segments that takes.

Discrimination (Thompson et al. 2024, sections 4.3 and 4.4, table 1) counts the distinct values a meta-metric
gives, the comparisons that come out significant, and the significance clusters. Metrics with exactly the same
scores are one metric here; `significant_..._with_copies` counts each of them, as the table of the paper does.

Power: for a mean difference d with deviation s per segment, a one-sided test at level alpha finds it with the
wanted power on about ((z_alpha + z_power) s / d)^2 segments. For two metrics the deviation of the difference
of their meta-metric comes from the bootstrap, and shrinks with the square root of the number of segments.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from metassay.meta.people.intervals import bootstrap_values
from metassay.meta.people.meta_metrics import Judged, MetaMetric, Procedure
from metassay.meta.people.meta_metrics.base import pair_differences
from metassay.meta.people.significance import ALPHA, best_first, cluster_ranks, metric_differences
from metassay.stats.arrays import FloatArray
from metassay.stats.sign_flip import difference_sums


def discrimination(meta: MetaMetric, judged: Judged, procedure: Procedure) -> dict[str, Any]:
    """The counts of table 1, with one- and two-sided tests."""
    copies = _copies(judged)
    different = Judged(judged.human, judged.metrics[list(copies)], judged.units)
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


def _copies(judged: Judged) -> dict[int, int]:
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
    sums, squares = difference_sums(scores)
    mean = sums / segments
    variance = np.maximum(squares / segments - mean**2, 0.0)
    return _needed(variance, mean, alpha, power)


def segments_to_separate_metrics(
    meta: MetaMetric,
    judged: Judged,
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
