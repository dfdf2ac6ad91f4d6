"""What the verbs leave in a run folder, under which names, and the folders that a person names."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from metassay.data.cube import Cube
from metassay.data.readers.files import checked_path
from metassay.errors import InputError, Place
from metassay.reporting.charts.against_people import (
    comparisons_chart,
    curves_chart,
    deviations_chart,
    rank_flow_chart,
    ranking_chart,
)
from metassay.reporting.charts.theme import Spec, drawn
from metassay.reporting.labels import in_labels
from metassay.reporting.pages import render_dependence
from metassay.reporting.score_pages import render_aggregation, render_ranking
from metassay.store.run import MANIFEST, RunFolder
from metassay.workflows.pair_table import EXPLORER, GROUP, OUTPUTS, PAIRS, explorer_frame
from metassay.workflows.preparing import versions

if TYPE_CHECKING:
    from metassay.meta.dependence.results import DependenceReport
    from metassay.workflows.assay_result import AssayResult


RESULT = "results/assay.json"
EXAMPLES = "results/examples.json"
REPORT = "report.html"
TIMINGS = "timings.json"
VERDICTS = "results/verdicts.parquet"
"""What judges that compare two outputs said, in both orders: `metassay judge RUN` reads it."""
DEPENDENCE_WIDTH = 720
_LONGEST = 150
"""File systems take 255 bytes, and endings follow."""


def run_folders(runs: Sequence[str | Path]) -> list[Path]:
    """The run folders, in the order given; one folder that is no run stands for all runs in it, by name."""
    for run in runs:
        checked_path(str(run))
    if len(runs) == 1 and not (Path(runs[0]) / MANIFEST).is_file() and Path(runs[0]).is_dir():
        return sorted(path.parent for path in Path(runs[0]).glob(f"*/{MANIFEST}"))
    return [Path(run) for run in runs]


def command_of(run: RunFolder) -> str:
    """The verb that made a run."""
    return str(run.identity.get("command") or "assay")


def assay_run(path: str | Path) -> RunFolder:
    """A run folder that an assay left; of any other run it is said what it is."""
    run = RunFolder.existing(path)
    if command_of(run) != "assay":
        page = run.path / REPORT
        seen = f"Its page is {page}." if page.is_file() else f"Its results are in {run.path / 'results'}."
        raise InputError(
            f"this is a run of `metassay {command_of(run)}`, not of an assay.",
            place=Place(file=str(path)),
            remedy=f"{seen} An assay is made with: metassay assay DATA --out FOLDER",
        )
    return run


def write_run(run: RunFolder, result: AssayResult) -> None:
    """Outputs, pairs, results and report; the manifest last, since it says that all the rest is there."""
    from metassay.reporting.html import render

    content = result.to_dict()
    run.write_frame(OUTPUTS, result.dataset.outputs, group=GROUP)
    run.write_frame(PAIRS, result.pairs.frame, group=GROUP)
    run.write_frame(EXPLORER, explorer_frame(result), group=GROUP)
    run.write_json("resources.json", dict(result.pairs.resources))
    run.write_json(RESULT, content)
    run.write_json(EXAMPLES, result.examples())
    run.write_frame("results/local_accuracy.parquet", result.to_frame())
    run.write_frame("results/judgements.parquet", judgements_frame(result))
    if result.judged.verdicts is not None:
        run.write_frame(VERDICTS, result.judged.verdicts)
    run.write_text(
        REPORT, render(report_content(content, result.examples(), run.manifest(result.manifest())))
    )
    run.write_json(TIMINGS, {"seconds": result.judged.seconds, "seconds_per_1000_outputs": result.cost()})
    run.write_manifest(result.manifest())


def report_content(
    content: dict[str, Any], examples: list[dict[str, Any]], manifest: dict[str, Any]
) -> dict[str, Any]:
    """Everything a report shows."""
    return {**content, "examples": examples, "manifest": manifest}


def judgements_frame(result: AssayResult) -> pl.DataFrame:
    """What each metric said of each pair: 1 right, 0 tie, −1 wrong, null undefined; one column per metric."""
    judgements = result.judged.judgements
    outcomes = {
        metric: pl.Series(metric, outcome).cast(pl.Int8).replace(-2, None)
        for metric, outcome in zip(judgements.metrics, judgements.outcome)
    }
    chosen = pl.Series("sampled", result.judged.chosen(result.pairs))
    return result.judged.pairs.frame.select("item", "system", "perturbation").with_columns(
        chosen, *outcomes.values()
    )


def open_score_run(
    folder: str | Path, command: str, cubes: Sequence[Cube], configuration: Mapping[str, Any]
) -> RunFolder:
    """The run folder of this command and configuration on these scores; another run's is refused."""
    inputs = {cube.dataset: cube.content_hash for cube in cubes}
    return RunFolder.open(
        folder, {"command": command, "configuration": dict(configuration), "inputs": inputs}
    )


def file_name(text: str) -> str:
    """A text that people chose as the name of a file."""
    name = re.sub(r"[^\w.+-]+", "-", text).strip(".-") or "unnamed"
    if len(name.encode()) <= _LONGEST:
        return name
    rest = hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
    return f"{name.encode()[:_LONGEST].decode(errors='ignore')}-{rest}"


def write_ranking(run: RunFolder, result: Mapping[str, Any], frame: pl.DataFrame) -> None:
    """Leave `report.html`, `results/rank.{json,csv}`, `results/comparisons.csv`, analyses and charts."""
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
    run.write_text(REPORT, render_ranking(result))
    run.write_manifest({"state": "finished", "versions": versions()})


def write_aggregation(run: RunFolder, result: Mapping[str, Any], frame: pl.DataFrame) -> None:
    """Leave `report.html`, `results/aggregate.json`, its system scores and its tables as CSV."""
    run.write_json("results/aggregate.json", result)
    run.write_text("results/aggregate.csv", frame.write_csv())
    for name in ("between", "downsampled", "human"):
        if result[name]:
            table = pl.DataFrame(result[name], infer_schema_length=None)
            run.write_text(f"results/aggregate-{name}.csv", table.write_csv())
    run.write_text(REPORT, render_aggregation(result))
    run.write_manifest({"state": "finished", "versions": versions()})


def write_dependence(
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


def dependence_charts(report: DependenceReport, metric: str) -> dict[str, Spec]:
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
        entry.metric: {
            kind: drawn(spec, width=DEPENDENCE_WIDTH)
            for kind, spec in dependence_charts(report, entry.metric).items()
        }
        for entry in report.metrics
    }
