"""Measure everything about the system dependence of every metric, all on the same resamples.

Repair, not only diagnosis: a metric's scores read as human scores, through f_G or each system's f_k.

Every output is mapped by functions that were fitted without its segment: clusters are dealt into folds, and
those of one fold are mapped by what was fitted to the others. Agreement with people is measured fold by fold:
over all folds together even f_k of a constant would repeat people's own means, since every segment serves
the other folds.

f_G needs people for some systems, and f_k for each: its mean over a system's outputs is nearly the mean that
people gave the system on the other folds, whatever the metric. How well f_G does for systems that nobody has
rated is seen pair by pair, each pair mapped by an f_G that saw neither of the two.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.data.score_cube import ScoreCube
from metassay.errors import InputError
from metassay.meta.dependence.curves import deviations_by_estimator, sensitivities
from metassay.meta.dependence.deviations import (
    Difference,
    compare_dependence,
    constant_sysdep,
    leave_one_out,
    measure,
    paired_difference,
    split_deviations,
)
from metassay.meta.dependence.null_hypotheses import DRAWS, p_equal, p_fair
from metassay.meta.dependence.results import (
    DependenceReport,
    LocalDependence,
    MetricComparison,
    MetricDependence,
    inversions,
    rankings,
    sorted_by_sysdep,
)
from metassay.meta.dependence.scored_outputs import Cells, Outputs, outputs_of
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.isotonic import Counts, fit_isotonic, predict
from metassay.stats.random import CORRECTION_FOLDS, EQUAL_DEPENDENCE, FAIR_DEPENDENCE, beside, branch
from metassay.stats.resampling import draw_counts
from metassay.stats.score_order import sort_scores


def depend_on_all(
    cubes: Sequence[ScoreCube], human: str, grouping: Mapping[str, Any], **options: Any
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


FOLDS = 5
UNSEEN_FITS = 20
"""Resamples for pairs of unseen systems: there are many pairs, and each needs fits of its own."""


@dataclass(frozen=True)
class Corrected:
    """One metric's scores as read through f_G (`pooled`) and f_k (`own`), `[systems, segments]`.

    NaN where the metric has none, or nobody rated the system. `unseen` is `[pairs, segments]`: what each two
    systems, in the order of `numpy.triu_indices`, differ by under an f_G fitted without both.
    """

    pooled: FloatArray
    own: FloatArray
    unseen: FloatArray
    fold: LongArray
    """The fold of each segment."""


def deal_folds(clusters: int, seed: int, folds: int = FOLDS) -> LongArray:
    """The fold of each cluster, all of nearly equal size."""
    if clusters < folds:
        raise InputError(
            f"{clusters} segments or clusters are too few for {folds} folds.",
            remedy="A correction is fitted on some and tried on others.",
        )
    order = branch(seed, CORRECTION_FOLDS).permutation(clusters)
    fold = np.empty(clusters, dtype=np.int64)
    fold[order] = np.arange(clusters) % folds
    return fold


def corrected(
    human: FloatArray, metric: FloatArray, clusters: LongArray, *, bootstraps: int = 200, seed: int = 0
) -> Corrected:
    """Cross-validated f_G(m) and f_k(m) from `[systems, segments]` scores, higher is better, NaN missing.

    `clusters` numbers the cluster of each segment from 0. Each function is the mean over `bootstraps` fits to
    resampled clusters, or one fit where that is 0.
    """
    fold = deal_folds(int(clusters.max()) + 1, seed)[clusters]
    counts = draw_counts(int(clusters.max()) + 1, bootstraps, seed)
    if not bootstraps:
        counts = np.ones((1, int(clusters.max()) + 1), dtype=np.uint32)
    systems, known = len(human), ~(np.isnan(human) | np.isnan(metric))
    pooled, own = np.full(metric.shape, np.nan), np.full(metric.shape, np.nan)
    pairs = list(itertools.combinations(range(systems), 2))
    unseen = np.full((len(pairs), metric.shape[1]), np.nan)
    for held in range(FOLDS):
        out = fold == held
        train = known & ~out
        pooled[:, out] = _mapped(human, metric, train, clusters, counts, metric[:, out])
        for k in range(systems):
            mine = train & (np.arange(systems) == k)[:, None]
            own[k, out] = _mapped(human, metric, mine, clusters, counts, metric[k, out])
        for place, (i, j) in enumerate(pairs):
            others = train.copy()
            others[[i, j]] = False
            both = _mapped(human, metric, others, clusters, counts[:UNSEEN_FITS], metric[[i, j]][:, out])
            unseen[place, out] = both[0] - both[1]
    return Corrected(pooled, own, unseen, fold)


def _mapped(
    human: FloatArray,
    metric: FloatArray,
    train: NDArray[np.bool_],
    clusters: LongArray,
    counts: Counts,
    at: FloatArray,
) -> FloatArray:
    """The mean fit to the training outputs, read at other scores; NaN where there is nothing to fit to."""
    if not train.any():
        return np.full(at.shape, np.nan)
    scores, people = sort_scores(metric[train]), human[train]
    cluster = np.broadcast_to(clusters, train.shape)[train]
    fits = np.stack([fit_isotonic(scores, people, count[cluster].astype(np.float64)) for count in counts])
    drawn = fits[~np.isnan(fits).any(axis=1)]
    if not len(drawn):
        return np.full(at.shape, np.nan)
    values = predict(scores, drawn.mean(axis=0), at.ravel()).reshape(at.shape)
    return np.where(np.isnan(at), np.nan, values)
