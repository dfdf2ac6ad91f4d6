"""The fitted functions themselves, f_k and f_G with confidence bands, and other ways to fit f_G.

The other estimators show that a finding is not isotonic regression's. Each keeps the mean of what it is
fitted to, so ED(k) = mean f_G(m) − mean h for all of them, and they differ in f_G alone.

How far SysDep depends on things that are not the metric: resamples, sample size, the systems at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline
from scipy.optimize import nnls

from metassay.meta.dependence.deviations import (
    CONFIDENCE,
    constant_sysdep,
    expected_deviations,
    measure,
    split_deviations,
    spread,
)
from metassay.meta.dependence.scored_outputs import Cells
from metassay.stats.arrays import FloatArray, plain
from metassay.stats.isotonic import Counts, fit_isotonic, predict
from metassay.stats.random import NUMBERS_OF_SYSTEMS, SAMPLE_SIZES, beside
from metassay.stats.resampling import draw_counts
from metassay.stats.score_order import sort_scores

BINS = 20
KNOTS = 8
DEGREE = 2


@dataclass(frozen=True)
class Curve:
    """One function: mean and pointwise 95 % band of its bootstrap fits; NaN outside its own scores."""

    name: str
    mean: FloatArray
    low: FloatArray
    high: FloatArray

    def to_dict(self) -> dict[str, list[float | None]]:
        """As plain values, `null` where the function is not defined."""
        return {
            name: plain(values)
            for name, values in (("mean", self.mean), ("low", self.low), ("high", self.high))
        }


@dataclass(frozen=True)
class Curves:
    """`pooled` is f_G, `own` holds f_k of each group; all on `grid`."""

    grid: FloatArray
    pooled: Curve
    own: tuple[Curve, ...]

    def to_dict(self) -> dict[str, Any]:
        """As plain values: what the charts are drawn from."""
        return {
            "grid": self.grid.tolist(),
            "global": self.pooled.to_dict(),
            "groups": {curve.name: curve.to_dict() for curve in self.own},
        }


def curves(cells: Cells, counts: Counts, *, points: int = 60) -> Curves:
    """f_G and every f_k on quantiles of the metric's scores; without resamples one fit, and no band."""
    grid = np.unique(np.quantile(cells.metric, np.linspace(0, 1, points)))
    if not len(counts):
        counts = np.ones((1, cells.clusters), dtype=np.uint32)
    pooled = _curve("global", cells, np.ones(len(cells.group), dtype=bool), counts, grid)
    own = tuple(_curve(name, cells, cells.group == k, counts, grid) for k, name in enumerate(cells.names))
    return Curves(grid, pooled, own)


def _curve(name: str, cells: Cells, mine: NDArray[np.bool_], counts: Counts, grid: FloatArray) -> Curve:
    scores = sort_scores(cells.metric[mine])
    human, weight, cluster = cells.human[mine], cells.weight[mine], cells.cluster[mine]
    fits = np.stack(
        [predict(scores, fit_isotonic(scores, human, weight * count[cluster]), grid) for count in counts]
    )
    fits = fits[~np.isnan(fits).any(axis=1)]
    outside = (grid < scores.knots[0]) | (grid > scores.knots[-1])
    tail = (1 - CONFIDENCE) / 2
    summaries = (fits.mean(axis=0), np.quantile(fits, tail, axis=0), np.quantile(fits, 1 - tail, axis=0))
    mean, low, high = (np.where(outside, np.nan, summary) for summary in summaries)
    return Curve(name, mean, low, high)


def isotonic(cells: Cells) -> FloatArray:
    """f_G at every cell by isotonic regression: the published estimator."""
    scores = cells.sorted_metric
    return predict(scores, fit_isotonic(scores, cells.human, cells.weight), cells.metric)


def binned_means(cells: Cells, bins: int = BINS) -> FloatArray:
    """f_G as the mean of each of `bins` equally full bins of the metric; equal scores share a bin."""
    edges = np.unique(np.quantile(cells.metric, np.linspace(0, 1, bins + 1)[1:-1]))
    bin_of = np.searchsorted(edges, cells.metric, side="left")
    totals = np.bincount(bin_of, cells.weight, minlength=len(edges) + 1)
    sums = np.bincount(bin_of, cells.weight * cells.human, minlength=len(edges) + 1)
    means: FloatArray = (sums / np.where(totals > 0, totals, 1))[bin_of]
    return means


def monotone_spline(cells: Cells, knots: int = KNOTS) -> FloatArray:
    """f_G as a rising quadratic spline with knots at quantiles of the metric.

    B-spline coefficients that never fall make the spline rise, so it is a constant plus a non-negative
    combination of I-splines (Ramsay, 1988): non-negative least squares.
    """
    inner = np.unique(np.quantile(cells.metric, np.linspace(0, 1, knots)))
    if len(inner) < 2:
        return np.full(len(cells.metric), np.average(cells.human, weights=cells.weight))
    knot_vector = np.concatenate([np.repeat(inner[0], DEGREE), inner, np.repeat(inner[-1], DEGREE)])
    basis = BSpline.design_matrix(cells.metric, knot_vector, DEGREE).toarray()
    rising = np.cumsum(basis[:, ::-1], axis=1)[:, ::-1][:, 1:]
    constant = np.ones((len(basis), 1))
    design = np.hstack([constant, -constant, rising])
    root = np.sqrt(cells.weight)
    q, r = np.linalg.qr(design * root[:, None])
    coefficients, _ = nnls(r, q.T @ (cells.human * root))
    fitted: FloatArray = design @ coefficients
    return fitted


ESTIMATORS: Mapping[str, Callable[[Cells], FloatArray]] = {
    "isotonic": isotonic,
    "binned": binned_means,
    "spline": monotone_spline,
}


def deviations_by_estimator(cells: Cells) -> dict[str, FloatArray]:
    """ED of each group under each estimator of f_G."""
    return {name: cells.group_means(f(cells)) - cells.human_means for name, f in ESTIMATORS.items()}


BOOTSTRAPS = (50, 100, 200, 500)
SHARES = (0.1, 0.25, 0.5, 1.0)
REPEATS = 20


@dataclass(frozen=True)
class Sensitivity:
    """SysDep under one change: means over repeated draws, and SysDep's standard deviation between them."""

    change: str
    value: str
    sysdep: float
    sd: float
    constant: float
    residual_range: float


def sensitivities(cells: Cells, *, seed: int = 0) -> list[Sensitivity]:
    """All four questions, in the order: resamples, sample size, number of systems, quality of systems."""
    return [
        *by_bootstraps(cells, seed=seed),
        *by_sample_size(cells, beside(seed, SAMPLE_SIZES)),
        *by_number_of_systems(cells, beside(seed, NUMBERS_OF_SYSTEMS)),
        *by_quality_mix(cells),
    ]


def by_bootstraps(
    cells: Cells, *, seed: int = 0, bootstraps: Sequence[int] = BOOTSTRAPS, seeds: int = 3
) -> list[Sensitivity]:
    """SysDep with B resamples, for several B; the deviation is between `seeds` seeds."""

    def draws(count: int) -> Iterator[tuple[Cells, FloatArray]]:
        for offset in range(seeds):
            counts = draw_counts(cells.clusters, count, seed + offset)
            yield cells, measure(cells, counts).deviations

    return [_summary("bootstraps", str(count), draws(count)) for count in bootstraps]


def by_sample_size(
    cells: Cells, rng: np.random.Generator, *, shares: Sequence[float] = SHARES, repeats: int = REPEATS
) -> list[Sensitivity]:
    """SysDep on random parts of the clusters, without replacement: with less data, noise alone widens it."""

    def parts(share: float) -> Iterator[Cells]:
        size = max(2, round(share * cells.clusters))
        for _ in range(repeats if size < cells.clusters else 1):
            drawn = rng.choice(cells.clusters, size, replace=False)
            yield cells.select(np.isin(cells.cluster, drawn))

    return [_summary("share of clusters", f"{share:g}", _fitted(parts(share))) for share in shares]


def by_number_of_systems(
    cells: Cells, rng: np.random.Generator, *, repeats: int = REPEATS
) -> list[Sensitivity]:
    """SysDep on random subsets of the groups: a range grows with the number of values it is taken over."""

    def subsets(size: int) -> Iterator[Cells]:
        for _ in range(repeats if size < cells.groups else 1):
            yield cells.select(np.isin(cells.group, rng.choice(cells.groups, size, replace=False)))

    smaller = {3, cells.groups // 2, cells.groups - 2} & set(range(3, cells.groups))
    return [
        _summary("systems", str(size), _fitted(subsets(size))) for size in [*sorted(smaller), cells.groups]
    ]


def by_quality_mix(cells: Cells) -> list[Sensitivity]:
    """SysDep among the better half of the groups, the worse half, and the two ends without the middle."""
    rank = np.argsort(np.argsort(-cells.human_means, kind="stable"))
    half, third = (cells.groups + 1) // 2, max(1, cells.groups // 3)
    mixes = {
        "better half": rank < half,
        "worse half": rank >= cells.groups - half,
        "both ends": (rank < third) | (rank >= cells.groups - third),
    }
    return [
        _summary("quality", name, _fitted([cells.select(keep[cells.group])]))
        for name, keep in mixes.items()
        if keep.sum() >= 2
    ]


def _fitted(parts: Iterable[Cells]) -> Iterator[tuple[Cells, FloatArray]]:
    return ((part, expected_deviations(part)) for part in parts)


def _summary(change: str, value: str, draws: Iterable[tuple[Cells, FloatArray]]) -> Sensitivity:
    rows = [
        (
            float(spread(deviations)),
            constant_sysdep(cells),
            split_deviations(deviations, cells.human_means).residual_range,
        )
        for cells, deviations in draws
    ]
    sysdep, constant, residual = np.array(rows).T
    sd = float(np.std(sysdep, ddof=1)) if len(sysdep) > 1 else 0.0
    return Sensitivity(
        change, value, float(sysdep.mean()), sd, float(constant.mean()), float(residual.mean())
    )
