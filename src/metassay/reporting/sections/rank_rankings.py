"""Sections of the `rank` page: rankings over all items, within contexts, and averages over data sets."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metassay.meta.people.meta_metrics.registry import get_meta_metric_label
from metassay.reporting.charts.ranking import build_comparisons_chart, build_ranking_chart
from metassay.reporting.pages import Chart, Section
from metassay.reporting.rank_report import THRESHOLDS, RankReport, build_table_rows_by_analysis
from metassay.reporting.rank_sentences import describe_significant_comparisons
from metassay.reporting.tables import Field, Grid, build_grid, build_grid_from_rows
from metassay.reporting.wording import format_plural
from metassay.results.rank import AverageRanking, Ranking

RANKING_CAPTION = (
    "Agreement of each metric with people, best first, with 95 % intervals. A horizontal line marks where the"
    " next rank begins; grey rows are baselines."
)
COMPARISONS_CAPTION = (
    "Which metrics are shown to agree better with people than others: a dark cell means that the metric in"
    " the row is ahead of the metric in the column (one-sided p ≤ .05)."
)
METRIC_FIELDS = (
    Field("metric", "metric", "name"),
    Field("value", "value", "score"),
    Field("low", "95 % interval: low", "score"),
    Field("high", "high", "score"),
    Field("rank", "rank", "count", "metrics of one rank do not differ significantly (p ≤ .05)"),
    Field("segments", "items", "count"),
    Field("baseline", "baseline", "text", "without information about quality"),
    Field("epsilon", "tie threshold", "decimal", "the largest difference that counts as a tie"),
    Field("chance", "chance level", "score", "the value of a metric without information"),
    Field("for_mean", "saved for a mean", "score", "share of labels saved for the mean score of a system"),
    Field("for_mean_low", "95 % interval: low", "score"),
    Field("for_mean_high", "high", "score"),
    Field("precision", "precision", "score"),
    Field("recall", "recall", "score"),
    Field("macro_precision", "macro precision", "score", "averaged over ratings"),
    Field("macro_recall", "macro recall", "score", "averaged over ratings"),
    Field("macro_f1", "macro F1", "score", "averaged over ratings"),
)
COMPARISON_FIELDS = (
    Field("a", "better", "name"),
    Field("b", "other", "name"),
    Field("p", "p", "probability", "one-sided"),
    Field("p_two_sided", "p, two-sided", "probability"),
    Field("p_holm", "p after Holm", "probability"),
    Field("p_inputs", "p, these systems", "probability"),
    Field("p_systems", "p, systems like these", "probability"),
)
# Up to this many rankings are all shown; of more, the reader selects one.
MOST_RANKINGS = 6
MOST_COMPARISONS = 2000


def build_rankings_section(rank_report: RankReport) -> Section:
    """Build the section with the rankings of metrics over all items. If there are many rankings, readers
    select one.
    """
    sections = [
        _build_ranking_section(ranking, rank_report) for ranking in rank_report.result.global_rankings
    ]
    if len(sections) == 1:
        return sections[0]
    if len(sections) > MOST_RANKINGS:
        return Section("Rankings", choices=sections, choice_noun="ranking")
    return _merge_ranking_sections(sections)


def build_contexts_section(rank_report: RankReport) -> Section | None:
    """Build the section with the rankings of metrics within contexts, such as domains. None if there are
    none.
    """
    rankings = [
        ranking
        for ranking in rank_report.result.rankings
        if ranking not in rank_report.result.global_rankings
    ]
    if not rankings:
        return None
    choices = [_build_ranking_section(ranking, rank_report) for ranking in rankings]
    return Section("Within contexts", choices=choices, choice_noun="ranking")


def _merge_ranking_sections(sections: Sequence[Section]) -> Section:
    """Merge the sections of several rankings of metrics into one section."""
    return Section(
        "Rankings",
        [f"{section.title}: {sentence}" for section in sections for sentence in section.sentences],
        charts=[chart for section in sections for chart in section.charts],
        grids=[grid for section in sections for grid in section.grids],
        folded=[grid for section in sections for grid in section.folded],
    )


def _build_ranking_section(ranking: Ranking, rank_report: RankReport) -> Section:
    """Build a section with the chart, the table and the comparisons of one ranking."""
    title = rank_report.name_ranking(ranking)
    size = f"{format_plural(ranking.systems, 'system')} and {format_plural(ranking.items, 'item')}"
    sentences = [f"This ranking uses {size}."]
    charts = [Chart(f"ranking {title}", build_ranking_chart(ranking, rank_report.labels), RANKING_CAPTION)]
    folded = []
    if ranking.comparisons:
        sentences.append(describe_significant_comparisons(ranking))
        matrix = build_comparisons_chart(ranking, rank_report.labels)
        charts.append(Chart(f"comparisons {title}", matrix, COMPARISONS_CAPTION))
        folded.append(_build_comparisons_table(title, ranking, rank_report))
    return Section(title, sentences, charts, [_build_metrics_table(title, ranking, rank_report)], folded)


def _build_metrics_table(title: str, ranking: Ranking, rank_report: RankReport) -> Grid:
    rows = rank_report.build_metric_rows(ranking.metrics)
    return build_grid(title, f"{title}: agreement of each metric", METRIC_FIELDS, rows)


def _build_comparisons_table(title: str, ranking: Ranking, rank_report: RankReport) -> Grid:
    rows = []
    for comparison in ranking.comparisons:
        names = {"a": rank_report.labels[comparison.better], "b": rank_report.labels[comparison.worse]}
        rows.append(msgspec.to_builtins(comparison) | names)
    caption = f"{title}: comparisons, the better metric first"
    return build_grid(f"comparisons {title}", caption, COMPARISON_FIELDS, rows, at_most=MOST_COMPARISONS)


def build_averages_section(rank_report: RankReport) -> Section | None:
    """Build the section with average rankings over data sets and with further analyses. None if there are
    neither.
    """
    tables = [_build_average_table(average, rank_report) for average in rank_report.result.averages]
    for name, rows in build_table_rows_by_analysis(rank_report.result.analyses, rank_report.labels).items():
        if rows and name != THRESHOLDS:  # these have a section of their own
            tables.append(build_grid_from_rows(name, name, rows))
    if not tables:
        return None
    return Section("Averages and analyses", grids=tables[:1], folded=tables[1:])


def _build_average_table(average: AverageRanking, rank_report: RankReport) -> Grid:
    title = f"Average of {get_meta_metric_label(average.meta_metric)}"
    rows = rank_report.build_metric_rows(average.metrics)
    return build_grid_from_rows(title, f"{title} over {', '.join(average.datasets)}", rows)
