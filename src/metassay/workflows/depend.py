"""`depend`: whom each metric flatters, and how much of that is more than noise.

System dependence where nobody rated: each metric against the mean of all others.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from metassay.data.score_cube import ScoreCube
from metassay.data.score_files import Scores
from metassay.engine.workers import Progress, count_workers
from metassay.errors import InputError
from metassay.meta.dependence.analysis import corrected, depend_on_all, depend_on_systems
from metassay.meta.dependence.results import DependenceReport, MetricDependence, sorted_by_sysdep
from metassay.meta.dependence.scored_outputs import SYSTEM, outputs_of
from metassay.meta.people.intervals import Trial
from metassay.meta.people.ranking_data import CONSTANT
from metassay.metrics.registry import find_metric_labels
from metassay.options import FilePath, accept_options, split_names
from metassay.reporting.dependence_page import dependence_files, dependence_page
from metassay.reporting.pages import Page
from metassay.stats.arrays import FloatArray
from metassay.store.run_folder import RunFolder
from metassay.workflows.options import DependOptions, DependSettings
from metassay.workflows.read import Source, read_scores
from metassay.workflows.run_files import SCHEMA_VERSION, Result, check_target, write_table

PANEL = "the mean of the other metrics"
"""What stands in the place of the human score: z-scores of the other metrics, averaged output by output."""


def panel_reports(
    cubes: Sequence[ScoreCube],
    grouping: Mapping[str, Any],
    progress: Progress | None,
    options: Mapping[str, Any],
) -> dict[str, DependenceReport]:
    """By data set, a report in which each metric has its own panel; hence no two metrics are compared."""
    return {cube.dataset: _report(cube, grouping, progress, options) for cube in cubes}


def _report(
    cube: ScoreCube, grouping: Mapping[str, Any], progress: Progress | None, options: Mapping[str, Any]
) -> DependenceReport:
    asked = grouping["metrics"] or [name for name in cube.metric_scores if name != grouping["weight"]]
    names = cube.resolve_metrics(asked)
    if len(names) < 2:
        raise InputError(f"{cube.dataset} has one metric: a panel needs others beside it.")
    oriented = {name: _z(cube.orient_scores(name)) for name in names}
    entries: list[MetricDependence] = []
    left_out: dict[str, str] = {}
    for done, name in enumerate(names, start=1):
        others = np.stack([scores for other, scores in oriented.items() if other != name])
        own = replace(cube, human_scores={PANEL: _mean(others)})
        try:
            outputs = outputs_of(own, PANEL, **{**grouping, "metrics": (name,)})
            entries += depend_on_systems(outputs, **options).metrics
        except InputError as error:
            left_out[name] = str(error).rstrip(".")
        if progress is not None:
            progress("metrics", done, len(names))
    if not entries:
        raise InputError("no metric has scores beside the others' for two or more groups.")
    return DependenceReport(PANEL, grouping["by"], sorted_by_sysdep(entries), (), left_out)


def _z(scores: FloatArray) -> FloatArray:
    """Scores with mean 0 and standard deviation 1 over all outputs; all 0 for a metric that is constant."""
    spread = np.nanstd(scores) if (~np.isnan(scores)).any() else 0.0
    centred = scores - (np.nanmean(scores) if spread else scores)
    return np.asarray(centred / (spread or 1.0))


def _mean(scores: FloatArray) -> FloatArray:
    """The mean over metrics of those that scored an output; NaN where none did."""
    known = (~np.isnan(scores)).sum(axis=0)
    sums = np.nansum(scores, axis=0)
    return np.asarray(np.divide(sums, known, out=np.full(sums.shape, np.nan), where=known > 0))


@dataclass(frozen=True, repr=False)
class DependResult(Result):
    """System dependence of every metric, on one data set or several; `reports` holds each by its name."""

    human: str
    by: str
    reports: Mapping[str, DependenceReport]
    notes: tuple[str, ...] = ()
    corrections: tuple[dict[str, Any], ...] = ()
    """With `correct`, what each metric gains and loses when read as human scores."""

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
            **({"corrections": list(self.corrections)} if self.corrections else {}),
            "notes": list(self.notes),
        }

    def to_frame(self) -> pl.DataFrame:
        """One row per data set and metric."""
        frames = [
            report.to_frame().select(pl.lit(dataset).alias("dataset"), pl.all())
            for dataset, report in self.reports.items()
        ]
        return pl.concat(frames)

    def page(self) -> Page:
        """What the page of the run shows."""
        panel = self.human == PANEL  # the charts speak of people
        curves = {} if panel else {name: report.curves() for name, report in self.reports.items()}
        return dependence_page(self.to_dict(), curves)


@accept_options(DependOptions)
def depend(data: Source, options: DependOptions) -> DependResult:
    """Measure system dependence (SysDep) and expected deviations of every metric.

    `data` is a table with a row per output and a column per metric (or files of such tables, a folder in the
    layout of mt-metrics-eval, a data set); `join`, `columns`, `where`, `systems`, `exclude_systems`,
    `reference`, `keep_references` and `quoting` say how it is read. `by` groups outputs by another column
    than the system. `context` measures within each value of a column as well (by default within domains,
    where there are any); `cluster` makes its values (documents) the units that are resampled; `weight` names
    a column of weights. `analysis` adds how SysDep reacts to resamples, sample size and the choice of
    systems. With `panel` nobody need have rated: the mean of all other metrics stands for the human score of
    each. `correct` names a file for the scores as read through f_G and through each system's f_k, both fitted
    to other segments; what that gains and loses is measured on the segments they were not fitted to. `out` is
    a folder for a page to read, the results as JSON and CSV, and the charts.

    >>> rows = [
    ...     {"seg_id": n, "system": system, "mqm": gap + n % 3, "M": n % 3 + 0.1 * gap}
    ...     for n in range(30)
    ...     for system, gap in (("a", 0.0), ("b", -1.0), ("c", -3.0))
    ... ]
    >>> found = depend(rows, human="mqm", bootstraps=5, draws=9).to_dict()["metrics"][0]
    >>> max(found["deviations"], key=found["deviations"].get)
    'c'
    """
    if options.panel and options.human is not None:
        raise InputError("a panel stands where there is no human score.", remedy="Leave options.out --human.")
    if options.correct is not None:
        _check_correction(options, options.correct, data)
    also = () if options.weight is None else (options.weight,)
    scores = read_scores(data, options, also=also, rated=not options.panel)
    human = PANEL if options.panel else scores.human
    scores = scores if options.panel else scores.with_human(human)
    grouping: dict[str, Any] = {
        "by": options.by,
        "metrics": scores.metrics,
        "contexts": None if options.context is None else split_names(options.context),
        "cluster": options.cluster,
        "weight": options.weight,
    }
    sampling: dict[str, Any] = {
        "bootstraps": options.bootstraps,
        "draws": options.draws,
        "seed": options.seed,
        "analysis": options.analysis,
    }
    named: dict[str, Any] = {"human": human, "lower_is_better": split_names(options.lower_is_better)}
    named |= {} if options.correct is None else {"corrected": True}
    identity = {
        "command": "depend",
        "configuration": named | grouping | sampling,
        "inputs": dict(scores.hashes),
    }
    threads = count_workers(options.workers)
    run = None if options.out is None else RunFolder.open(options.out, identity, data=scores.marks)
    if options.panel:
        reports = panel_reports(scores.cubes, grouping, options.progress, sampling)
    else:
        drawn = run is not None
        reports = depend_on_all(
            scores.cubes, human, grouping, workers=threads, progress=options.progress, drawn=drawn, **sampling
        )
    corrections: tuple[dict[str, Any], ...] = ()
    if options.correct is not None:
        table, corrections = correct_scores(
            scores, options, seed=options.seed, workers=threads, progress=options.progress
        )
        write_table(table, options.correct)
    result = DependResult(human, options.by, reports, _notes(scores, reports), corrections)
    if run is not None:
        speaking = {} if options.panel else reports  # the charts speak of people
        curves = {dataset: report.curves() for dataset, report in speaking.items()}
        found = result.to_dict()
        run.finish(dependence_files(found, result.to_frame(), curves, find_metric_labels(found)))
    return result


def _check_correction(asked: DependSettings, target: FilePath, data: Source) -> None:
    if asked.panel or asked.by != SYSTEM:
        raise InputError(
            "scores are corrected with people's scores of systems.", remedy="Leave out --panel and --by."
        )
    parts = data if isinstance(data, list | tuple) else [data]
    check_target(target, [str(part) for part in parts if isinstance(part, str | os.PathLike)])


def correct_scores(
    scores: Scores, asked: DependSettings, *, seed: int, workers: int, progress: Progress | None = None
) -> tuple[pl.DataFrame, tuple[dict[str, Any], ...]]:
    """The corrected scores, `item, system, metric, score`, and what each correction gains and loses.

    Beside the metrics one that is constant: what it gains through f_k comes from people alone.
    """
    tables, rows = [], []
    for cube in scores.cubes:
        human = cube.orient_scores(scores.human)
        clusters = np.arange(human.shape[1]) if asked.cluster is None else cube.cluster_codes(asked.cluster)
        names = [name for name in cube.resolve_metrics(scores.metrics or None) if name != asked.weight]
        metrics = {name: cube.orient_scores(name) for name in names} | {CONSTANT: np.zeros(human.shape)}
        judge = Trial(human, clusters, draws=asked.draws, seed=seed)

        def one(
            metric: FloatArray, human: FloatArray = human, clusters: Any = clusters, judge: Trial = judge
        ) -> Any:
            found = corrected(human, metric, clusters, bootstraps=asked.bootstraps, seed=seed)
            return found, judge.rows(metric, found)

        with ThreadPoolExecutor(workers) as pool:
            for done, (name, (found, own)) in enumerate(
                zip(metrics, pool.map(one, metrics.values())), start=1
            ):
                rows += [
                    {"dataset": cube.dataset, "metric": name, "baseline": name == CONSTANT} | row
                    for row in own
                ]
                if name != CONSTANT:
                    mapped = {name: metrics[name], f"f_G({name})": found.pooled, f"f_k({name})": found.own}
                    tables += [_long(cube, full, values) for full, values in mapped.items()]
                if progress is not None:
                    progress("correcting", done, len(metrics))
    return pl.concat(tables), tuple(rows)


def _long(cube: ScoreCube, metric: str, values: FloatArray) -> pl.DataFrame:
    items = cube.qualified_items
    return pl.DataFrame(
        {
            "item": np.repeat(items, len(cube.systems)),
            "system": np.tile(cube.systems, len(items)),
            "metric": metric,
            "score": pl.Series(values.T.ravel()).fill_nan(None),
        }
    )


def _notes(scores: Scores, reports: Mapping[str, DependenceReport]) -> tuple[str, ...]:
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
    return tuple(
        dict.fromkeys([*scores.notes, *(note for cube in scores.cubes for note in cube.notes), *left])
    )
