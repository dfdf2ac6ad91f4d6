"""`depend`: whom each metric flatters, and how much of that is more than noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from metassay.data.scores import ScoreTable
from metassay.engine.local import Progress, default_workers
from metassay.errors import InputError
from metassay.meta.dependence.assembly import depend_on_systems
from metassay.meta.dependence.results import DependenceReport
from metassay.workflows.depend_files import write_results
from metassay.workflows.depend_grouping import SYSTEM, Grouping
from metassay.workflows.depend_panel import PANEL, panel_reports
from metassay.workflows.results import SCHEMA_VERSION, Result
from metassay.workflows.score_runs import open_score_run
from metassay.workflows.score_tables import Reading, Source, only_human, read_score_tables

Named = str | Sequence[str]


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
    human: str | None = None,
    by: str = SYSTEM,
    metrics: Named | None = None,
    lower_is_better: Named = (),
    context: Named | None = None,
    cluster: str | None = None,
    weight: str | None = None,
    bootstraps: int = 200,
    draws: int = 999,
    analysis: bool = False,
    panel: bool = False,
    seed: int = 0,
    workers: int | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
    **reading: Unpack[Reading],
) -> DependResult:
    """Measure system dependence (SysDep) and expected deviations of every metric.

    `data` is a table with a row per output and a column per metric (or files of such tables, a folder in the
    layout of mt-metrics-eval, a data set); `join`, `columns`, `where`, `systems`, `exclude_systems`,
    `reference`, `keep_references` and `quoting` say how it is read. `by` groups outputs by another column
    than the system. `context` measures within each value of a column as well (by default within domains,
    where there are any); `cluster` makes its values (documents) the units that are resampled; `weight` names
    a column of weights. `analysis` adds how SysDep reacts to resamples, sample size and the choice of
    systems. With `panel` nobody need have rated: the mean of all other metrics stands for the human score of
    each. `out` is a folder for a page to read, the results as JSON and CSV, and the charts.
    """
    if panel and human is not None:
        raise InputError("a panel stands where there is no human score.", remedy="Leave out --human.")
    tables, notes = read_score_tables(data, human=human, rated=not panel, **reading)
    chosen = PANEL if panel else only_human(tables, human)
    tables = [table for table in tables if panel or chosen in table.human]
    if not tables:
        raise InputError(f"no data set has the human score {chosen}.")
    grouping = Grouping(
        chosen, by, _names(metrics), _names(lower_is_better), _contexts(context), cluster, weight
    )
    options: dict[str, Any] = {"bootstraps": bootstraps, "draws": draws, "seed": seed, "analysis": analysis}
    run = None if out is None else open_score_run(out, "depend", tables, asdict(grouping) | options)
    if panel:
        reports = panel_reports(tables, grouping, progress, options)
    else:
        reports = {
            table.dataset: depend_on_systems(
                grouping.outputs(table),
                human=chosen,
                by=by,
                workers=default_workers(workers),
                progress=progress,
                **options,
            )
            for table in tables
        }
    result = DependResult(chosen, by, reports, _notes(notes, tables, reports))
    if run is not None:
        drawn = {} if panel else reports  # the charts speak of people
        write_results(run, result.to_dict(), result.to_frame(), drawn)
    return result


def _notes(
    notes: Sequence[str], tables: Sequence[ScoreTable], reports: Mapping[str, DependenceReport]
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
    return tuple(dict.fromkeys([*notes, *(note for table in tables for note in table.notes), *left]))


def _contexts(context: Named | None) -> tuple[str, ...] | None:
    return None if context is None else _names(context)


def _names(texts: Named | None) -> tuple[str, ...]:
    if texts is None:
        return ()
    parts = texts.split(",") if isinstance(texts, str) else texts
    return tuple(part.strip() for part in parts if part.strip())
