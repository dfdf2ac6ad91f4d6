"""The page and the files of a `rank` run: which metric agrees best with people."""

from __future__ import annotations

from typing import Any

import msgspec
import polars as pl

from metassay.data.csv_export import format_csv
from metassay.reporting.charts.ranking import build_comparisons_chart, build_ranking_chart
from metassay.reporting.charts.theme import make_file_name, render_svg
from metassay.reporting.data_summary import describe_data
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import Page, render_page
from metassay.reporting.rank_sentences import describe_rank_headline, list_ranking_doubts
from metassay.reporting.rank_view import build_rank_view, list_analysis_rows
from metassay.reporting.report_sections import build_report_sections
from metassay.results.rank import RankContent


def build_rank_page(result: RankContent, labels: MetricLabels | None = None) -> Page:
    """Build the page of a `rank` result."""
    rank_view = build_rank_view(result, labels)
    doubts = [
        doubt for ranking in result.global_rankings for doubt in list_ranking_doubts(ranking, rank_view)
    ]
    return Page(
        kicker="Metrics against people",
        title="Which metric agrees best with people?",
        lead=describe_rank_headline(rank_view),
        sections=build_report_sections("rank", rank_view),
        doubts=doubts,
        notes=[*describe_data(result.data), *result.notes],
    )


def render_rank_files(result: RankContent, table: pl.DataFrame) -> dict[str, Any]:
    """Render the files of a `rank` run by name: result as JSON and CSV, charts and page."""
    rank_view = build_rank_view(result)
    files: dict[str, Any] = {"results/rank.json": result.to_dict(), "results/rank.csv": format_csv(table)}
    comparisons = _list_comparisons(result)
    if comparisons:
        files["results/comparisons.csv"] = format_csv(pl.DataFrame(comparisons, infer_schema_length=None))
    for name, rows in list_analysis_rows(result.analyses).items():
        files[f"results/{name}.csv"] = format_csv(pl.DataFrame(rows, infer_schema_length=None))
    for ranking in result.rankings:
        name = make_file_name(f"{ranking.dataset}-{ranking.meta_metric}-{ranking.context}")
        files[f"charts/{name}.svg"] = render_svg(build_ranking_chart(ranking, rank_view.labels))
        if ranking.comparisons:
            files[f"charts/{name}-comparisons.svg"] = render_svg(
                build_comparisons_chart(ranking, rank_view.labels)
            )
    files["report.html"] = render_page(build_rank_page(result))
    return files


def _list_comparisons(result: RankContent) -> list[dict[str, Any]]:
    """List the comparisons of all rankings as rows of one table."""
    rows: list[dict[str, Any]] = []
    for ranking in result.rankings:
        names = {"dataset": ranking.dataset, "meta": ranking.meta_metric, "context": ranking.context}
        rows += [names | msgspec.to_builtins(comparison) for comparison in ranking.comparisons]
    return rows
