"""What `aggregate` shows on its page and in the terminal: three aggregations compared."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import msgspec

from metassay.reporting.charts.heatmaps import build_square_heatmap
from metassay.reporting.charts.theme import Spec
from metassay.reporting.data_summary import describe_data_used
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import Chart, Page, Section
from metassay.reporting.report_sections import ResultReport, build_report_sections
from metassay.reporting.tables import Grid, build_grid_from_rows
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
from metassay.reporting.wording import format_number, format_plural
from metassay.results.aggregate import (
    AGGREGATIONS,
    MEAN_GROUP,
    AggregateContent,
    AggregatedSystem,
    AggregationPair,
    DownsampledAgreement,
    HumanCorrelation,
)
from metassay.results.verdict import Claim

AggregateReport = ResultReport[AggregateContent]
TITLE = "Corpus scores or means of segment scores?"
AGGREGATION_PHRASES = {
    "corpus": "the corpus score",
    "segment": "the mean of segment scores",
    "bootstrap": "the mean over resamples",
}
# Marks of the aggregation in front of a metric: segment, bootstrap, corpus.
PREFIXES = ("m-", "x-", "")
# Rows of a table that are printed without `--verbose`.
MOST_ROWS = 12
TERMINAL_EXPLANATION = """\
"corpus" is computed from the counts of all segments together, "segment" (m-) is the mean of segment scores,
and "bootstrap" (x-) is the mean of corpus scores over resamples. SE is the standard error over resamples."""


def build_aggregate_page(
    aggregate_result: AggregateContent, metric_labels: MetricLabels | None = None
) -> Page:
    """Build the report page of the command `aggregate`, which compares corpus scores with means of segment
    scores.
    """
    aggregate_report = prepare_aggregate_report(aggregate_result, metric_labels)
    return Page(
        kicker="Aggregation",
        title=TITLE,
        lead=[claim.sentence for claim in aggregate_result.verdict],
        sections=build_report_sections("aggregate", aggregate_report, {10: build_scores_section}),
        notes=[*describe_data_used(aggregate_result.data), *aggregate_result.notes],
    )


def prepare_aggregate_report(
    aggregate_result: AggregateContent, metric_labels: MetricLabels | None = None
) -> AggregateReport:
    """Combine the result of the command `aggregate` with the labels under which its report shows the
    metrics.
    """
    return ResultReport(
        aggregate_result, metric_labels or MetricLabels(row.metric for row in aggregate_result.systems)
    )


def get_label_of_prefixed_metric(prefixed_metric: str, metric_labels: MetricLabels) -> str:
    """Return the label of a metric whose name begins with a mark for the aggregation: `m-bleu` becomes
    `m-BLEU`.
    """
    for prefix in PREFIXES:
        spec = prefixed_metric.removeprefix(prefix)
        if prefixed_metric.startswith(prefix) and metric_labels[spec] != spec:
            return prefix + metric_labels[spec]
    return prefixed_metric


def list_main_findings_on_aggregations(aggregate_report: AggregateReport) -> list[Claim]:
    """Write the main sentences of an `aggregate` report, each with the numbers that support it."""
    claims = [
        *_describe_differences_in_system_order(aggregate_report),
        *_describe_best_human_correlation(aggregate_report),
        *_describe_lowest_correlation(aggregate_report),
    ]
    if claims:
        return claims
    sentence = "No correlation is defined: at least two systems with different scores are needed."
    return [Claim(kind="unanswered", sentence=sentence)]


def _describe_differences_in_system_order(aggregate_report: AggregateReport) -> list[Claim]:
    """Say for how many pairs of systems corpus scores and mean segment scores disagree which system is
    better.
    """
    counts = []
    for metric in dict.fromkeys(row.metric for row in aggregate_report.result.systems):
        different, compared = _count_differently_ordered_pairs(aggregate_report.result, metric)
        if compared:
            counts.append((metric, different, compared))
    if not counts:
        return []
    listed = [
        f"{different} of {format_plural(compared, 'pair')} by {aggregate_report.labels[metric]}"
        for metric, different, compared in counts
    ]
    return [
        Claim(
            kind="finding",
            metrics=[metric for metric, _, _ in counts],
            sentence=(
                "Corpus scores and means of segment scores order these systems differently:"
                f" {', '.join(listed)}."
            ),
        )
    ]


def _count_differently_ordered_pairs(aggregate_result: AggregateContent, metric: str) -> tuple[int, int]:
    """Return two counts of pairs of systems: those that corpus scores and mean segment scores of a metric
    order differently, and all that could be compared.
    """
    different = 0
    compared = 0
    rows = [row for row in aggregate_result.systems if row.metric == metric]
    for first, second in combinations(rows, 2):
        scores = (first.corpus, first.segment, second.corpus, second.segment)
        if first.group != second.group or None in scores:
            continue
        compared += 1
        corpus_difference = (first.corpus or 0.0) - (second.corpus or 0.0)
        segment_difference = (first.segment or 0.0) - (second.segment or 0.0)
        different += corpus_difference * segment_difference < 0
    return different, compared


def _describe_lowest_correlation(aggregate_report: AggregateReport) -> list[Claim]:
    pairs = [(pair.pearson, pair) for pair in aggregate_report.result.between if pair.pearson is not None]
    if not pairs:
        return []
    pearson, least = min(pairs, key=lambda pair: pair[0])
    x = get_label_of_prefixed_metric(least.x, aggregate_report.labels)
    y = get_label_of_prefixed_metric(least.y, aggregate_report.labels)
    sentence = (
        f"The lowest correlation between two of these scores is {format_number(pearson)} ({x} and {y})."
    )
    return [Claim(kind="finding", metrics=[least.x, least.y], value=pearson, sentence=sentence)]


def _describe_best_human_correlation(aggregate_report: AggregateReport) -> list[Claim]:
    rows = [
        (row.pearson, row)
        for row in list_correlations_with_human_scores(aggregate_report.result)
        if row.pearson is not None
    ]
    if not rows:
        return []
    pearson, best = max(rows, key=lambda row: row[0])
    if pearson <= 0:
        sentence = (
            f"No score correlates positively with human scores ({best.human}) over"
            f" {format_plural(best.systems, 'system')}: the highest Pearson correlation is"
            f" {format_number(pearson)}."
        )
        return [Claim(kind="unanswered", value=pearson, sentence=sentence)]
    sentence = (
        f"{AGGREGATION_PHRASES[best.aggregation].capitalize()} of {aggregate_report.labels[best.metric]}"
        f" correlates best with human scores ({best.human}): Pearson {format_number(pearson)} over"
        f" {format_plural(best.systems, 'system')}. Whether the others are worse was not tested."
    )
    return [Claim(kind="answer", metrics=[best.metric], value=pearson, sentence=sentence)]


def list_correlations_with_human_scores(aggregate_result: AggregateContent) -> Sequence[HumanCorrelation]:
    """Return the correlations of system scores with human scores: averages over test sets if there are any,
    or else those of each test set.
    """
    averages = [row for row in aggregate_result.human if row.group == MEAN_GROUP]
    return averages or aggregate_result.human


EXPLANATION = (
    "Each system has three scores: the corpus score, computed from the counts of all segments together; the"
    " mean of the segment scores (segment, m-); and the mean of corpus scores over resamples (bootstrap, x-)."
)
SCORES_CAPTION = "Scores of every system, with standard errors from resampled segments"
BETWEEN_CAPTION = (
    "How well two ways to compute system scores agree: Pearson correlation over all systems, where 1 is full"
    " agreement."
)


def build_scores_section(aggregate_report: AggregateReport) -> Section:
    """Build the section with the scores of each system by three ways to aggregate segment scores, and with
    the correlations between these scores.
    """
    system_rows = [_build_system_row(aggregate_report, row) for row in aggregate_report.result.systems]
    return Section(
        "Three aggregations of every system",
        [EXPLANATION],
        charts=_build_correlation_heatmap(aggregate_report),
        grids=[
            *_build_human_correlation_tables(aggregate_report),
            build_grid_from_rows("systems", SCORES_CAPTION, system_rows),
        ],
        folded=_build_correlation_tables(aggregate_report),
    )


def _build_system_row(aggregate_report: AggregateReport, system: AggregatedSystem) -> dict[str, Any]:
    row = msgspec.structs.asdict(system)
    row["metric"] = aggregate_report.labels[system.metric]
    standard_errors = msgspec.structs.asdict(row.pop("standard_errors"))
    return row | {f"standard error: {name}": error for name, error in standard_errors.items()}


def _build_correlation_heatmap(aggregate_report: AggregateReport) -> list[Chart]:
    """Draw a heatmap of the correlations between system scores by different metrics and aggregations. The
    list is empty if there are fewer than three such scores.
    """
    names: dict[str, None] = {}
    cells: list[Spec] = []
    for pair in aggregate_report.result.between:
        if pair.pearson is None:
            continue
        x = get_label_of_prefixed_metric(pair.x, aggregate_report.labels)
        y = get_label_of_prefixed_metric(pair.y, aggregate_report.labels)
        names |= {x: None, y: None}
        value = round(pair.pearson, 4)
        cells += [{"row": x, "column": y, "value": value}, {"row": y, "column": x, "value": value}]
    if len(names) < 3:
        return []
    diagonal = [{"row": name, "column": name, "value": 1.0} for name in names]
    spec = build_square_heatmap("Correlation between aggregations.", list(names), [*diagonal, *cells], ())
    return [Chart("between aggregations", spec, BETWEEN_CAPTION)]


def _build_correlation_tables(aggregate_report: AggregateReport) -> list[Grid]:
    labels = aggregate_report.labels
    between = [_build_correlation_row(pair, labels) for pair in aggregate_report.result.between]
    downsampled = _add_metric_labels_to_rows(aggregate_report.result.downsampled, labels)
    tables = {
        "Pearson between aggregations, over all systems": between,
        "Pearson when only some segments are used": downsampled,
    }
    return [build_grid_from_rows(caption, caption, rows) for caption, rows in tables.items() if rows]


def _build_human_correlation_tables(aggregate_report: AggregateReport) -> list[Grid]:
    caption = "Pearson correlation of system scores with human scores"
    rows = _add_metric_labels_to_rows(
        list_correlations_with_human_scores(aggregate_report.result), aggregate_report.labels
    )
    return [build_grid_from_rows(caption, caption, rows)] if rows else []


def describe_aggregate_result(aggregate_result: AggregateContent) -> list[Block]:
    """Describe for the terminal how corpus scores, means of segment scores and bootstrap scores of systems
    differ.
    """
    labels = MetricLabels(row.metric for row in aggregate_result.systems)
    downsampled = _add_metric_labels_to_rows(aggregate_result.downsampled, labels)
    human = _add_metric_labels_to_rows(list_correlations_with_human_scores(aggregate_result), labels)
    return [
        *convert_sentences_to_lines(claim.sentence for claim in aggregate_result.verdict),
        Table(
            human,
            title="Pearson correlation of system scores with human scores, mean over test sets",
            most_rows=MOST_ROWS,
            digits=2,
        ),
        Table(
            [_build_row_with_standard_errors(row, labels) for row in aggregate_result.systems],
            title="System scores",
            most_rows=MOST_ROWS,
        ),
        Line(TERMINAL_EXPLANATION),
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


def _add_metric_labels_to_rows(
    rows: Sequence[DownsampledAgreement | HumanCorrelation], metric_labels: MetricLabels
) -> list[Row]:
    return [msgspec.structs.asdict(row) | {"metric": metric_labels[row.metric]} for row in rows]


def _build_row_with_standard_errors(system_scores: AggregatedSystem, metric_labels: MetricLabels) -> Row:
    """Build a table row in which each score of a system is followed by its standard error: `32.15 (SE
    0.31)`.
    """
    row = msgspec.structs.asdict(system_scores)
    row["metric"] = metric_labels[system_scores.metric]
    standard_errors = msgspec.structs.asdict(row.pop("standard_errors"))
    for aggregation in AGGREGATIONS:
        if row[aggregation] is not None and standard_errors[aggregation] is not None:
            row[aggregation] = f"{row[aggregation]:.2f} (SE {standard_errors[aggregation]:.2f})"
    return row


def _build_correlation_row(aggregation_pair: AggregationPair, metric_labels: MetricLabels) -> Row:
    x = get_label_of_prefixed_metric(aggregation_pair.x, metric_labels)
    y = get_label_of_prefixed_metric(aggregation_pair.y, metric_labels)
    return {**msgspec.structs.asdict(aggregation_pair), "x": x, "y": y}
