"""`depend`: whom each metric flatters, and how much of that is more than noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from metassay.data.cube import Cube
from metassay.engine.local import Progress, default_workers
from metassay.errors import InputError
from metassay.meta.dependence.assembly import depend_on_systems
from metassay.meta.dependence.outputs import SYSTEM, outputs_of
from metassay.meta.dependence.results import DependenceReport
from metassay.workflows.depend_files import write_results
from metassay.workflows.results import SCHEMA_VERSION, Result
from metassay.workflows.score_runs import open_score_run
from metassay.workflows.score_tables import Named, Reading, Source, listed, only_human, read_cubes


@dataclass(frozen=True)
class DependResult(Result):
    """System dependence of every metric, on one data set or several; `reports` holds each by its name."""

    human: str
    by: str
    reports: Mapping[str, DependenceReport]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay depend`."""
        parts = {dataset: report.to_dict() for dataset, report in self.reports.items()}
        return {
            "schema_version": SCHEMA_VERSION,
            "human": self.human,
            "by": self.by,
            "metrics": [
                {"metric": entry["metric"], "dataset": dataset} | entry
                for dataset, part in parts.items()
                for entry in part["metrics"]
            ],
            "comparisons": [
                {"dataset": dataset} | row for dataset, part in parts.items() for row in part["comparisons"]
            ],
            "notes": list(self.notes),
        }

    def to_frame(self) -> pl.DataFrame:
        """One row per data set and metric."""
        frames = [
            report.to_frame().select(pl.lit(dataset).alias("dataset"), pl.all())
            for dataset, report in self.reports.items()
        ]
        return pl.concat(frames)

    def _repr_html_(self) -> str:
        from metassay.reporting.html import render_fragment

        return render_fragment({"metrics": self.to_frame().to_dicts()})


def depend(
    data: Source,
    *,
    human: Named | None = None,
    by: str = SYSTEM,
    metrics: Named | None = None,
    lower_is_better: Named = (),
    higher_is_better: Named = (),
    context: Named | None = None,
    cluster: str | None = None,
    weight: str | None = None,
    bootstraps: int = 200,
    draws: int = 999,
    analysis: bool = False,
    seed: int = 0,
    workers: int | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **reading: Unpack[Reading],
) -> DependResult:
    """Measure system dependence (SysDep) and expected deviations of every metric.

    `data` is a table with a row per output and a column per metric (or files of such tables, a folder in the
    layout of mt-metrics-eval, a data set); `join`, `columns`, `where`, `systems`, `exclude_systems`,
    `reference`, `keep_references` and `quoting` say how it is read. `human` names the column of human scores;
    further names declare more columns that people gave, which are no metrics. Our metrics of which lower is
    better are turned around under their own names, others that `lower_is_better` names; `higher_is_better`
    keeps some as they are. `by` groups outputs by another column
    than the system. `context` measures within each value of a column as well (by default within domains,
    where there are any); `cluster` makes its values (documents) the units that are resampled; `weight` names
    a column of weights. `analysis` adds how SysDep reacts to resamples, sample size and the choice of
    systems. `out` is a folder for a page to read, the results as JSON and CSV, and the charts.
    """
    cubes, notes = read_cubes(
        data,
        human=human,
        metrics=_with(metrics, weight),
        lower_is_better=lower_is_better,
        higher_is_better=higher_is_better,
        **reading,
    )
    chosen = only_human(cubes, human)
    cubes = [cube for cube in cubes if chosen in cube.human]
    if not cubes:
        raise InputError(f"no data set has the human score {chosen}.")
    grouping: dict[str, Any] = {
        "by": by,
        "metrics": tuple(listed(metrics)),
        "contexts": None if context is None else tuple(listed(context)),
        "cluster": cluster,
        "weight": weight,
    }
    options: dict[str, Any] = {"bootstraps": bootstraps, "draws": draws, "seed": seed, "analysis": analysis}
    named = {"human": chosen, "by": by, "metrics": grouping["metrics"]}
    asked = named | {"lower_is_better": tuple(listed(lower_is_better))}
    run = None if out is None else open_score_run(out, "depend", cubes, asked | grouping | options)
    reports = {
        cube.dataset: depend_on_systems(
            outputs_of(cube, chosen, **grouping),
            workers=default_workers(workers),
            progress=progress,
            **options,
        )
        for cube in cubes
    }
    result = DependResult(chosen, by, reports, _notes(notes, cubes, reports))
    if run is not None:
        write_results(run, result.to_dict(), result.to_frame(), reports)
    return result


def _notes(
    notes: Sequence[str], cubes: Sequence[Cube], reports: Mapping[str, DependenceReport]
) -> tuple[str, ...]:
    left = [
        f"{dataset}: {metric} is left out: {reason}."
        for dataset, report in reports.items()
        for metric, reason in sorted(report.left_out.items())
    ]
    for dataset, report in reports.items():
        everyone = {name for entry in report.metrics for name in entry.cells.names}
        left += [
            f"{dataset}: {entry.metric} has no score for {', '.join(missing)}."
            for entry in report.metrics
            if (missing := sorted(everyone - set(entry.cells.names)))
        ]
    return tuple(dict.fromkeys([*notes, *(note for cube in cubes for note in cube.notes), *left]))


def _with(metrics: Named | None, weight: str | None) -> list[str]:
    """The columns that are no human scores, whatever their names: the metrics asked for, and the weight."""
    return [*listed(metrics), *([] if weight is None else [weight])]
