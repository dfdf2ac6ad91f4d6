"""System dependence where nobody rated: each metric against the mean of all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.data.scores import ScoreTable
from metassay.engine.local import Progress
from metassay.errors import InputError, UnknownName
from metassay.meta.dependence.assembly import depend_on_systems
from metassay.meta.dependence.results import DependenceReport, MetricDependence, sorted_by_sysdep
from metassay.workflows.depend_grouping import Grouping

PANEL = "the mean of the other metrics"
"""What stands in the place of the human score: z-scores of the other metrics, averaged output by output."""


def panel_reports(
    tables: Sequence[ScoreTable], grouping: Grouping, progress: Progress | None, options: Mapping[str, Any]
) -> dict[str, DependenceReport]:
    """By data set, a report in which each metric has its own panel; hence no two metrics are compared."""
    return {table.dataset: _report(table, grouping, progress, options) for table in tables}


def _report(
    table: ScoreTable, grouping: Grouping, progress: Progress | None, options: Mapping[str, Any]
) -> DependenceReport:
    names = sorted(grouping.metrics or (name for name in table.metrics if name != grouping.weight))
    for name in (*names, *grouping.lower_is_better):
        if name not in table.metrics:
            raise UnknownName("metric", name, table.metrics)
    if len(names) < 2:
        raise InputError(f"{table.dataset} has one metric: a panel needs others beside it.")
    oriented = {name: _z(table.metrics[name], turned=name in grouping.lower_is_better) for name in names}
    entries: list[MetricDependence] = []
    left_out: dict[str, str] = {}
    for done, name in enumerate(names, start=1):
        others = np.stack([scores for other, scores in oriented.items() if other != name])
        own = replace(table, human={PANEL: _mean(others)})
        try:
            report = depend_on_systems(
                replace(grouping, human=PANEL, metrics=(name,)).outputs(own),
                human=PANEL,
                by=grouping.by,
                **options,
            )
        except InputError as error:
            left_out[name] = str(error).rstrip(".")
        else:
            entries += report.metrics
        if progress is not None:
            progress("metrics", done, len(names))
    if not entries:
        raise InputError("no metric has scores beside the others' for two or more groups.")
    return DependenceReport(PANEL, grouping.by, sorted_by_sysdep(entries), (), left_out)


def _z(scores: NDArray[np.float64], *, turned: bool) -> NDArray[np.float64]:
    """Scores with mean 0 and standard deviation 1 over all outputs; all 0 for a metric that is constant."""
    spread = np.nanstd(scores) if (~np.isnan(scores)).any() else 0.0
    centred = scores - (np.nanmean(scores) if spread else scores)
    return np.asarray((-centred if turned else centred) / (spread or 1.0))


def _mean(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean over metrics of those that scored an output; NaN where none did."""
    known = (~np.isnan(scores)).sum(axis=0)
    sums = np.nansum(scores, axis=0)
    return np.asarray(np.divide(sums, known, out=np.full(sums.shape, np.nan), where=known > 0))
