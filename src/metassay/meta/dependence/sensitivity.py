"""How far SysDep depends on things that are not the metric: resamples, sample size, the systems at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from metassay.meta.dependence.cells import Cells
from metassay.meta.dependence.fits import (
    constant_sysdep,
    expected_deviations,
    measure,
    split_deviations,
    spread,
)
from metassay.stats.arrays import FloatArray
from metassay.stats.random import NUMBERS_OF_SYSTEMS, SAMPLE_SIZES, beside
from metassay.stats.resampling import draw_counts

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
