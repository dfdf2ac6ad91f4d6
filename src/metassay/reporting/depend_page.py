"""What `depend` shows on its page and in the terminal: which systems each metric favours, beyond noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import asdict

from metassay.reporting.charts.theme import make_safe_file_name, render_svg
from metassay.reporting.data_summary import describe_data_used
from metassay.reporting.depend_report import (
    CurvesByDataset,
    DependReport,
    find_metrics_that_favour_systems,
)
from metassay.reporting.insufficient_data import describe_insufficient_data
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import Page
from metassay.reporting.report_sections import build_report_sections
from metassay.reporting.sections.depend import (
    CORRECTION_COLUMNS,
    DEPEND_SECTIONS,
    build_charts_of_favoured_systems,
    build_system_dependence_row,
    describe_gains_of_conversion,
    explain_expected_deviation_of_systems,
    explain_terms_of_system_dependence,
    explain_test_for_favoured_systems,
    list_local_and_sensitivity_rows,
)
from metassay.reporting.terminal.blocks import (
    Block,
    Details,
    Row,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
    select_columns,
    summarize_data_in_note,
)
from metassay.reporting.wording import format_number, format_plural, list_names
from metassay.results.depend import Correction, DependContent, MetricDependence
from metassay.results.verdict import Claim
from metassay.stats.levels import SIGNIFICANCE_LEVEL

CHART_WIDTH = 720
TITLE = "Which systems does each metric favour?"
# Metrics that are printed without `--verbose`.
MOST_METRICS = 10
MOST_IMPORTANT_COLUMNS = (
    *("metric", "sysdep", "low", "high", "p_equal", "p_fair"),
    *("favoured", "disadvantaged", "residual"),
)


def build_system_dependence_page(
    dependence_result: DependContent,
    curves_by_dataset: CurvesByDataset | None = None,
    metric_labels: MetricLabels | None = None,
) -> Page:
    """Build the report page of the command `depend`, which shows which systems each metric favours. It has
    charts of single metrics only if curves are given.
    """
    dependence_report = prepare_system_dependence_report(dependence_result, curves_by_dataset, metric_labels)
    return Page(
        kicker="System dependence",
        title=TITLE,
        lead=[claim.sentence for claim in dependence_result.verdict],
        sections=build_report_sections("depend", dependence_report, DEPEND_SECTIONS),
        notes=[*describe_data_used(dependence_result.data), *dependence_result.notes],
    )


def prepare_system_dependence_report(
    dependence_result: DependContent,
    curves_by_dataset: CurvesByDataset | None = None,
    metric_labels: MetricLabels | None = None,
) -> DependReport:
    """Combine the result of the command `depend` with the labels of its metrics and the curves for its
    charts.
    """
    if metric_labels is None:
        metric_labels = MetricLabels(entry.metric for entry in dependence_result.metrics)
    return DependReport(dependence_result, metric_labels, curves_by_dataset or {})


def list_main_findings_on_favoured_systems(dependence_report: DependReport) -> list[Claim]:
    """Write the main statements of a `depend` report for each data set: how many metrics favour some systems,
    and which metric treats systems most alike.
    """
    claims = []
    for dataset in dependence_report.dataset_names:
        prefix = dependence_report.get_sentence_opening_for_dataset(dataset)
        dataset_claims = _describe_favoured_systems_in_dataset(
            dependence_report, dependence_report.get_metrics_of_dataset(dataset)
        )
        claims += [
            msgspec.structs.replace(claim, scope=dataset, sentence=prefix + claim.sentence)
            for claim in dataset_claims
        ]
    return claims


def _describe_favoured_systems_in_dataset(
    dependence_report: DependReport, metric_dependences: Sequence[MetricDependence]
) -> list[Claim]:
    # A metric that scores system names can map every system to its human mean and so have a SysDep of 0.
    informed = [entry for entry in metric_dependences if not entry.uninformed]
    if not informed:
        return [Claim(kind="unanswered", sentence="None of the metrics rates single outputs.")]
    clear = [entry for entry in informed if entry.unclear_because is None]
    if not clear:
        human = dependence_report.result.human
        reasons = ", ".join(
            dict.fromkeys(
                describe_insufficient_data(entry.unclear_because, human)
                for entry in informed
                if entry.unclear_because is not None
            )
        )
        sentence = f"It is not known which {dependence_report.result.by}s a metric favours: {reasons}."
        return [Claim(kind="unanswered", sentence=sentence)]
    return [
        _describe_metrics_that_favour_systems(dependence_report, clear),
        _describe_least_dependent_metric(dependence_report, clear),
    ]


def _describe_metrics_that_favour_systems(
    dependence_report: DependReport, metric_dependences: Sequence[MetricDependence]
) -> Claim:
    """Say how many metrics favour some systems, and for which metric the preference is strongest."""
    by = dependence_report.result.by
    unfair = find_metrics_that_favour_systems(metric_dependences)
    if all(entry.p_fair is None for entry in metric_dependences):
        sentence = f"It could not be tested whether a metric favours some {by}s."
        return Claim(kind="unanswered", sentence=sentence)
    if not unfair:
        sentence = f"No metric is shown to favour any {by}."
        return Claim(kind="finding", sentence=sentence)
    worst = max(unfair, key=lambda entry: (entry.residual_range, entry.metric))
    counts = f"{len(unfair)} of {format_plural(len(metric_dependences), 'metric')}"
    label = dependence_report.labels[worst.metric]
    most = f"{label} favours {worst.most_favoured} over {worst.most_disadvantaged}"
    sentence = (
        f"{counts} {'is' if len(unfair) == 1 else 'are'} shown to favour some {by}s. The largest case: {most}"
        f" by {format_number(worst.residual_range)} points of {dependence_report.result.human}."
    )
    return Claim(
        kind="finding",
        metrics=[entry.metric for entry in unfair],
        value=worst.residual_range,
        sentence=sentence,
    )


def _describe_least_dependent_metric(
    dependence_report: DependReport, metric_dependences: Sequence[MetricDependence]
) -> Claim:
    """Name the metric with the lowest system dependence (SysDep), which treats systems most alike, and the
    metrics tied with it: those that the paired comparison does not show to depend more.
    """
    least = min(metric_dependences, key=lambda entry: (entry.sysdep, entry.metric))
    tied = [
        entry.metric
        for entry in metric_dependences
        if entry is not least and not _is_shown_to_depend_more(dependence_report, entry, least)
    ]
    value = f"{format_number(least.sysdep)} points of {dependence_report.result.human}"
    if least.low is not None:
        value += f" (95 % interval {format_number(least.low)} to {format_number(least.high)})"
    value += f"; a constant metric has {format_number(least.constant)}"
    sentence = f"{dependence_report.labels[least.metric]} has the lowest system dependence (SysDep): {value}."
    if tied and least.low is None:
        sentence += " No intervals were computed, so it is not known which metrics are tied with it."
    elif tied:
        verb = "is" if len(tied) == 1 else "are"
        sentence += (
            f" {list_names(dependence_report.labels.list_labels_of_metrics(tied), '')} {verb} tied with it."
        )
    return Claim(
        kind="answer",
        metrics=[least.metric, *tied],
        value=least.sysdep,
        low=least.low,
        high=least.high,
        sentence=sentence,
    )


def _is_shown_to_depend_more(
    dependence_report: DependReport, metric_dependence: MetricDependence, least_dependence: MetricDependence
) -> bool:
    """Return whether the paired comparison of two metrics shows that the first one depends more on systems. A
    missing comparison shows nothing.
    """
    metrics = (metric_dependence.metric, least_dependence.metric)
    for comparison in dependence_report.result.comparisons:
        if comparison.dataset != least_dependence.dataset or {comparison.a, comparison.b} != set(metrics):
            continue
        difference = comparison.difference if comparison.a == metrics[0] else -comparison.difference
        return difference > 0 and comparison.p <= SIGNIFICANCE_LEVEL
    return False


def render_curve_and_chart_files(
    dependence_result: DependContent, curves_by_dataset: CurvesByDataset
) -> dict[str, Any]:
    """Render the fitted curves and the charts of all metrics as files. Returns the contents by path."""
    dependence_report = prepare_system_dependence_report(dependence_result, curves_by_dataset)
    files: dict[str, Any] = {"results/curves.json": msgspec.to_builtins(curves_by_dataset)}
    for entry in dependence_result.metrics:
        folder = f"charts/{make_safe_file_name(entry.dataset)}"
        for kind, spec in build_charts_of_favoured_systems(dependence_report, entry).items():
            files[f"{folder}/{make_safe_file_name(entry.metric)}-{kind}.svg"] = render_svg(
                spec, width=CHART_WIDTH
            )
    return files


def describe_system_dependence_result(dependence_result: DependContent) -> list[Block]:
    """Describe for the terminal how differently each metric treats the systems of each data set, and explain
    the terms.
    """
    labels = MetricLabels(entry.metric for entry in dependence_result.metrics)
    blocks: list[Block] = [*convert_sentences_to_lines(claim.sentence for claim in dependence_result.verdict)]
    for dataset in dict.fromkeys(entry.dataset for entry in dependence_result.metrics):
        entries = [entry for entry in dependence_result.metrics if entry.dataset == dataset]
        scores = f"{dataset}, against {dependence_result.human}"
        title = f"Dependence on {dependence_result.by}, {scores} (least dependent first)"
        rows = [_build_terminal_row(entry, labels) for entry in entries]
        blocks.append(
            Table(rows, title=title, most_important=MOST_IMPORTANT_COLUMNS, most_rows=MOST_METRICS, digits=2)
        )
        local_rows, sensitivity_rows = list_local_and_sensitivity_rows(entries, labels)
        blocks.append(
            Details(
                [
                    Table(local_rows, title="Within contexts"),
                    Table(sensitivity_rows, title="SysDep with other resamples, sample sizes and systems"),
                ]
            )
        )
        corrections = [row for row in dependence_result.corrections if row.dataset == dataset]
        if corrections:
            blocks += convert_sentences_to_lines(
                describe_gains_of_conversion(corrections, dependence_result.human, labels)
            )
            blocks.append(Details([_build_prediction_table(corrections, labels)]))
    main_terms = [
        explain_expected_deviation_of_systems(dependence_result.by, dependence_result.human),
        explain_test_for_favoured_systems(dependence_result.by),
    ]
    terms = explain_terms_of_system_dependence(dependence_result.by, dependence_result.human)
    return [
        *blocks,
        *convert_sentences_to_lines(main_terms),
        Details(convert_sentences_to_lines(term for term in terms if term not in main_terms)),
        *summarize_data_in_note(dependence_result.data),
        *convert_sentences_to_notes(dependence_result.notes),
    ]


def _build_terminal_row(metric_dependence: MetricDependence, metric_labels: MetricLabels) -> Row:
    row = build_system_dependence_row(metric_dependence, metric_labels)
    del row["explained"]
    worst_inversion = next(iter(metric_dependence.inversions), None)
    worst = None if worst_inversion is None else f"{worst_inversion.better} > {worst_inversion.worse}"
    return row | {"worst": worst}


def _build_prediction_table(score_predictions: Sequence[Correction], metric_labels: MetricLabels) -> Table:
    rows = [{**asdict(row), "metric": metric_labels[row.metric]} for row in score_predictions]
    title = "Agreement with human scores on segments that were not used for fitting"
    return Table(select_columns(rows, CORRECTION_COLUMNS), title=title)
