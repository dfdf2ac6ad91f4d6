"""Measure everything about the system dependence of every metric, all on the same resamples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.data.cube import Cube
from metassay.errors import InputError
from metassay.meta.dependence.cells import Cells
from metassay.meta.dependence.curves import deviations_by_estimator, sensitivities
from metassay.meta.dependence.fits import (
    Difference,
    compare_dependence,
    constant_sysdep,
    leave_one_out,
    measure,
    paired_difference,
    split_deviations,
)
from metassay.meta.dependence.nulls import DRAWS, p_equal, p_fair
from metassay.meta.dependence.outputs import Outputs, outputs_of
from metassay.meta.dependence.results import (
    DependenceReport,
    LocalDependence,
    MetricComparison,
    MetricDependence,
    inversions,
    rankings,
    sorted_by_sysdep,
)
from metassay.stats.isotonic import Counts
from metassay.stats.random import EQUAL_DEPENDENCE, FAIR_DEPENDENCE, beside
from metassay.stats.resampling import draw_counts


def depend_on_all(
    cubes: Sequence[Cube], human: str, grouping: Mapping[str, Any], **options: Any
) -> dict[str, DependenceReport]:
    """`depend_on_systems` of every data set, by its name; `grouping` is for `outputs_of`."""
    return {cube.dataset: depend_on_systems(outputs_of(cube, human, **grouping), **options) for cube in cubes}


def depend_on_systems(
    outputs: Outputs,
    *,
    bootstraps: int = 200,
    draws: int = DRAWS,
    seed: int = 0,
    workers: int = 1,
    analysis: bool = False,
    drawn: bool = False,
    progress: Callable[[str, int, int], None] | None = None,
) -> DependenceReport:
    """Whom each metric flatters, how much of that is shrinkage, and what becomes of the ranking.

    A metric's missing scores are left out for it alone; one that scores fewer than two groups is left out,
    with the reason. `analysis` adds how SysDep reacts to resamples, sample size and the choice of systems.
    `drawn` has the curves ready for charts; `progress` is told how many metrics are done.
    """
    counts = draw_counts(len(outputs.cluster.names), bootstraps, seed)
    streams = beside(seed, EQUAL_DEPENDENCE), beside(seed, FAIR_DEPENDENCE)
    left_out = {name: reason for name in outputs.metrics if (reason := _unfit(outputs, name))}
    names = sorted(set(outputs.metrics) - set(left_out))
    if not names:
        raise InputError("no metric has scores beside human scores for two or more groups.")

    def one(name: str) -> MetricDependence:
        sensitivity = {"seed": seed} if analysis else None
        return _measured(outputs, name, counts, draws, deepcopy(streams), sensitivity)

    with ThreadPoolExecutor(max(1, workers)) as pool:
        entries = {}
        for name, entry in zip(names, pool.map(one, names)):
            entries[name] = entry
            if progress is not None and len(entries) < len(names):
                progress("metrics", len(entries), len(names))
        pairs = [pair for pair in combinations(names, 2) if bootstraps and not _unfit(outputs, *pair)]
        differences = pool.map(lambda pair: _difference(outputs, entries, counts, *pair), pairs)
        comparisons = tuple(MetricComparison(a, b, found) for (a, b), found in zip(pairs, differences))
    ordered = sorted_by_sysdep(list(entries.values()))
    report = DependenceReport(outputs.human, outputs.by, ordered, comparisons, left_out)
    report.written_up(drawn=drawn)
    if progress is not None:
        progress("metrics", len(names), len(names))
    return report


def _unfit(outputs: Outputs, *metrics: str) -> str | None:
    groups = len(outputs.group.present(outputs.scored_by(*metrics)))
    if groups >= 2:
        return None
    return "no output has both scores" if groups == 0 else "only one group has both scores"


def _measured(
    outputs: Outputs,
    metric: str,
    counts: Counts,
    draws: int,
    streams: tuple[np.random.Generator, np.random.Generator],
    sensitivity: dict[str, int] | None,
) -> MetricDependence:
    keep = outputs.scored_by(metric)
    cells, mine = outputs.cells(metric, keep), outputs.resamples(counts, keep)
    dependence = measure(cells, mine)
    return MetricDependence(
        metric,
        cells,
        mine,
        dependence,
        split_deviations(dependence.deviations, cells.human_means),
        constant_sysdep(cells),
        p_equal(cells, streams[0], draws),
        p_fair(cells, streams[1], draws),
        leave_one_out(cells),
        rankings(cells, dependence.deviations),
        inversions(cells, dependence.deviations),
        deviations_by_estimator(cells),
        _local(outputs, metric, counts),
        () if sensitivity is None else tuple(sensitivities(cells, **sensitivity)),
    )


def _local(outputs: Outputs, metric: str, counts: Counts) -> tuple[LocalDependence, ...]:
    """SysDep within every value of every context column that splits the outputs and leaves two groups."""
    scored = outputs.scored_by(metric)
    found = []
    for name, column in outputs.contexts.items():
        values = column.present(scored).tolist()
        for value in values if len(values) > 1 else []:
            keep = scored & (column.codes == value)
            if len(outputs.group.present(keep)) >= 2:
                found.append(_in_context(outputs, metric, counts, keep, (name, column.names[value])))
    return tuple(found)


def _in_context(
    outputs: Outputs, metric: str, counts: Counts, keep: NDArray[np.bool_], where: tuple[str, str]
) -> LocalDependence:
    cells = outputs.cells(metric, keep)
    dependence = measure(cells, _drawn(outputs.resamples(counts, keep), cells))
    residual = split_deviations(dependence.deviations, cells.human_means).residual_range
    return LocalDependence(*where, len(cells.human), dependence, constant_sysdep(cells), residual)


def _drawn(counts: Counts, cells: Cells) -> Counts:
    """The resamples that hold any of a small context's clusters; none if a group is in none of them."""
    kept = counts[counts.any(axis=1)]
    for group in range(cells.groups):
        clusters = np.unique(cells.cluster[cells.group == group])
        if not kept[:, clusters].any():
            return kept[:0]
    return kept


def _difference(
    outputs: Outputs, entries: dict[str, MetricDependence], counts: Counts, a: str, b: str
) -> Difference:
    first, second = entries[a], entries[b]
    both = outputs.scored_by(a, b)
    if both.sum() == len(first.cells.human) == len(second.cells.human):
        return paired_difference(first.dependence, second.dependence)
    shared = outputs.cells(a, both)
    return compare_dependence(shared, outputs.scores(b)[both], outputs.resamples(counts, both))
