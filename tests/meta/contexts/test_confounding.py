"""Confounding: who is flagged, by which methods, and how sure one can be of σ²."""

from dataclasses import replace

import numpy as np
import pytest
from by_hand import assay_pairs
from scipy.stats import binom, chi2, norm, t

from metassay.meta.contexts.accuracy import count_correct_pairs
from metassay.meta.contexts.confounding import (
    _compute_accuracy_on_perturbation_combinations,
    _find_perturbations_that_metrics_overlook,
    compute_p_values_of_perturbation_differences,
    measure_accuracy_dependence_on_perturbation,
)
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes
from metassay.reporting.assay_sentences import describe_confounding
from metassay.stats.bootstrap import ClusterBootstrap

METHODS = ("entity", "insertion", "negation", "pronoun", "removal", "swapping")
ITEMS, SYSTEMS = 60, 3


def every_method(accuracy_by_method, seed=0, items=ITEMS):
    """All methods on every output, for metrics with the given accuracy under each method."""
    rng = np.random.default_rng(seed)
    methods = len(accuracy_by_method[0])
    output = np.repeat(np.arange(items * SYSTEMS), methods)
    method = np.tile(np.arange(methods), items * SYSTEMS)
    item = output // SYSTEMS
    chance = np.asarray(accuracy_by_method, dtype=float)[:, method]
    outcome = np.where(rng.random(chance.shape) < chance, 1, -1)
    names = tuple(f"m{m}" for m in range(len(chance)))
    contexts = PairContexts("system", tuple("ABC"), output % SYSTEMS)
    return PairOutcomes(names, METHODS[:methods], outcome, item, output, item, method), contexts


def study(accuracy_by_method, seed=0, resamples=200, **options):
    judgements, contexts = every_method(accuracy_by_method, seed, **options)
    rng = np.random.default_rng(seed)
    bootstrap = ClusterBootstrap(rng, resamples)
    return measure_accuracy_dependence_on_perturbation(
        judgements, contexts, ties="strict", bootstrap=bootstrap, rng=rng
    )


def test_length_and_bag_of_words_are_flagged_with_their_methods():
    length = [0, 0, 0, 0, 1, 0]
    bag_of_words = [0.9, 0.9, 0.9, 0.9, 0.9, 0]
    fair = [0.8] * 6
    rows = study([length, bag_of_words, fair]).list_accuracy_dependence_on_perturbations()
    assert [row.flag for row in rows] == [True, True, False]
    assert [row.responsible for row in rows] == [["removal"], ["swapping"], []]
    assert rows[0].by_perturbation["removal"] == 1
    assert rows[1].by_perturbation["swapping"] == 0
    assert rows[0].share == pytest.approx(1)  # the method decides everything
    said = describe_confounding(rows[1])
    assert "0 % of swapping pairs, and in 90 % of the others on average" in said


def test_what_a_metric_cannot_see_is_named_worst_first():
    rows = study([[0, 0.2, 0.9, 0.9, 0.9, 0.9], [0.9] * 6]).list_accuracy_dependence_on_perturbations()
    assert [entry.perturbation for entry in rows[0].overlooked] == ["entity", "insertion"]
    assert rows[0].overlooked[0].accuracy == 0
    assert all(entry.p_holm <= 0.05 for entry in rows[0].overlooked)
    assert rows[1].overlooked == []


def test_a_tie_is_not_seeing_however_ties_count():
    judgements, contexts = every_method([[0.9] * 6])
    tied = judgements.outcomes.copy()
    tied[0, judgements.perturbations == 2] = 0
    rng = np.random.default_rng(0)
    found = measure_accuracy_dependence_on_perturbation(replace(judgements, outcomes=tied), contexts, ties="half", bootstrap=ClusterBootstrap(rng, 50), rng=rng)  # fmt: skip
    assert [
        entry.perturbation for entry in found.list_accuracy_dependence_on_perturbations()[0].overlooked
    ] == ["negation"]


@pytest.mark.parametrize("items", [12, 60])
def test_a_metric_right_in_half_of_the_pairs_is_seldom_called_blind(items):
    """Three metrics that toss a coin under six methods: any name at all in at most 5 % of assays."""
    draws = 400
    named = sum(
        any(_find_perturbations_that_metrics_overlook(every_method([[0.5] * 6] * 3, seed, items)[0]))
        for seed in range(draws)
    )
    assert named <= binom.ppf(0.999, draws, 0.05)


def test_the_test_of_one_half_is_that_of_a_binomial_where_pairs_are_single():
    """One pair per item: the exact binomial test, to within the step of a count."""
    rng = np.random.default_rng(1)
    for right in (20, 25, 30, 35):
        outcome = np.where(rng.permutation(60) < right, 1, -1)[None]
        zeros, each = np.zeros(60, dtype=int), np.arange(60)
        found = count_correct_pairs(
            PairOutcomes(("m",), ("a",), outcome, each, each, each, zeros), PairContexts("c", ("a",), zeros)
        )
        below, upto = binom.cdf(right - 1, 60, 0.5), binom.cdf(right, 60, 0.5)
        assert below <= found.compute_p_values_of_accuracy_below_half()[0, 0] <= upto


def test_many_combinations_at_once_give_the_bits_of_one_at_a_time():
    judgements, contexts = every_method([[0.9, 0.8, 0.7, 0.6, 0.5, 0.4], [0.5] * 6])
    outcome = judgements.outcomes.copy()
    outcome[0, ::7], outcome[1, ::5] = 0, -2  # ties, and pairs that could not be scored
    judgements = replace(judgements, outcomes=outcome)
    masks = (np.random.default_rng(0).random((6, 40)) < 0.5).astype(float)
    ones = replace(judgements, weights=np.ones(judgements.pair_count))  # weights use the weighted code
    for ties in ("strict", "half"):
        at_once = _compute_accuracy_on_perturbation_combinations(judgements, contexts, ties, masks)
        one_by_one = _compute_accuracy_on_perturbation_combinations(ones, contexts, ties, masks)
        np.testing.assert_array_equal(at_once, one_by_one)


def test_ten_combinations_where_there_are_more():
    found = study([[0.9, 0.8, 0.7, 0.6, 0.5, 0.4]])
    assert found.combination_counts == (6, 10, 10, 10, 6)
    assert found.combination_variances.shape == (1, 5)
    assert found.combination_variances[0, 0] == pytest.approx(found.variance[0])
    assert found.combination_variances[0, 4] == pytest.approx(
        found.variance[0] / 5 / 5
    )  # the law at k = n - 1


def test_sampling_error_alone_is_not_variance():
    net = [study([[0.7] * 6], seed, resamples=100).net_variance[0] for seed in range(20)]
    plain = [study([[0.7] * 6], seed, resamples=100).variance[0] for seed in range(20)]
    assert np.mean(net) < np.mean(plain) / 2


def test_net_variance_and_shares_follow_from_the_items_own_deviations():
    """Resampling items adds to σ² what the variance of the methods' deviations over items adds, exactly."""
    judgements, contexts = every_method([[0.9, 0.8, 0.7, 0.5]], items=60)
    rng = np.random.default_rng(0)
    bootstrap = ClusterBootstrap(rng, 4000)
    found = measure_accuracy_dependence_on_perturbation(
        judgements, contexts, ties="strict", bootstrap=bootstrap, rng=rng
    )
    right = (judgements.outcomes[0] == 1).reshape(60, SYSTEMS, 4).mean(axis=1)  # items x methods
    apart = right - right.mean(axis=1, keepdims=True)
    added = (apart.var(axis=0) / 60).mean()
    assert found.net_variance[0] == pytest.approx(found.variance[0] - added, abs=0.05 * added)
    centre = right.mean()
    (row,) = found.list_accuracy_dependence_on_perturbations()
    assert row.variance_net == found.net_variance[0]
    assert row.share == pytest.approx(row.variance_net / (centre * (1 - centre)))
    assert row.share_low == pytest.approx(row.low / (centre * (1 - centre)))


def test_interval_of_the_variance_covers_the_truth():
    chances = [0.9, 0.8, 0.6, 0.5]
    truth = np.var(chances)
    held = []
    for seed in range(150):
        found = study([chances], seed, resamples=150, items=40)
        held.append(found.low[0] <= truth <= found.high[0])
    assert np.mean(held) >= 0.9


def test_one_method_has_no_variance_and_no_curve():
    row = study([[0.7]]).list_accuracy_dependence_on_perturbations()[0]
    assert row.variance == 0
    assert row.by_k == []
    assert not row.flag


def test_all_methods_are_used_though_only_some_were_sampled():
    judgements, contexts = every_method([[1, 0, 1, 1, 1, 0]])
    sampled = (np.random.default_rng(1).random(judgements.pair_count) < 0.4) | (judgements.perturbations == 0)
    codes = PairContexts("system", contexts.values, contexts.codes[sampled])
    options = {"resamples": 20, "permutations": 9}
    partly = assay_pairs(
        judgements.select_pairs(sampled), [codes], all_perturbations=judgements, **options
    ).to_dict()
    assert partly["confounding"][0]["variance"] == pytest.approx(np.var([1, 0, 1, 1, 1, 0]))
    wholly = assay_pairs(judgements, [contexts], **options).to_dict()
    assert partly["confounding"][0]["by_k"] == wholly["confounding"][0]["by_k"]


def test_a_method_that_never_applies_is_undefined_and_does_not_count():
    judgements, contexts = every_method([[0.9, 0.2, 0.5]])
    applies = judgements.perturbations != 1
    rng = np.random.default_rng(0)
    found = measure_accuracy_dependence_on_perturbation(
        judgements.select_pairs(applies),
        PairContexts("system", contexts.values, contexts.codes[applies]),
        ties="strict",
        bootstrap=ClusterBootstrap(rng, 50),
        rng=rng,
    )
    assert np.isnan(found.by_perturbation[0, 1])
    assert found.variance[0] == pytest.approx(np.var(found.by_perturbation[0, [0, 2]]))


def test_the_test_of_methods_allows_for_few_clusters():
    """As with many clusters whose draws stray further, by Student's t over the normal quantile."""
    rng = np.random.default_rng(0)
    by_method = np.array([[0.7, 0.62, 0.55]])
    strays = rng.normal(0, 0.08, (1, 3, 800))
    wider = t.ppf(0.975, 5) / norm.ppf(0.975)
    few, plain = (
        compute_p_values_of_perturbation_differences(by_method, by_method[..., None] + strays, clusters)[0][0]
        for clusters in (6, 10**6)
    )
    many = compute_p_values_of_perturbation_differences(
        by_method, by_method[..., None] + wider * strays, 10**6
    )[0][0]
    assert few == pytest.approx(many)
    assert few > plain


def test_the_test_of_methods_is_chi_square_s_with_enough_data():
    """Three independent accuracies with known errors: Σ (a - ā)² / v is χ² with two degrees of freedom."""
    rng = np.random.default_rng(1)
    by_method, error = np.array([[0.72, 0.69, 0.66]]), 0.02
    draws = by_method[..., None] + rng.normal(0, error, (1, 3, 20_000))
    statistic = ((by_method[0] - by_method.mean()) ** 2).sum() / error**2
    assert compute_p_values_of_perturbation_differences(by_method, draws, 10**6)[0][0] == pytest.approx(
        chi2.sf(statistic, 2), abs=0.01
    )


def test_a_clear_difference_is_found_among_many_metrics():
    """With 60 metrics and 199 resamples, Holm's correction of the smallest possible p is 60 / 200. The joint
    p-values are computed here by plain loops.
    """
    by_method = np.full((60, 2), 0.7)
    by_method[0] = [0.9, 0.5]
    strays = np.random.default_rng(3).normal(0, 0.02, (60, 2, 199))
    p, p_family = compute_p_values_of_perturbation_differences(
        by_method, by_method[..., None] + strays, 10**6
    )
    assert (p[0], p_family[0]) == pytest.approx((1 / 200, 1 / 200))
    assert p_family[1:].tolist() == [1] * 59
    variances = strays.var(axis=2)
    statistics = (strays[:, 0] - strays[:, 1]) ** 2 / variances.sum(axis=1)[:, None]
    by_method[1] = [0.7, 0.78]
    observed = 0.08**2 / variances[1].sum()
    expected = (1 + sum(max(statistics[:, draw]) >= observed for draw in range(199))) / 200
    found = compute_p_values_of_perturbation_differences(by_method, by_method[..., None] + strays, 10**6)[1]
    assert found[1] == pytest.approx(expected)
    assert 0.05 < expected < 1


def test_a_metric_that_is_always_right_under_one_method_is_no_proof_against_chance():
    """Four items: right in all four under u, in three of four under v. The error of u is not nothing."""
    by_method = np.array([[1.0, 0.75]])
    rng = np.random.default_rng(2)
    drawn = rng.binomial(4, 0.75, 500) / 4
    draws = np.stack([np.ones(500), drawn])[None]
    assert compute_p_values_of_perturbation_differences(by_method, draws, 4)[0][0] > 0.05


def test_the_interval_takes_off_what_sampling_and_resampling_add():
    """Resampling adds to σ² what sampling has added to it before: percentile_interval less twice that, by
    plain loops.
    """
    judgements, _ = every_method([[0.9, 0.5]], items=40)
    found = study([[0.9, 0.5]], resamples=500, items=40)
    right = (judgements.outcomes[0] == 1).reshape(40, SYSTEMS, 2).mean(axis=1)  # items x methods
    weights = ClusterBootstrap(np.random.default_rng(0), 500).draw_cluster_weights(
        np.arange(40, dtype=np.int32)
    )
    draws = np.array([np.average(right, axis=0, weights=own).var() for own in weights.T])
    added = draws.mean() - right.mean(axis=0).var()
    low, high = np.percentile(draws - 2 * added, [2.5, 97.5])
    assert added > 0
    assert (found.low[0], found.high[0]) == pytest.approx((low, high))
