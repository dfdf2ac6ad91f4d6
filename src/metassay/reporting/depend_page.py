"""What `depend` shows on its page and in the terminal: which systems each metric favours, beyond noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import asdict

from metassay.reporting.charts.theme import make_safe_file_name, render_svg
from metassay.reporting.data_summary import describe_data_used
from metassay.reporting.depend_report import CurvesByDataset, DependReport, find_metrics_that_favour_systems
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import Page
from metassay.reporting.report_sections import build_report_sections
from metassay.reporting.sections.depend import (
    CORRECTION_COLUMNS,
    DEPEND_SECTIONS,
    build_dependence_charts_of_metric,
    build_dependence_row,
    describe_effect_of_score_corrections,
    explain_dependence_terms,
    explain_expected_deviation,
    explain_fairness_test,
    list_context_and_sensitivity_rows,
)
from metassay.reporting.terminal.blocks import (
    Block,
    Details,
    Line,
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

CHART_WIDTH = 720
TITLE = "Which systems does each metric favour?"
# Metrics that are printed without `--verbose`.
MOST_METRICS = 10
MOST_IMPORTANT_COLUMNS = (
    *("metric", "sysdep", "low", "high", "p_equal", "p_fair"),
    *("favoured", "disadvantaged", "residual"),
)


def build_depend_page(
    depend_result: DependContent,
    curves: CurvesByDataset | None = None,
    metric_labels: MetricLabels | None = None,
) -> Page:
    """Build the report page of a `depend` result. Without `curves` it has no charts of single metrics."""
    depend_report = prepare_depend_report(depend_result, curves, metric_labels)
    return Page(
        kicker="System dependence",
        title=TITLE,
        lead=[claim.sentence for claim in depend_result.verdict],
        sections=build_report_sections("depend", depend_report, DEPEND_SECTIONS),
        notes=[*describe_data_used(depend_result.data), *depend_result.notes],
    )


def prepare_depend_report(
    depend_result: DependContent,
    curves: CurvesByDataset | None = None,
    metric_labels: MetricLabels | None = None,
) -> DependReport:
    """Combine a `depend` result with the labels of its metrics and the curves that its charts draw."""
    if metric_labels is None:
        metric_labels = MetricLabels(entry.metric for entry in depend_result.metrics)
    return DependReport(depend_result, metric_labels, curves or {})


def list_main_findings_on_favoured_systems(depend_report: DependReport) -> list[Claim]:
    """Build the statements at the top of a `depend` report, for each data set."""
    claims = []
    for dataset in depend_report.datasets:
        prefix = depend_report.get_dataset_sentence_prefix(dataset)
        dataset_claims = _build_dependence_claims_of_dataset(
            depend_report, depend_report.get_metrics_of_dataset(dataset)
        )
        claims += [
            msgspec.structs.replace(claim, scope=dataset, sentence=prefix + claim.sentence)
            for claim in dataset_claims
        ]
    return claims


def _build_dependence_claims_of_dataset(
    depend_report: DependReport, dependences: Sequence[MetricDependence]
) -> list[Claim]:
    # A metric that scores system names can map every system to its human mean and so have a SysDep of 0.
    informed = [entry for entry in dependences if not entry.uninformed]
    if not informed:
        return [Claim(kind="unanswered", sentence="None of the metrics rates single outputs.")]
    return [
        _build_favoured_systems_claim(depend_report, informed),
        _build_lowest_dependence_claim(depend_report, informed),
    ]


def _build_favoured_systems_claim(
    depend_report: DependReport, dependences: Sequence[MetricDependence]
) -> Claim:
    """Say how many metrics favour some systems, and which metric favours one of them most."""
    by = depend_report.result.by
    unfair = find_metrics_that_favour_systems(dependences)
    if all(entry.p_fair is None for entry in dependences):
        sentence = f"It could not be tested whether a metric favours some {by}s."
        return Claim(kind="unanswered", sentence=sentence)
    if not unfair:
        sentence = f"No metric is shown to favour any {by}."
        return Claim(kind="finding", sentence=sentence)
    worst = max(unfair, key=lambda entry: (entry.residual_range, entry.metric))
    counts = f"{len(unfair)} of {format_plural(len(dependences), 'metric')}"
    label = depend_report.labels[worst.metric]
    most = f"{label} favours {worst.most_favoured} over {worst.most_disadvantaged}"
    sentence = (
        f"{counts} {'is' if len(unfair) == 1 else 'are'} shown to favour some {by}s. The largest case: {most}"
        f" by {format_number(worst.residual_range)} points of {depend_report.result.human}."
    )
    return Claim(
        kind="finding",
        metrics=[entry.metric for entry in unfair],
        value=worst.residual_range,
        sentence=sentence,
    )


def _build_lowest_dependence_claim(
    depend_report: DependReport, dependences: Sequence[MetricDependence]
) -> Claim:
    """Name the metric that treats systems most alike (lowest SysDep), the metrics tied with it, and the
    SysDep of a constant score.
    """
    least = min(dependences, key=lambda entry: (entry.sysdep, entry.metric))
    tied = [
        entry.metric
        for entry in dependences
        if entry is not least and _do_sysdep_intervals_overlap(entry, least)
    ]
    value = f"{format_number(least.sysdep)} points of {depend_report.result.human}"
    if least.low is not None:
        value += f" (95 % interval {format_number(least.low)} to {format_number(least.high)})"
    value += f"; a constant metric has {format_number(least.constant)}"
    sentence = f"{depend_report.labels[least.metric]} has the lowest system dependence (SysDep): {value}."
    if tied and least.low is None:
        sentence += " No intervals were computed, so it is not known which metrics are tied with it."
    elif tied:
        verb = "is" if len(tied) == 1 else "are"
        sentence += (
            f" {list_names(depend_report.labels.list_labels_of_metrics(tied), '')} {verb} tied with it."
        )
    return Claim(
        kind="answer",
        metrics=[least.metric, *tied],
        value=least.sysdep,
        low=least.low,
        high=least.high,
        sentence=sentence,
    )


def _do_sysdep_intervals_overlap(
    first_dependence: MetricDependence, second_dependence: MetricDependence
) -> bool:
    """Return whether the 95 % intervals of two system dependences (SysDep) overlap. A missing interval counts
    as overlapping.
    """
    if (
        first_dependence.low is None
        or first_dependence.high is None
        or second_dependence.low is None
        or second_dependence.high is None
    ):
        return True
    return first_dependence.low <= second_dependence.high and second_dependence.low <= first_dependence.high


def render_further_depend_files(depend_result: DependContent, curves: CurvesByDataset) -> dict[str, Any]:
    """Render the fitted curves and the charts of all metrics as files. The keys are the paths of the
    files.
    """
    depend_report = prepare_depend_report(depend_result, curves)
    files: dict[str, Any] = {"results/curves.json": msgspec.to_builtins(curves)}
    for entry in depend_result.metrics:
        folder = f"charts/{make_safe_file_name(entry.dataset)}"
        for kind, spec in build_dependence_charts_of_metric(depend_report, entry).items():
            files[f"{folder}/{make_safe_file_name(entry.metric)}-{kind}.svg"] = render_svg(
                spec, width=CHART_WIDTH
            )
    return files


def describe_dependence(depend_result: DependContent) -> list[Block]:
    """Describe for the terminal how differently each metric treats the systems of each data set, and explain
    the terms.
    """
    labels = MetricLabels(entry.metric for entry in depend_result.metrics)
    blocks: list[Block] = [*convert_sentences_to_lines(claim.sentence for claim in depend_result.verdict)]
    for dataset in dict.fromkeys(entry.dataset for entry in depend_result.metrics):
        entries = [entry for entry in depend_result.metrics if entry.dataset == dataset]
        scores = f"{dataset}, against {depend_result.human}"
        title = f"Dependence on {depend_result.by}, {scores} (least dependent first)"
        rows = [_build_dependence_row(entry, labels) for entry in entries]
        blocks.append(
            Table(rows, title=title, most_important=MOST_IMPORTANT_COLUMNS, most_rows=MOST_METRICS, digits=2)
        )
        local_rows, sensitivity_rows = list_context_and_sensitivity_rows(entries, labels)
        blocks.append(
            Details(
                [
                    Table(local_rows, title="Within contexts"),
                    Table(sensitivity_rows, title="SysDep with other resamples, sample sizes and systems"),
                ]
            )
        )
        corrections = [row for row in depend_result.corrections if row.dataset == dataset]
        if corrections:
            blocks += convert_sentences_to_lines(
                describe_effect_of_score_corrections(corrections, depend_result.human, labels)
            )
            blocks.append(Details([_build_corrections_table(corrections, labels)]))
    return [
        *blocks,
        Line(explain_expected_deviation(depend_result.by, depend_result.human)),
        Line(explain_fairness_test(depend_result.by)),
        Details(convert_sentences_to_lines(explain_dependence_terms(depend_result.by, depend_result.human))),
        *summarize_data_in_note(depend_result.data),
        *convert_sentences_to_notes(depend_result.notes),
    ]


def _build_dependence_row(dependence: MetricDependence, metric_labels: MetricLabels) -> Row:
    row = build_dependence_row(dependence, metric_labels)
    del row["explained"]
    worst_inversion = next(iter(dependence.inversions), None)
    worst = None if worst_inversion is None else f"{worst_inversion.better} > {worst_inversion.worse}"
    return row | {"worst": worst}


def _build_corrections_table(corrections: Sequence[Correction], metric_labels: MetricLabels) -> Table:
    rows = [{**asdict(row), "metric": metric_labels[row.metric]} for row in corrections]
    title = "Agreement with human scores on segments that were not used for fitting"
    return Table(select_columns(rows, CORRECTION_COLUMNS), title=title)
