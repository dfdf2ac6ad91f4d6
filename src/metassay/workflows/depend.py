"""`depend`: whom each metric flatters, and how much of that is more than noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.scores import ScoreTable
from metassay.engine.local import Progress, default_workers
from metassay.errors import InputError, UnknownName
from metassay.meta.dependence_assembly import depend_on_systems
from metassay.meta.dependence_outputs import ScoredOutputs, scored_outputs
from metassay.meta.dependence_results import DependenceReport
from metassay.workflows.depend_files import write_results
from metassay.workflows.read import Paths
from metassay.workflows.results import SCHEMA_VERSION, Result
from metassay.workflows.score_tables import read_score_tables

Named = str | Sequence[str]
SYSTEM = "system"
DOMAIN = "domain"


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
        from metassay.report.html import render_fragment

        return render_fragment({"metrics": self.to_frame().to_dicts()})


def depend(
    data: Dataset | pl.DataFrame | ScoreTable | Sequence[ScoreTable] | Paths,
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
    seed: int = 0,
    join: Paths | None = None,
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str | Sequence[str]] | None = None,
    systems: Sequence[str] | None = None,
    exclude_systems: Sequence[str] | None = None,
    reference: Sequence[str] = (),
    keep_references: bool = False,
    quoting: str = "minimal",
    workers: int | None = None,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> DependResult:
    """Measure system dependence (SysDep) and expected deviations of every metric.

    `data` is a table with a row per output and a column per metric (or files of such tables, a folder in the
    layout of mt-metrics-eval, a data set). `by` groups outputs by another column than the system. `context`
    measures within each value of a column as well (by default within domains, where there are any); `cluster`
    makes its values (documents) the units that are resampled; `weight` names a column of weights. `analysis`
    adds how SysDep reacts to resamples, sample size and the choice of systems. `out` is a folder for the
    results as JSON, CSV and charts.
    """
    tables, notes = read_score_tables(
        data,
        human=human,
        join=join,
        columns=columns,
        where=where,
        systems=systems,
        exclude_systems=exclude_systems,
        reference=reference,
        keep_references=keep_references,
        quoting=quoting,
    )
    chosen = human or _only_human(tables)
    tables = [table for table in tables if chosen in table.human]
    if not tables:
        raise InputError(f"no data set has the human score {chosen}.")
    reports = {
        table.dataset: depend_on_systems(
            _outputs(table, chosen, by, _names(metrics), _names(lower_is_better), context, cluster, weight),
            human=chosen,
            by=by,
            bootstraps=bootstraps,
            draws=draws,
            seed=seed,
            workers=default_workers(workers),
            analysis=analysis,
            progress=progress,
        )
        for table in tables
    }
    result = DependResult(chosen, by, reports, _notes(notes, tables, reports))
    if out is not None:
        write_results(Path(out), result.to_dict(), result.to_frame(), reports)
    return result


def _outputs(
    table: ScoreTable,
    human: str,
    by: str,
    metrics: Sequence[str],
    lower: Sequence[str],
    context: Named | None,
    cluster: str | None,
    weight: str | None,
) -> ScoredOutputs:
    """The table, a row per output, turned to higher is better."""
    shape = (len(table.systems), len(table.segments))
    chosen = _chosen(table, metrics, lower, weight)
    contexts = _names(context) if context is not None else [DOMAIN] if DOMAIN in table.labels else []
    system = np.repeat(table.systems, shape[1])
    keep = np.ones(shape[0] * shape[1], dtype=bool)
    if by != SYSTEM:
        keep = np.tile([value is not None for value in _labels(table, by)], shape[0])
    group = system if by == SYSTEM else _spread(_labels(table, by), shape[0])
    documents = None if cluster is None else _documents(table, cluster)
    return scored_outputs(
        table.human[human].ravel()[keep],
        {name: scores.ravel()[keep] for name, scores in chosen.items()},
        system=system[keep],
        item=np.tile([f"{place:09}" for place in range(shape[1])], shape[0])[keep],
        group=group[keep],
        cluster=None if documents is None else _spread(documents, shape[0])[keep],
        weight=None if weight is None else np.nan_to_num(table.metrics[weight].ravel()[keep]),
        contexts={name: _spread(_labels(table, name), shape[0])[keep] for name in contexts if name != by},
    )


def _chosen(
    table: ScoreTable, metrics: Sequence[str], lower: Sequence[str], weight: str | None
) -> dict[str, np.typing.NDArray[np.float64]]:
    for name in (*metrics, *lower, *([weight] if weight else [])):
        if name not in table.metrics:
            raise UnknownName("metric", name, table.metrics)
    names = metrics or [name for name in table.metrics if name != weight]
    return {name: -table.metrics[name] if name in lower else table.metrics[name] for name in names}


def _labels(table: ScoreTable, column: str) -> tuple[str | None, ...]:
    if column not in table.labels:
        raise UnknownName("column of segments", column, (SYSTEM, *table.labels))
    return table.labels[column]


def _documents(table: ScoreTable, column: str) -> list[str]:
    """Clusters of segments; a segment without one stands for itself."""
    return [
        f"segment {item}" if label is None else f"cluster {label}"
        for label, item in zip(_labels(table, column), table.segments)
    ]


def _spread(labels: Sequence[str | None], systems: int) -> np.typing.NDArray[np.str_]:
    """A label per segment as a label per output."""
    return np.tile(np.array(["(none)" if label is None else label for label in labels]), systems)


def _only_human(tables: Sequence[ScoreTable]) -> str:
    found = list(dict.fromkeys(name for table in tables for name in table.human))
    if len(found) > 1:
        raise InputError(
            f"there are several human scores: {', '.join(found)}.", remedy="Choose one with --human COLUMN."
        )
    return found[0]


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


def _names(texts: Named | None) -> list[str]:
    if texts is None:
        return []
    parts = texts.split(",") if isinstance(texts, str) else texts
    return [part.strip() for part in parts if part.strip()]
