"""What the sections say of results whose answer is known."""

from __future__ import annotations

from typing import Any

import pytest

from metassay.reporting.charts.theme import drawn
from metassay.reporting.findings import Column, Findings, find
from metassay.reporting.sections.accuracy import (
    robust_sentence,
    spread_sentence,
    thrifty_sentence,
    trend_sentence,
)
from metassay.reporting.sections.hypotheses import agreement_sentences, h1_grid, h1_sentence
from metassay.reporting.sections.methods import difficulty, methods


def _found(
    accuracies: dict[str, float], claims: dict[str, Any] | None = None, **column: Any
) -> tuple[Findings, Column]:
    rows = [
        {"context": context, "metric": "bleu", "accuracy": value} for context, value in accuracies.items()
    ]
    part = {"local_accuracy": rows, "h1": None, "h2": None, **column}
    whole = [{"metric": "bleu", "accuracy": 0.8, "low": 0.7, "high": 0.9}]
    findings = find({"task": "mt", "global": whole, "contexts": {"col": part}, "claims": claims})
    return findings, findings.columns[0]


@pytest.mark.parametrize(
    ("rho", "start", "shown"),
    [
        (1.0, "Accuracy rises", "1.00"),
        (-1.0, "Accuracy falls", "−1.00"),
    ],
)
def test_trends_along_buckets(rho, start, shown):
    buckets = {f"[{n},{n + 1}]": 0.5 for n in range(5)}
    claims = {"trend": [{"column": "col", "metric": "bleu", "p": 0.01}]}
    said = str(trend_sentence(*_found(buckets, claims, trend={"bleu": rho})))
    assert said.startswith(start)
    assert said.endswith(f"accuracy is {shown} for BLEU.")


@pytest.mark.parametrize("trend", [None, {}, {"bleu": None}])
def test_without_a_trend_nothing_is_said(trend):
    assert trend_sentence(*_found({"a": 0.5}, {"trend": []}, trend=trend)) is None


def test_a_trend_that_was_not_tested_is_not_told_and_one_that_chance_explains_is_called_so():
    buckets = {f"[{n},{n + 1}]": 0.5 for n in range(5)}
    assert trend_sentence(*_found(buckets, trend={"bleu": 1.0})) is None
    said = str(trend_sentence(*_found(buckets, {"trend": []}, trend={"bleu": 1.0})))
    assert said == "Accuracy is not shown to follow the order of col for any metric."


def test_only_a_metric_that_is_shown_to_vary_is_said_to_vary():
    claims = {"vary": [{"column": "col", "metric": "bleu", "p": 0.01}]}
    said = str(spread_sentence(*_found({"a": 0.5, "b": 0.8}, claims)))
    assert said == "BLEU varies: 80\u202f% on b, 50\u202f% on a."
    assert spread_sentence(*_found({"a": 0.5, "b": 0.8}, {"vary": []})) is None


def _h1(**values: Any) -> dict[str, Any]:
    return {"metric": "bleu", "chi2": 9.0, "dof": 1, "cramers_v": 0.2, "p": 0.001, **values}


@pytest.mark.parametrize(
    ("row", "verdict"),
    [
        (_h1(), "yes"),
        (_h1(p=0.2), "not shown"),
        (_h1(p_holm=0.2), "not shown"),
        (_h1(p_holm=0.001, p_permutation=0.3), "not shown"),  # what respects dependence decides
        (_h1(p_holm=0.3, p_permutation=0.01, p_permutation_holm=0.02), "yes"),
        (_h1(p=None), None),
    ],
)
def test_the_test_that_respects_dependence_decides(row, verdict):
    grid = h1_grid(*_found({"a": 0.1, "b": 0.2}, h1=[row]))
    assert grid is not None
    assert grid.rows[0]["verdict"] == verdict


def test_the_verdict_is_that_of_all_claims_together():
    row = _h1(p_permutation=0.01, p_permutation_holm=0.02)
    grid = h1_grid(*_found({"a": 0.1, "b": 0.2}, {"vary": []}, h1=[row]))
    assert grid is not None
    assert grid.rows[0]["verdict"] == "not shown"


def test_a_test_that_can_tell_nothing_has_no_p_value():
    """Contexts that are the clusters: the chi-square's p does not take its place."""
    row = _h1(p_holm=1e-9, p_permutation=None, p_permutation_holm=None)
    findings, column = _found({"a": 0.1, "b": 0.2}, {"vary": []}, h1=[row])
    grid = h1_grid(findings, column)
    assert grid is not None
    assert (grid.rows[0]["corrected"], grid.rows[0]["verdict"]) == (None, None)
    assert "cannot be tested" in str(h1_sentence(findings, column))


def test_h1_in_words():
    assert str(h1_sentence(*_found({"a": 0.1, "b": 0.2}, h1=[_h1()]))) == (
        "Accuracy differs between values of col for BLEU (1 of 1); "
        "the difference is moderate (largest Cramér’s V 0.20, BLEU)."
    )
    assert str(h1_sentence(*_found({"a": 0.1, "b": 0.2}, h1=[_h1(p=0.4)]))) == (
        "For none of 1 metric is accuracy shown to differ between values of col."
    )
    assert str(h1_sentence(*_found({"a": 0.1}))) == "There is nothing to test: col has one value only."


def _h2(matrix: list[list[float | None]], **values: Any) -> dict[str, Any]:
    contexts = ["global", *"abc"[: len(matrix[0]) - 1]]
    return {"statistic": "kendall", "contexts": contexts, "matrix": matrix, **values}


def _agreement(h2: dict[str, Any], claims: dict[str, Any] | None = None) -> list[str]:
    found = _found({"a": 0.1, "b": 0.2, "c": 0.3}, claims, h2=h2)
    return [str(said) for said in agreement_sentences(*found)]


def test_agreement_in_words():
    matrix = [[1, 0.9, 0.8, 0.7], [0.9, 1, 0.2, 0.5], [0.8, 0.2, 1, 0.6], [0.7, 0.5, 0.6, 1]]
    groups = [{"contexts": ["a"], "metrics": []}, {"contexts": ["b", "c"], "metrics": ["bleu"]}]
    said = _agreement(
        _h2(matrix, ceiling=[1.0, 0.8, 0.9, 1.0], p_global=[None, 0.01, 0.2, 0.3], clusters=groups)
    )
    assert said == [
        (
            "Between two values of col the order of the metrics typically agrees at 0.50 (Kendall’s τ), "
            "least between a and b at 0.20."
        ),
        (
            "For scale: two samples of the same context, each as large as these, would agree at 0.90 on average, "
            "so contexts that order the metrics alike agree about as well."
        ),
        "The order over all outputs is shown not to hold on a.",
        (
            "Contexts that order the metrics alike, in 2 groups: a (no single metric is among the best in all); "
            "b and c (there BLEU is among the best)."
        ),
        "With 1 metric the agreement can take a handful of values only, so read it with care.",
    ]


def test_sentences_about_the_order_agree():
    """Groups of contexts that order the metrics alike are told only where some order is shown to differ."""
    matrix = [[1, 0.9, 0.8], [0.9, 1, 0.2], [0.8, 0.2, 1]]
    groups = [{"contexts": ["a"], "metrics": []}, {"contexts": ["b"], "metrics": ["bleu"]}]
    h2 = _h2(matrix, p_global=[None, 0.01, 0.2], clusters=groups)
    none = _agreement(h2, {"order": {"col": {"a": 0.2, "b": 1.0}}})
    assert none[1] == "In no context is the order shown to differ from the one over all outputs."
    assert not any("groups" in said for said in none)
    one = _agreement(h2, {"order": {"col": {"a": 0.02, "b": 1.0}}})
    assert one[1] == "The order over all outputs is shown not to hold on a."
    assert "in 2 groups" in one[2]


def test_the_same_order_everywhere_needs_no_more_words():
    said = _agreement(_h2([[1, 1, 1], [1, 1, 1], [1, 1, 1]], ceiling=[1, 1, 1], p_global=[None, 1, 1]))
    assert said[0] == "The metrics come in the same order for every col."
    assert len(said) == 2


def test_agreement_with_global_alone():
    said = _agreement(_h2([[1, 0.4, None, 0.8]]))
    assert "typically agrees at 0.60 (Kendall’s τ), least between global and a at 0.40." in said[0]


def test_prediction_in_words():
    known = {"coefficients": {"year": 0.1}}
    matrix = [[1, 0.5], [0.5, 1]]
    shown = {"predict": [{"column": "col", "p": 0.02}]}
    useful = _agreement(_h2(matrix, prediction={**known, "explained": 0.31}), shown)
    useless = _agreement(_h2(matrix, prediction={**known, "explained": -0.4}), shown)
    lucky = _agreement(_h2(matrix, prediction={**known, "explained": 0.31}), {"predict": []})
    assert "(year) predicts 31\u202f% of the variation" in useful[1]
    assert "(year) is not shown to help predict" in useless[1]
    assert "(year) is not shown to help predict" in lucky[1]


def test_the_robust_choice_and_the_thrifty_ones():
    findings = find(
        {
            "global": [{"metric": "bleu", "accuracy": 0.8}],
            "contexts": {
                "col": {
                    "local_accuracy": [{"context": c, "metric": "bleu", "accuracy": 0.8} for c in "ab"],
                    "robustness": [{"metric": "bleu", "worst_case": 0.61, "worst_context": "b"}],
                }
            },
            "recommendation": {"col": {"global": {"metrics": ["bleu"], "robust_choice": "bleu"}}},
            "pareto": ["bleu", "chrf"],
        }
    )
    assert str(robust_sentence(findings.columns[0])) == (
        "Where the mix of col may change, BLEU holds up best: at worst, on b, it is right in at least 61\u202f%."
    )
    assert (
        str(thrifty_sentence(findings)) == "No metric is both more accurate and cheaper than BLEU and chrF."
    )


def test_what_a_metric_cannot_see_is_told_of_metrics_and_not_of_sentinels():
    unseen = [
        {"method": "case", "accuracy": 0.0, "p_holm": 0.001},
        {"method": "order", "accuracy": 0.282, "p_holm": 0.02},
    ]
    rows = [
        {"metric": name, "by_method": {"case": 0.5, "order": None if name == "length" else 0.5}, "variance": 0, "low": 0,
         "high": 0, "flag": False, "by_k": [], "unseen": blind}
        for name, blind in (("bleu", unseen), ("chrf", []), ("length", unseen))
    ]  # fmt: skip
    whole = [{"metric": name, "accuracy": 0.8, "low": 0.7, "high": 0.9} for name in ("bleu", "chrf")]
    sentinels = [{"metric": "length", "accuracy": 0.2, "low": 0.1, "high": 0.3}]
    found = find({"task": "mt", "global": whole, "sentinels": sentinels, "contexts": {}, "confounding": rows})
    section = methods(found)
    assert section is not None
    assert section["unseen"] == [
        {"metric": "BLEU", "methods": "case (0\u202f%) and order (28\u202f%)"},
        {"metric": "chrF", "methods": "no method is shown"},
    ]
    assert section["tests"] == 5


def test_difficulty_in_words_table_and_chart():
    bins = [
        {"low": 0.01, "median": 0.02, "high": 0.034, "pairs": 50},
        {"low": 0.04, "median": 0.1, "high": 0.3, "pairs": 49},
    ]
    rows = [
        {"metric": name, "bin": place, "accuracy": accuracy, "low": accuracy - 0.1, "high": accuracy + 0.1}
        for name, found in (("bleu", (0.6, 0.9)), ("chrf", (0.5, 0.7)))
        for place, accuracy in enumerate(found)
    ]
    people = {"human": "mqm", "pairs": 7, "low": 0.2, "median": 0.41, "high": 0.55}
    whole = [{"metric": name, "accuracy": 0.8, "low": 0.7, "high": 0.9} for name in ("bleu", "chrf")]
    known = {"bins": bins, "accuracy": rows, "people": people, "median": 0.06}
    section = difficulty(find({"global": whole, "contexts": {}, "difficulty": known}))
    assert section is not None
    assert [str(said) for said in section["sentences"]] == [
        (
            "Of pairs whose two texts differ in 3.4\u202f% of their characters or less BLEU tells "
            "60\u202f% (50–70) right, of those that differ in 4.0\u202f% or more 90\u202f% (80–100)."
        ),
        (
            "Outputs that people tell apart (mqm) differ in 41\u202f% (median; middle half 20\u202f% to "
            "55\u202f%), these pairs in 6.0\u202f%."
        ),
    ]
    shown = [[field.show(row) for field in section["grid"].fields] for row in section["grid"].rows]
    assert [row[:2] for row in shown] == [
        ["1.0\u202f% to 3.4\u202f%", "50"],
        ["4.0\u202f% to 30\u202f%", "49"],
    ]
    assert drawn(section["chart"]).startswith("<svg")
    assert difficulty(find({"global": whole, "contexts": {}, "difficulty": None})) is None
