"""What `metassay rank` prints: the best metric of each ranking, then the rankings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from metassay.meta.people.meta_metrics.registry import label_meta_metric
from metassay.reporting.rank_sentences import describe_rank_headline, describe_significance
from metassay.reporting.rank_view import THRESHOLDS, RankView, build_rank_view, list_rows_by_analysis
from metassay.reporting.terminal.blocks import (
    Block,
    Line,
    Row,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
    summarize_data_in_note,
)
from metassay.results.rank import AverageRanking, RankContent, RankedMetric, Ranking

GLOBAL = "global"
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


def describe_rankings(rank_result: RankContent) -> list[Block]:
    """Describe for the terminal how metrics rank by agreement with human scores."""
    rank_view = build_rank_view(rank_result)
    blocks = convert_sentences_to_lines(describe_rank_headline(rank_view))
    for ranking in rank_result.rankings:
        blocks += _describe_ranking(ranking, rank_view)
    for average in rank_result.averages:
        blocks += _describe_average_ranking(average, rank_view)
    for name, rows in list_rows_by_analysis(rank_result.analyses, rank_view.labels).items():
        if name == THRESHOLDS:
            blocks += _describe_agreement_thresholds(rows)
        else:
            blocks.append(Table(rows, title=name))
    return [
        *blocks,
        *summarize_data_in_note(rank_result.data),
        *convert_sentences_to_notes(rank_result.notes),
    ]


def _describe_ranking(ranking: Ranking, rank_view: RankView) -> list[Block]:
    """Describe one ranking of metrics: of one data set, meta-metric and context."""
    items = f"{ranking.items} items"
    if ranking.dropped_items:
        items += f" ({ranking.dropped_items} dropped)"
    blocks: list[Block] = [
        Line(f"{rank_view.name_ranking(ranking)}: {ranking.systems} systems, {items}."),
        Table(
            [_build_metric_row(metric, rank_view) for metric in ranking.metrics],
            most_important=("metric", "rank", "value"),
        ),
    ]
    if ranking.comparisons:
        blocks.append(Line(describe_significance(ranking)))
    return blocks


def _build_metric_row(metric: RankedMetric, rank_view: RankView) -> Row:
    columns: dict[str, Any] = msgspec.to_builtins(metric)
    is_baseline = columns.pop("baseline")
    label = rank_view.labels[metric.metric]
    columns["metric"] = f"{label} (baseline)" if is_baseline else label
    columns["items"] = columns.pop("segments")
    return columns


def _describe_agreement_thresholds(rows: Sequence[Row]) -> list[Block]:
    """Describe from which score difference on people agree; contexts are only on the page and in JSON."""
    of_all_items = [row for row in rows if row["context"] == GLOBAL]
    shown = [{name: row[name] for name in THRESHOLD_COLUMNS} for row in of_all_items]
    title = "The difference from which on people agree in 80, 90 and 95 % of pairs, and the share of pairs"
    blocks: list[Block] = [Table(shown, title=f"{title} that differ so much")]
    if len(shown) < len(rows):
        blocks.append(Line("Those of contexts are on the page (--out) and in --json."))
    return blocks


def _describe_average_ranking(average: AverageRanking, rank_view: RankView) -> list[Block]:
    title = f"Average of {label_meta_metric(average.meta_metric)} over {', '.join(average.datasets)}."
    rows = [
        msgspec.to_builtins(metric) | {"metric": rank_view.labels[metric.metric]}
        for metric in average.metrics
    ]
    return [Line(title), Table(rows)]
