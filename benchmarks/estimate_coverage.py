"""Measure how often the intervals of `estimate` contain the truth, and how wide they are.

    python benchmarks/estimate_coverage.py [repetitions [part of a name]]

Each data set has human scores for all outputs. Items, or whole documents, are drawn at random, the labels of
all others are hidden, and the estimates are compared with the means of all human scores. Coverage should be
.93 to .97. The last two columns are widths of intervals relative to labels only: as measured, and as the
square root of 1 − the share of labels saved promises.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import astuple, dataclass, replace

import numpy as np

from decision_data import (
    REALSUMM,
    SIMULATED,
    WMT,
    draw_by_item,
    draw_labelled_items,
    hide_labels,
    keep_systems,
    list_metrics,
    load_population,
)
from metassay.meta.decisions.control_variates import (
    THESE_ITEMS,
    LabelledSample,
    MeanEstimates,
    estimate_mean_human_scores,
)
from metassay.meta.decisions.labelled_scores import LabelledScores
from metassay.meta.decisions.metric_choice import choose_metric_saving_most_labels
from metassay.stats.arrays import FloatArray
from metassay.stats.labels_saved import compute_system_differences

COUNTS = (50, 100, 200)
RESAMPLES = 300
MISLEADING = ("inverted", "constant", "unrelated", "copied")
MOST_SYSTEMS = 8
"""More systems are left out to save time."""


@dataclass(frozen=True)
class Design:
    """A population with all labels, how many items or documents are rated, and what misleads."""

    name: str
    population: LabelledScores
    count: int
    misleading: str | None = None


@dataclass(frozen=True)
class Coverage:
    """Shares of intervals that contain the truth; widths relative to those of labels only."""

    means: float
    differences: float
    all_differences: float
    width: float
    promised_width: float


def list_designs() -> Iterator[Design]:
    """List the designs: items as units, documents as units, misleading metrics, and many metrics."""
    for name in (*WMT, REALSUMM, SIMULATED):
        yield from list_sizes(f"{name}, items", draw_by_item(load_population(name)))
    for name in ("WMT22 en-de", "WMT22 zh-en", "WMT23 en-de", "WMT23 he-en", "WMT23 zh-en", SIMULATED):
        yield from list_sizes(f"{name}, documents", load_population(name))
    for name in ("WMT23 en-de", SIMULATED):
        population = draw_by_item(load_population(name))
        for misleading in MISLEADING:
            yield from list_sizes(f"{name}, {misleading} metric", population, misleading)
    for name in ("WMT23 en-de", "WMT23 zh-en"):
        population = draw_by_item(load_population(name, list_metrics(name)))
        yield from list_sizes(f"{name}, {len(population.metrics)} metrics", population)


def list_sizes(name: str, population: LabelledScores, misleading: str | None = None) -> Iterator[Design]:
    """List the designs of a population that has more items, or documents, than are drawn."""
    for count in COUNTS:
        if count < population.unit_of_item.max() + 1:
            yield Design(name, keep_systems(population, MOST_SYSTEMS), count, misleading)


def measure_coverage(design: Design, repetitions: int) -> Coverage:
    """Draw labels again and again, and compare the estimates with the truth."""
    means = design.population.human.mean(axis=1)
    differences = compute_system_differences(means[:, None])[:, 0]
    generator = np.random.default_rng(design.count)
    rows = []
    for repetition in range(repetitions):
        items = draw_labelled_items(design.population, design.count, generator)
        sample = hide_labels(design.population, items)
        if design.misleading is not None:
            sample = replace(sample, metrics=mislead(design, sample, generator))
        choice = choose_metric_saving_most_labels(sample)
        metric = None if choice.metric is None else sample.metrics[choice.metric]
        low, high = estimate(sample, sample.human, metric, repetition).compute_confidence_intervals_of_means()
        low_without, high_without = estimate(
            sample, sample.human, None, repetition
        ).compute_confidence_intervals_of_means()
        metric_of_differences = None
        if metric is not None and choice.use_for_differences:
            metric_of_differences = compute_system_differences(metric)
        of_differences = estimate(
            sample, compute_system_differences(sample.human), metric_of_differences, repetition
        )
        share_saved = 0.0
        for candidate in choice.candidates:
            if candidate.metric == choice.metric:
                share_saved = candidate.for_mean.value
        row = (
            find_covered(means, (low, high)).mean(),
            find_covered(differences, compute_symmetric_intervals(of_differences)).mean(),
            find_covered(differences, of_differences.compute_simultaneous_intervals()).all(),
            (high - low).sum() / (high_without - low_without).sum(),
            np.sqrt(1 - min(share_saved, 1.0)),
        )
        rows.append(row)
    return Coverage(*np.mean(rows, axis=0))


def estimate(
    sample: LabelledScores, human: FloatArray, metric: FloatArray | None, seed: int
) -> MeanEstimates:
    """Estimate the means of series as `estimate` does."""
    return estimate_mean_human_scores(
        LabelledSample(human, metric, sample.unit_of_item),
        target=THESE_ITEMS,
        generator=np.random.default_rng(seed),
        resamples=RESAMPLES,
    )


def compute_symmetric_intervals(estimates: MeanEstimates) -> tuple[FloatArray, FloatArray]:
    """Compute the symmetric 95 % bootstrap interval of each single difference of two systems."""
    quantiles = np.nanquantile(np.abs(estimates.t_draws), 0.95, axis=0, method="weibull")
    margins = quantiles * estimates.standard_errors
    return estimates.values - margins, estimates.values + margins


def find_covered(truth: FloatArray, interval: tuple[FloatArray, FloatArray]) -> np.ndarray:
    """Return which of the true values lie in their intervals."""
    return (interval[0] <= truth) & (truth <= interval[1])


def mislead(design: Design, sample: LabelledScores, generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Return a metric that looks useful and is not, or is useful in an unusual way."""
    useful = next(iter(sample.metrics.values()))
    if design.misleading == "inverted":
        return {"inverted": -useful}
    if design.misleading == "constant":
        return {"constant": np.ones_like(useful)}
    if design.misleading == "unrelated":
        return {"unrelated": generator.permuted(useful, axis=1)}
    noise = generator.permuted(design.population.human, axis=1)
    return {"copied": np.where(np.isnan(sample.human), noise, sample.human)}


def main(repetitions: int = 300, part_of_name: str = "") -> None:
    error = np.sqrt(0.05 * 0.95 / repetitions)
    print(f"{repetitions} repetitions; Monte-Carlo error of `all differences` {error:.3f}")
    print("| data | rated units | means | single differences | all differences | width | promised |")
    print("|---|---|---|---|---|---|---|")
    for design in list_designs():
        if part_of_name not in design.name:
            continue
        coverage = measure_coverage(design, repetitions)
        shares = " | ".join(f"{share:.3f}" for share in astuple(coverage))
        print(f"| {design.name} | {design.count} | {shares} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]), *sys.argv[2:3])
