"""What `metassay aggregate` prints: system scores under three aggregations, and how they agree."""

from __future__ import annotations

from msgspec.structs import asdict

from metassay.reporting.aggregate_page import (
    choose_human_correlations,
    label_aggregated_metric,
)
from metassay.reporting.labels import MetricLabels
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
from metassay.results.aggregate import AGGREGATIONS, AggregateContent, AggregatedSystem, AggregationPair

# Rows of a table that are printed without `--verbose`.
MOST_ROWS = 12
EXPLANATION = """\
"corpus" is computed from the counts of all segments together, "segment" (m-) is the mean of segment scores,
and "bootstrap" (x-) is the mean of corpus scores over resamples. SE is the standard error over resamples."""


def describe_aggregate_result(aggregate_result: AggregateContent) -> list[Block]:
    """Describe how the three aggregations of segment scores differ."""
    labels = MetricLabels(row.metric for row in aggregate_result.systems)
    downsampled = [{**asdict(row), "metric": labels[row.metric]} for row in aggregate_result.downsampled]
    human = [
        {**asdict(row), "metric": labels[row.metric]} for row in choose_human_correlations(aggregate_result)
    ]
    return [
        *convert_sentences_to_lines(claim.sentence for claim in aggregate_result.verdict),
        Table(
            human,
            title="Pearson correlation of system scores with human scores, mean over test sets",
            most_rows=MOST_ROWS,
            digits=2,
        ),
        Table(
            [_build_system_row(row, labels) for row in aggregate_result.systems],
            title="System scores",
            most_rows=MOST_ROWS,
        ),
        Line(EXPLANATION),
        Details(
            [
                Table(
                    [_build_correlation_row(pair, labels) for pair in aggregate_result.between],
                    title="Pearson correlation between aggregations, over all systems",
                ),
                Table(downsampled, title="Pearson correlation when only some segments are used"),
            ]
        ),
        *summarize_data_in_note(aggregate_result.data),
        *convert_sentences_to_notes(aggregate_result.notes),
    ]


def _build_system_row(system: AggregatedSystem, metric_labels: MetricLabels) -> Row:
    """Return a row in which each score is followed by its standard error: `32.15 (SE 0.31)`."""
    row = asdict(system)
    row["metric"] = metric_labels[system.metric]
    standard_errors = asdict(row.pop("standard_errors"))
    for aggregation in AGGREGATIONS:
        if row[aggregation] is not None and standard_errors[aggregation] is not None:
            row[aggregation] = f"{row[aggregation]:.2f} (SE {standard_errors[aggregation]:.2f})"
    return row


def _build_correlation_row(aggregation_pair: AggregationPair, metric_labels: MetricLabels) -> Row:
    x = label_aggregated_metric(aggregation_pair.x, metric_labels)
    y = label_aggregated_metric(aggregation_pair.y, metric_labels)
    return {**asdict(aggregation_pair), "x": x, "y": y}
