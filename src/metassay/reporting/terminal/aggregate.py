"""What `metassay aggregate` prints: system scores under three aggregations, and how they agree."""

from __future__ import annotations

from msgspec.structs import asdict

from metassay.reporting.aggregate_page import (
    build_aggregate_view,
    choose_human_correlations,
    describe_aggregation_differences,
    label_aggregated_metric,
)
from metassay.reporting.labels import MetricLabels
from metassay.reporting.terminal.blocks import (
    Block,
    Line,
    Row,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
    summarize_data_in_note,
)
from metassay.results.aggregate import AGGREGATIONS, AggregateContent, AggregatedSystem, AggregationPair

EXPLANATION = """\
corpus: one score from the summed statistics. segment (m-): the mean of the segment scores. bootstrap (x-):
the mean of corpus scores over resamples. SE is the standard error over resampled segments."""


def describe_aggregate_result(aggregate_result: AggregateContent) -> list[Block]:
    """Describe for the terminal how corpus, segment and bootstrap scores of systems differ."""
    aggregate_view = build_aggregate_view(aggregate_result)
    labels = aggregate_view.labels
    downsampled = [{**asdict(row), "metric": labels[row.metric]} for row in aggregate_result.downsampled]
    human = [
        {**asdict(row), "metric": labels[row.metric]} for row in choose_human_correlations(aggregate_result)
    ]
    return [
        *convert_sentences_to_lines(describe_aggregation_differences(aggregate_view)),
        Table([_build_system_row(row, labels) for row in aggregate_result.systems], title="System scores"),
        Table(
            [_build_correlation_row(pair, labels) for pair in aggregate_result.between],
            title="Pearson between aggregations, over all systems",
        ),
        Table(downsampled, title="Pearson when only some segments are used"),
        Table(human, title="Pearson of system scores with human scores, mean over test sets"),
        Line(EXPLANATION),
        *summarize_data_in_note(aggregate_result.data),
        *convert_sentences_to_notes(aggregate_result.notes),
    ]


def _build_system_row(system: AggregatedSystem, metric_labels: MetricLabels) -> Row:
    """Build a table row in which each score is followed by its standard error: `32.145 (SE 0.312)`."""
    row = asdict(system)
    row["metric"] = metric_labels[system.metric]
    standard_errors = asdict(row.pop("standard_errors"))
    for aggregation in AGGREGATIONS:
        if row[aggregation] is not None and standard_errors[aggregation] is not None:
            row[aggregation] = f"{row[aggregation]:.3f} (SE {standard_errors[aggregation]:.3f})"
    return row


def _build_correlation_row(pair: AggregationPair, metric_labels: MetricLabels) -> Row:
    x = label_aggregated_metric(pair.x, metric_labels)
    y = label_aggregated_metric(pair.y, metric_labels)
    return {**asdict(pair), "x": x, "y": y}
