"""Claims: leads against the enumeration of all signs, one error rate over all of them, and who takes part."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from by_hand import assay_pairs
from scipy.stats import ttest_1samp

from metassay.meta.contexts.accuracy import count_correct_pairs
from metassay.meta.contexts.claims import (
    ClaimCandidates,
    _apply_holm_correction,
    _list_accuracy_differences_between_contexts,
    select_metric_pairs_to_report,
    select_significant_differences,
)
from metassay.meta.contexts.leads import compare_metrics_in_context, compute_p_values_of_accuracy_differences
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes, put_all_pairs_in_one_context
from metassay.meta.contexts.trend import compute_p_values_of_accuracy_trends
from metassay.results.assay import AccuracyTrend, AccuracyVariation
from metassay.stats.bootstrap import ClusterHalves


def made(chance, context, seed=0):
    """One pair per item; metric m is right in its context with `chance[m, context]`."""
    rng = np.random.default_rng(seed)
    item = np.arange(len(context))
    right = rng.random((len(chance), len(item))) < np.asarray(chance)[:, context]
    names = tuple(f"m{m}" for m in range(len(chance)))
    return PairOutcomes(names, ("x",), np.where(right, 1, -1), item, item, item, item * 0)


def test_leads_are_those_of_all_signs():
    """Ten clusters, two contexts, three metrics: every one of the 2^10 sign patterns, by plain loops."""
    context = np.arange(10) % 2
    pairs = made([[0.9, 0.9], [0.5, 0.6], [0.4, 0.5]], context, seed=1)
    contexts = PairContexts("side", ("a", "b"), context)
    sums, rows = count_correct_pairs(pairs, contexts), np.arange(3)
    overall = count_correct_pairs(pairs, put_all_pairs_in_one_context(pairs)).compute_accuracies()[:, 0]
    signs = ClusterHalves(np.random.default_rng(0), 20_000)
    leads = [compare_metrics_in_context(sums, c, rows, overall, signs) for c in (0, 1)]
    found = compute_p_values_of_accuracy_differences(leads)

    right = pairs.outcomes == 1
    asked = [(c, i, j) for c in (0, 1) for i in rows for j in rows if i != j and overall[i] <= overall[j]]
    differences = [np.where(context == c, right[i] * 1.0 - right[j], 0) for c, i, j in asked]
    differences = [(key, d) for key, d in zip(asked, differences) if (d != 0).any()]
    largest = np.array(
        [
            max([0.0, *(flips @ d / np.sqrt((d**2).sum()) for _, d in differences)])
            for flips in map(np.array, product([-1, 1], repeat=10))
        ]
    )
    assert len(differences) > 3
    for (c, i, j), d in differences:
        expected = (largest >= d.sum() / np.sqrt((d**2).sum()) - 1e-9).mean()
        assert found[c][i, j] == pytest.approx(expected, abs=0.015)


def test_metrics_that_never_differ_lead_nowhere():
    pairs = made([[0.7], [0.7]], np.zeros(30, dtype=int))
    same = PairOutcomes(
        ("a", "b"), ("x",), pairs.outcomes[[0, 0]], pairs.items, pairs.items, pairs.items, pairs.items * 0
    )
    leads = compare_metrics_in_context(
        count_correct_pairs(same, put_all_pairs_in_one_context(same)),
        0,
        np.arange(2),
        None,
        ClusterHalves(np.random.default_rng(0), 50),
    )
    assert np.isnan(leads.statistics).all()
    assert not leads.tested.any()
    assert not leads.are_metrics_worse_than_some_candidate(np.ones(2, dtype=bool)).any()


TWENTY = np.arange(20 * 40) % 20


def claims(chance, context=TWENTY, values=None, **options):
    values = values or tuple(f"c{c}" for c in range(int(context.max()) + 1))
    pairs = made(chance, context)
    found = assay_pairs(
        pairs, [PairContexts("domain", values, context)], resamples=400, permutations=199, **options
    )
    return found.to_dict()["claims"]


def test_a_context_with_another_best_metric_is_claimed_and_no_other():
    chance = np.full((3, 20), 0.6)
    chance[0] = 0.8
    chance[:, 7] = 0.3, 0.9, 0.3
    found = claims(chance)
    elsewhere = {(row["context"], row["better"], row["worse"]) for row in found["lead"] if row["column"]}
    assert ("c7", "m1", "m0") in elsewhere
    assert {context for context, *_ in elsewhere} == {"c7"}
    everywhere = {row["worse"] for row in found["lead"] if row["column"] is None}
    assert everywhere == {"m1", "m2"}
    assert all(row["p"] <= found["error_rate"] for row in found["lead"])


def test_a_small_context_claims_nothing_and_is_named():
    context = np.concatenate([TWENTY, np.full(8, 20)])
    chance = np.full((3, 21), 0.6)
    chance[0] = 0.8
    chance[:, 20] = 0.0, 1.0, 0.0  # eight items, as different as can be
    found = claims(chance, context)
    assert found["set_aside"] == {"domain": ["c20"]}
    assert "c20" not in {row["context"] for row in found["lead"]}
    assert set(found["order"]["domain"]) == {f"c{c}" for c in range(20)}
    assert found["vary"] == []  # the test of H1 does not see it either
    assert claims(chance, context, minimum_items=8)["set_aside"] == {}


def test_kinds_share_the_error_rate():
    trends = [AccuracyTrend(column="length", metric=metric, p=p) for metric, p in (("a", 0.01), ("b", 0.03))]
    trends = _apply_holm_correction(trends)  # .02 and .03
    variations = [AccuracyVariation(column="domain", metric="a", p=0.024)]
    candidates = ClaimCandidates(
        trends=trends, variations=variations, small_contexts={"domain": ["tiny"], "system": []}
    )
    found = select_significant_differences(candidates)
    assert [(claim.metric, claim.p) for claim in found.trends] == [("a", pytest.approx(0.04))]
    assert [(claim.metric, claim.p) for claim in found.variations] == [("a", pytest.approx(0.048))]
    assert found.tests == {"lead": 0, "vary": 1, "trend": 2, "predict": 0, "method": 0}
    assert found.small_contexts == {"domain": ["tiny"]}


def test_a_trend_over_crossed_contexts_is_a_paired_t_test():
    """Every item in each of six buckets: the contrast of an item is one number, tested by Student's t."""
    rng = np.random.default_rng(0)
    items, buckets = 40, 6
    right = rng.random((2, items, buckets)) < np.linspace(0.5, 0.7, buckets)
    item = np.repeat(np.arange(items), buckets)
    outcome = np.where(right.reshape(2, -1), 1, -1)
    output = np.arange(items * buckets)
    pairs = PairOutcomes(("a", "b"), ("x",), outcome, item, output, item, item * 0)
    names = tuple(f"[{n},{n}]" for n in range(buckets))
    sums = count_correct_pairs(pairs, PairContexts("score:6", names, output % buckets))
    contrast = right @ (np.arange(buckets) - 2.5)
    expected = ttest_1samp(contrast, 0, axis=1).pvalue
    assert compute_p_values_of_accuracy_trends("score:6", sums, np.ones(6, dtype=bool)) == pytest.approx(
        expected
    )
    assert np.isnan(compute_p_values_of_accuracy_trends("speaker_id", sums, np.ones(6, dtype=bool))).all()
    assert np.isnan(
        compute_p_values_of_accuracy_trends("score:6", sums, np.arange(6) > 1)
    ).all()  # four are too few


def test_a_lead_in_every_cluster_has_the_smallest_p_there_is():
    """40 items that one metric has right and the other wrong: no draw of 300 reaches that, so p = 1 / 301."""
    item = np.arange(40)
    outcome = np.array([np.ones(40), -np.ones(40)], dtype=int)
    pairs = PairOutcomes(("a", "b"), ("x",), outcome, item, item, item, item * 0)
    signs = ClusterHalves(np.random.default_rng(0), 300)
    (p,) = compute_p_values_of_accuracy_differences(
        [
            compare_metrics_in_context(
                count_correct_pairs(pairs, put_all_pairs_in_one_context(pairs)),
                0,
                np.arange(2),
                None,
                signs,
            )
        ]
    )
    assert p[0, 1] == pytest.approx(1 / 301)


def test_who_is_behind_takes_a_t_of_1_96():
    """Of 25 items that differ 18 speak for a: T = 11 / 5 = 2.2; with 17 it is 1.8."""
    for ahead, behind in ((18, True), (17, False)):
        item = np.arange(60)
        right = np.stack([item < ahead, (item >= ahead) & (item < 25)]) | (item >= 25)
        pairs = PairOutcomes(("a", "b"), ("x",), np.where(right, 1, -1), item, item, item, item * 0)
        leads = compare_metrics_in_context(
            count_correct_pairs(pairs, put_all_pairs_in_one_context(pairs)),
            0,
            np.arange(2),
            None,
            ClusterHalves(np.random.default_rng(0), 20),
        )
        assert leads.statistics[0, 1] == pytest.approx((2 * ahead - 25) / 5)
        assert leads.are_metrics_worse_than_some_candidate(np.ones(2, dtype=bool)).tolist() == [False, behind]


def test_claims_that_metrics_vary_pay_for_every_column():
    column = SimpleNamespace(h1=SimpleNamespace(p_family=np.array([0.01, 0.6, np.nan])))
    untested = SimpleNamespace(h1=None)
    columns = {"domain": column, "system": untested, "year": untested}
    first, second = _list_accuracy_differences_between_contexts(columns, ["a", "b", "c"])
    assert (first.column, first.metric, first.p) == ("domain", "a", pytest.approx(0.03))
    assert (second.metric, second.p) == ("b", 1.0)


def test_trends_take_five_contexts():
    context = np.arange(400) % 4
    chance = np.linspace(0.2, 0.9, 4)[None].repeat(2, axis=0)
    found = claims(chance, context, values=("1", "2", "3", "4"))
    assert found["tests"]["trend"] == 0
    five = np.arange(400) % 5
    found = claims(np.linspace(0.2, 0.9, 5)[None].repeat(2, axis=0), five, values=("1", "2", "3", "4", "5"))
    assert found["tests"]["trend"] == 2
    assert {row["metric"] for row in found["trend"]} == {"m0", "m1"}


def test_leads_worth_a_row_are_those_of_the_first_choice_and_the_clearest():
    p = np.array([[np.nan, 0.4, np.nan], [0.3, np.nan, 0.01], [0.2, 0.9, np.nan]])
    assert select_metric_pairs_to_report(p, 0, is_global=True) == [(0, 1)]
    assert select_metric_pairs_to_report(p, 0, is_global=False) == [(1, 2), (1, 0), (2, 0)]
    assert select_metric_pairs_to_report(np.full((2, 2), np.nan), 0, is_global=False) == []
