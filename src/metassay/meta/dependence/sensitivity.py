"""How SysDep depends on things other than the metric: resamples, sample size and the choice of systems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from metassay.meta.dependence.deviations import (
    compute_range_over_groups,
    measure_how_much_groups_are_overrated,
    measure_metric_bias_between_systems,
)
from metassay.meta.dependence.scored_outputs import ScoredOutputs
from metassay.meta.dependence.shrinkage import (
    compute_bias_of_constant_metric,
    separate_regression_to_mean,
)
from metassay.results.depend import Sensitivity
from metassay.stats.arrays import FloatArray
from metassay.stats.random import NUMBERS_OF_SYSTEMS, SAMPLE_SIZES
from metassay.stats.resampling import draw_cluster_counts

BOOTSTRAPS = (50, 100, 200, 500)
SHARES = (0.1, 0.25, 0.5, 1.0)
# Random subsets per setting, whose results are averaged.
REPEATS = 20
_SEEDS = 3

OutputsWithOverrating = tuple[ScoredOutputs, FloatArray]


def measure_metric_bias_under_changed_settings(outputs: ScoredOutputs, *, seed: int = 0) -> list[Sensitivity]:
    """Measure how the bias of a metric between systems depends on resamples, sample size and systems."""
    return [
        *measure_metric_bias_by_number_of_resamples(outputs, seed=seed),
        *measure_metric_bias_by_sample_size(outputs, np.random.default_rng([seed, SAMPLE_SIZES])),
        *measure_metric_bias_by_number_of_systems(outputs, np.random.default_rng([seed, NUMBERS_OF_SYSTEMS])),
        *measure_metric_bias_by_quality_of_systems(outputs),
    ]


def measure_metric_bias_by_number_of_resamples(outputs: ScoredOutputs, *, seed: int = 0) -> list[Sensitivity]:
    """Measure the bias of a metric between systems with different numbers of bootstrap resamples.

    Each number is used with several random seeds.
    """

    def measure_overrating_with_each_seed(resample_count: int) -> Iterator[OutputsWithOverrating]:
        for offset in range(_SEEDS):
            resample_counts = draw_cluster_counts(outputs.cluster_count, resample_count, seed + offset)
            yield outputs, measure_metric_bias_between_systems(outputs, resample_counts).deviations

    return [
        _average_metric_bias_over_draws("bootstraps", str(count), measure_overrating_with_each_seed(count))
        for count in BOOTSTRAPS
    ]


def measure_metric_bias_by_sample_size(outputs: ScoredOutputs, rng: np.random.Generator) -> list[Sensitivity]:
    """Measure the bias of a metric between systems on random parts of the data.

    It is larger with less data, because of noise.
    """

    def draw_cluster_subsets(cluster_share: float) -> Iterator[ScoredOutputs]:
        size = max(2, round(cluster_share * outputs.cluster_count))
        for _ in range(REPEATS if size < outputs.cluster_count else 1):
            clusters = rng.choice(outputs.cluster_count, size, replace=False)
            yield outputs.select_outputs(np.isin(outputs.clusters, clusters))

    sensitivities = []
    for share in SHARES:
        sensitivities.append(
            _average_metric_bias_over_draws(
                "share of clusters",
                f"{share:g}",
                _measure_overrating_in_each_subset(draw_cluster_subsets(share)),
            )
        )
    return sensitivities


def measure_metric_bias_by_number_of_systems(
    outputs: ScoredOutputs, rng: np.random.Generator
) -> list[Sensitivity]:
    """Measure the bias of a metric between systems on random subsets of the systems.

    It is larger with more systems, because it is a range.
    """

    def draw_group_subsets(size: int) -> Iterator[ScoredOutputs]:
        for _ in range(REPEATS if size < outputs.group_count else 1):
            groups = rng.choice(outputs.group_count, size, replace=False)
            yield outputs.select_outputs(np.isin(outputs.groups, groups))

    candidates = {3, outputs.group_count // 2, outputs.group_count - 2}
    smaller_sizes = sorted(size for size in candidates if 3 <= size < outputs.group_count)
    return [
        _average_metric_bias_over_draws(
            "systems", str(size), _measure_overrating_in_each_subset(draw_group_subsets(size))
        )
        for size in [*smaller_sizes, outputs.group_count]
    ]


def measure_metric_bias_by_quality_of_systems(outputs: ScoredOutputs) -> list[Sensitivity]:
    """Measure the bias of a metric between systems for the better half of the systems and for the worse half.

    It is also measured for the best and the worst third together.
    """
    ranks = np.argsort(np.argsort(-outputs.human_means_of_groups, kind="stable"))
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
            subset = outputs.select_outputs(is_selected[outputs.groups])
            rows.append(
                _average_metric_bias_over_draws("quality", name, _measure_overrating_in_each_subset([subset]))
            )
    return rows


def _measure_overrating_in_each_subset(
    output_subsets: Iterable[ScoredOutputs],
) -> Iterator[OutputsWithOverrating]:
    """Yield each subset of outputs with how much the metric overrates each of its systems."""
    for subset in output_subsets:
        yield subset, measure_how_much_groups_are_overrated(subset)


def _average_metric_bias_over_draws(
    setting_name: str, setting_value: str, outputs_with_overrating: Iterable[OutputsWithOverrating]
) -> Sensitivity:
    """Average the bias of a metric between systems over repeated random draws with the same setting."""
    sysdep = []
    constant = []
    residual_range = []
    for outputs, overrating in outputs_with_overrating:
        sysdep.append(float(compute_range_over_groups(overrating)))
        constant.append(compute_bias_of_constant_metric(outputs))
        residual_range.append(
            separate_regression_to_mean(overrating, outputs.human_means_of_groups).residual_range
        )
    return Sensitivity(
        change=setting_name,
        value=setting_value,
        sysdep=float(np.mean(sysdep)),
        sd=float(np.std(sysdep, ddof=1)) if len(sysdep) > 1 else 0.0,
        constant=float(np.mean(constant)),
        residual_range=float(np.mean(residual_range)),
    )
