"""Which metric the sentences name, and which p-value they rest on, in cases written down by hand."""

from __future__ import annotations

import pytest

from metassay.reporting.answer import _clearly_better, _leaders
from metassay.reporting.findings import Choice, Column, Estimate, _agreement, find
from metassay.reporting.html import thinned
from metassay.reporting.sections.hypotheses import agreement_grid, agreement_sentences, h1_grid, h1_sentence
from metassay.reporting.tables import Field, _short, to_markdown
from metassay.reporting.wording import in_labels


def estimate(metric, accuracy, low=None, high=None):
    return Estimate(metric, "talk", accuracy, low, high, {})


def column(*estimates, choices=None, contexts=("news", "talk")):
    known = {(each.context, each.metric): each for each in estimates}
    return Column("domain", contexts, known, (), None, choices or {}, {})


def test_of_several_leaders_the_recommended_one_is_named_and_else_the_most_accurate():
    old = estimate("a", 0.5)
    here = column(old, estimate("b", 0.7), estimate("c", 0.9))
    assert _leaders(here, old, {"b", "c"}) == ["c", "b"]
    chosen = column(*here.estimates.values(), choices={"talk": Choice("b", (), (), "")})
    assert _leaders(chosen, old, {"b", "c"}) == ["b", "c"]


def test_clearly_better_is_an_interval_that_lies_above():
    """b's interval overlaps a's, c's and d's lie above it; the most accurate comes first."""
    old = estimate("a", 0.5, 0.4, 0.6)
    here = column(
        old, estimate("b", 0.65, 0.55, 0.75), estimate("c", 0.7, 0.61, 0.8), estimate("d", 0.9, 0.8, 1.0)
    )
    rows = [{"metric": name, "accuracy": 0.5} for name in "abcd"]
    assert _clearly_better(find({"global": rows, "sentinels": []}), here, old) == ["d", "c"]


def test_the_adjusted_p_value_of_an_order_is_the_one_shown():
    h2 = {"statistic": "kendall", "contexts": ["global", "news"], "matrix": [[1, 0.5], [0.5, 1]]}
    assert _agreement(h2 | {"p_global": [None, 0.01], "p_global_holm": [None, 0.04]}).p_global == (None, 0.04)
    assert _agreement(h2 | {"p_global": [None, 0.01]}).p_global == (None, 0.01)


def test_a_chart_of_many_contexts_shows_them_evenly_from_first_to_last():
    contexts = tuple(str(n) for n in range(301))
    kept = thinned(column(contexts=contexts), 4).contexts
    assert kept == ("0", "100", "200", "300")
    assert thinned(column(contexts=contexts[:4]), 4).contexts == contexts[:4]


def result(h1=(), claims=None, **h2):
    rows = [
        {"metric": name, "accuracy": 0.5, "context": context}
        for context in ("news", "talk")
        for name in ("a", "b")
    ]
    return {
        "task": "mt",
        "global": [{"metric": "a", "accuracy": 0.6}, {"metric": "b", "accuracy": 0.5}],
        "sentinels": [],
        "contexts": {"domain": {"local_accuracy": rows, "h1": list(h1), "h2": h2 or None}},
        **({} if claims is None else {"claims": claims}),
    }


def row_of(metric, v, **p):
    return {"metric": metric, "cramers_v": v, **p}


@pytest.mark.parametrize(
    ("v", "word"), [(0.09, "slight"), (0.11, "moderate"), (0.29, "moderate"), (0.31, "large")]
)
def test_the_size_of_an_effect_has_the_usual_names(v, word):
    """Cohen's .1 and .3, and the strongest metric gives the word."""
    rows = [row_of("a", v, p_permutation=0.001, p_permutation_holm=0.002), row_of("b", 0.05, p_permutation=0.001,
            p_permutation_holm=0.002)]  # fmt: skip
    claims = {"vary": [{"column": "domain", "metric": name} for name in "ab"]}
    findings = find(result(rows, claims))
    said = str(h1_sentence(findings, findings.columns[0]))
    assert f"the difference is {word} (largest Cramér’s V {v:.2f}, a)" in said


def test_the_deciding_p_value_of_h1_is_that_of_the_permutations_for_the_whole_report():
    """Significant by chi-square and for its column alone, but not among all claims of the report."""
    row = row_of("a", 0.2, p=1e-9, p_holm=1e-9, p_permutation=0.02, p_permutation_holm=0.04)
    findings = find(result([row], {"vary": []}))
    grid = h1_grid(findings, findings.columns[0])
    assert grid.rows[0]["corrected"] == 0.04
    assert grid.rows[0]["verdict"] == "not shown"
    findings = find(result([row], {"vary": [{"column": "domain", "metric": "a"}]}))
    assert h1_grid(findings, findings.columns[0]).rows[0]["verdict"] == "yes"


MATRIX = [[1, 0.9, 0.3, 0.7], [0.9, 1, 0.2, 0.6], [0.3, 0.2, 1, 0.5], [0.7, 0.6, 0.5, 1]]


def test_the_least_agreement_is_named_and_contexts_differ_at_five_per_cent():
    h2 = {"statistic": "kendall", "contexts": ["global", "news", "talk", "chat"], "matrix": MATRIX,
          "p_global": [None, 0.5, 0.01, 0.2], "ceiling": [1, 1, 1, 1]}  # fmt: skip
    order = {"domain": {"news": 0.9, "talk": 0.04, "chat": 0.3}}
    findings = find(result(claims={"lead": [], "order": order}, **h2))
    said = " ".join(map(str, agreement_sentences(findings, findings.columns[0])))
    assert "least between news and talk at 0.2" in said or "least between news and talk at .2" in said
    assert "chat" not in said.split("least between", 1)[1].split(".", 2)[2]
    grid = agreement_grid(findings, findings.columns[0])
    assert [row["p"] for row in grid.rows] == [0.9, 0.04, 0.3]


def test_one_agreement_of_one_is_not_unanimity():
    h2 = {"statistic": "kendall", "contexts": ["global", "news", "talk"],
          "matrix": [[1, 1, 0.4], [1, 1, 0.4], [0.4, 0.4, 1]], "p_global": [None, 1, 1], "ceiling": [1, 1, 1]}  # fmt: skip
    findings = find(result(claims={"lead": [], "order": {}}, **h2))
    assert "same order for every" not in str(agreement_sentences(findings, findings.columns[0])[0])


def test_downloads_hold_specs_and_tables_four_digits():
    labelled = in_labels({"global": [{"metric": "chrf(word_order=2)", "accuracy": 0.5}]})["global"][0]
    assert Field("metric", "metric", "name").show(labelled) == "chrF++"
    assert Field("metric", "metric", "name").raw(labelled) == "chrf(word_order=2)"
    assert _short(0.12345678, 4) == "0.1235"
    assert _short(-0.00001, 4) == "0"
    assert "0.1235" in to_markdown([{"x": 0.12345678}])
