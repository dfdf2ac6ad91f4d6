"""Section of the `assay` page: what each metric overlooks, by perturbation."""

from __future__ import annotations

from typing import Any

from metassay.reporting.assay_report import AssayReport
from metassay.reporting.assay_sentences import describe_confounding
from metassay.reporting.charts.heatmaps import build_accuracy_heatmap
from metassay.reporting.pages import Chart, Section
from metassay.reporting.tables import Field, Grid, build_grid
from metassay.reporting.wording import (
    format_percent,
    format_sentence,
    join_names,
    narrow_spaces_before_percent_signs,
)
from metassay.results.assay import MetricConfounding


def build_perturbations_section(assay_report: AssayReport) -> Section | None:
    """Build the section on accuracy by perturbation (the rule that made an output worse). None if no pairs
    were made by such rules.
    """
    chart = build_perturbations_chart(assay_report)
    if chart is None:
        return None
    introduction = format_sentence(
        "The chart shows which kinds of errors each metric detects{note:note}. If the accuracy of a metric"
        " depends on the perturbation, the overall accuracy depends on the mix of perturbations, too.",
        note="methods",
    )
    return Section(
        "What each metric overlooks",
        sentences=[introduction, *_describe_undetected_perturbations(assay_report)],
        charts=[chart],
        subsections=_build_confounding_subsection(assay_report),
        anchor="perturbations",
        contents_title="What each overlooks",
    )


def build_perturbations_chart(assay_report: AssayReport) -> Chart | None:
    """Draw a heatmap of the accuracy of each metric on each perturbation (a rule that makes outputs worse).
    None if no accuracy is defined.
    """
    cells = []
    for row in list_confounding_by_metric(assay_report):
        label = assay_report.labels[row.metric]
        for name, accuracy in row.by_perturbation.items():
            if accuracy is not None:
                cells.append({"metric": label, "perturbation": name, "accuracy": accuracy})
    if not cells:
        return None
    metrics = list(dict.fromkeys(str(cell["metric"]) for cell in cells))
    perturbations = list(dict.fromkeys(str(cell["perturbation"]) for cell in cells))
    caption = (
        "Share of pairs in % in which each metric prefers the original output to the perturbed one, by"
        " perturbation."
    )
    return Chart("accuracy by perturbation", build_accuracy_heatmap(cells, metrics, perturbations), caption)


def list_confounding_by_metric(assay_report: AssayReport) -> list[MetricConfounding]:
    """List how much the accuracy of each metric depends on the rule that made outputs worse. Baselines come
    last.
    """
    rows = {row.metric: row for row in assay_report.result.confounding}
    return [rows[metric] for metric in assay_report.all_metrics if metric in rows]


def build_perturbation_table(assay_report: AssayReport) -> Grid | None:
    """Build a table with the accuracy of each metric by perturbation (a rule that makes outputs worse), and
    how much the accuracy varies.
    """
    rows = list_confounding_by_metric(assay_report)
    perturbations = list(dict.fromkeys(name for row in rows for name in row.by_perturbation))
    if not perturbations:
        return None
    fields = [
        Field("metric", "metric", "name"),
        *(Field(f"perturbation {name}", name, "percent") for name in perturbations),
        Field("variance", "variance", "number", "σ² of accuracy over single perturbations"),
        Field("low", "95\u202f% interval: low", "number"),
        Field("high", "high", "number"),
        Field("flag", "confounded?", "verdict"),
    ]
    table = []
    for row in rows:
        cells: dict[str, Any] = {"metric": assay_report.labels[row.metric]}
        cells |= {f"perturbation {name}": accuracy for name, accuracy in row.by_perturbation.items()}
        cells |= {"variance": row.variance, "low": row.low, "high": row.high}
        table.append(cells | {"flag": "yes" if row.flag else "no"})
    return build_grid("methods", "Accuracy by perturbation", fields, table)


def _describe_perturbation_dependences(assay_report: AssayReport) -> list[str]:
    """Describe the metrics whose accuracy is shown to depend on the perturbation, the rule that made an
    output worse.
    """
    claimed = {claim.metric for claim in assay_report.result.claims.perturbation_dependences}
    rows = [
        row for row in list_confounding_by_metric(assay_report) if row.metric in claimed and row.responsible
    ]
    return [
        narrow_spaces_before_percent_signs(describe_confounding(row, assay_report.labels)) for row in rows
    ]


def _build_confounding_subsection(assay_report: AssayReport) -> list[Section]:
    """Build a collapsed list of the metrics whose accuracy depends on the rule that made outputs worse."""
    sentences = _describe_perturbation_dependences(assay_report)
    if not sentences:
        return []
    return [Section("Metrics that depend on the perturbation", bullets=sentences, collapsed=True)]


def _describe_undetected_perturbations(assay_report: AssayReport) -> list[str]:
    """Name the kinds of artificial errors that metrics are shown to overlook, because they prefer the better
    output in less than half of the pairs.
    """
    rows = list_confounding_by_metric(assay_report)
    tests = sum(accuracy is not None for row in rows for accuracy in row.by_perturbation.values())
    missed = []
    for row in rows:
        names = [f"{each.perturbation} ({format_percent(each.accuracy)} right)" for each in row.overlooked]
        if names and not row.sentinel:
            missed.append(f"{assay_report.labels[row.metric]} misses {join_names(names)}")
    if not missed:
        return ["No metric is shown to be wrong on more than half of the pairs of a perturbation."]
    sentence = (
        f"In more than half of the pairs, {'; '.join(missed)} (one-sided t-tests over clusters, p ≤ .05 after"
        f" Holm’s correction for {tests} tests; ties count as wrong)."
    )
    return [sentence]
