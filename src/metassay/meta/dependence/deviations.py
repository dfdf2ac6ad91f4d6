"""System dependence: whom does a metric flatter (von Däniken, Deriu and Cieliebak, 2024, arXiv 2412.03152).

`f_k` is the isotonic regression of the human score on the metric score over system k's outputs, `f_G` the
same over all outputs; each the mean over bootstrap fits. A system's expected deviation says by how much
reading its human score off the metric flatters it, and the metric's system dependence is the range of that:

    ED(k)  = mean over k's segments of f_G(m) - f_k(m)
    SysDep = max over k of ED(k) - min over k of ED(k)

A metric that knows nothing gives every system the same expected human score: it flatters the worst and wrongs
the best, by exactly as much as they differ. A noisy metric does the same in part. That part of ED, shrinkage,
falls on a line against the human means; who lies off the line is treated differently beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from metassay.errors import InputError
from metassay.meta.dependence.scored_outputs import Cells, cells_of
from metassay.stats.arrays import FloatArray
from metassay.stats.isotonic import Counts, group_means_by_value
from metassay.stats.resampling import draw_counts, group_fits

CONFIDENCE = 0.95
ROUNDING = 1e-9
NEAR = 2.5  # standard errors within which a group may be the highest, or the lowest
STEP_COST = 1.5  # degrees of freedom that a step of an isotonic fit takes


@dataclass(frozen=True)
class SystemDependence:
    """What one metric does to each system.

    `deviations` are the ED in row order, `single` those of one fit to all data. `low` and `high` are the 95 %
    interval of `sysdep`, `deviations_low` and `deviations_high` those of the ED, `replicates[b]` the ED of
    resample b: without bootstrap None.
    """

    sysdep: float
    low: float | None
    high: float | None
    deviations: FloatArray
    single: FloatArray
    deviations_low: FloatArray | None = None
    deviations_high: FloatArray | None = None
    replicates: FloatArray | None = None


def system_dependence(
    human: ArrayLike,
    metric: ArrayLike,
    *,
    bootstraps: int = 200,
    seed: int = 0,
    clusters: ArrayLike | None = None,
    weights: ArrayLike | None = None,
) -> SystemDependence:
    """SysDep and expected deviations from `[systems, segments]` scores, both higher is better.

    NaN marks a missing score; that output is left out. Resampled are whole segments, or whole `clusters` (a
    label per segment), jointly over systems. `weights` are per segment or per output. With `bootstraps=0`
    there is one fit and no interval.

    >>> found = system_dependence([[1, 2, 3, 4], [0, 1, 2, 2]], [[2, 3, 3, 5], [1, 1, 2, 3]], bootstraps=0)
    >>> found.deviations.shape
    (2,)
    """
    cells = cells_of(human, metric, clusters=clusters, weights=weights)
    return measure(cells, draw_counts(cells.clusters, bootstraps, seed))


def measure(cells: Cells, counts: Counts) -> SystemDependence:
    """System dependence of cells on resamples drawn beforehand; metrics that share resamples are paired."""
    if not len(counts):
        single = expected_deviations(cells)
        return SystemDependence(float(spread(single)), None, None, single, single)
    found = group_fits(
        cells.sorted_metric, cells.metric, cells.human, cells.weight, cells.group, cells.cluster, counts
    )
    _check_drawn(cells, found.drawn)
    single = found.remapped - cells.human_means
    deviations = np.nanmean(found.pooled - found.own, axis=0)
    replicates = found.replicated - found.drawn
    errors = (replicates - single) * (error_scale(found.fit, len(cells.human)) * found.few)
    low, high = spread_interval(deviations, errors)
    half = np.nanquantile(np.abs(errors), CONFIDENCE, axis=0)
    return SystemDependence(
        float(spread(deviations)),
        low,
        high,
        deviations,
        single,
        deviations - half,
        deviations + half,
        replicates,
    )


def error_scale(fit: FloatArray, cells: int) -> float:
    """How much larger errors are than residuals: √(n / (n − 1.5 D)), D the number of steps of the fit.

    D estimates the degrees of freedom of an isotonic fit; an error variance from its residuals divides by
    n − cD with c between 1 (a flat truth) and 2 (a steep one) (Meyer and Woodroofe, 2000).
    """
    steps = 1 + np.count_nonzero(np.diff(fit))
    return float(np.sqrt(cells / max(cells - STEP_COST * steps, cells / 4)))


def expected_deviations(cells: Cells) -> FloatArray:
    """ED of each group from one fit: mean f_G(m) minus the human mean.

    Pooling keeps means: the mean of f_k(m) over k's own outputs is their mean human score, so f_k drops out.
    """
    return remapped_means(cells) - cells.human_means


def remapped_means(cells: Cells) -> FloatArray:
    """Mean of f_G(m) per group: the human mean one would read off the metric."""
    scores, human = cells.sorted_metric, cells.human[np.newaxis]
    means: FloatArray = group_means_by_value(scores, human, cells.weight, cells.group, cells.groups)[0]
    return means


def spread(values: FloatArray) -> FloatArray:
    """Maximum minus minimum over groups (the last axis); groups that a resample misses do not count."""
    return np.asarray(np.nanmax(values, axis=-1) - np.nanmin(values, axis=-1))


def spread_interval(values: FloatArray, errors: FloatArray) -> tuple[float, float]:
    """95 % interval of `spread(values)` from bootstrap errors of the values: `[resamples, groups]`.

    The largest of several noisy values is too large on average, and percentiles would hide that: where no
    group differs from another the range is 0, and no percentile is. So the lower end allows for the error of
    every group that may be the highest or the lowest (within 2.5 standard errors); the upper end for the
    error of the two that are.
    """
    top, bottom = int(np.argmax(values)), int(np.argmin(values))
    near_top = values >= values[top] - NEAR * np.nanstd(errors - errors[:, [top]], axis=0)
    near_bottom = values <= values[bottom] + NEAR * np.nanstd(errors - errors[:, [bottom]], axis=0)
    excess = np.fmax.reduce(errors[:, near_top], axis=1) - np.fmin.reduce(errors[:, near_bottom], axis=1)
    shortfall = errors[:, bottom] - errors[:, top]
    tail = (1 + CONFIDENCE) / 2
    estimate = float(spread(values))
    return (
        max(0.0, estimate - max(0.0, float(np.nanquantile(excess, tail)))),
        estimate + max(0.0, float(np.nanquantile(shortfall, tail))),
    )


def _check_drawn(cells: Cells, human: FloatArray) -> None:
    missed = np.flatnonzero(np.isnan(human).all(axis=0))
    if len(missed):
        raise InputError(
            f"{cells.names[missed[0]]} has so few outputs that none of {len(human)} resamples holds one.",
            remedy="Ask for more bootstraps, for none (0), or leave it out.",
        )


@dataclass(frozen=True)
class Split:
    """ED = shrinkage + residual, per group; `slope` is ED per point of human mean (−1: knows nothing)."""

    shrinkage: FloatArray
    residual: FloatArray
    slope: float

    @property
    def residual_range(self) -> float:
        """Maximum minus minimum residual: what remains of SysDep after shrinkage."""
        return float(spread(self.residual))


def split_deviations(deviations: FloatArray, human_means: FloatArray) -> Split:
    """Least squares of ED on the human means: the fitted values are shrinkage, the rest is residual."""
    centred = human_means - human_means.mean()
    scale = float(centred @ centred)
    slope = float(centred @ deviations) / scale if scale > 0 else 0.0
    shrinkage = deviations.mean() + slope * centred
    return Split(shrinkage, deviations - shrinkage, slope)


def constant_sysdep(cells: Cells) -> float:
    """SysDep of a metric that gives every output the same score: the range of the human means."""
    return float(spread(cells.human_means))


def leave_one_out(cells: Cells) -> FloatArray:
    """SysDep without each group in turn, refitted; NaN where fewer than two groups are left.

    A range grows with the number of systems it is taken over, and one odd system may be all of it.
    """
    if cells.groups < 3:
        return np.full(cells.groups, np.nan)
    remaining = (cells.select(cells.group != k) for k in range(cells.groups))
    return np.array([float(spread(expected_deviations(rest))) for rest in remaining])


@dataclass(frozen=True)
class Difference:
    """SysDep of a minus SysDep of b: estimate, symmetric 95 % interval, two-sided p-value."""

    difference: float
    low: float
    high: float
    p: float


def compare_dependence(cells: Cells, other: FloatArray, counts: Counts) -> Difference:
    """Compare the metric of `cells` with another one on the same cells and resamples."""
    return paired_difference(measure(cells, counts), measure(cells.with_metric(other), counts))


def paired_difference(a: SystemDependence, b: SystemDependence) -> Difference:
    """The difference of two metrics measured on the same resamples.

    p is the share of resamples in which the difference strays from that of the single fits by as much as that
    is from 0.
    """
    if a.replicates is None or b.replicates is None:
        raise InputError("comparing two metrics takes a bootstrap.", remedy="Ask for bootstraps=200.")
    estimate = a.sysdep - b.sysdep
    single = spread(a.single) - spread(b.single)
    error = spread(a.replicates) - spread(b.replicates) - single
    half = float(np.quantile(np.abs(error), CONFIDENCE))
    strays = np.count_nonzero(np.abs(error) >= np.abs(single) - ROUNDING * (a.sysdep + b.sysdep))
    return Difference(estimate, estimate - half, estimate + half, float((1 + strays) / (1 + len(error))))
