"""Section of the `rank` page: how the ranking changes with fewer items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from metassay.meta.people.downsampling import SUBSETS_PER_SIZE
from metassay.meta.people.meta_metrics.registry import get_meta_metric_label
from metassay.reporting.charts.downsampling import build_downsampling_chart
from metassay.reporting.pages import Chart, Section
from metassay.reporting.rank_report import RankReport
from metassay.reporting.tables import Field, build_grid
from metassay.reporting.wording import format_count, format_number, format_percent, join_names
from metassay.results.rank import DownsampledValue, Ranking

TITLE = "On fewer items"
CAPTION = (
    f"Agreement with people if fewer items are rated. Lines are medians over {SUBSETS_PER_SIZE} random"
    " subsets of the items that all metrics have, and bands contain 95 % of the subsets. Press a name to"
    " highlight its line."
)
MOST_LINES = 12
CERTAIN_SHARE = 0.95
FIELDS = (
    Field("segments", "items", "count"),
    Field("metric", "metric", "name"),
    Field("median", "median", "score"),
    Field("low", "95 % of subsets: low", "score"),
    Field("high", "high", "score"),
    Field("first", "comes first", "percent", "share of subsets on which no metric has a higher value"),
)


def build_fewer_items_section(rank_report: RankReport) -> Section | None:
    """Build the section on how rankings of metrics change if fewer items are rated. None if this was not
    requested.
    """
    rankings = []
    for ranking in rank_report.result.global_rankings:
        # Without a metric that may be named best there is no line to draw.
        if ranking.downsampled and ranking.defined_metrics:
            rankings.append(ranking)
    sections = [_build_random_subsets_subsection(ranking, rank_report) for ranking in rankings]
    if not sections:
        return None
    if len(sections) == 1:
        return replace(sections[0], title=TITLE)
    return Section(TITLE, choices=sections, choice_noun="ranking")


def _build_random_subsets_subsection(ranking: Ranking, rank_report: RankReport) -> Section:
    """Build the chart, the table and the sentences that show one ranking of metrics on random subsets of the
    items.
    """
    meta_metric = get_meta_metric_label(ranking.meta_metric)
    title = f"{ranking.dataset}: {meta_metric}"
    metrics = [metric.metric for metric in ranking.defined_metrics]
    baseline_rows = [row for row in ranking.downsampled if row.metric not in metrics]
    shown = [row for row in ranking.downsampled if row.metric in metrics[:MOST_LINES]]
    order = [rank_report.labels[metric] for metric in metrics[:MOST_LINES]]
    spec = build_downsampling_chart(
        rank_report.build_metric_rows([*shown, *baseline_rows]), meta_metric, order
    )
    caption = CAPTION
    if len(metrics) > MOST_LINES:
        caption += f" The {MOST_LINES} best of {len(metrics)} metrics; all are in the table."
    sentences = _describe_stability_of_best_metric(ranking.downsampled, rank_report)
    sentences += _describe_constant_metric_by_size(baseline_rows, meta_metric)
    table = build_grid(
        f"fewer items {title}",
        f"{meta_metric} on fewer items",
        FIELDS,
        rank_report.build_metric_rows(ranking.downsampled),
    )
    return Section(title, sentences, [Chart(f"fewer items {title}", spec, caption)], folded=[table])


def _describe_stability_of_best_metric(
    downsampled_values: Sequence[DownsampledValue], rank_report: RankReport
) -> list[str]:
    """Say how often the metric that is best on all items is also best on a random subset of them."""
    all_items = max(row.items for row in downsampled_values)
    best = max(
        (row for row in downsampled_values if row.items == all_items), key=lambda row: row.first or 0.0
    )
    shares = {row.items: row.first or 0.0 for row in downsampled_values if row.metric == best.metric}
    sizes = [size for size in shares if size < all_items]
    if not sizes:
        return []
    # every second size is enough for a sentence
    parts = [f"{format_percent(shares[size])} with {format_count(size)}" for size in sizes[1::2] or sizes]
    label = rank_report.labels[best.metric]
    sentence = (
        f"{label} is first on all {format_count(all_items)} items. It is also first in this share of random"
        f" subsets: {join_names(parts)} items."
    )
    sentences = [sentence]
    for position, size in enumerate(sizes):
        if all(shares[larger] >= CERTAIN_SHARE for larger in sizes[position:]):
            sentences.append(f"With {format_count(size)} items or more, the share is at least 95 %.")
            break
    return sentences


def _describe_constant_metric_by_size(
    downsampled_values: Sequence[DownsampledValue], meta_metric: str
) -> list[str]:
    """Say how well a metric that gives all outputs the same score agrees with people on few items and on
    many.
    """
    if len(downsampled_values) < 2:
        return []
    fewest, *_, most = downsampled_values
    sentence = (
        f"Compare values only on equal numbers of items: the baseline {fewest.metric} (dashed), which knows"
        f" nothing of quality, has {meta_metric} {format_number(fewest.median)} on"
        f" {format_count(fewest.items)} items and {format_number(most.median)} on {format_count(most.items)}."
    )
    return [sentence]
