"""Comparing two assays of the same outputs, cluster by cluster, against paired t-tests of scipy."""

import numpy as np
import pytest
from scipy.stats import ttest_rel

from assay_builders import make_accuracy, make_column, make_content
from metassay.meta.contexts.accuracy import sort_pairs_by_item
from metassay.meta.contexts.cluster_accuracy_sums import (
    ClusterAccuracySums,
    compute_accuracy_changes_by_cluster,
    sum_accuracies_by_cluster,
)
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes, put_all_pairs_in_one_context
from metassay.meta.contexts.run_comparison import compare_runs

ITEMS = 100
PAIRS_PER_ITEM = 6
ITEM_OF_PAIR = np.repeat(np.arange(ITEMS), PAIRS_PER_ITEM)
DOMAIN_OF_PAIR = ITEM_OF_PAIR % 2
METRICS = ("changed", "noisy", "same")


def simulate_outcomes(rng, drop):
    """Simulate outcomes [metrics, pairs] before and after.

    `changed` loses accuracy and `noisy` does not; both are drawn anew for a part of the pairs, as by another
    seed. `same` decides every pair as before.
    """
    difficulty = np.repeat(rng.normal(0, 1, ITEMS), PAIRS_PER_ITEM) + rng.normal(0, 1.5, len(ITEM_OF_PAIR))
    probability = 1 / (1 + np.exp(-1.5 - difficulty))
    before = rng.random((3, len(probability))) < probability
    is_drawn_anew = rng.random(before.shape) < 0.15
    is_drawn_anew[2] = False
    after = np.where(is_drawn_anew, rng.random(before.shape) < probability, before)
    is_lost = rng.random(len(probability)) < drop / before.mean()
    after[0] &= ~is_lost
    return before, after


def run_assay(is_right):
    """Return the result of an assay of these outcomes, and the sums that it stores."""
    item = ITEM_OF_PAIR
    outcomes = PairOutcomes(METRICS, ("x",), np.where(is_right, 1, -1), item, item, item, item * 0)
    contexts = [PairContexts("domain", ("news", "talk"), DOMAIN_OF_PAIR)]
    pairs, columns = sort_pairs_by_item(outcomes, contexts)
    cluster_sums = {}
    rows = {"global": [], "domain": []}
    for column in (put_all_pairs_in_one_context(pairs), *columns):
        for context, clusters in sum_accuracies_by_cluster(pairs, column, ties="strict"):
            cluster_sums[column.column, context] = clusters
            for metric, accuracies in clusters.accuracies.items():
                accuracy = accuracies.sum() / clusters.weights[metric].sum()
                half = 1.96 * accuracies.std() / len(accuracies) ** 0.5
                rows[column.column].append(
                    make_accuracy(metric, accuracy, accuracy - half, accuracy + half, context=context)
                )
    return make_content(rows["global"], {"domain": make_column(rows["domain"])}, {"domain": {}}), cluster_sums


def compare_simulated(seed, drop):
    """Return the paired comparison of two simulated assays, and scipy's p-value for `changed`."""
    before, after = simulate_outcomes(np.random.default_rng(seed), drop)
    old_result, old_sums = run_assay(before)
    new_result, new_sums = run_assay(after)
    comparison = compare_runs(old_result, new_result, (old_sums, new_sums))
    by_item = [outcomes[0].reshape(ITEMS, PAIRS_PER_ITEM).mean(axis=1) for outcomes in (before, after)]
    return comparison, ttest_rel(*by_item).pvalue


def find_overall(comparison, metric):
    return next(row for row in comparison.accuracies if (row.column, row.metric) == ("global", metric))


def test_p_value_and_interval_are_those_of_a_paired_t_test():
    comparison, p = compare_simulated(0, 0.02)
    row = find_overall(comparison, "changed")
    assert comparison.paired
    assert row.p == pytest.approx(p)
    before, after = simulate_outcomes(np.random.default_rng(0), 0.02)
    by_item = [outcomes[0].reshape(ITEMS, PAIRS_PER_ITEM).mean(axis=1) for outcomes in (after, before)]
    interval = ttest_rel(*by_item).confidence_interval(0.95)
    assert (row.low, row.high) == pytest.approx((interval.low, interval.high))


def test_a_metric_that_decides_every_pair_as_before_is_not_tested():
    comparison, _ = compare_simulated(0, 0.02)
    row = find_overall(comparison, "same")
    assert (row.difference, row.p, row.p_holm, row.moved) == (0, 1, 1, False)


def test_a_drop_of_043_is_found_almost_as_often_as_by_a_t_test():
    found = 0
    found_by_t_test = 0
    for seed in range(200):
        comparison, p = compare_simulated(seed, 0.043)
        found += find_overall(comparison, "changed").moved
        found_by_t_test += p <= 0.05
    assert found >= 0.9 * found_by_t_test
    assert found_by_t_test > 150


def test_unchanged_metrics_raise_an_alarm_in_at_most_6_per_cent_of_comparisons():
    alarms = sum(compare_simulated(1000 + seed, 0.0)[0].changed for seed in range(400))
    assert alarms <= 0.06 * 400


def test_four_clusters_that_changed_alike_are_no_evidence():
    """So few changes have the same sign in one of eight cases: p = .125, whatever t says."""
    clusters = np.arange(400)
    before = np.ones(400)
    after = before.copy()
    after[:4] = 0
    weights = {"m": np.ones(400)}
    old = ClusterAccuracySums(clusters, {"m": before}, weights)
    new = ClusterAccuracySums(clusters, {"m": after}, weights)
    change = compute_accuracy_changes_by_cluster(old, new, ["m"]).estimate_change_of_accuracy("m")
    assert ttest_rel(before, after).pvalue < 0.05
    assert change.p == 0.125
