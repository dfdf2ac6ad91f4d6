"""People beside rules: against scipy, the SPA of `metassay.meta.pairwise`, counts by hand and known truths."""

from __future__ import annotations

import numpy as np
import pytest
from by_hand import assay_pairs
from scipy.stats import kendalltau

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.contexts.h2 import estimate_agreement_of_full_samples_from_halves
from metassay.meta.contexts.human_pairs import HumanPairs, correct_tau_for_reliability
from metassay.meta.contexts.label_error_correction import (
    PerturbationLabelCheck,
    correct_accuracy_for_label_errors,
)
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes
from metassay.meta.pairwise import soft_pairwise_accuracy
from metassay.reporting.assay_sentences import add_sentences_that_explain_recommendations
from metassay.stats.bootstrap import ClusterBootstrap, ClusterHalves
from metassay.stats.rank_correlation import correlate_rows
from metassay.stats.sign_flip import compute_normal_p_values
from metassay.stats.soft_accuracy import resample_soft_pairwise_accuracies, soft_accuracy

METRICS = ("a", "b", "c", "d")


def judged(right, item, methods=("human",), method=None) -> PairOutcomes:
    outcome = np.where(right, 1, -1)
    codes = np.zeros(len(item), dtype=int) if method is None else method
    return PairOutcomes(METRICS[: len(right)], methods, outcome, item, np.arange(len(item)), item, codes)


def made(rng, truth, items=300) -> PairOutcomes:
    item = np.arange(items)
    return judged(rng.random((len(truth), items)) < np.array(truth)[:, None], item)


def systems(rng, metrics=4, count=5, segments=60, start=0) -> ScoreArrays:
    human = rng.normal(size=(count, segments)) + np.arange(count)[:, None] / 8
    noise = rng.normal(size=(metrics, count, segments)) * np.arange(1, metrics + 1)[:, None, None]
    return ScoreArrays(human, human + noise, np.arange(start, start + segments))


def found(rng, rule, people, **options):
    """An assay of metrics with these accuracies on pairs made by rule and on pairs judged by people."""
    rules, beside = made(rng, rule), made(rng, people)
    halves = np.arange(300) % 2
    contexts = [PairContexts("half", ("even", "odd"), halves)]
    side = HumanPairs("mqm", beside, contexts, [systems(rng)])
    options = {"seed": 3, "resamples": 400, "permutations": 39, "pairs_from": "rule"} | options
    result = assay_pairs(rules, contexts, human_pairs=side, **options)
    return add_sentences_that_explain_recommendations(result).to_dict(), rules, side


@pytest.fixture(scope="module")
def clear():
    """People are sure that `b` is better than the rules' `a`."""
    return found(np.random.default_rng(0), (0.95, 0.8, 0.7, 0.6), (0.5, 0.9, 0.7, 0.6))


def test_accuracies_are_shares_of_peoples_pairs_and_places_follow_them(clear) -> None:
    result, _, side = clear
    shares = (side.outcomes.outcomes == 1).mean(axis=1)
    rows = {row["metric"]: row for row in result["people"]["metrics"]}
    for name, share in zip(METRICS, shares):
        assert rows[name]["accuracy"] == pytest.approx(share, abs=1e-12)
        assert rows[name]["low"] <= share <= rows[name]["high"]
        assert rows[name]["rank"] == 1 + (shares > share).sum()


def test_spa_is_that_of_the_public_function_and_its_mean_over_test_sets() -> None:
    rng = np.random.default_rng(1)
    first, second = systems(rng), systems(rng, count=3, start=100)
    rules, beside = made(rng, (0.9, 0.8, 0.7, 0.6)), made(rng, (0.9, 0.8, 0.7, 0.6))
    side = HumanPairs("mqm", beside, [], [first, second])
    people = assay_pairs(rules, [], human_pairs=side, resamples=50).to_dict()["people"]
    for m, name in enumerate(METRICS):
        row = next(row for row in people["metrics"] if row["metric"] == name)
        values = [soft_pairwise_accuracy(each.human, each.metrics[m]) for each in (first, second)]
        assert row["spa"] == pytest.approx(np.mean(values), abs=1e-12)
    assert (people["systems"], people["segments"]) == (8, 120)


def test_the_choice_by_spa_is_the_metric_that_agrees_best_on_systems() -> None:
    """`c` has the human scores themselves, the others are noise."""
    rng = np.random.default_rng(8)
    human = rng.normal(size=(8, 300)) + np.arange(8)[:, None] / 5
    metrics = rng.normal(size=(4, 8, 300))
    metrics[2] = human
    rated = ScoreArrays(human, metrics, np.arange(300))
    side = HumanPairs("mqm", made(rng, (0.6,) * 4), [], [rated])
    result = assay_pairs(made(rng, (0.8,) * 4), [], human_pairs=side, resamples=400).to_dict()
    assert result["people"]["by_spa"] == {"metric": "c"}
    assert "spa" not in result["claims"]["tests"]


def test_a_metric_with_gaps_has_the_spa_of_the_segments_it_scored() -> None:
    rng = np.random.default_rng(2)
    rated = systems(rng)
    rated.metrics[1, 2, :20] = np.nan
    side = HumanPairs("mqm", made(rng, (0.9, 0.8, 0.7, 0.6)), [], [rated])
    people = assay_pairs(made(rng, (0.9, 0.8, 0.7, 0.6)), [], human_pairs=side, resamples=50).to_dict()[
        "people"
    ]
    row = next(row for row in people["metrics"] if row["metric"] == "b")
    assert row["spa"] == pytest.approx(soft_pairwise_accuracy(rated.human, rated.metrics[1]), abs=1e-12)


def test_tau_is_kendalls_between_the_orders_shown(clear) -> None:
    result = clear[0]
    people = result["people"]
    rule = {row["metric"]: row["accuracy"] for row in result["global"]}
    rows = people["metrics"]
    orders = {
        "rule": [rule[row["metric"]] for row in rows],
        "pairs": [row["accuracy"] for row in rows],
        "spa": [row["spa"] for row in rows],
    }
    for name in ("rule_pairs", "rule_spa", "pairs_spa"):
        one, other = name.split("_")
        entry = people["agreement"][name]
        assert entry["tau"] == pytest.approx(kendalltau(orders[one], orders[other]).statistic, abs=1e-12)
        assert entry["low"] <= entry["tau"] <= entry["high"]


def test_contexts_have_their_own_tau_and_small_ones_none(clear) -> None:
    result, rules, side = clear
    for row in result["people"]["contexts"]["half"]:
        inside = np.arange(300) % 2 == ("even", "odd").index(row["context"])
        taus = [(each.outcomes[:, inside] == 1).mean(axis=1) for each in (rules, side.outcomes)]
        assert row["tau"] == pytest.approx(kendalltau(*taus).statistic, abs=1e-12)
        assert (row["items"], row["pairs"]) == (150, 150)
    rng = np.random.default_rng(0)
    none, _, _ = found(rng, (0.9, 0.8, 0.7, 0.6), (0.9, 0.8, 0.7, 0.6), minimum_items=151)
    assert none["people"]["contexts"]["half"] == []


def test_people_are_followed_where_they_differ_beyond_noise_and_the_reason_is_given(clear) -> None:
    result = clear[0]
    assert result["people"]["by_rule"]["metric"] == "a"
    assert result["people"]["followed"]
    assert result["answer"]["metric"] == "b"
    assert result["answer"]["top_group"] == ["b"]
    for entry in result["recommendation"]["half"].values():
        assert entry["choice"] == "b"
        assert "follows human pairs (mqm)" in entry["why"]
        assert "a, the choice by perturbed pairs" in entry["why"]


def test_the_choice_stays_where_people_do_not_differ() -> None:
    rng = np.random.default_rng(4)
    result, _, _ = found(rng, (0.95, 0.8, 0.7, 0.6), (0.7, 0.72, 0.7, 0.6))
    assert not result["people"]["followed"]
    assert result["answer"]["metric"] == result["people"]["by_rule"]["metric"] == "a"


def test_an_uninformed_metric_is_never_followed() -> None:
    rng = np.random.default_rng(5)
    result, _, _ = found(rng, (0.95, 0.8, 0.7, 0.6), (0.5, 0.9, 0.5, 0.5), uninformed=["b"])
    assert result["people"]["by_people"]["metric"] != "b"
    assert result["answer"]["metric"] == "a"


def test_without_people_nothing_else_changes() -> None:
    rng = np.random.default_rng(6)
    rules = made(rng, (0.9, 0.8, 0.7, 0.6))
    result = assay_pairs(rules, [], resamples=50).to_dict()
    assert result["people"] is None
    assert result["claims"]["people"] == []


def test_agreement_under_draws_is_that_of_the_segments_drawn_as_often() -> None:
    rng = np.random.default_rng(7)
    rated = systems(rng, segments=30)
    units = np.repeat(np.arange(10, dtype=np.int32), 3)

    def directly(weights):
        repeated = np.repeat(np.concatenate([rated.human[None], rated.metrics]), weights[units], axis=2)
        p = compute_normal_p_values(repeated)
        return soft_accuracy(p[0], p[1:])

    for draws, rest in (
        (ClusterBootstrap(rng, 6), False),
        (ClusterHalves(rng, 6), False),
        (ClusterHalves(rng, 6), True),
    ):
        drawn = resample_soft_pairwise_accuracies(rated.human, rated.metrics, draws, units, complement=rest)
        weights = draws.draw_cluster_weights(np.arange(10, dtype=np.int32)).astype(int)
        for draw in range(6):
            own = 1 - weights[:, draw] if rest else weights[:, draw]
            if own.any():
                assert drawn[:, draw] == pytest.approx(directly(own), abs=1e-9)


@pytest.mark.parametrize(("ties", "credit"), [("strict", 0.0), ("half", 0.5)])
def test_correction_gives_back_the_accuracy_that_wrong_labels_hid(ties, credit) -> None:
    """100 pairs with right labels, 25 with wrong ones; of each kind 60 % are told right and 20 % tied."""
    right_labels = [1] * 60 + [0] * 20 + [-1] * 20
    wrong_labels = [-1] * 15 + [0] * 5 + [1] * 5  # told right: the copy is preferred
    outcome = np.array([right_labels + wrong_labels])
    item = np.arange(125)
    pairs = PairOutcomes(("a",), ("removal",), outcome, item, item, item, np.zeros(125, dtype=int))
    found = correct_accuracy_for_label_errors(
        pairs,
        np.zeros(125, dtype=np.int32),
        [PerturbationLabelCheck(500, 0, 100)],
        ties=ties,
        resamples=200,
        seed=0,
    )
    assert found is not None
    assert found[0].accuracy_corrected == pytest.approx(0.6 + credit * 0.2, abs=1e-12)
    assert found[0].label_error == pytest.approx(0.2)
    assert found[0].corrected_low < 0.6 + credit * 0.2 < found[0].corrected_high


def test_equal_readings_are_not_better_ones() -> None:
    """Seven of ten copies are worse, three equal; right in .80, undecided on equal ones: seen .71."""
    outcome = np.array([[1] * 71 + [-1] * 29])
    item = np.arange(100)
    pairs = PairOutcomes(("a",), ("removal",), outcome, item, item, item, np.zeros(100, dtype=int))
    (row,) = correct_accuracy_for_label_errors(
        pairs,
        np.zeros(100, dtype=np.int32),
        [PerturbationLabelCheck(1000, 300, 0)],
        ties="strict",
        resamples=200,
        seed=0,
    )
    assert row.accuracy_corrected == pytest.approx(0.8)
    assert row.label_error == pytest.approx(0.3)


def test_correction_is_by_stratum_and_items_weigh_as_in_the_accuracy() -> None:
    """Two methods, the second with a quarter of wrong labels; an item with three pairs weighs as one with one."""
    outcome = np.array([[1, 1, -1, 1]])
    item = np.array([0, 0, 0, 1])
    pairs = PairOutcomes(("a",), ("x", "y"), outcome, item, np.arange(4), item, np.array([0, 1, 1, 0]))
    found = correct_accuracy_for_label_errors(
        pairs,
        np.array([0, 1, 1, 0], dtype=np.int32),
        [PerturbationLabelCheck(100, 0, 0), PerturbationLabelCheck(100, 0, 25)],
        ties="strict",
        resamples=50,
        seed=0,
    )
    first = (1 + (1 - 0.25) / 0.5 + (0 - 0.25) / 0.5) / 3
    assert found is not None
    assert found[0].accuracy_corrected == pytest.approx((first + 1) / 2, abs=1e-12)
    assert found[0].label_error == pytest.approx((2 / 3 * 0.25) / 2)


def test_few_readings_widen_the_interval_and_none_or_half_wrong_labels_leave_it_undefined() -> None:
    rng = np.random.default_rng(8)
    item = np.arange(400)
    pairs = PairOutcomes(
        ("a",),
        ("x",),
        np.where(rng.random((1, 400)) < 0.8, 1, -1),
        item,
        item,
        item,
        np.zeros(400, dtype=int),
    )
    codes = np.zeros(400, dtype=np.int32)

    def width(read):
        row = correct_accuracy_for_label_errors(
            pairs, codes, [PerturbationLabelCheck(read[0], 0, read[1])], ties="strict", resamples=400, seed=0
        )[0]
        return row.corrected_high - row.corrected_low

    assert width((20, 2)) > 1.5 * width((2000, 200))
    assert (
        correct_accuracy_for_label_errors(
            pairs, codes, [PerturbationLabelCheck(10, 0, 5)], ties="strict", resamples=50, seed=0
        )
        is None
    )
    assert correct_accuracy_for_label_errors(pairs, codes, [], ties="strict", resamples=50, seed=0) is None


def simulate_human_pairs(rng, systems=6, items=60):
    """Draw human scores of systems, and the pairs that `repeat_pairs_that_span_two_contexts` and the assay get."""
    human = rng.normal(size=(items, systems)) + np.linspace(0, 1, systems)
    metric_scores = np.stack([human + rng.normal(size=human.shape) * 1.5, np.zeros_like(human)])
    metric_scores[1, :, -1] = 1  # the second metric only likes the name of the last system
    item, better, worse = np.nonzero(human[:, :, None] > human[:, None, :])
    differences = metric_scores[:, item, better] - metric_scores[:, item, worse]
    outcomes = PairOutcomes(
        ("informed", "likes_the_last"),
        ("human",),
        np.sign(differences).astype(int),
        item,
        item * systems + better,
        item,
        np.zeros_like(item),
        worse_outputs=item * systems + worse,
    )
    names = tuple(f"s{system}" for system in range(systems))
    return outcomes, PairContexts("system", names, better, worse)


def test_a_pair_counts_in_the_contexts_of_both_outputs() -> None:
    outcomes, contexts = simulate_human_pairs(np.random.default_rng(0))
    result = assay_pairs(outcomes, [contexts], resamples=40, permutations=9).to_dict()
    for row in result["contexts"]["system"]["local_accuracy"]:
        system = contexts.values.index(row["context"])
        is_inside = (contexts.codes == system) | (contexts.worse_codes == system)
        metric = outcomes.metrics.index(row["metric"])
        by_item = []
        for item in np.unique(outcomes.items[is_inside]):
            in_item = is_inside & (outcomes.items == item)
            by_item.append((outcomes.outcomes[metric, in_item] == 1).mean())
        assert row["accuracy"] == pytest.approx(np.mean(by_item), abs=1e-12)
        assert row["pairs"] == is_inside.sum()


def test_a_metric_that_knows_a_name_does_not_win_the_context_of_that_name() -> None:
    """Counted for the better output alone, it would be right in every pair of `s5`."""
    outcomes, contexts = simulate_human_pairs(np.random.default_rng(1))
    result = assay_pairs(outcomes, [contexts], resamples=200, permutations=9).to_dict()
    for recommended in result["recommendation"]["system"].values():
        assert recommended["metrics"][0] == "informed"
    rows = result["contexts"]["system"]["local_accuracy"]
    accuracy = {(row["context"], row["metric"]): row["accuracy"] for row in rows}
    assert accuracy["s5", "likes_the_last"] < accuracy["s5", "informed"] < 1


def test_contexts_that_hold_both_outputs_count_a_pair_once() -> None:
    outcomes, systems_of_pairs = simulate_human_pairs(np.random.default_rng(2))
    domain = outcomes.items % 2
    contexts = PairContexts("domain", ("news", "talk"), domain, domain)
    result = assay_pairs(outcomes, [contexts, systems_of_pairs], resamples=40, permutations=9).to_dict()
    pairs = {row["context"]: row["pairs"] for row in result["contexts"]["domain"]["local_accuracy"]}
    assert pairs == {"news": (domain == 0).sum(), "talk": (domain == 1).sum()}


def simulate_metric_values(rng, metrics, closeness, agree):
    """Draw values of metrics on 100 clusters, by two questions that order them alike, or independently."""
    truth = rng.normal(size=metrics)
    other_truth = truth if agree else rng.normal(size=metrics)
    spread = 10 / closeness  # the mean of 100 clusters has a standard error of 1 / closeness
    return [(t, t + rng.normal(0, spread, (100, metrics))) for t in (truth, other_truth)]


def estimate_reliability(rng, values):
    halves = rng.random((100, len(values))) < 0.5
    first = np.stack([values[half].mean(axis=0) for half in halves], axis=1)
    second = np.stack([values[~half].mean(axis=0) for half in halves], axis=1)
    return estimate_agreement_of_full_samples_from_halves(first, second, "kendall")


@pytest.mark.parametrize("agree", [True, False])
@pytest.mark.parametrize("closeness", [0.7, 1.5, 4])
def test_tau_corrected_for_reliability_covers_the_true_tau(closeness, agree) -> None:
    """Uncorrected, a true tau of 1 among close metrics was never covered."""
    rng = np.random.default_rng(5)
    covered = 0
    covered_uncorrected = 0
    trials = 60
    for _ in range(trials):
        (first_truth, first), (second_truth, second) = simulate_metric_values(rng, 12, closeness, agree)
        true_tau = kendalltau(first_truth, second_truth).statistic
        tau = kendalltau(first.mean(axis=0), second.mean(axis=0)).statistic
        weights = rng.multinomial(100, np.full(100, 0.01), size=200) / 100
        resampled = correlate_rows(weights @ first, weights @ second, "kendall")
        corrected = correct_tau_for_reliability(
            tau,
            float(resampled.std()),
            estimate_reliability(rng, first),
            estimate_reliability(rng, second),
        )
        low, high = np.percentile(resampled, [2.5, 97.5])
        covered_uncorrected += min(low, tau) <= true_tau <= max(high, tau)
        is_undefined = np.isnan(corrected.value)  # and then nothing is claimed
        covered += is_undefined or corrected.low - 1e-9 <= true_tau <= corrected.high + 1e-9
    assert covered / trials >= 0.88
    if agree and closeness < 2:
        assert covered_uncorrected / trials < 0.5
