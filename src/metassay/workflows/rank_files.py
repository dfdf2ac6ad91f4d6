"""What `rank --out` leaves: the result as JSON, its tables as CSV, its charts as SVG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from metassay.reporting.charts.metric_ranking import comparisons_chart, ranking_chart
from metassay.reporting.charts.theme import drawn
from metassay.reporting.labels import in_labels
from metassay.store.run import RunFolder
from metassay.workflows.preparing import versions
from metassay.workflows.score_runs import file_name


def write_results(run: RunFolder, result: Mapping[str, Any], frame: pl.DataFrame) -> None:
    """Leave `results/rank.{json,csv}`, `results/comparisons.csv`, one CSV per analysis, and the charts."""
    run.write_json("results/rank.json", result)
    run.write_text("results/rank.csv", frame.write_csv())
    compared = [
        {name: one[name] for name in ("dataset", "meta", "context")} | row
        for one in result["results"]
        for row in one["comparisons"]
    ]
    if compared:
        run.write_text("results/comparisons.csv", pl.DataFrame(compared).write_csv())
    for name, rows in result.get("analysis", {}).items():
        run.write_text(f"results/{name}.csv", pl.DataFrame(rows, infer_schema_length=None).write_csv())
    for one in in_labels(result)["results"]:
        place = "charts/" + file_name("-".join((one["dataset"], one["meta"], one["context"])))
        run.write_text(f"{place}.svg", drawn(ranking_chart(one)))
        if one["comparisons"]:
            run.write_text(f"{place}-comparisons.svg", drawn(comparisons_chart(one)))
    run.write_manifest({"state": "finished", "versions": versions()})
