"""The findings: their counts agree with plain enumeration, and the pages have the figures of the script."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from reproduce.findings.claims import list_claims
from reproduce.findings.contexts import (
    count_by_domain,
    count_by_system,
    measure_agreement,
    measure_interaction,
    permute_contexts,
)
from reproduce.findings.dependence import compute_accuracies_by_system
from reproduce.findings.page import PAGES, find_break_even, render_page
from reproduce.findings.questions import (
    MeasuredSet,
    compare_strategies,
    compare_within_and_between_families,
    draw_one_per_family,
    find_official_family,
)
from reproduce.findings.score_sets import ScoreSet, shorten_metric_name
from reproduce.findings.worth import average_over_sets

ROOT = Path(__file__).parents[2]
RESULTS = json.loads((ROOT / "reproduce/findings/ours.json").read_text(encoding="utf-8"))


@pytest.fixture
def small_set() -> ScoreSet:
    rng = np.random.default_rng(5)
    human = rng.integers(0, 3, (4, 9)).astype(float)
    metrics = rng.integers(0, 4, (3, 4, 9)).astype(float)
    documents = np.array([0, 0, 1, 1, 1, 2, 2, 3, 3])
    return ScoreSet("small", ("a", "b", "c"), human, metrics, documents, np.array(["x", "y", "x", "y"]))


def enumerate_pairs(scores: ScoreSet, metric: int):
    """Item, better system, worse system, and whether the metric prefers the better one strictly."""
    for item in range(scores.human.shape[1]):
        for a, b in combinations(range(len(scores.human)), 2):
            human = scores.human[a, item] - scores.human[b, item]
            if human:
                better, worse = (a, b) if human > 0 else (b, a)
                right = scores.metrics[metric, better, item] > scores.metrics[metric, worse, item]
                yield item, better, worse, right


@pytest.mark.parametrize("metric", range(3))
def test_counts_by_document_are_those_of_enumeration(small_set, metric) -> None:
    by_system = count_by_system(small_set)
    by_domain = count_by_domain(small_set)
    right = np.zeros((4, 4))
    pairs = np.zeros((4, 4))
    total = np.zeros(4)
    for item, better, worse, is_right in enumerate_pairs(small_set, metric):
        document = small_set.documents[item]
        right[document, [better, worse]] += is_right
        pairs[document, [better, worse]] += 1
        total[document] += is_right
    np.testing.assert_array_equal(by_system.right[metric], right)
    np.testing.assert_array_equal(by_system.pairs, pairs)
    np.testing.assert_array_equal(by_domain.total_right[metric], total)
    accuracy = by_domain.compute_accuracies(np.ones((1, 4)))[0]
    assert accuracy[metric, 0] == pytest.approx((total[0] + total[2]) / (pairs[[0, 2]].sum() / 2))


@pytest.mark.parametrize("metric", range(3))
def test_a_pair_counts_for_the_better_system_or_for_both(small_set, metric) -> None:
    accuracies = compute_accuracies_by_system(small_set)
    for system in range(4):
        pairs = list(enumerate_pairs(small_set, metric))
        better = [right for _, first, _, right in pairs if first == system]
        both = [right for _, first, second, right in pairs if system in {first, second}]
        assert accuracies["better"][metric, system] == pytest.approx(np.mean(better))
        assert accuracies["both"][metric, system] == pytest.approx(np.mean(both))


@pytest.mark.parametrize("column", ["domain", "system"])
def test_exchanging_contexts_keeps_all_pairs(small_set, column) -> None:
    counts = count_by_domain(small_set) if column == "domain" else count_by_system(small_set)
    rng = np.random.default_rng(0)
    if column == "domain":
        # With one document per domain the accuracies are those of documents, in another order.
        counts = count_by_domain(
            ScoreSet(
                "small",
                small_set.metric_names,
                small_set.human,
                small_set.metrics,
                small_set.documents,
                np.array(["p", "q", "r", "s"]),
            )
        )
        observed = counts.compute_accuracies(np.ones((1, 4)))[0]
        drawn = permute_contexts(counts, column, rng)
        np.testing.assert_allclose(np.sort(drawn, axis=1), np.sort(observed, axis=1))
    else:
        one = counts.right[:, :1], counts.pairs[:1]
        single = type(counts)(counts.contexts, *one, counts.total_right[:, :1], counts.total_pairs[:1])
        observed = single.compute_accuracies(np.ones((1, 1)))[0]
        drawn = permute_contexts(single, column, rng)
        np.testing.assert_allclose(np.sort(drawn, axis=1), np.sort(observed, axis=1))


def test_interaction_is_zero_without_and_as_large_as_a_known_one() -> None:
    rows, columns = np.array([0.5, 0.6, 0.8]), np.array([0.0, 0.1])
    additive = rows[:, None] + columns
    assert measure_interaction(additive) == pytest.approx(0)
    rng = np.random.default_rng(1)
    large = 0.02 * rng.standard_normal((400, 50))
    assert measure_interaction(additive[:1, :1] + large) == pytest.approx(0.0004, rel=0.03)


def test_contexts_with_one_ranking_agree_fully() -> None:
    accuracies = np.array([[0.5, 0.6], [0.7, 0.8], [0.6, 0.7]])
    assert measure_agreement(accuracies) == pytest.approx(1)
    assert measure_agreement(np.array([[0.5, 0.8], [0.7, 0.6], [0.6, 0.7]])) == pytest.approx(-1)


def test_one_metric_of_each_family_is_drawn() -> None:
    families = ["a", "b", "a", "c", "b"]
    drawn = draw_one_per_family(families, np.random.default_rng(0))
    assert drawn.shape == (200, 3)
    assert {tuple(families[k] for k in row) for row in drawn} == {("a", "b", "c")}
    assert set(drawn[:, 0]) == {0, 2}


def test_agreement_within_and_between_families_is_that_of_enumeration() -> None:
    rng = np.random.default_rng(4)
    families = ["a", "a", "a", "b", "b", "c"]
    values = {name: rng.integers(0, 4, 6).astype(float) for name in ("one", "two")}
    counts = {True: [], False: []}
    for i, j in combinations(range(6), 2):
        product = (values["one"][i] - values["one"][j]) * (values["two"][i] - values["two"][j])
        counts[families[i] == families[j]].append(np.sign(product))
    sets = [MeasuredSet(name, tuple("uvwxyz"), values, []) for name in ("first", "second")]
    (row,) = compare_within_and_between_families(sets, families, [("one", "two")])
    assert row["within"]["mean"] == pytest.approx(np.mean(counts[True]))
    assert row["between"]["mean"] == pytest.approx(np.mean(counts[False]))


def test_every_official_metric_has_one_family_and_a_short_name() -> None:
    names = {row["metric"] for row in RESULTS["labels_saved"] if row["set"].startswith("wmt23")}
    assert len(names) == 42
    assert all(find_official_family(name) for name in names)
    assert shorten_metric_name("GEMBA-GPT4-DA-src") == "GEMBA-GPT4-DA-QE"
    assert shorten_metric_name("XCOMET-XL-refB") == "XCOMET-XL"


def test_strategies_are_compared_with_the_choice_by_perturbed_pairs() -> None:
    names = ("bleu", "chrf", "ter", "rouge1", "rougel", "meteor")
    sets = [
        MeasuredSet("one", names, {"perturbed": np.array([9, 1, 1, 1, 1, 1.0]), "spa": np.arange(6.0)}, []),
        MeasuredSet("two", names, {"perturbed": np.array([1, 1, 1, 1, 1, 9.0]), "spa": np.arange(6.0)}, []),
    ]
    rows = {row["strategy"]: row for row in compare_strategies(sets, ["spa"])}
    assert rows["perturbed pairs"]["value"] == pytest.approx((0 + 5) / 2)
    assert rows["prior from the other sets"]["value"] == pytest.approx(5)
    assert rows["random"]["value"] == pytest.approx(2.5)
    assert rows["always chrf"]["gain"]["mean"] == pytest.approx(1 - 2.5)


def test_intervals_of_independent_sets_are_combined() -> None:
    row = {"metric": "m", "cost": "counts", "spa": None, "acc_eq": 0.5, "residual": None}
    shares = {"mean": 0.4, "mean_low": 0.1, "mean_high": 0.7, "difference": 0.2}
    other = {"difference_low": 0.16, "difference_high": 0.24}
    (average,) = average_over_sets([{**row, **shares, **other}] * 4)
    assert average["mean_low"] == pytest.approx(0.4 - 0.3 / 2)
    assert average["difference_high"] == pytest.approx(0.2 + 0.04 / 2)
    assert average["spa"] is None


def test_break_even_is_where_the_gain_changes_sign() -> None:
    points = [{"interaction": 0.0, "gain": -0.002}, {"interaction": 0.01, "gain": 0.006}]
    assert find_break_even({"simulation": points}) == pytest.approx(0.0025)


def test_the_first_measurement_is_met() -> None:
    """It was made by another program: tau_AP .51, .56, .58 in WMT23, and largest losses .014, .021, .003."""
    rows = {(row["set"], row["column"]): row for row in RESULTS["contexts"]}
    expected = {"en-de": (0.51, 0.59, 0.014), "zh-en": (0.56, 0.70, 0.021), "he-en": (0.58, 0.68, 0.003)}
    for language_pair, (tau, chance, loss) in expected.items():
        row = rows[f"wmt23 {language_pair}", "domain"]
        assert row["tau_ap"] == pytest.approx(tau, abs=0.0051)
        assert row["chance_median"] == pytest.approx(chance, abs=0.011)
        assert row["largest_regret"] == pytest.approx(loss, abs=0.0006)


@pytest.mark.parametrize(("name", "path"), PAGES.items())
def test_pages_have_the_figures_of_the_script(name, path) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == render_page(name, RESULTS)


@pytest.mark.parametrize(("claim", "holds"), list_claims(RESULTS).items())
def test_every_claim_of_the_prose_holds(claim, holds) -> None:
    assert holds, claim
