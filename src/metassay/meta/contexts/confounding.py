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
    AccuracySums,
    count_correct_pairs,
    count_correct_pairs_in_batches,
    split_contexts_into_batches,
)
from metassay.meta.contexts.h1 import split_contexts_by_perturbation
from metassay.meta.contexts.pair_outcomes import MISSING, RIGHT, TIE, PairContexts, PairOutcomes
from metassay.results.assay import CombinationVariance, MetricConfounding, OverlookedPerturbation
from metassay.results.base import none_if_nan, replace_nan_by_none
from metassay.stats.arrays import (
    FloatArray,
    IntArray,
    LongArray,
    divide_or_nan,
    find_starts_of_equal_rows,
    mean_ignoring_nan,
)
from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.intervals import compute_interval_widening_factor, percentile_interval
from metassay.stats.levels import SIGNIFICANCE_LEVEL
from metassay.stats.multiplicity import adjust_p_values_by_holm

# Combinations of perturbations per size, min(C(n, k), 10), as in the appendix of Deviyani and Diaz (2025).
_COMBINATIONS = 10
_ENTRIES_PER_BATCH = 1 << 20  # of a matrix of combinations and cells: what a cache holds
# The interval of σ² is lowered by twice what resampling adds to σ²: sampling error added as much before.
_EXCESS = 2.0
_LEAST_SPREAD = 0.5  # the spread of an accuracy is at least this difference in one cluster


@dataclass(frozen=True)
class PerturbationEffects:
    """Estimates of how much the accuracy of each metric depends on the perturbation (such as dropping words)
    that made the worse outputs.

    `by_perturbation` is [metrics, perturbations]. `variance` is σ² with its interval, `net_variance` σ² less
    what sampling error adds to it; `share` and `share_low` are the net variance, and the low end of its
    interval, over a · (1 - a). `p` tests that a metric is right as often under every perturbation; `p_family`
    is the same p adjusted for all metrics together.
    `combination_variances` is [metrics, perturbations - 1], for k = 1, 2, …; `combination_counts` says how
    many combinations each k had. `overlooked` has, per metric, the perturbations of whose pairs it gets
    significantly less than half right.
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
    p_family: FloatArray
    combination_variances: FloatArray
    combination_counts: tuple[int, ...]
    overlooked: tuple[list[OverlookedPerturbation], ...]

    def list_accuracy_dependence_on_perturbations(
        self, sentinel_metrics: Collection[str] = ()
    ) -> list[MetricConfounding]:
        """List for each metric how much its accuracy depends on the perturbation that made the worse outputs,
        and whether significantly.

        Significant means `p_family` <= 0.05. Holm's p-values are reported too; they cannot be small if there
        are many metrics, because the smallest p is 1 / (1 + resamples).
        """
        p_holm = adjust_p_values_by_holm(self.p)
        rows = []
        for m, metric in enumerate(self.metrics):
            is_flagged = bool(self.p_family[m] <= SIGNIFICANCE_LEVEL)
            by_perturbation = replace_nan_by_none(self.by_perturbation[m])
            rows.append(
                MetricConfounding(
                    metric=metric,
                    variance=none_if_nan(self.variance[m]),
                    low=none_if_nan(self.low[m]),
                    high=none_if_nan(self.high[m]),
                    flag=is_flagged,
                    by_perturbation=dict(zip(self.perturbations, by_perturbation)),
                    by_k=self._list_accuracy_variances_by_perturbation_count(m),
                    variance_net=none_if_nan(self.net_variance[m]),
                    share=none_if_nan(self.share[m]),
                    share_low=none_if_nan(self.share_low[m]),
                    p=none_if_nan(self.p[m]),
                    p_holm=none_if_nan(p_holm[m]),
                    p_family=none_if_nan(self.p_family[m]),
                    responsible=self._find_perturbations_causing_most_variance(m) if is_flagged else [],
                    overlooked=self.overlooked[m],
                    sentinel=metric in sentinel_metrics,
                )
            )
        return rows

    def _list_accuracy_variances_by_perturbation_count(
        self, metric_position: int
    ) -> list[CombinationVariance]:
        """List how much the accuracy of a metric varies between different sets of k perturbations, for k = 1,
        2, ….

        `law` is the variance expected of a mean of k out of n draws, σ² / k · (n - k) / (n - 1).
        """
        known = int((~np.isnan(self.by_perturbation[metric_position])).sum())
        rows = []
        for k, count in enumerate(self.combination_counts, start=1):
            law = float("nan")
            if known > k:
                law = self.variance[metric_position] / k * (known - k) / (known - 1)
            variance = self.combination_variances[metric_position, k - 1]
            rows.append(
                CombinationVariance(
                    k=k, variance=none_if_nan(variance), law=none_if_nan(law), combinations=count
                )
            )
        return rows

    def _find_perturbations_causing_most_variance(self, metric_position: int) -> list[str]:
        """Find the fewest perturbations that cause half of the variance of a metric's accuracy between
        perturbations. The perturbation with the most unusual accuracy comes first.
        """
        deviations = self.by_perturbation[metric_position] - np.nanmean(self.by_perturbation[metric_position])
        squares = np.nan_to_num(deviations**2)
        order = np.argsort(-squares, kind="stable")
        enough = int(np.searchsorted(np.cumsum(squares[order]), squares.sum() / 2)) + 1
        return [self.perturbations[k] for k in order[:enough]]


def measure_accuracy_dependence_on_perturbation(
    pair_outcomes: PairOutcomes,
    pair_contexts: PairContexts,
    *,
    ties: str,
    bootstrap: ClusterBootstrap,
    rng: np.random.Generator,
    workers: int = 1,
) -> PerturbationEffects:
    """Measure how much the accuracy of each metric depends on the perturbation (such as dropping words) that
    made the worse outputs.

    The pairs are sorted and hold all applicable perturbations of every output.
    """
    crossed = split_contexts_by_perturbation(pair_outcomes, pair_contexts)
    crossed_sums = count_correct_pairs_in_batches(pair_outcomes, crossed, ties=ties)
    accuracy, resampled = _compute_accuracy_by_perturbation(crossed_sums, pair_outcomes, bootstrap, workers)
    by_perturbation = mean_ignoring_nan(accuracy, axis=1)
    variance = _compute_variance_ignoring_nan(by_perturbation)
    resampled_variances = _compute_variance_ignoring_nan(resampled)
    # Sampling error adds as much to σ² as resampling adds to it again.
    excess = mean_ignoring_nan(resampled_variances, axis=1) - variance
    low, high = percentile_interval(resampled_variances - _EXCESS * excess[:, None])
    net_variance = np.maximum(variance - excess, 0)
    mean_accuracy = mean_ignoring_nan(by_perturbation, axis=1)
    most_possible = mean_accuracy * (1 - mean_accuracy)
    counts, combination_variances = _compute_accuracy_variance_by_combination_size(
        pair_outcomes, pair_contexts, ties, rng
    )
    p, p_family = compute_p_values_of_perturbation_differences(
        by_perturbation, resampled, len(np.unique(pair_outcomes.clusters))
    )
    return PerturbationEffects(
        metrics=pair_outcomes.metrics,
        perturbations=pair_outcomes.perturbation_names,
        by_perturbation=by_perturbation,
        variance=variance,
        low=np.clip(low, 0, variance),
        high=np.maximum(high, variance),
        net_variance=net_variance,
        share=np.nan_to_num(divide_or_nan(net_variance, most_possible)),
        share_low=np.nan_to_num(divide_or_nan(np.maximum(low, 0), most_possible)),
        p=p,
        p_family=p_family,
        combination_variances=combination_variances,
        combination_counts=counts,
        overlooked=_find_perturbations_that_metrics_overlook(pair_outcomes),
    )


def _find_perturbations_that_metrics_overlook(
    pair_outcomes: PairOutcomes,
) -> tuple[list[OverlookedPerturbation], ...]:
    """Find for each metric the perturbations that it mostly fails to notice: its accuracy on them is
    significantly below ½.

    A tie is wrong. p is adjusted by Holm over all metrics and perturbations; the worst come first.
    """
    names = pair_outcomes.perturbation_names
    contexts = PairContexts("perturbation", names, pair_outcomes.perturbations)
    accuracy_sums = count_correct_pairs(pair_outcomes, contexts, ties="strict")
    accuracy = accuracy_sums.compute_accuracies()
    p = accuracy_sums.compute_p_values_of_accuracy_below_half()
    p_holm = adjust_p_values_by_holm(p.ravel()).reshape(p.shape)
    found: list[list[OverlookedPerturbation]] = []
    for m, accuracies in enumerate(accuracy):
        rows = []
        for k in np.argsort(accuracies, kind="stable"):
            if p_holm[m, k] <= SIGNIFICANCE_LEVEL:
                rows.append(
                    OverlookedPerturbation(
                        perturbation=names[k], accuracy=float(accuracies[k]), p_holm=float(p_holm[m, k])
                    )
                )
        found.append(rows)
    return tuple(found)


def _compute_accuracy_by_perturbation(
    accuracy_sum_batches: Iterable[AccuracySums],
    pair_outcomes: PairOutcomes,
    bootstrap: ClusterBootstrap,
    workers: int,
) -> tuple[FloatArray, FloatArray]:
    """Compute the accuracy of each metric in each context under each perturbation. Also returns accuracies on
    bootstrap resamples, averaged over contexts.

    The resamples are [metrics, perturbations, resamples]; `accuracy_sum_batches` are batches of contexts
    crossed with perturbations.
    """
    metric_count = len(pair_outcomes.metrics)
    perturbation_count = len(pair_outcomes.perturbation_names)
    sums = np.zeros((perturbation_count, metric_count, bootstrap.resamples))
    counts = np.zeros_like(sums)
    accuracies: list[FloatArray] = []

    def add_resampled_accuracies_of_perturbation(
        perturbation: int, batch_sums: AccuracySums, first_context_of_batch: int
    ) -> None:
        """Compute the accuracies under one perturbation on bootstrap resamples, for a batch of contexts, and
        add them to the sums.
        """
        first = (perturbation - first_context_of_batch) % perturbation_count
        for context in range(first, len(batch_sums.contexts), perturbation_count):
            cells = batch_sums.get_cluster_slice_of_context(context)
            if cells.start == cells.stop:
                continue
            drawn = batch_sums.resample_accuracies_in_context(context, bootstrap)
            sums[perturbation] += np.nan_to_num(drawn)
            counts[perturbation] += ~np.isnan(drawn)

    with ThreadPoolExecutor(workers) as pool:
        for accuracy_sums in accuracy_sum_batches:
            first_context = sum(accuracy.shape[1] for accuracy in accuracies)
            add = partial(
                add_resampled_accuracies_of_perturbation,
                batch_sums=accuracy_sums,
                first_context_of_batch=first_context,
            )
            list(pool.map(add, range(perturbation_count)))
            accuracies.append(accuracy_sums.compute_accuracies())
    accuracy = np.concatenate(accuracies, axis=1).reshape(metric_count, -1, perturbation_count)
    means = divide_or_nan(sums, counts)
    return accuracy, np.ascontiguousarray(np.swapaxes(means, 0, 1))


def compute_p_values_of_perturbation_differences(
    accuracy_by_perturbation: FloatArray, resampled_accuracies: FloatArray, cluster_count: int
) -> tuple[FloatArray, FloatArray]:
    """Test for each metric whether it is equally accurate under all perturbations. Returns one p-value per
    metric, and the same adjusted for all metrics together.

    `accuracy_by_perturbation` is [metrics, perturbations], `resampled_accuracies` [metrics, perturbations,
    resamples]. The statistic is Σ_k (a_k - a)² / v_k, v_k the variance of a_k and a their mean weighted by 1
    / v_k; its null distribution comes from the deviations of the resamples, stretched for few clusters. The
    adjusted p-values compare with the largest statistic of all metrics in each resample (Westfall and Young,
    1993): unlike Holm's, they can be small however many metrics there are.
    """
    p = np.full(len(accuracy_by_perturbation), np.nan)
    if cluster_count < 2:
        return p, p.copy()
    stretch = compute_interval_widening_factor(np.array(cluster_count))
    deviations = (resampled_accuracies - accuracy_by_perturbation[..., None]) * stretch
    least_variance = (_LEAST_SPREAD / cluster_count) ** 2
    observed = p.copy()
    largest = np.zeros(resampled_accuracies.shape[2])
    for m, accuracy in enumerate(accuracy_by_perturbation):
        is_known = ~np.isnan(accuracy)
        drawn = deviations[m][is_known]
        is_complete = ~np.isnan(drawn).any(axis=0)
        drawn = drawn[:, is_complete]
        if is_known.sum() < 2 or drawn.shape[1] < 2:
            continue
        weights = 1 / np.maximum(drawn.var(axis=1), least_variance)
        null = _compute_weighted_sum_of_squares(drawn, weights)
        # Rounding must not make an equal statistic smaller.
        observed[m] = _compute_weighted_sum_of_squares(accuracy[is_known, None], weights)[0] * (1 - 1e-9)
        p[m] = (1 + (null >= observed[m]).sum()) / (1 + len(null))
        largest[is_complete] = np.maximum(largest[is_complete], null)
    exceeded = (largest >= observed[:, None]).sum(axis=1)
    p_family = np.where(np.isnan(p), np.nan, np.maximum(p, (1 + exceeded) / (1 + len(largest))))
    return p, p_family


def _compute_weighted_sum_of_squares(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Compute for each column the weighted sum of squared deviations from the weighted mean."""
    centre = weights @ values / weights.sum()
    return np.asarray(weights @ (values - centre) ** 2)


def _compute_accuracy_variance_by_combination_size(
    pair_outcomes: PairOutcomes, pair_contexts: PairContexts, ties: str, rng: np.random.Generator
) -> tuple[tuple[int, ...], FloatArray]:
    """Compute how much the accuracy of each metric varies between different sets of k perturbations, for k =
    1, 2, ….

    Returns how many combinations each k = 1, 2, … had, and the variances [metrics, perturbations - 1].
    """
    perturbation_count = len(pair_outcomes.perturbation_names)
    chosen = [
        _sample_perturbation_combinations(perturbation_count, k, rng) for k in range(1, perturbation_count)
    ]
    masks = np.zeros((perturbation_count, sum(map(len, chosen))))
    column = 0
    for group in chosen:
        for combination in group:
            masks[list(combination), column] = 1
            column += 1
    accuracy = _compute_accuracy_on_perturbation_combinations(pair_outcomes, pair_contexts, ties, masks)
    counts = tuple(len(group) for group in chosen)
    ends = np.cumsum(counts)
    variances = [
        _compute_variance_ignoring_nan(accuracy[:, end - count : end]) for count, end in zip(counts, ends)
    ]
    if not variances:
        return counts, np.empty((len(accuracy), 0))
    return counts, np.stack(variances, axis=1)


def _sample_perturbation_combinations(
    perturbation_count: int, combination_size: int, rng: np.random.Generator
) -> list[tuple[int, ...]]:
    """List all sets of k perturbations, or ten random ones if there are more than ten."""
    if comb(perturbation_count, combination_size) <= _COMBINATIONS:
        return list(combinations(range(perturbation_count), combination_size))
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < _COMBINATIONS:
        drawn.add(
            tuple(sorted(rng.choice(perturbation_count, size=combination_size, replace=False).tolist()))
        )
    return sorted(drawn)


def _compute_accuracy_on_perturbation_combinations(
    pair_outcomes: PairOutcomes, pair_contexts: PairContexts, ties: str, combination_masks: FloatArray
) -> FloatArray:
    """Compute the accuracy of each metric on the pairs made by each given set of perturbations, averaged over
    contexts.
    """
    local = []
    for _, pairs in split_contexts_into_batches(pair_contexts):
        if len(pair_contexts.codes[pairs]):
            local.append(
                _compute_context_accuracies_on_combinations(
                    pair_outcomes, pair_contexts, ties, combination_masks, pairs
                )
            )
    return mean_ignoring_nan(np.concatenate(local, axis=2), axis=2)


def _compute_context_accuracies_on_combinations(
    pair_outcomes: PairOutcomes,
    pair_contexts: PairContexts,
    ties: str,
    combination_masks: FloatArray,
    pair_positions: IntArray | slice,
) -> FloatArray:
    """Compute the accuracy of each metric in each context, on the pairs made by each given set of
    perturbations.

    The result is [metrics, combinations, contexts].
    """
    codes = pair_contexts.codes[pair_positions]
    item_starts = find_starts_of_equal_rows(codes, pair_outcomes.items[pair_positions])
    item_count = len(item_starts) - 1
    item_of_pair = np.repeat(np.arange(item_count), np.diff(item_starts))
    perturbation_count = len(pair_outcomes.perturbation_names)
    slot_of_pair = item_of_pair * perturbation_count + pair_outcomes.perturbations[pair_positions]
    weights = np.ones(len(codes)) if pair_outcomes.weights is None else pair_outcomes.weights[pair_positions]
    context_starts = find_starts_of_equal_rows(codes[item_starts[:-1]])[:-1]
    tie_credit = TIE_CREDIT[ties]

    def sum_by_item_and_perturbation(values: FloatArray) -> FloatArray:
        sums: FloatArray = np.bincount(
            slot_of_pair, weights=values, minlength=item_count * perturbation_count
        ).astype(np.float64)
        return sums.reshape(item_count, -1)

    rows = []
    for metric_outcomes in pair_outcomes.outcomes:
        batch = metric_outcomes[pair_positions]
        pair_accuracies = (batch == RIGHT) + tie_credit * (batch == TIE)
        is_scored = batch != MISSING
        accuracy_sums = sum_by_item_and_perturbation(weights * pair_accuracies)
        pair_counts = sum_by_item_and_perturbation(is_scored.astype(np.float64))
        weight = sum_by_item_and_perturbation(weights * is_scored)
        rows.append(
            _compute_metric_accuracy_on_combinations(
                accuracy_sums, pair_counts, weight, combination_masks, context_starts
            )
        )
    return np.stack(rows)


def _compute_metric_accuracy_on_combinations(
    accuracy_by_item: FloatArray,
    pair_count_by_item: FloatArray,
    weight_by_item: FloatArray,
    is_in_combination: FloatArray,
    first_item_of_context: LongArray,
) -> FloatArray:
    """Compute the accuracy of one metric in each context, on the pairs made by each given set of
    perturbations.

    The first three arguments are [items, perturbations]: sums of weight × accuracy, numbers of scored pairs,
    and sums of their weights. `is_in_combination` is [perturbations, combinations].
    """
    combination_count = is_in_combination.shape[1]
    accuracy = np.empty((combination_count, len(first_item_of_context)))
    step = max(1, _ENTRIES_PER_BATCH // max(1, len(pair_count_by_item)))
    for start in range(0, combination_count, step):
        batch = is_in_combination[:, start : start + step].T
        pairs = np.maximum(batch @ pair_count_by_item.T, 1)
        weighted_accuracy = np.add.reduceat(batch @ accuracy_by_item.T / pairs, first_item_of_context, axis=1)
        weight = np.add.reduceat(batch @ weight_by_item.T / pairs, first_item_of_context, axis=1)
        accuracy[start : start + step] = divide_or_nan(weighted_accuracy, weight)
    return accuracy


def _compute_variance_ignoring_nan(values: FloatArray) -> FloatArray:
    """Compute the variance of each row of an array, ignoring NaN."""
    centre = np.expand_dims(mean_ignoring_nan(values, axis=1), 1)
    return mean_ignoring_nan((values - centre) ** 2, axis=1)
