"""Accuracy corrected for wrong labels.

A pair whose perturbed output is better has a wrong label, and a metric that rightly prefers the perturbed
output is counted wrong. If the perturbed output is equally good, no metric can be right. How often this
happens is known from perturbed outputs that people read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metassay.meta.contexts.accuracy import TIE_CREDIT
from metassay.meta.contexts.pair_outcomes import MISSING, RIGHT, TIE, OutcomeArray, PairOutcomes
from metassay.results.assay import CorrectedAccuracy
from metassay.results.base import none_if_nan
from metassay.stats import random
from metassay.stats.arrays import FloatArray, IntArray, count_occurrences, divide_or_nan
from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.intervals import widened_percentile_interval

_LEAST_INFORMATION = 0.2  # with a smaller v - e, pairs say too little about the metric
_LEAST_DRAWN_INFORMATION = 0.1  # draws below this would give arbitrarily large corrections
# Pairs whose outcomes are summed at a time, which bounds memory.
_PAIRS_PER_BATCH = 2**20


@dataclass(frozen=True)
class PerturbationLabelCheck:
    """How often a perturbation does not make outputs worse, according to people: the number of perturbed
    outputs they read, and how many of these were as good as the original or better.
    """

    read: int
    equal: int
    better: int


def correct_accuracy_for_label_errors(
    pair_outcomes: PairOutcomes,
    kind_of_pair: IntArray,
    label_checks_by_kind: Sequence[PerturbationLabelCheck],
    *,
    ties: str,
    resamples: int,
    seed: int,
) -> list[CorrectedAccuracy] | None:
    """Correct the accuracy of each metric for pairs whose perturbed output is not really worse than the
    original (Rogan and Gladen, 1978).

    A stratum is a perturbation and a language; `kind_of_pair` has the stratum of every pair,
    `label_checks_by_kind` how many of its perturbed outputs people found worse, equal and better. Let v, u
    and e be the shares of pairs whose perturbed output is worse, equal and better, t the share of ties and c
    the credit for a tie; then m = 1 - (1 - 2 c) t is what a metric and its opposite get together. A metric of
    accuracy a on pairs with a true difference, undecided on equal ones, is seen to be right in

        v a + e (m - a) + u m / 2,     hence     a = (seen - (e + u / 2) m) / (v - e)

    for each stratum. Intervals have both errors: clusters are resampled, and rates drawn from Beta
    distributions (Jeffreys). None where v - e is below .2 in a stratum.
    """
    equal = np.array([reading.equal for reading in label_checks_by_kind], dtype=np.float64)
    better = np.array([reading.better for reading in label_checks_by_kind], dtype=np.float64)
    worse = np.array([reading.read for reading in label_checks_by_kind], dtype=np.float64) - equal - better
    if (
        not len(label_checks_by_kind)
        or ((worse - better) / (worse + equal + better) < _LEAST_INFORMATION).any()
    ):
        return None
    stratum_count = len(label_checks_by_kind)
    bootstrap = ClusterBootstrap(random.create_random_generator_for_name(seed, "bootstrap"), resamples)
    rng = random.create_random_generator_for_name(seed, "labels")
    shape = (stratum_count, resamples)
    drawn_not_worse = rng.beta((equal + better)[:, None] + 0.5, worse[:, None] + 0.5, shape)
    drawn_better = drawn_not_worse * rng.beta(better[:, None] + 0.5, equal[:, None] + 0.5, shape)
    not_worse_rates = ((equal + better) / (worse + equal + better))[:, None]
    better_rates = (better / (worse + equal + better))[:, None]
    corrected = []
    for metric_outcomes in pair_outcomes.outcomes:
        sums, clusters = _sum_outcomes_by_kind_of_pair(
            pair_outcomes, metric_outcomes, kind_of_pair, stratum_count, TIE_CREDIT[ties]
        )
        if not len(clusters):
            corrected.append(CorrectedAccuracy())
            continue
        total = sums.sum(axis=1, keepdims=True)
        estimate = _correct_accuracies_for_label_errors(total, not_worse_rates, better_rates)
        draws = _correct_accuracies_for_label_errors(
            bootstrap.compute_sums_on_resamples(sums, clusters), drawn_not_worse, drawn_better
        )
        low, high = widened_percentile_interval(estimate, draws[None], np.array([len(clusters)]))
        weights = total[2 * stratum_count :]
        label_error = (weights / weights.sum() * not_worse_rates).sum()
        clipped = np.clip([estimate[0], low[0], high[0], label_error], 0, 1)
        has_interval = len(clusters) > 1
        corrected.append(
            CorrectedAccuracy(
                accuracy_corrected=none_if_nan(clipped[0]),
                corrected_low=none_if_nan(clipped[1]) if has_interval else None,
                corrected_high=none_if_nan(clipped[2]) if has_interval else None,
                label_error=none_if_nan(clipped[3]),
            )
        )
    return corrected


def _sum_outcomes_by_kind_of_pair(
    pair_outcomes: PairOutcomes,
    metric_outcomes: OutcomeArray,
    kind_of_pair: IntArray,
    kind_count: int,
    tie_credit: float,
) -> tuple[FloatArray, IntArray]:
    """Sum the right, tied and wrong pairs of one metric, for each kind of pair (perturbation and language)
    and each cluster of items.

    The rows are, for each stratum: weighted accuracy, m · weight (m as in
    `correct_accuracy_for_label_errors`), and weight. Also returns the codes of the clusters; clusters without
    pairs are left out.
    """
    is_scored = metric_outcomes != MISSING
    pairs_of_item = count_occurrences(pair_outcomes.items[is_scored], int(pair_outcomes.items.max()) + 1)
    is_used = np.zeros(int(pair_outcomes.clusters.max()) + 1, dtype=np.bool_)
    is_used[pair_outcomes.clusters[is_scored]] = True
    sums = np.zeros((3, kind_count, len(is_used)))
    for first in range(0, pair_outcomes.pair_count, _PAIRS_PER_BATCH):
        pairs = first + np.flatnonzero(is_scored[first : first + _PAIRS_PER_BATCH])
        outcomes = metric_outcomes[pairs]
        weights = 1 / pairs_of_item[pair_outcomes.items[pairs]]
        if pair_outcomes.weights is not None:
            weights *= pair_outcomes.weights[pairs]
        is_tie = outcomes == TIE
        cells = (kind_of_pair[pairs], pair_outcomes.clusters[pairs])
        np.add.at(sums[0], cells, weights * ((outcomes == RIGHT) + tie_credit * is_tie))
        np.add.at(sums[1], cells, weights * (1 - (1 - 2 * tie_credit) * is_tie))
        np.add.at(sums[2], cells, weights)
    used_sums = np.ascontiguousarray(sums.reshape(3 * kind_count, -1)[:, is_used])
    return used_sums, np.flatnonzero(is_used).astype(np.int32)


def _correct_accuracies_for_label_errors(
    outcome_sums: FloatArray, not_worse_rates: FloatArray, better_rates: FloatArray
) -> FloatArray:
    """Correct accuracies for pairs whose perturbed output is not worse, or even better, given the rates of
    such pairs.

    `outcome_sums` is [3 · strata, draws], rates are [strata, draws or 1]. Returns one accuracy per draw.
    """
    weighted_accuracy, most, weight = np.split(outcome_sums, 3)
    equal_rates = not_worse_rates - better_rates
    information = np.maximum(1 - not_worse_rates - better_rates, _LEAST_DRAWN_INFORMATION)
    corrected = (weighted_accuracy - (better_rates + equal_rates / 2) * most) / information
    return divide_or_nan(corrected.sum(axis=0), weight.sum(axis=0))
