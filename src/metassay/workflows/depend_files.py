"""What `depend --out` leaves: a page to read, results as JSON and CSV, and every chart as SVG."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from metassay.errors import InputError, Place
from metassay.meta.dependence_results import DependenceReport
from metassay.report.charts.dependence import curves_chart, deviations_chart, rank_flow_chart
from metassay.report.charts.theme import TOKENS, Spec, config
from metassay.report.dependence_page import render_dependence

WIDTH = 720


def write_results(
    folder: Path, result: Mapping[str, Any], frame: pl.DataFrame, reports: Mapping[str, DependenceReport]
) -> None:
    """Write `report.html`, `depend.json`, `depend.csv` and `charts/DATASET/METRIC-KIND.svg`."""
    if folder.exists() and not folder.is_dir():
        raise InputError("this is a file.", place=Place(file=str(folder)), remedy="Choose another --out.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "depend.json").write_text(json.dumps(result, ensure_ascii=False, allow_nan=False), "utf-8")
        frame.write_csv(folder / "depend.csv")
        drawings = {dataset: _drawn(report) for dataset, report in reports.items()}
        (folder / "report.html").write_text(render_dependence(result, drawings), "utf-8")
        for dataset, by_metric in drawings.items():
            _write_charts(folder / "charts" / _file_name(dataset), by_metric)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"cannot be written ({reason}).", place=Place(file=str(folder))) from None


def charts(report: DependenceReport, metric: str) -> dict[str, Spec]:
    """The three charts of one metric: curves, deviations, ranks."""
    entry = report[metric]
    plain = entry.to_dict()
    return {
        "curves": curves_chart(plain, entry.curves().to_dict()),
        "deviations": deviations_chart(plain),
        "ranks": rank_flow_chart(plain),
    }


def _drawn(report: DependenceReport) -> dict[str, dict[str, str]]:
    """SVG by metric and kind of chart."""
    from vl_convert import vegalite_to_svg

    look = {**config("light"), "background": TOKENS["light"]["paper"]}
    return {
        entry.metric: {
            kind: vegalite_to_svg({**spec, "width": WIDTH, "config": look})
            for kind, spec in charts(report, entry.metric).items()
        }
        for entry in report.metrics
    }


def _write_charts(folder: Path, drawings: Mapping[str, Mapping[str, str]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for metric, by_kind in drawings.items():
        for kind, drawing in by_kind.items():
            (folder / f"{_file_name(metric)}-{kind}.svg").write_text(drawing, "utf-8")


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", text).strip(".-") or "unnamed"
