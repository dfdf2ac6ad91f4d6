"""What `depend --out` leaves: a page to read, results as JSON and CSV, and every chart as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from metassay.meta.dependence.results import DependenceReport
from metassay.reporting.charts.dependence import curves_chart, deviations_chart, rank_flow_chart
from metassay.reporting.charts.theme import Spec, drawn
from metassay.reporting.dependence_page import render_dependence
from metassay.reporting.labels import in_labels
from metassay.store.run import RunFolder
from metassay.workflows.preparing import versions
from metassay.workflows.score_runs import file_name

WIDTH = 720


def write_results(
    run: RunFolder, result: Mapping[str, Any], frame: pl.DataFrame, reports: Mapping[str, DependenceReport]
) -> None:
    """Leave `report.html`, `results/depend.json`, `results/depend.csv` and every chart as SVG."""
    drawings = {dataset: _drawn(report) for dataset, report in reports.items()}
    run.write_json("results/depend.json", result)
    run.write_text("results/depend.csv", frame.write_csv())
    for dataset, by_metric in drawings.items():
        for metric, by_kind in by_metric.items():
            for kind, drawing in by_kind.items():
                place = f"charts/{file_name(dataset)}/{file_name(metric)}-{kind}.svg"
                run.write_text(place, drawing)
    run.write_text("report.html", render_dependence(result, drawings))
    run.write_manifest({"state": "finished", "versions": versions()})


def charts(report: DependenceReport, metric: str) -> dict[str, Spec]:
    """The three charts of one metric: curves, deviations, ranks."""
    entry = report[metric]
    plain = next(plain for plain in in_labels(report.to_dict())["metrics"] if plain["metric"].spec == metric)
    return {
        "curves": curves_chart(plain, entry.curves().to_dict()),
        "deviations": deviations_chart(plain),
        "ranks": rank_flow_chart(plain),
    }


def _drawn(report: DependenceReport) -> dict[str, dict[str, str]]:
    """SVG by metric and kind of chart."""
    return {
        entry.metric: {kind: drawn(spec, width=WIDTH) for kind, spec in charts(report, entry.metric).items()}
        for entry in report.metrics
    }
