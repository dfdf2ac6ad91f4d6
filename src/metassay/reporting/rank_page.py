"""What `rank` shows on its page and in the terminal, and its files: which metric agrees best with people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import polars as pl

from metassay.meta.people.meta_metrics.registry import get_meta_metric_label
from metassay.reporting.charts.ranking import build_comparisons_chart, build_ranking_chart
from metassay.reporting.charts.theme import make_safe_file_name, render_svg
from metassay.reporting.data_summary import describe_data_used
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import Page
from metassay.reporting.rank_report import (
    THRESHOLDS,
    RankReport,
    build_table_rows_by_analysis,
    prepare_rank_report,
)
from metassay.reporting.rank_sentences import (
    choose_decimals_for_ranking_values,
    describe_significant_comparisons,
    list_reasons_to_doubt_ranking,
)
from metassay.reporting.report_sections import build_report_sections
from metassay.reporting.sections.rank_differences import build_differences_section
from metassay.reporting.sections.rank_fewer_items import build_fewer_items_section
from metassay.reporting.sections.rank_rankings import (
    build_averages_section,
    build_contexts_section,
    build_rankings_section,
)
from metassay.reporting.sections.rank_system_pairs import build_system_pairs_section
from metassay.reporting.terminal.blocks import (
    Block,
    Details,
    Line,
    Row,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
    summarize_data_in_note,
)
from metassay.reporting.wording import format_plural
from metassay.results.rank import AverageRanking, RankContent, RankedMetric, Ranking

# In the order of the page. Sections of plug-ins come between or after them, by their position.
RANK_SECTIONS = {
    10: build_rankings_section,
    20: build_system_pairs_section,
    30: build_fewer_items_section,
    35: build_differences_section,
    40: build_contexts_section,
    50: build_averages_section,
}
GLOBAL = "global"
# Rows of a ranking that are printed without `--verbose`.
MOST_METRICS = 10
THRESHOLD_COLUMNS = (
    "dataset",
    "between",
    "metric",
    "pairs",
    "accuracy",
    "d80",
    "d80_low",
    "d80_high",
    "d90",
    "d95",
    "d80_coverage",
)


def build_rank_page(rank_result: RankContent, metric_labels: MetricLabels | None = None) -> Page:
    """Build the report page of the command `rank`, which shows how well metrics agree with human scores."""
    rank_report = prepare_rank_report(rank_result, metric_labels)
    doubts = []
    for ranking in rank_result.global_rankings:
        doubts += list_reasons_to_doubt_ranking(ranking, rank_report)
    return Page(
        kicker="Metrics against people",
        title="Which metric agrees best with people?",
        lead=[claim.sentence for claim in rank_result.verdict],
        sections=build_report_sections("rank", rank_report, RANK_SECTIONS),
        doubts=doubts,
        notes=[*describe_data_used(rank_result.data), *rank_result.notes],
    )


def render_comparison_and_chart_files(rank_result: RankContent) -> dict[str, Any]:
    """Render the charts, comparisons of metrics and further analyses of a `rank` result as files. Returns the
    contents by path.
    """
    rank_report = prepare_rank_report(rank_result)
    files: dict[str, Any] = {}
    comparisons = _list_metric_comparisons(rank_result)
    if comparisons:
        files["results/comparisons.csv"] = pl.DataFrame(comparisons, infer_schema_length=None)
    for name, rows in build_table_rows_by_analysis(rank_result.analyses).items():
        files[f"results/{name}.csv"] = pl.DataFrame(rows, infer_schema_length=None)
    for ranking in rank_result.rankings:
        name = make_safe_file_name(f"{ranking.dataset}-{ranking.meta_metric}-{ranking.context}")
        files[f"charts/{name}.svg"] = render_svg(build_ranking_chart(ranking, rank_report.labels))
        if ranking.comparisons:
            files[f"charts/{name}-comparisons.svg"] = render_svg(
                build_comparisons_chart(ranking, rank_report.labels)
            )
    return files


def _list_metric_comparisons(rank_result: RankContent) -> list[dict[str, Any]]:
    """List the tests of which of two metrics is better, from all rankings, as rows of one table."""
    rows: list[dict[str, Any]] = []
    for ranking in rank_result.rankings:
        names = {"dataset": ranking.dataset, "meta": ranking.meta_metric, "context": ranking.context}
        rows += [names | msgspec.to_builtins(comparison) for comparison in ranking.comparisons]
    return rows


def describe_rankings(rank_result: RankContent) -> list[Block]:
    """Describe for the terminal how well metrics agree with human scores, one ranking after the other."""
    rank_report = prepare_rank_report(rank_result)
    blocks: list[Block] = [*convert_sentences_to_lines(claim.sentence for claim in rank_result.verdict)]
    for ranking in rank_result.global_rankings:
        blocks += _describe_ranking(ranking, rank_report)
    for average in rank_result.averages:
        blocks += _describe_average_ranking(average, rank_report)
    for name, rows in build_table_rows_by_analysis(rank_result.analyses, rank_report.labels).items():
        if name == THRESHOLDS:
            blocks += _describe_agreement_thresholds(rows)
        else:
            blocks.append(Table(rows, title=name))
    for ranking in rank_result.rankings:
        if ranking not in rank_result.global_rankings:
            blocks.append(Details(_describe_ranking(ranking, rank_report)))
    return [
        *blocks,
        *summarize_data_in_note(rank_result.data),
        *convert_sentences_to_notes(rank_result.notes),
    ]


def _describe_ranking(ranking: Ranking, rank_report: RankReport) -> list[Line | Table]:
    """Describe one ranking of metrics for the terminal. It belongs to one data set, one measure of agreement
    and one context, such as a domain.
    """
    size = f"{format_plural(ranking.systems, 'system')}, {format_plural(ranking.items, 'item')}"
    if ranking.dropped_items:
        size += f" ({ranking.dropped_items} dropped)"
    blocks: list[Line | Table] = [
        Line(),
        Line(f"{rank_report.name_ranking(ranking)}: {size}."),
        Table(
            [_build_ranked_metric_row(metric, rank_report) for metric in ranking.metrics],
            most_important=("metric", "rank", "value"),
            most_rows=MOST_METRICS,
            digits=choose_decimals_for_ranking_values(ranking),
        ),
    ]
    if ranking.comparisons:
        blocks.append(Line(describe_significant_comparisons(ranking)))
    return blocks


def _build_ranked_metric_row(metric: RankedMetric, rank_report: RankReport) -> Row:
    columns: dict[str, Any] = msgspec.to_builtins(metric)
    is_baseline = columns.pop("baseline")
    label = rank_report.labels[metric.metric]
    columns["metric"] = f"{label} (baseline)" if is_baseline else label
    columns["items"] = columns.pop("segments")
    return columns


def _describe_agreement_thresholds(threshold_rows: Sequence[Row]) -> list[Block]:
    """Build a table that says how large a score difference must be for people to agree with it. Results
    within contexts are only on the page and in JSON.
    """
    of_all_items = [row for row in threshold_rows if row["context"] == GLOBAL]
    shown = [{name: row[name] for name in THRESHOLD_COLUMNS} for row in of_all_items]
    title = "The difference from which on people agree in 80, 90 and 95 % of pairs, and the share of pairs"
    blocks: list[Block] = [Table(shown, title=f"{title} that differ so much")]
    if len(shown) < len(threshold_rows):
        blocks.append(Line("Those of contexts are on the page (--out) and in --json."))
    return blocks


def _describe_average_ranking(average: AverageRanking, rank_report: RankReport) -> list[Block]:
    title = f"Average of {get_meta_metric_label(average.meta_metric)} over {', '.join(average.datasets)}."
    return [Line(title), Table(rank_report.build_metric_rows(average.metrics), most_rows=MOST_METRICS)]
