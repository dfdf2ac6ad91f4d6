"""H2 and H1 in cases small enough to be written down: who stands where, what is stretched, what is never
zero.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from by_hand import assay_pairs
from scipy.stats import kendalltau, norm, t

from assay_builders import make_choice_table, make_claims, make_recommendation
from metassay.meta.contexts.accuracy import count_correct_pairs
from metassay.meta.contexts.choice import OverallMetricChoice
from metassay.meta.contexts.context_statistics import build_final_recommendation, group_similar_contexts
from metassay.meta.contexts.h1 import (
    _combine_p_values_by_bonferroni,
    iterate_exchangeable_outputs_and_clusters,
    run_accuracy_tests_between_contexts,
    split_contexts_by_perturbation,
)
from metassay.meta.contexts.h2 import (
    ContextRankingComparison,
    compute_rank_correlations_between_contexts,
    correlate_context_with_global_ranking,
    estimate_split_half_ranking_reliability,
)
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes, put_all_pairs_in_one_context
from metassay.results.assay import ContextException, MetricLead, OverallRecommendation
from metassay.stats.bootstrap import ClusterHalves

OVERALL = np.array([0.9, 0.8, 0.7])
FIXED = OVERALL[:, None].repeat(40, axis=1)


def test_intervals_ceilings_and_p_values_go_with_their_contexts():
    """Six contexts, forward and backward in turn: they change places, and take what is theirs along."""
    forward, backward = [0.9, 0.7, 0.5], [0.5, 0.7, 0.9]
    accuracy = np.array([forward, *([forward, backward] * 3)])
    against = [ContextRankingComparison(-n / 10, n / 10, n / 100, n / 1000) for n in range(7)]
    found = compute_rank_correlations_between_contexts(accuracy, [], against, "kendall")
    own = np.concatenate([[0], 1 + found.order])
    assert own.tolist() != list(range(7))
    assert found.low[0] == pytest.approx(-own / 10)
    assert found.high[0] == pytest.approx(own / 10)
    assert found.p_global == pytest.approx(own / 100)
    assert found.ceiling == pytest.approx(own / 1000)
    for i, one in enumerate(own):
        for j, other in enumerate(own):
            same = (accuracy[one] == accuracy[other]).all()
            assert found.matrix[i, j] == pytest.approx(1 if same else -1)
    assert len(set(found.groups[:3])) == len(set(found.groups[3:])) == 1


def test_all_cells_have_intervals_with_the_low_end_below_the_high_one():
    rng = np.random.default_rng(0)
    accuracy = np.array([[0.9, 0.8, 0.7], [0.9, 0.7, 0.8], [0.7, 0.8, 0.9]])
    kept = [row[:, None] + rng.normal(0, 0.1, (3, 60)) for row in accuracy]
    against = [ContextRankingComparison(0, 0, 1, 1)] * 3
    found = compute_rank_correlations_between_contexts(accuracy, kept, against, "kendall")
    assert (found.low <= found.matrix).all()
    assert (found.matrix <= found.high).all()
    assert (found.low < found.high)[~np.eye(3, dtype=bool)].all()
    np.testing.assert_array_equal(found.low, found.low.T)


def test_an_interval_holds_an_estimate_that_no_resample_reaches():
    """The observed order is that of the whole, but every resample has it reversed."""
    low, high, _ = correlate_context_with_global_ranking(OVERALL, FIXED[::-1], OVERALL, FIXED, "kendall", 50)
    assert (low, high) == (-1, 1)


def test_the_test_of_order_never_says_that_something_cannot_be():
    rng = np.random.default_rng(0)
    draws = OVERALL[::-1, None] + rng.normal(0, 1e-4, (3, 40))
    *_, p = correlate_context_with_global_ranking(
        OVERALL[::-1].copy(), draws, OVERALL, FIXED, "kendall", 1000
    )
    assert p == pytest.approx(1 / 41)


@pytest.mark.parametrize("clusters", [3, 8])
def test_the_test_of_order_allows_for_few_clusters(clusters):
    """As if there were many clusters, whose draws stray further by Student's t over the normal quantile."""
    rng = np.random.default_rng(1)
    accuracy = np.array([0.80, 0.84, 0.78])
    deviations = rng.normal(0, 0.03, (3, 40))
    wider = t.ppf(0.975, clusters - 1) / norm.ppf(0.975)
    arguments = (OVERALL, FIXED, "kendall")
    few = correlate_context_with_global_ranking(
        accuracy, accuracy[:, None] + deviations, *arguments, clusters
    )[2]
    many = correlate_context_with_global_ranking(
        accuracy, accuracy[:, None] + wider * deviations, *arguments, 10**9
    )[2]
    plain = correlate_context_with_global_ranking(
        accuracy, accuracy[:, None] + deviations, *arguments, 10**9
    )[2]
    assert few == many > plain


def test_the_ceiling_is_that_of_two_samples_of_the_full_size():
    """Simulated: how well two fresh samples as large as ours agree. Halves alone would agree by .13 less."""
    rng = np.random.default_rng(2)
    truth, items = np.linspace(0.6, 0.7, 8)[:, None], np.arange(600)
    drawn = rng.binomial(600, truth.T, (2, 400, 8))
    agreed = np.mean([kendalltau(one, other).statistic for one, other in zip(*drawn)])
    ceilings = []
    for _ in range(40):
        outcome = np.where(rng.random((8, 600)) < truth, 1, -1)
        pairs = PairOutcomes(tuple("abcdefgh"), ("x",), outcome, items, items, items, items * 0)
        halves = ClusterHalves(rng, 40)
        ceilings.append(
            estimate_split_half_ranking_reliability(
                count_correct_pairs(pairs, put_all_pairs_in_one_context(pairs)),
                np.arange(8),
                0,
                halves,
                "kendall",
            )
        )
    assert np.mean(ceilings) == pytest.approx(agreed, abs=0.06)


def test_p_values_of_several_levels_pay_for_their_number():
    found = _combine_p_values_by_bonferroni([np.array([0.02, np.nan, 0.7]), np.array([0.03, 0.4, 0.9])], 3)
    assert found == pytest.approx([0.04, 0.4, 1.0])
    assert np.isnan(_combine_p_values_by_bonferroni([], 2)).all()


def test_the_movable_share_is_that_of_the_level_where_fewest_can_move():
    """Sixteen items of four documents, which lie in news or talk; only the first document has system B."""
    item = np.repeat(np.arange(16), 2)
    document = item // 4
    system = np.where(document == 0, np.tile([0, 1], 16), 0)
    domain = document % 2
    codes = domain * 2 + system
    outcome = np.random.default_rng(0).choice([1, -1], size=(1, 32))
    pairs = PairOutcomes(("m",), ("x",), outcome, item, np.arange(32), document, item * 0)
    contexts = PairContexts("both", ("nA", "nB", "tA", "tB"), codes).drop_empty_contexts()
    shares = [
        level.compute_share_of_exchangeable_units()
        for level in iterate_exchangeable_outputs_and_clusters(pairs, contexts, ties="strict")
    ]
    assert len(set(shares)) == len(shares) == 2
    crossed = count_correct_pairs(pairs, split_contexts_by_perturbation(pairs, contexts))
    found = run_accuracy_tests_between_contexts(
        pairs, contexts, crossed.totals, ties="strict", rng=np.random.default_rng(0), permutations=9
    )
    assert found.exchangeable_share == min(shares)


def test_who_is_behind_within_the_top_group_is_told_by_paired_differences():
    """Twelve metrics of one truth: some pair differs by T ≥ 1.96, though each of the two may be the best."""
    rng = np.random.default_rng(0)
    item = np.arange(200)
    right = rng.random((12, 200)) < 0.7
    names = tuple(f"m{n:02}" for n in range(12))
    pairs = PairOutcomes(names, ("x",), np.where(right, 1, -1), item, item, item, item * 0)
    contexts = [PairContexts("side", ("l", "r"), item % 2)]
    found = assay_pairs(pairs, contexts, resamples=400, permutations=9).to_dict()["recommendation"]["side"][
        "global"
    ]
    top = [names.index(name) for name in found["top_group"]]
    expected = set()
    for i in top:
        for j in top:
            d = right[i].astype(float) - right[j]
            if i != j and d.sum() >= 1.959964 * np.sqrt((d**2).sum()):
                expected.add(names[j])
    assert expected
    assert set(found["behind"]) == expected


def test_a_metric_serves_a_group_of_contexts_if_it_may_be_best_in_all_of_them():
    """u and v order the metrics alike: a may be best in both, b in u alone, c in v alone; d serves w."""
    table = replace(
        make_choice_table("abcd", "uvw", np.full((4, 3), 0.5)),
        may_be_best=np.array([[True, True, True, False], [True, True, False, False], [True, False, True, False],
                      [True, False, False, True]]),
    )  # fmt: skip
    h2 = SimpleNamespace(order=np.arange(3), groups=np.array([0, 0, 1]), matrix=np.eye(4) + 0.5)
    column = SimpleNamespace(h2=h2, contexts=PairContexts("kind", tuple("uvw"), np.arange(3)))
    groups = group_similar_contexts(column, table)
    assert [(group.contexts, group.metrics) for group in groups] == [
        (["u", "v"], ["a"]),
        (["w"], ["d"]),
    ]


def test_the_answer_leaves_out_who_is_behind_over_all_outputs():
    leads = [
        MetricLead(column=None, context="global", better="a", worse="b", p=0.01),
        MetricLead(column="domain", context="news", better="a", worse="c", p=0.01),
    ]
    recommendation = {"domain": {"news": make_recommendation("a"), "talk": make_recommendation("c")}}
    found = build_final_recommendation(
        recommendation, make_claims(leads=leads), OverallMetricChoice("a"), ["a", "b", "c"]
    )
    exception = ContextException(column="domain", context="talk", metric="c")
    assert found == OverallRecommendation(metric="a", top_group=["a", "c"], exceptions=[exception])
