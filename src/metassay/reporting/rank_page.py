"""The page and the files of a `rank` run: which metric agrees best with people."""

from __future__ import annotations

from typing import Any

import msgspec
import polars as pl

from metassay.reporting.charts.ranking import build_comparisons_chart, build_ranking_chart
from metassay.reporting.charts.theme import make_safe_file_name, render_svg
from metassay.reporting.data_summary import describe_data_used
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import Page
from metassay.reporting.rank_report import list_rows_by_analysis, prepare_rank_report
from metassay.reporting.rank_sentences import list_ranking_doubts
from metassay.reporting.report_sections import build_report_sections
from metassay.reporting.sections.rank_differences import build_differences_section
from metassay.reporting.sections.rank_fewer_items import build_fewer_items_section
from metassay.reporting.sections.rank_rankings import (
    build_averages_section,
    build_contexts_section,
    build_rankings_section,
)
from metassay.reporting.sections.rank_system_pairs import build_system_pairs_section
from metassay.results.rank import RankContent

# In the order of the page. Sections of plug-ins come between or after them, by their position.
RANK_SECTIONS = {
    10: build_rankings_section,
    20: build_system_pairs_section,
    30: build_fewer_items_section,
    35: build_differences_section,
    40: build_contexts_section,
    50: build_averages_section,
}


def build_rank_page(rank_result: RankContent, metric_labels: MetricLabels | None = None) -> Page:
    """Build the report page of a `rank` result."""
    rank_report = prepare_rank_report(rank_result, metric_labels)
    doubts = []
    for ranking in rank_result.global_rankings:
        doubts += list_ranking_doubts(ranking, rank_report)
    return Page(
        kicker="Metrics against people",
        title="Which metric agrees best with people?",
        lead=[claim.sentence for claim in rank_result.verdict],
        sections=build_report_sections("rank", rank_report, RANK_SECTIONS),
        doubts=doubts,
        notes=[*describe_data_used(rank_result.data), *rank_result.notes],
    )


def render_further_rank_files(rank_result: RankContent) -> dict[str, Any]:
    """Render the tables of comparisons and further analyses, and all charts, by the names of their files."""
    rank_report = prepare_rank_report(rank_result)
    files: dict[str, Any] = {}
    comparisons = _list_comparisons(rank_result)
    if comparisons:
        files["results/comparisons.csv"] = pl.DataFrame(comparisons, infer_schema_length=None)
    for name, rows in list_rows_by_analysis(rank_result.analyses).items():
        files[f"results/{name}.csv"] = pl.DataFrame(rows, infer_schema_length=None)
    for ranking in rank_result.rankings:
        name = make_safe_file_name(f"{ranking.dataset}-{ranking.meta_metric}-{ranking.context}")
        files[f"charts/{name}.svg"] = render_svg(build_ranking_chart(ranking, rank_report.labels))
        if ranking.comparisons:
            files[f"charts/{name}-comparisons.svg"] = render_svg(
                build_comparisons_chart(ranking, rank_report.labels)
            )
    return files


def _list_comparisons(rank_result: RankContent) -> list[dict[str, Any]]:
    """List the tests between metrics of all rankings as rows of one table."""
    rows: list[dict[str, Any]] = []
    for ranking in rank_result.rankings:
        names = {"dataset": ranking.dataset, "meta": ranking.meta_metric, "context": ranking.context}
        rows += [names | msgspec.to_builtins(comparison) for comparison in ranking.comparisons]
    return rows
