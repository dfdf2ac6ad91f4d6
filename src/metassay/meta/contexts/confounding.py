"""Confounding: a metric whose accuracy depends on the perturbation that made the worse outputs.

Per metric, the accuracy under each perturbation alone (mean over contexts), and the variance σ² of these over
perturbations (Deviyani and Diaz, 2025, A.2.3). The published figure combines k of n perturbations at random;
with equal weights its variance is σ² / k · (n - k) / (n - 1), whatever the metric: its fall proves nothing,
so this law is reported with it. What is informative is σ² itself, as a share of the variance a · (1 - a) that
right and wrong have at mean accuracy a: how much the perturbation alone decides. A metric is flagged when a
test says that this share is not zero.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb

import numpy as np

from metassay.meta.contexts.accuracy import (
    TIE_CREDIT,
    AccuracyTally,
    batch_contexts,
    divide_or_nan,
    tally_in_batches,
    tally_pairs,
)
from metassay.meta.contexts.h1 import cross_with_perturbations
from metassay.meta.contexts.pair_outcomes import MISSING, RIGHT, TIE, PairContexts, PairOutcomes
from metassay.results.assay import CombinationVariance, MetricConfounding, OverlookedPerturbation
from metassay.results.base import to_optional
from metassay.stats.arrays import FloatArray, IntArray, LongArray, find_run_starts
from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.intervals import percentile_interval, small_sample_factor
from metassay.stats.multiplicity import adjust_holm

_LEVEL = 0.05
_COMBINATIONS = 10
_ENTRIES_PER_BATCH = 1 << 20  # of a matrix of combinations and cells: what a cache holds
_EXCESS = 2.0  # times what resampling adds to σ²: once as sampling error did, once on top of it
_LEAST_SPREAD = 0.5  # the spread of an accuracy is at least this difference in one cluster


@dataclass(frozen=True)
class Confounding:
    """Dependence of every metric on the perturbation, over all metrics [metrics].

    `by_perturbation` is [metrics, perturbations]. `variance` is σ² with its interval, `net_variance` σ² less
    what sampling error adds to it; `share` and `share_low` are the net variance, and the low end of its
    interval, over a · (1 - a). `p` tests that a metric is right as often under every perturbation.
    `combination_variances` is [metrics, perturbations - 1], for k = 1, 2, …; `combination_counts` says how
    many combinations each k had. `overlooked` has, per metric, the perturbations of whose pairs it gets less
    than half right.
    """

    metrics: tuple[str, ...]
    perturbations: tuple[str, ...]
    by_perturbation: FloatArray
    variance: FloatArray
    low: FloatArray
    high: FloatArray
    net_variance: FloatArray
    share: FloatArray
    share_low: FloatArray
    p: FloatArray
    combination_variances: FloatArray
    combination_counts: tuple[int, ...]
    overlooked: tuple[list[OverlookedPerturbation], ...]

    def to_rows(self, sentinels: Collection[str] = ()) -> list[MetricConfounding]:
        """Return one row per metric; flagged are those that depend on the perturbation, adjusted by Holm."""
        p_holm = adjust_holm(self.p)
        rows = []
        for m, metric in enumerate(self.metrics):
            is_flagged = bool(p_holm[m] <= _LEVEL)
            rows.append(
                MetricConfounding(
                    metric=metric,
                    variance=to_optional(self.variance[m]),
                    low=to_optional(self.low[m]),
                    high=to_optional(self.high[m]),
                    flag=is_flagged,
                    by_perturbation=self._optional_accuracies(m),
                    by_k=self._combination_rows(m),
                    variance_net=to_optional(self.net_variance[m]),
                    share=to_optional(self.share[m]),
                    share_low=to_optional(self.share_low[m]),
                    p=to_optional(self.p[m]),
                    p_holm=to_optional(p_holm[m]),
                    responsible=self._responsible(m) if is_flagged else [],
                    overlooked=self.overlooked[m],
                    sentinel=metric in sentinels,
                )
            )
        return rows

    def _optional_accuracies(self, m: int) -> dict[str, float | None]:
        return {name: to_optional(a) for name, a in zip(self.perturbations, self.by_perturbation[m])}

    def _combination_rows(self, m: int) -> list[CombinationVariance]:
        known = int((~np.isnan(self.by_perturbation[m])).sum())
        rows = []
        for k, count in enumerate(self.combination_counts, start=1):
            law = float("nan")
            if known > k:
                law = self.variance[m] / k * (known - k) / (known - 1)
            variance = self.combination_variances[m, k - 1]
            rows.append(
                CombinationVariance(
                    k=k, variance=to_optional(variance), law=to_optional(law), combinations=count
                )
            )
        return rows

    def _responsible(self, m: int) -> list[str]:
        """Return the fewest perturbations that cause half of the variance, the most deviant first."""
        deviations = self.by_perturbation[m] - np.nanmean(self.by_perturbation[m])
        squares = np.nan_to_num(deviations**2)
        order = np.argsort(-squares, kind="stable")
        enough = int(np.searchsorted(np.cumsum(squares[order]), squares.sum() / 2)) + 1
        return [self.perturbations[k] for k in order[:enough]]


def measure_confounding(
    outcomes: PairOutcomes,
    contexts: PairContexts,
    *,
    ties: str,
    bootstrap: ClusterBootstrap,
    rng: np.random.Generator,
    workers: int = 1,
) -> Confounding:
    """Measure confounding on sorted pairs that hold all applicable perturbations of every output."""
    crossed = cross_with_perturbations(outcomes, contexts)
    tallies = tally_in_batches(outcomes, crossed, ties=ties)
    accuracy, resampled = _accuracy_by_perturbation(tallies, outcomes, bootstrap, workers)
    by_perturbation = _nan_mean(accuracy, axis=1)
    variance = _nan_variance(by_perturbation)
    resampled_variances = _nan_variance(resampled)
    # Sampling error adds as much to σ² as resampling adds to it again.
    excess = _nan_mean(resampled_variances, axis=1) - variance
    low, high = percentile_interval(resampled_variances - _EXCESS * excess[:, None])
    net_variance = np.maximum(variance - excess, 0)
    mean_accuracy = _nan_mean(by_perturbation, axis=1)
    most_possible = mean_accuracy * (1 - mean_accuracy)
    counts, combination_variances = _combination_variances(outcomes, contexts, ties, rng)
    return Confounding(
        metrics=outcomes.metrics,
        perturbations=outcomes.perturbation_names,
        by_perturbation=by_perturbation,
        variance=variance,
        low=np.clip(low, 0, variance),
        high=np.maximum(high, variance),
        net_variance=net_variance,
        share=np.nan_to_num(divide_or_nan(net_variance, most_possible)),
        share_low=np.nan_to_num(divide_or_nan(np.maximum(low, 0), most_possible)),
        p=dependence_p_values(by_perturbation, resampled, len(np.unique(outcomes.clusters))),
        combination_variances=combination_variances,
        combination_counts=counts,
        overlooked=_find_overlooked(outcomes),
    )


def _find_overlooked(outcomes: PairOutcomes) -> tuple[list[OverlookedPerturbation], ...]:
    """Find per metric the perturbations under which it is right in less than half of the pairs.

    A tie is wrong. p is adjusted by Holm over all metrics and perturbations; the worst come first.
    """
    names = outcomes.perturbation_names
    contexts = PairContexts("perturbation", names, outcomes.perturbations)
    tally = tally_pairs(outcomes, contexts, ties="strict")
    accuracy = tally.accuracy()
    p = tally.p_below_half()
    p_holm = adjust_holm(p.ravel()).reshape(p.shape)
    found: list[list[OverlookedPerturbation]] = []
    for m, accuracies in enumerate(accuracy):
        rows = [
            OverlookedPerturbation(
                perturbation=names[k], accuracy=float(accuracies[k]), p_holm=float(p_holm[m, k])
            )
            for k in np.argsort(accuracies, kind="stable")
            if p_holm[m, k] <= _LEVEL
        ]
        found.append(rows)
    return tuple(found)


def _accuracy_by_perturbation(
    tallies: Iterable[AccuracyTally], outcomes: PairOutcomes, bootstrap: ClusterBootstrap, workers: int
) -> tuple[FloatArray, FloatArray]:
    """Compute accuracies [metrics, contexts, perturbations], and resamples of their means over contexts.

    The resamples are [metrics, perturbations, resamples]; `tallies` are of contexts crossed with
    perturbations.
    """
    metric_count = len(outcomes.metrics)
    perturbation_count = len(outcomes.perturbation_names)
    sums = np.zeros((perturbation_count, metric_count, bootstrap.resamples))
    counts = np.zeros_like(sums)
    accuracies: list[FloatArray] = []

    def add_perturbation(k: int, tally: AccuracyTally, first_context: int) -> None:
        """Add the resampled accuracies of perturbation k in the contexts of one tally."""
        first = (k - first_context) % perturbation_count
        for context in range(first, len(tally.contexts), perturbation_count):
            cells = tally.cells_of(context)
            if cells.start == cells.stop:
                continue
            drawn = bootstrap.resample_ratios(
                tally.credit[:, cells], tally.weight[:, cells], tally.clusters[cells]
            )
            sums[k] += np.nan_to_num(drawn)
            counts[k] += ~np.isnan(drawn)

    with ThreadPoolExecutor(workers) as pool:
        for tally in tallies:
            first_context = sum(accuracy.shape[1] for accuracy in accuracies)
            add = partial(add_perturbation, tally=tally, first_context=first_context)
            list(pool.map(add, range(perturbation_count)))
            accuracies.append(tally.accuracy())
    accuracy = np.concatenate(accuracies, axis=1).reshape(metric_count, -1, perturbation_count)
    means = divide_or_nan(sums, counts)
    return accuracy, np.ascontiguousarray(np.swapaxes(means, 0, 1))


def dependence_p_values(by_perturbation: FloatArray, resampled: FloatArray, clusters: int) -> FloatArray:
    """Compute p-values [metrics] that accuracy is the same under all perturbations.

    `by_perturbation` is [metrics, perturbations], `resampled` [metrics, perturbations, resamples]. The
    statistic is Σ_k (a_k - a)² / v_k, v_k the variance of a_k and a their mean weighted by 1 / v_k; its null
    distribution comes from the deviations of the resamples, stretched for few clusters.
    """
    p = np.full(len(by_perturbation), np.nan)
    if clusters < 2:
        return p
    stretch = small_sample_factor(np.array(clusters))
    deviations = (resampled - by_perturbation[..., None]) * stretch
    least_variance = (_LEAST_SPREAD / clusters) ** 2
    for m, accuracy in enumerate(by_perturbation):
        is_known = ~np.isnan(accuracy)
        drawn = deviations[m][is_known]
        drawn = drawn[:, ~np.isnan(drawn).any(axis=0)]
        if is_known.sum() < 2 or drawn.shape[1] < 2:
            continue
        weights = 1 / np.maximum(drawn.var(axis=1), least_variance)
        null = _weighted_spread(drawn, weights)
        observed = _weighted_spread(accuracy[is_known, None], weights)[0]
        p[m] = (1 + (null >= observed * (1 - 1e-9)).sum()) / (1 + len(null))
    return p


def _weighted_spread(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted sum of squared deviations from the weighted mean, for every column of `values`."""
    centre = weights @ values / weights.sum()
    return np.asarray(weights @ (values - centre) ** 2)


def _combination_variances(
    outcomes: PairOutcomes, contexts: PairContexts, ties: str, rng: np.random.Generator
) -> tuple[tuple[int, ...], FloatArray]:
    """Compute the variance of the mean local accuracy over combinations of k perturbations.

    Returns how many combinations each k = 1, 2, … had, and the variances [metrics, perturbations - 1].
    """
    perturbation_count = len(outcomes.perturbation_names)
    chosen = [_sample_combinations(perturbation_count, k, rng) for k in range(1, perturbation_count)]
    masks = np.zeros((perturbation_count, sum(map(len, chosen))))
    column = 0
    for group in chosen:
        for combination in group:
            masks[list(combination), column] = 1
            column += 1
    accuracy = _accuracy_of_combinations(outcomes, contexts, ties, masks)
    counts = tuple(len(group) for group in chosen)
    ends = np.cumsum(counts)
    variances = [_nan_variance(accuracy[:, end - count : end]) for count, end in zip(counts, ends)]
    if not variances:
        return counts, np.empty((len(accuracy), 0))
    return counts, np.stack(variances, axis=1)


def _sample_combinations(count: int, k: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """Return all combinations of k of `count`, or ten distinct ones at random where there are more."""
    if comb(count, k) <= _COMBINATIONS:
        return list(combinations(range(count), k))
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < _COMBINATIONS:
        drawn.add(tuple(sorted(rng.choice(count, size=k, replace=False).tolist())))
    return sorted(drawn)


def _accuracy_of_combinations(
    outcomes: PairOutcomes, contexts: PairContexts, ties: str, masks: FloatArray
) -> FloatArray:
    """Mean over contexts of the local accuracy on the pairs of each combination, [metrics, combinations]."""
    local = []
    for _, pairs in batch_contexts(contexts):
        if len(contexts.codes[pairs]):
            local.append(_local_accuracy_of_combinations(outcomes, contexts, ties, masks, pairs))
    return _nan_mean(np.concatenate(local, axis=2), axis=2)


def _local_accuracy_of_combinations(
    outcomes: PairOutcomes, contexts: PairContexts, ties: str, masks: FloatArray, pairs: IntArray | slice
) -> FloatArray:
    """Local accuracy of combinations in the contexts of these pairs, [metrics, combinations, contexts]."""
    codes = contexts.codes[pairs]
    item_starts = find_run_starts(codes, outcomes.items[pairs])
    item_count = len(item_starts) - 1
    item_of_pair = np.repeat(np.arange(item_count), np.diff(item_starts))
    perturbation_count = len(outcomes.perturbation_names)
    slot_of_pair = item_of_pair * perturbation_count + outcomes.perturbations[pairs]
    weights = np.ones(len(codes)) if outcomes.weights is None else outcomes.weights[pairs]
    context_starts = find_run_starts(codes[item_starts[:-1]])[:-1]
    tie_credit = TIE_CREDIT[ties]

    def sum_by_item_and_perturbation(values: FloatArray) -> FloatArray:
        sums: FloatArray = np.bincount(
            slot_of_pair, weights=values, minlength=item_count * perturbation_count
        ).astype(np.float64)
        return sums.reshape(item_count, -1)

    combine = _combine_unweighted if outcomes.weights is None else _combine_weighted
    rows = []
    for metric_outcomes in outcomes.outcomes:
        batch = metric_outcomes[pairs]
        credit = (batch == RIGHT) + tie_credit * (batch == TIE)
        is_scored = batch != MISSING
        earned = sum_by_item_and_perturbation(weights * credit)
        scored = sum_by_item_and_perturbation(is_scored.astype(np.float64))
        weight = sum_by_item_and_perturbation(weights * is_scored)
        rows.append(combine(earned, scored, weight, masks, context_starts))
    return np.stack(rows)


def _combine_unweighted(
    earned: FloatArray, scored: FloatArray, _: FloatArray, masks: FloatArray, context_starts: LongArray
) -> FloatArray:
    """Compute the same as `_combine_weighted`, to the last bit, for pairs that weigh 1.

    Their halves add up exactly in any order, so that many combinations share a product of matrices.
    """
    combination_count = masks.shape[1]
    accuracy = np.empty((combination_count, len(context_starts)))
    step = max(1, _ENTRIES_PER_BATCH // max(1, len(scored)))
    for start in range(0, combination_count, step):
        batch = masks[:, start : start + step].T
        pairs = batch @ scored.T
        earnings = batch @ earned.T
        weight = np.add.reduceat((pairs > 0).astype(np.float64), context_starts, axis=1)
        np.divide(earnings, np.maximum(pairs, 1, out=pairs), out=earnings)
        credit = np.add.reduceat(earnings, context_starts, axis=1)
        accuracy[start : start + step] = divide_or_nan(credit, weight)
    return accuracy


def _combine_weighted(
    earned: FloatArray, scored: FloatArray, weight: FloatArray, masks: FloatArray, context_starts: LongArray
) -> FloatArray:
    """Local accuracy on the pairs of each combination, [combinations, contexts]."""
    accuracy = np.empty((masks.shape[1], len(context_starts)))
    for column, mask in enumerate(masks.T):
        pairs = scored @ mask
        item_accuracy = np.nan_to_num(divide_or_nan(earned @ mask, pairs))
        item_weight = np.nan_to_num(divide_or_nan(weight @ mask, pairs))
        credit = np.add.reduceat(item_accuracy, context_starts)
        total_weight = np.add.reduceat(item_weight, context_starts)
        accuracy[column] = divide_or_nan(credit, total_weight)
    return accuracy


def _nan_variance(values: FloatArray) -> FloatArray:
    """Mean square deviation along axis 1 over the values that are known."""
    centre = np.expand_dims(_nan_mean(values, axis=1), 1)
    return _nan_mean((values - centre) ** 2, axis=1)


def _nan_mean(values: FloatArray, axis: int) -> FloatArray:
    is_known = ~np.isnan(values)
    sums = np.where(is_known, values, 0).sum(axis=axis)
    return divide_or_nan(sums, is_known.sum(axis=axis).astype(np.float64))
