"""The pages of `score` and `aggregate`: what they claim, hostile names, and runs of other verbs."""

from __future__ import annotations

import re

import msgspec
import polars as pl
import pytest

from metassay.cli import run_command_line as command
from metassay.errors import InputError
from metassay.reporting.aggregate_page import (
    build_aggregate_page,
    list_main_findings_on_aggregations,
    prepare_aggregate_report,
)
from metassay.reporting.pages import render_page
from metassay.reporting.score_page import (
    build_score_page,
    list_main_findings_on_score_differences,
    prepare_score_report,
)
from metassay.results.aggregate import (
    AggregateContent,
    AggregatedSystem,
    AggregationPair,
    HumanCorrelation,
    StandardErrors,
)
from metassay.results.score import ScoreContent, ScoredSystem, SystemComparison
from metassay.sample import get_bundled_sample_path
from metassay.workflows.compare import compare
from metassay.workflows.recommend import recommend
from metassay.workflows.report import report

ATTACK = "<script>alert(1)</script>"


def test_hostile_names_are_text():
    system = AggregatedSystem(ATTACK, ATTACK, ATTACK, 1.0, 2.0, 1.0, StandardErrors(1.0, 2.0, 1.0))
    aggregated = AggregateContent(
        systems=[system],
        between=[AggregationPair(f"{ATTACK}{n}", ATTACK, groups=3, pearson=0.5) for n in range(3)],
        downsampled=[],
        human=[HumanCorrelation(ATTACK, ATTACK, "corpus", "mean", systems=3, pearson=0.1)],
        notes=[ATTACK],
    )
    compared = build_scores(lambda name: f"{ATTACK}{name}")
    pages = [render_page(build_aggregate_page(aggregated)), render_page(build_score_page(compared))]
    for html in pages:
        assert ATTACK not in html
        assert "&lt;script&gt;alert(1)" in html


def build_scores(name=str, p_values=(0.6, 0.01, 0.01), p_holm=(0.6, 0.01, 0.01)):
    """Scores of three systems, of which the third differs from both others."""
    systems = [
        ScoredSystem(
            system=name(system),
            metric="bleu",
            signature="bleu",
            corpus=score,
            segment=score,
            bootstrap=None,
            low=None,
            high=None,
            official=None,
        )
        for system, score in zip("abc", (30.0, 30.1, 20.0))
    ]
    pairs = [("a", "b", -0.1), ("a", "c", 10.0), ("b", "c", 10.1)]
    comparisons = [
        SystemComparison(
            metric="bleu",
            a=name(a),
            b=name(b),
            difference=difference,
            p=p,
            test="bootstrap",
            p_holm=holm,
            segments=9,
        )
        for (a, b, difference), p, holm in zip(pairs, p_values, p_holm)
    ]
    return ScoreContent(systems=systems, comparisons=comparisons)


def test_differences_between_systems_are_counted_and_starred():
    said = (
        "Of 3 differences between systems, 2 by BLEU are significant (p ≤ .05 by paired bootstrap, two-sided,"
        " after Holm's correction)."
    )
    page = build_score_page(build_scores())
    assert [
        claim.sentence
        for claim in list_main_findings_on_score_differences(prepare_score_report(build_scores()))
    ] == [said]
    (choice,) = page.sections[1].choices
    cells = {
        (c["row"], c["column"]): (c["value"], c["mark"]) for c in choice.charts[0].spec["data"]["values"]
    }
    assert cells["a", "c"] == (10.0, "*")
    assert cells["c", "a"] == (-10.0, "*")
    assert cells["a", "b"] == (-0.1, "")
    untested = msgspec.structs.replace(build_scores(), comparisons=[])
    (claim,) = list_main_findings_on_score_differences(prepare_score_report(untested))
    assert claim.sentence == "Scores of every system. No test was requested (--test)."


def test_too_few_draws_for_so_many_comparisons_are_a_doubt():
    assert build_score_page(build_scores()).doubts == []
    few_draws = build_scores(p_values=(0.02, 0.02, 0.02), p_holm=(0.06, 0.06, 0.06))
    (doubt,) = build_score_page(few_draws).doubts
    assert doubt.startswith("BLEU: the smallest p, .020, is not significant among 3 comparisons")


def test_metrics_share_a_sentence_about_differences_and_about_draws():
    content = build_scores(p_values=(0.02, 0.02, 0.01), p_holm=(0.06, 0.06, 0.03))
    others = [msgspec.structs.replace(row, metric="ter", p=0.02, p_holm=0.06) for row in content.comparisons]
    few = [msgspec.structs.replace(row, p=0.02, p_holm=0.06) for row in content.comparisons]
    both = msgspec.structs.replace(content, comparisons=[*content.comparisons, *others])
    (sentence,) = [
        claim.sentence for claim in list_main_findings_on_score_differences(prepare_score_report(both))
    ]
    assert sentence.startswith("Of 3 differences between systems, 1 by BLEU and 0 by ter are significant")
    (doubt,) = build_score_page(msgspec.structs.replace(content, comparisons=[*few, *others])).doubts
    assert doubt.startswith("BLEU and ter: the smallest p, .020, is not significant among 3 comparisons")


def test_without_correlations_nothing_is_claimed():
    pair = AggregationPair("a", "b", groups=1, pearson=None)
    content = AggregateContent(systems=[], between=[pair], downsampled=[], human=[])
    (claim,) = list_main_findings_on_aggregations(prepare_aggregate_report(content))
    assert claim.sentence == (
        "No correlation is defined: at least two systems with different scores are needed."
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder, data = tmp_path_factory.mktemp("runs"), str(get_bundled_sample_path("mt"))
    quick = ["--metrics", "bleu,chrf"]
    assert command(["aggregate", data, *quick, "--out", str(folder / "aggregate"), "--quiet"]) == 0
    return folder


@pytest.mark.parametrize("verb", ["aggregate"])
def test_a_run_leaves_a_page_that_can_be_made_again(runs, verb):
    before = (runs / verb / "report.html").read_bytes()
    assert b'<figure class="chart"' in before
    assert report(runs / verb).read_bytes() == before
    assert pl.read_csv(runs / verb / "results" / f"{verb}.csv").height > 1


@pytest.mark.parametrize("verb", ["aggregate"])
def test_other_verbs_say_what_the_run_is(runs, verb):
    said = rf"this is a run of `metassay {verb}`, not of an assay.\n.*{re.escape(verb)}/report.html"
    with pytest.raises(InputError, match=said):
        recommend(runs / verb)
    with pytest.raises(InputError, match=said):
        compare(runs / verb, runs / verb)
