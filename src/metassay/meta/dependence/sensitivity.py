"""How SysDep depends on things other than the metric: resamples, sample size and the choice of systems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from metassay.meta.dependence.deviations import (
    expected_deviations,
    measure_dependence,
    range_over_groups,
)
from metassay.meta.dependence.scored_outputs import ScoredOutputs
from metassay.meta.dependence.shrinkage import constant_metric_sysdep, split_deviations
from metassay.results.depend import Sensitivity
from metassay.stats.arrays import FloatArray
from metassay.stats.random import NUMBERS_OF_SYSTEMS, SAMPLE_SIZES, make_keyed_generator
from metassay.stats.resampling import draw_cluster_counts

BOOTSTRAPS = (50, 100, 200, 500)
SHARES = (0.1, 0.25, 0.5, 1.0)
REPEATS = 20

OutputsWithDeviations = tuple[ScoredOutputs, FloatArray]


def measure_sensitivity(outputs: ScoredOutputs, *, seed: int = 0) -> list[Sensitivity]:
    """Measure SysDep with other numbers of resamples, sample sizes, numbers and qualities of systems."""
    return [
        *vary_bootstraps(outputs, seed=seed),
        *vary_sample_size(outputs, make_keyed_generator(seed, SAMPLE_SIZES)),
        *vary_number_of_systems(outputs, make_keyed_generator(seed, NUMBERS_OF_SYSTEMS)),
        *vary_quality_of_systems(outputs),
    ]


def vary_bootstraps(
    outputs: ScoredOutputs, *, seed: int = 0, bootstraps: Sequence[int] = BOOTSTRAPS, seeds: int = 3
) -> list[Sensitivity]:
    """Measure SysDep with several numbers of resamples, each with `seeds` seeds."""

    def measure_with_each_seed(count: int) -> Iterator[OutputsWithDeviations]:
        for offset in range(seeds):
            resample_counts = draw_cluster_counts(outputs.cluster_count, count, seed + offset)
            yield outputs, measure_dependence(outputs, resample_counts).deviations

    return [_summarize("bootstraps", str(count), measure_with_each_seed(count)) for count in bootstraps]


def vary_sample_size(
    outputs: ScoredOutputs,
    rng: np.random.Generator,
    *,
    shares: Sequence[float] = SHARES,
    repeats: int = REPEATS,
) -> list[Sensitivity]:
    """Measure SysDep on random subsets of the clusters: with less data, noise alone increases it."""

    def draw_subsets(share: float) -> Iterator[ScoredOutputs]:
        size = max(2, round(share * outputs.cluster_count))
        for _ in range(repeats if size < outputs.cluster_count else 1):
            clusters = rng.choice(outputs.cluster_count, size, replace=False)
            yield outputs.select(np.isin(outputs.clusters, clusters))

    return [
        _summarize("share of clusters", f"{share:g}", _with_deviations(draw_subsets(share)))
        for share in shares
    ]


def vary_number_of_systems(
    outputs: ScoredOutputs, rng: np.random.Generator, *, repeats: int = REPEATS
) -> list[Sensitivity]:
    """Measure SysDep on random subsets of the groups: a range grows with the number of its values."""

    def draw_subsets(size: int) -> Iterator[ScoredOutputs]:
        for _ in range(repeats if size < outputs.group_count else 1):
            groups = rng.choice(outputs.group_count, size, replace=False)
            yield outputs.select(np.isin(outputs.groups, groups))

    candidates = {3, outputs.group_count // 2, outputs.group_count - 2}
    smaller_sizes = sorted(size for size in candidates if 3 <= size < outputs.group_count)
    return [
        _summarize("systems", str(size), _with_deviations(draw_subsets(size)))
        for size in [*smaller_sizes, outputs.group_count]
    ]


def vary_quality_of_systems(outputs: ScoredOutputs) -> list[Sensitivity]:
    """Measure SysDep among the better half of the groups, the worse half, and best and worst thirds."""
    ranks = np.argsort(np.argsort(-outputs.human_means, kind="stable"))
    half = (outputs.group_count + 1) // 2
    third = max(1, outputs.group_count // 3)
    selections = {
        "better half": ranks < half,
        "worse half": ranks >= outputs.group_count - half,
        "both ends": (ranks < third) | (ranks >= outputs.group_count - third),
    }
    rows = []
    for name, is_selected in selections.items():
        if is_selected.sum() >= 2:
            subset = outputs.select(is_selected[outputs.groups])
            rows.append(_summarize("quality", name, _with_deviations([subset])))
    return rows


def _with_deviations(subsets: Iterable[ScoredOutputs]) -> Iterator[OutputsWithDeviations]:
    for subset in subsets:
        yield subset, expected_deviations(subset)


def _summarize(change: str, value: str, draws: Iterable[OutputsWithDeviations]) -> Sensitivity:
    """Average SysDep, its value for a constant metric and the residual range over repeated draws."""
    sysdep = []
    constant = []
    residual_range = []
    for outputs, deviations in draws:
        sysdep.append(float(range_over_groups(deviations)))
        constant.append(constant_metric_sysdep(outputs))
        residual_range.append(split_deviations(deviations, outputs.human_means).residual_range)
    return Sensitivity(
        change=change,
        value=value,
        sysdep=float(np.mean(sysdep)),
        sd=float(np.std(sysdep, ddof=1)) if len(sysdep) > 1 else 0.0,
        constant=float(np.mean(constant)),
        residual_range=float(np.mean(residual_range)),
    )
