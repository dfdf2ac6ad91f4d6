"""H2: the test against the whole, its level, the ceiling, and how much is shown for many contexts."""

import numpy as np
import pytest
from by_hand import assay_pairs

from metassay.meta.contexts.accuracy import count_correct_pairs
from metassay.meta.contexts.context_statistics import build_context_statistics
from metassay.meta.contexts.h2 import (
    correlate_context_with_global_ranking,
    estimate_split_half_ranking_reliability,
)
from metassay.meta.contexts.pair_analysis import analyze_pairs
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes, put_all_pairs_in_one_context
from metassay.reporting.assay_sentences import list_context_warnings
from metassay.stats.bootstrap import ClusterBootstrap, ClusterHalves

OVERALL = np.array([0.9, 0.8, 0.7, 0.6, 0.5])


def sampled(truth, clusters, rng, resamples=300):
    """Accuracies and their resamples from independent clusters with the given true accuracies."""
    values = (rng.random((len(truth), clusters)) < truth[:, None]).astype(float)
    bootstrap = ClusterBootstrap(rng, resamples)
    units = np.arange(clusters, dtype=np.int32)
    return values.mean(axis=1), bootstrap.resample_ratios(values, np.ones((1, clusters)), units)


def p_against(truth, clusters, rng):
    fixed = OVERALL[:, None].repeat(300, axis=1)
    return correlate_context_with_global_ranking(
        *sampled(truth, clusters, rng), OVERALL, fixed, "tau_ap_b", clusters
    )[2]


def test_reversed_order_differs_from_the_whole():
    low, high, p = correlate_context_with_global_ranking(
        *sampled(OVERALL[::-1].copy(), 500, np.random.default_rng(0)),
        OVERALL,
        OVERALL[:, None].repeat(300, 1),
        "kendall",
        500,
    )
    assert p < 0.01
    assert low <= high < 0


def test_same_order_is_rejected_no_more_often_than_the_level():
    rng = np.random.default_rng(1)
    rejected = [p_against(OVERALL, 80, rng) <= 0.05 for _ in range(300)]
    assert np.mean(rejected) <= 0.07


def test_same_order_with_smaller_gaps_is_rejected_no_more_often_either():
    rng = np.random.default_rng(2)
    rejected = [p_against(0.7 + (OVERALL - 0.7) / 10, 80, rng) <= 0.05 for _ in range(300)]
    assert np.mean(rejected) <= 0.07


def test_metrics_that_are_nearly_equal_are_the_hard_case():
    rng = np.random.default_rng(4)
    rejected = [p_against(0.7 + (OVERALL - 0.7) / 100, 30, rng) <= 0.05 for _ in range(300)]
    assert np.mean(rejected) <= 0.09


def test_a_swap_at_the_top_is_found_with_enough_data():
    rng = np.random.default_rng(3)
    truth = OVERALL[[1, 0, 2, 3, 4]]
    assert np.mean([p_against(truth, 600, rng) <= 0.05 for _ in range(50)]) > 0.9


def test_equal_orders_do_not_differ_even_with_ties():
    accuracy = np.array([0.98, 0.943, 0.943, 0.938])
    deviations = np.random.default_rng(6).normal(0, 1e-4, (4, 300))
    deviations[2] = deviations[1]  # the same metric twice
    draws = accuracy[:, None] + deviations
    assert (
        correlate_context_with_global_ranking(accuracy, draws, accuracy - 0.01, draws, "tau_ap_b", 80)[2] == 1
    )


def test_without_order_nothing_is_compared():
    flat = np.full(5, 0.5)
    values = correlate_context_with_global_ranking(
        flat, flat[:, None].repeat(10, 1), OVERALL, OVERALL[:, None].repeat(10, 1), "kendall", 50
    )
    assert np.isnan(values).all()


def simulated(items, truth, seed=0):
    rng = np.random.default_rng(seed)
    item = np.repeat(np.arange(items), 2)
    right = rng.random((len(truth), 2 * items)) < np.asarray(truth)[:, None]
    names = tuple(f"m{m}" for m in range(len(truth)))
    return PairOutcomes(names, ("x", "y"), np.where(right, 1, -1), item, item, item, np.tile([0, 1], items))


def test_ceiling_rises_with_data_and_with_distance_between_metrics():
    def ceiling(items, truth):
        pairs = simulated(items, truth)
        halves = ClusterHalves(np.random.default_rng(0), 100)
        return estimate_split_half_ranking_reliability(
            count_correct_pairs(pairs, put_all_pairs_in_one_context(pairs)),
            np.arange(len(truth)),
            0,
            halves,
            "tau_ap_b",
        )

    assert ceiling(2000, OVERALL) == pytest.approx(1, abs=0.01)
    assert ceiling(20, OVERALL) < ceiling(200, OVERALL)
    assert abs(ceiling(2000, np.full(5, 0.7))) < 0.5


@pytest.mark.parametrize(
    ("count", "matrix_rows", "interval_rows"), [(40, 41, 41), (100, 101, 101), (101, 102, 1), (301, 1, 1)]
)
def test_what_is_shown_for_many_contexts(count, matrix_rows, interval_rows):
    pairs = simulated(count * 3, OVERALL)
    contexts = PairContexts("speaker", tuple(f"s{c:03d}" for c in range(count)), pairs.items % count)
    analysis = analyze_pairs(pairs, [contexts], resamples=20, permutations=9, workers=2)
    result = build_context_statistics(analysis).to_dict()
    h2 = result["contexts"]["speaker"]["h2"]
    assert len(h2["contexts"]) == len(h2["ceiling"]) == len(h2["p_global"]) == count + 1
    assert h2["contexts"][0] == "global"
    assert sorted(h2["contexts"][1:]) == list(contexts.values)
    for name, rows in (("matrix", matrix_rows), ("low", interval_rows), ("high", interval_rows)):
        assert len(h2[name]) == rows
        assert all(len(row) == count + 1 for row in h2[name])
    assert (
        "speaker: fewer than 20 items in s000, s001, s002, s003, s004 and"
        in list_context_warnings(analysis)[0]
    )


def test_one_metric_has_no_order():
    pairs = simulated(20, [0.7])
    contexts = PairContexts("half", ("a", "b"), pairs.items % 2)
    analysis = analyze_pairs(pairs, [contexts], resamples=20, permutations=9)
    result = build_context_statistics(analysis).to_dict()
    assert result["contexts"]["half"]["h2"] is None
    assert result["contexts"]["half"]["h1"] is not None
    warning = "With a single metric there is no order of metrics to compare between contexts."
    assert warning in list_context_warnings(analysis)


def test_clusters_of_contexts_and_the_metrics_that_serve_them():
    rng = np.random.default_rng(5)
    item = np.arange(1200)
    context = item % 6
    forward, backward = np.array([0.9, 0.7, 0.5]), np.array([0.5, 0.7, 0.9])
    truth = np.where(context % 2 == 0, forward[:, None], backward[:, None])
    outcome = np.where(rng.random(truth.shape) < truth, 1, -1)
    pairs = PairOutcomes(("a", "b", "c"), ("x",), outcome, item, item, item, item * 0)
    contexts = PairContexts("kind", tuple("uvwxyz"), context)
    family = PairContexts("family", ("even", "odd"), context % 2)
    result = assay_pairs(pairs, [contexts, family], resamples=100, permutations=19).to_dict()
    h2 = result["contexts"]["kind"]["h2"]
    groups = {frozenset(group["contexts"]): group["metrics"] for group in h2["clusters"]}
    assert groups == {frozenset("uwy"): ["a"], frozenset("vxz"): ["c"]}
    assert h2["prediction"]["coefficients"]["family"] > 1
    assert h2["prediction"]["rmse"] < h2["prediction"]["baseline_rmse"] / 2
