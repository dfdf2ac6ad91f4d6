"""The page of `rank`: what its sentences and sections say."""

from __future__ import annotations

import re

import msgspec
import polars as pl
import pytest

from metassay.cli import run_command_line as command
from metassay.errors import InputError
from metassay.reporting.pages import Page, Section, render_page
from metassay.reporting.rank_page import build_rank_page, describe_rankings
from metassay.reporting.rank_report import prepare_rank_report
from metassay.reporting.rank_sentences import (
    describe_best_metric,
    describe_significant_comparisons,
    list_main_findings_on_metric_ranking,
    list_reasons_to_doubt_ranking,
)
from metassay.reporting.terminal.blocks import Line
from metassay.results.rank import (
    DownsampledValue,
    MetricComparison,
    MetricPairPValues,
    RankContent,
    RankedMetric,
    Ranking,
    SystemPairPValues,
)
from metassay.sample import get_bundled_sample_path
from metassay.workflows.compare import compare
from metassay.workflows.recommend import recommend
from metassay.workflows.report import report

ATTACK = "<script>alert(1)</script>"
NAMES = ("A", "B", "C")


def build_metric(
    metric: str, value: float | None, rank: int | None, *, baseline: bool = False
) -> RankedMetric:
    return RankedMetric(
        metric=metric, value=value, low=None, high=None, rank=rank, items=100, baseline=baseline
    )


def build_ranking(
    p_values: tuple[float, ...] = (0.01, 0.02, 0.03),
    values: tuple[float | None, ...] = (0.8, 0.7, 0.6),
    baseline: float = 0.5,
    prefix: str = "",
    **changes: object,
) -> Ranking:
    """Metrics A, B and C, compared as (A, B), (A, C), (B, C), and a baseline."""
    names = [prefix + name for name in NAMES]
    metrics = [build_metric(*entry) for entry in zip(names, values, (1, 2, 3))]
    metrics.append(build_metric(f"{prefix}zero", baseline, None, baseline=True))
    pairs = [(names[0], names[1]), (names[0], names[2]), (names[1], names[2])]
    comparisons = [
        MetricComparison(better=better, worse=worse, p=p, p_two_sided=min(1.0, 2 * p))
        for (better, worse), p in zip(pairs, p_values)
    ]
    ranking = Ranking(
        dataset=f"{prefix}en-de",
        meta_metric="spa",
        context="global",
        context_column=None,
        systems=9,
        items=100,
        dropped_items=2,
        answers_for="these systems",
        method="normal",
        metrics=metrics,
        comparisons=comparisons,
    )
    return msgspec.structs.replace(ranking, **changes)


def build_detailed_ranking(
    human: tuple[float, ...] = (0.01, 0.02, 0.3), by_metric: tuple[float, ...] = (0.02, 0.9, 0.3)
) -> Ranking:
    """A ranking with the p-values of three systems, and with values on fewer items."""
    rows = [
        MetricPairPValues(metric=name, human=list(human), metric_p_values=list(by_metric)) for name in NAMES
    ]
    downsampled = []
    for items, share in {5: 0.4, 20: 0.97, 40: 1.0}.items():
        shares = {"A": share, "B": (1 - share) / 2, "C": (1 - share) / 2, "zero": None}
        downsampled += [
            DownsampledValue(items=items, metric=name, median=0.7, low=0.6, high=0.8, first=first)
            for name, first in shares.items()
        ]
    pair_p_values = SystemPairPValues(systems=["x", "y", "z"], rows=rows)
    return build_ranking(pair_p_values=pair_p_values, downsampled=downsampled)


def build_result(ranking: Ranking, human: str = "mqm", notes: tuple[str, ...] = ()) -> RankContent:
    return RankContent(human=human, rankings=[ranking], averages=[], notes=list(notes))


def describe(ranking: Ranking) -> str:
    return describe_best_metric(ranking, prepare_rank_report(build_result(ranking)))


def find_section(page: Page, title: str) -> Section:
    (section,) = [section for section in page.sections if section.title == title]
    return section


OPENING = "A agrees best with people (mqm) on these 9 systems: SPA 0.80"


def test_a_metric_that_was_not_shown_to_be_worse_is_named() -> None:
    """A beats B (p .01) but not C (.2), though C comes last."""
    assert describe(build_ranking((0.01, 0.2, 0.5))) == f"{OPENING}. C is tied with it."


def test_the_best_metric_is_ahead_if_all_comparisons_are_significant() -> None:
    expected = f"{OPENING}, ahead of B and C (one-sided p ≤ .05 for each)."
    assert describe(build_ranking((0.01, 0.02, 0.5))) == expected


def test_counts_of_one_are_singular() -> None:
    single = build_ranking((0.2,), systems=1, items=1, dropped_items=0)
    assert describe(single).startswith("A agrees best with people (mqm) on this system: SPA 0.80")
    assert describe_significant_comparisons(single).startswith("0 of 1 comparison is significant")
    shown = [block.text for block in describe_rankings(build_result(single)) if isinstance(block, Line)]
    assert "en-de: SPA with mqm: 1 system, 1 item." in shown


def test_without_a_test_nothing_is_claimed_about_the_others() -> None:
    assert describe(build_ranking(())) == f"{OPENING}. Whether it is ahead of the others was not tested."


def test_undefined_values_are_reported() -> None:
    expected = "No metric has a defined SPA with mqm on en-de."
    assert describe(build_ranking((), values=(None, None, None))) == expected


def test_a_baseline_as_good_as_the_best_metric_is_a_doubt() -> None:
    dropped = "en-de: 2 items without all scores were left out."
    ranking = build_ranking((1, 1, 1))
    assert list_reasons_to_doubt_ranking(ranking, prepare_rank_report(build_result(ranking))) == [dropped]
    ranking = build_ranking((1, 1, 1), baseline=0.9)
    first, second = list_reasons_to_doubt_ranking(ranking, prepare_rank_report(build_result(ranking)))
    assert "the baseline zero, which knows nothing of quality, has SPA 0.90" in first
    assert second == dropped


def test_comparisons_are_counted_for_these_and_for_other_systems() -> None:
    ranking = build_ranking((0.01, 0.01, 0.5))
    comparisons = [
        msgspec.structs.replace(comparison, p_inputs=comparison.p, p_systems=0.9)
        for comparison in ranking.comparisons
    ]
    ranking = msgspec.structs.replace(ranking, comparisons=comparisons)
    assert "tied" not in describe(ranking)
    assert describe_significant_comparisons(ranking) == (
        "2 of 3 comparisons are significant for these systems, 0 for systems like these (one-sided p ≤ .05, not"
        " corrected for their number)."
    )


def test_hostile_names_are_shown_as_text() -> None:
    result = build_result(build_ranking(prefix=ATTACK), human=ATTACK, notes=(ATTACK,))
    html = render_page(build_rank_page(result))
    assert ATTACK not in html
    assert "&lt;script&gt;alert(1)" in html


def test_system_pairs_are_drawn_for_one_metric_at_a_time() -> None:
    page = build_rank_page(build_result(build_detailed_ranking()))
    section = find_section(page, "Pairs of systems")
    assert [choice.title for choice in section.choices] == ["A", "B", "C"]
    choice = section.choices[0]
    expected = (
        "A and people prefer different systems in 1 of 3 pairs. They differ most on x and z: people prefer x"
        " with p .020, A prefers z with p .100."
    )
    assert choice.sentences == [expected]
    people, metric, difference = (chart.spec["data"]["values"] for chart in choice.charts)
    assert [(cell["row"], cell["column"], cell["mark"]) for cell in people] == [
        ("1 x", "2 y", ".01"),
        ("1 x", "3 z", ".02"),
        ("2 y", "3 z", ".30"),
    ]
    assert [cell["value"] for cell in metric] == [0.48, -0.4, 0.2]
    assert [cell["mark"] for cell in difference] == ["−.01", "−.88", ".00"]


def test_equal_p_values_are_a_sentence_instead_of_heatmaps() -> None:
    page = build_rank_page(build_result(build_detailed_ranking(by_metric=(0.01, 0.02, 0.3))))
    choice = find_section(page, "Pairs of systems").choices[0]
    assert choice.sentences == [
        "People and A are equally certain about every pair: no p-value differs by 0.005."
    ]
    assert not choice.charts


def test_a_heatmap_that_is_certain_everywhere_is_not_drawn() -> None:
    page = build_rank_page(build_result(build_detailed_ranking(human=(0.0, 0.0, 0.0))))
    choice = find_section(page, "Pairs of systems").choices[0]
    assert len(choice.charts) == 2
    expected = "Not drawn, because certain about every pair in the order of people: people."
    assert choice.sentences[1] == expected


def test_too_many_systems_are_named() -> None:
    page = build_rank_page(build_result(build_ranking(systems=143)))
    section = find_section(page, "Pairs of systems")
    assert section.sentences == ["Too many systems to draw every pair (--systems names some): en-de (143)."]


def test_fewer_items_are_described_and_drawn() -> None:
    page = build_rank_page(build_result(build_detailed_ranking()))
    section = find_section(page, "On fewer items")
    assert section.sentences[:2] == [
        (
            "A is first on all 40 items. It is also first in this share of random subsets: 97\u202f% with 20"
            " items."
        ),
        "With 20 items or more, the share is at least 95 %.",
    ]
    assert "the baseline zero (dashed), which knows nothing of quality" in section.sentences[2]
    (chart,) = section.charts
    assert [entry.name for entry in chart.legend_entries] == ["A", "B", "C"]
    assert {row["metric"] for row in chart.spec["data"]["values"] if row["sentinel"]} == {"zero"}


def test_several_rankings_share_a_section_and_contexts_are_a_choice() -> None:
    in_context = build_ranking(context="news", context_column="domain")
    by_pa = build_ranking(meta_metric="pa")
    result = msgspec.structs.replace(
        build_result(build_ranking()), rankings=[build_ranking(), by_pa, in_context]
    )
    verdict = list_main_findings_on_metric_ranking(prepare_rank_report(result))
    page = build_rank_page(msgspec.structs.replace(result, verdict=verdict))
    rankings = find_section(page, "Rankings")
    assert len(rankings.charts) == 4  # values and comparisons of two rankings
    assert rankings.sentences[0] == "en-de: SPA with mqm: This ranking uses 9 systems and 100 items."
    contexts = find_section(page, "Within contexts")
    assert [choice.title for choice in contexts.choices] == ["en-de, news: SPA with mqm"]
    assert page.lead[1] == "A has the highest SPA in every domain with enough data, too."
    assert len(page.lead) == 3


@pytest.fixture(scope="module")
def rank_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "rank"
    options = ["--metrics", "bleu,chrf", "--out", str(folder), "--quiet"]
    assert command(["rank", str(get_bundled_sample_path("mt")), *options]) == 0
    return folder


def test_the_page_of_a_run_can_be_made_again(rank_run) -> None:
    before = (rank_run / "report.html").read_bytes()
    assert b'<figure class="chart"' in before
    assert report(rank_run).read_bytes() == before
    assert pl.read_csv(rank_run / "results" / "rank.csv").height > 1


def test_verbs_that_need_an_assay_refuse_the_run(rank_run) -> None:
    message = rf"this is a run of `metassay rank`, not of an assay.\n.*{re.escape('rank/report.html')}"
    with pytest.raises(InputError, match=message):
        recommend(rank_run)
    with pytest.raises(InputError, match=message):
        compare(rank_run, rank_run)
