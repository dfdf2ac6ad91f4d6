"""System dependence where nobody rated: each metric against the mean of all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from metassay.data.cube import Cube
from metassay.engine.local import Progress
from metassay.errors import InputError
from metassay.meta.dependence.assembly import depend_on_systems
from metassay.meta.dependence.outputs import outputs_of
from metassay.meta.dependence.results import DependenceReport, MetricDependence, sorted_by_sysdep
from metassay.stats.arrays import FloatArray

PANEL = "the mean of the other metrics"
"""What stands in the place of the human score: z-scores of the other metrics, averaged output by output."""


def panel_reports(
    cubes: Sequence[Cube], grouping: Mapping[str, Any], progress: Progress | None, options: Mapping[str, Any]
) -> dict[str, DependenceReport]:
    """By data set, a report in which each metric has its own panel; hence no two metrics are compared."""
    return {cube.dataset: _report(cube, grouping, progress, options) for cube in cubes}


def _report(
    cube: Cube, grouping: Mapping[str, Any], progress: Progress | None, options: Mapping[str, Any]
) -> DependenceReport:
    asked = grouping["metrics"] or [name for name in cube.metrics if name != grouping["weight"]]
    names = cube.chosen_metrics(asked)
    if len(names) < 2:
        raise InputError(f"{cube.dataset} has one metric: a panel needs others beside it.")
    oriented = {name: _z(cube.oriented(name)) for name in names}
    entries: list[MetricDependence] = []
    left_out: dict[str, str] = {}
    for done, name in enumerate(names, start=1):
        others = np.stack([scores for other, scores in oriented.items() if other != name])
        own = replace(cube, human={PANEL: _mean(others)})
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
