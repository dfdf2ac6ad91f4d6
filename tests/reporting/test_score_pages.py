"""The pages of `rank` and `aggregate`: what they claim, hostile names, and runs of other verbs."""

from __future__ import annotations

import re

import msgspec
import polars as pl
import pytest

from metassay.cli import run as command
from metassay.errors import InputError
from metassay.reporting.aggregate_page import build_aggregate_page
from metassay.reporting.pages import render_page
from metassay.reporting.ranking_page import (
    best_sentence,
    ranking_doubts,
    ranking_page,
    significance_sentence,
)
from metassay.reporting.score_page import build_score_page
from metassay.results.aggregate import (
    AggregateContent,
    AggregatedSystem,
    AggregationPair,
    HumanAgreement,
    StandardErrors,
)
from metassay.results.score import ScoreContent, ScoredSystem, SystemComparison
from metassay.sample import sample_path
from metassay.workflows.compare import compare
from metassay.workflows.recommend import recommend
from metassay.workflows.report import report

ATTACK = "<script>alert(1)</script>"


def ranking(p, values=(0.8, 0.7, 0.6), baseline=0.5, name=str):
    names = [name(each) for each in ("A", "B", "C")]
    rows = [
        {"metric": metric, "value": value, "low": None, "high": None, "rank": n + 1, "baseline": False}
        for n, (metric, value) in enumerate(zip(names, values))
    ]
    rows.append({**rows[0], "metric": name("zero"), "value": baseline, "rank": None, "baseline": True})
    pairs = [(0, 1), (0, 2), (1, 2)]
    return {
        "dataset": name("en-de"),
        "meta": "spa",
        "context": "global",
        "systems": 9,
        "segments": 100,
        "dropped_segments": 2,
        "answers_for": "these systems",
        "metrics": rows,
        "comparisons": [{"a": names[i], "b": names[j], "p": each} for (i, j), each in zip(pairs, p)],
    }


def test_the_best_is_ahead_only_of_those_it_was_shown_to_beat():
    """A beats B (p .01) but not C (.2), though C comes last: C is named."""
    opening = "A agrees best with people (mqm) on these 9 systems of en-de: spa 0.800"
    assert best_sentence(ranking((0.01, 0.2, 0.5)), "mqm") == f"{opening}. C cannot be told apart from it."
    ahead = best_sentence(ranking((0.01, 0.02, 0.5)), "mqm")
    assert ahead == f"{opening}, ahead of all others (one-sided p ≤ .05)."
    untested = ranking(()) | {"comparisons": []}
    assert best_sentence(untested, "mqm").endswith("Whether it is ahead of the others was not tested.")
    undefined = ranking((1, 1, 1), values=(None, None, None))
    assert best_sentence(undefined, "mqm") == "No metric has a defined spa with mqm on en-de."


def test_a_baseline_that_does_as_well_is_a_doubt():
    dropped = "en-de: 2 segments without all scores left out."
    assert ranking_doubts(ranking((1, 1, 1))) == [dropped]
    first, second = ranking_doubts(ranking((1, 1, 1), baseline=0.9))
    assert "zero, a baseline that knows nothing of quality, has spa 0.900" in first
    assert second == dropped


def test_hostile_names_are_text():
    one = ranking((0.01, 0.2, 0.5), name=lambda text: f"{ATTACK}{text}")
    result = {"human": ATTACK, "results": [one], "average": [], "notes": [ATTACK]}
    page = render_page(ranking_page(result))
    system = AggregatedSystem(ATTACK, ATTACK, ATTACK, 1.0, 2.0, 1.0, StandardErrors(1.0, 2.0, 1.0))
    aggregated = AggregateContent(
        systems=[system],
        between=[AggregationPair(f"{ATTACK}{n}", ATTACK, groups=3, pearson=0.5) for n in range(3)],
        downsampled=[],
        human=[HumanAgreement(ATTACK, ATTACK, "corpus", "mean", systems=3, pearson=0.1)],
        notes=[ATTACK],
    )
    compared = build_scores(lambda name: f"{ATTACK}{name}")
    pages = [page, render_page(build_aggregate_page(aggregated)), render_page(build_score_page(compared))]
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
        "By BLEU 2 of 3 differences between systems are significant (p ≤ .05 by paired bootstrap, two-sided,"
        " after Holm's correction)."
    )
    page = build_score_page(build_scores())
    assert list(page.lead) == [said]
    (choice,) = page.sections[1].choices
    cells = {
        (c["row"], c["column"]): (c["value"], c["mark"]) for c in choice.charts[0].spec["data"]["values"]
    }
    assert cells["a", "c"] == (10.0, "*")
    assert cells["c", "a"] == (-10.0, "*")
    assert cells["a", "b"] == (-0.1, "")
    untested = msgspec.structs.replace(build_scores(), comparisons=[])
    assert build_score_page(untested).lead == ["Scores of every system. No test was requested (--test)."]


def test_too_few_draws_for_so_many_comparisons_are_a_doubt():
    assert build_score_page(build_scores()).doubts == []
    few_draws = build_scores(p_values=(0.02, 0.02, 0.02), p_holm=(0.06, 0.06, 0.06))
    (doubt,) = build_score_page(few_draws).doubts
    assert doubt.startswith("BLEU: the smallest p, .020, is not significant among 3 comparisons")


def test_without_correlations_nothing_is_claimed():
    pair = AggregationPair("a", "b", groups=1, pearson=None)
    content = AggregateContent(systems=[], between=[pair], downsampled=[], human=[])
    assert build_aggregate_page(content).lead == [
        "No correlation is defined: at least two systems with different scores are needed."
    ]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder, data = tmp_path_factory.mktemp("runs"), str(sample_path("mt"))
    quick = ["--metrics", "bleu,chrf"]
    assert command(["rank", data, *quick, "--out", str(folder / "rank"), "--quiet"]) == 0
    assert command(["aggregate", data, *quick, "--out", str(folder / "aggregate"), "--quiet"]) == 0
    return folder


@pytest.mark.parametrize("verb", ["rank", "aggregate"])
def test_a_run_leaves_a_page_that_can_be_made_again(runs, verb):
    before = (runs / verb / "report.html").read_bytes()
    assert b'<figure class="chart"' in before
    assert report(runs / verb).read_bytes() == before
    assert pl.read_csv(runs / verb / "results" / f"{verb}.csv").height > 1


@pytest.mark.parametrize("verb", ["rank", "aggregate"])
def test_other_verbs_say_what_the_run_is(runs, verb):
    said = rf"this is a run of `metassay {verb}`, not of an assay.\n.*{re.escape(verb)}/report.html"
    with pytest.raises(InputError, match=said):
        recommend(runs / verb)
    with pytest.raises(InputError, match=said):
        compare(runs / verb, runs / verb)


def test_the_test_that_was_asked_for_decides_and_both_are_counted() -> None:
    """Ahead on these systems and not on systems like them: the sentence is about these."""
    one = ranking((0.01, 0.01, 0.5)) | {"answers_for": "these systems"}
    for row in one["comparisons"]:
        row |= {"p_inputs": row["p"], "p_systems": 0.9}
    assert "cannot be told apart" not in best_sentence(one, "mqm")
    assert significance_sentence(one) == (
        "2 of 3 comparisons are significant for these systems, 0 for systems like these (one-sided p ≤ .05)."
    )


def softly(systems=("x", "y", "z"), human=(0.01, 0.02, 0.3), own=(0.02, 0.9, 0.3)):
    """A ranking with the p-values of its pairs, and with values on fewer segments."""
    one = ranking((0.01, 0.02, 0.03))
    rows = [{"metric": name, "human": list(human), "own": list(own)} for name in ("A", "B", "C")]
    sizes = {5: 0.4, 20: 0.97, 40: 1.0}
    fewer = [
        {"segments": size, "metric": name, "median": 0.7, "low": 0.6, "high": 0.8}
        | {"first": None if name == "zero" else share if name == "A" else (1 - share) / 2}
        for size, share in sizes.items()
        for name in ("A", "B", "C", "zero")
    ]
    return one | {"preferences": {"systems": list(systems), "rows": rows}, "downsampled": fewer}


def page_of(one):
    return ranking_page({"human": "mqm", "results": [one], "notes": []})


def test_pairs_of_systems_are_drawn_for_one_metric_at_a_time():
    (part,) = [section for section in page_of(softly()).sections if section.title == "Pairs of systems"]
    assert [choice.title for choice in part.choices] == ["A", "B", "C"]
    first = part.choices[0]
    said = (
        "A and people prefer different systems in 1 of 3 pairs. They differ most on x and z: people prefer x"
    )
    assert first.sentences == [f"{said} with p .020, A prefers z with p .100."]
    people, metric, apart = (chart.spec["data"]["values"] for chart in first.charts)
    assert [(cell["row"], cell["column"], cell["mark"]) for cell in people] == [
        ("1 x", "2 y", ".01"),
        ("1 x", "3 z", ".02"),
        ("2 y", "3 z", ".30"),
    ]
    assert [cell["value"] for cell in metric] == [0.48, -0.4, 0.2]
    assert [cell["mark"] for cell in apart] == ["−.01", "−.88", ".00"]


def test_maps_that_would_show_nothing_are_sentences():
    alike = page_of(softly(own=(0.01, 0.02, 0.3)))
    (part,) = [section for section in alike.sections if section.title == "Pairs of systems"]
    assert part.choices[0].sentences == [
        "People and A are equally sure of every pair: no p-value differs by 0.005."
    ]
    assert not part.choices[0].charts
    sure = page_of(softly(human=(0, 0, 0)))
    (part,) = [section for section in sure.sections if section.title == "Pairs of systems"]
    assert len(part.choices[0].charts) == 2
    assert (
        part.choices[0].sentences[1] == "Not drawn, since sure of every pair, in the order of people: people."
    )
    many = page_of(ranking((0.01, 0.02, 0.03)) | {"systems": 143})
    (part,) = [section for section in many.sections if section.title == "Pairs of systems"]
    assert part.sentences == ["Too many systems to draw every pair (--systems names some): en-de (143)."]


def test_what_fewer_segments_would_say():
    (part,) = [section for section in page_of(softly()).sections if section.title == "On fewer segments"]
    assert part.sentences[:2] == [
        "On all 40 segments A comes first, on 20 in 97\u202f% of random subsets.",
        "On 20 segments and more it is first in at least 95 % of them.",
    ]
    assert "zero, a baseline that knows nothing of quality" in part.sentences[2]
    (chart,) = part.charts
    assert [key["name"] for key in chart.legend] == ["A", "B", "C"]
    assert {row["metric"] for row in chart.spec["data"]["values"] if row["sentinel"]} == {"zero"}
