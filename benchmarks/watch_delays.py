"""Measure how often `watch` alarms where nothing changes, and how soon it shows a drop of .05.

    python benchmarks/watch_delays.py [streams]

A stream is a series of runs. Of stable streams, at most 5 % may ever raise an alarm in 365 looks. The delay
is printed next to that of a z-test of all runs before against all runs since the change, at a number of runs
that is fixed in advance; such a test must not be repeated.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from decision_data import draw_by_item, load_population
from metassay.data.score_arrays import ScoreArrays
from metassay.meta.decisions.change_detection import ValuesOverRuns, detect_change_over_runs
from metassay.meta.people.meta_metrics.registry import parse_meta_metric

LOOKS = 365
NORMAL_QUANTILE = 1.96
POOL = 100
"""Different runs of rank from which streams are drawn."""
Draw = Callable[[np.random.Generator, int], ValuesOverRuns]


def draw_accuracies(accuracy: float, clusters: int) -> Draw:
    """Accuracies of a metric on new items, with the variance from the items of each run."""

    def draw(generator: np.random.Generator, runs: int) -> ValuesOverRuns:
        values = generator.binomial(clusters, accuracy, runs) / clusters
        return build_series(values, values * (1 - values) / (clusters - 1), clusters)

    return draw


def draw_judge_accuracies(accuracy: float, items: int) -> Draw:
    """Accuracies of a judge that sees each item in both orders, with the variance from a Wilson interval."""

    def draw(generator: np.random.Generator, runs: int) -> ValuesOverRuns:
        values = generator.binomial(items, accuracy, runs) / items
        squared = NORMAL_QUANTILE**2 / items
        variances = (values * (1 - values) / items + squared / (4 * items)) / (1 + squared) ** 2
        return build_series(values, variances, items)

    return draw


def draw_rankings(meta_metric: str, items: int) -> Draw:
    """SPA or acc_eq of XCOMET on new items of WMT23 en-de, with the variance from a bootstrap interval."""
    scores = draw_by_item(load_population("WMT23 en-de"))
    metric = scores.metrics["XCOMET-Ensemble-refA"]
    evaluator = parse_meta_metric(meta_metric)
    generator = np.random.default_rng(0)
    pool = []
    for _ in range(POOL):
        drawn = generator.integers(0, len(scores.items), items)
        run = ScoreArrays(scores.human[:, drawn], metric[None, :, drawn])
        weights = generator.multinomial(items, np.full(items, 1 / items), 100).astype(float)
        resampled = np.ravel(evaluator.build_resampling_function(run)(weights))
        low, high = np.quantile(resampled, [0.025, 0.975])
        pool.append(
            (float(np.ravel(evaluator.evaluate_metrics(run))[0]), ((high - low) / (2 * NORMAL_QUANTILE)) ** 2)
        )
    values, variances = np.array(pool).T

    def draw(generator: np.random.Generator, runs: int) -> ValuesOverRuns:
        positions = generator.integers(0, POOL, runs)
        return build_series(values[positions], variances[positions], items)

    return draw


def build_series(values: np.ndarray, variances: np.ndarray, clusters: int) -> ValuesOverRuns:
    """Build a series as `watch` does: half a wrong cluster is added to each variance."""
    return ValuesOverRuns(values, variances + 0.25 / clusters**2, np.full(len(values), float(clusters)))


def count_alarms(draw: Draw, streams: int) -> float:
    """Return the share of stable streams that ever raise an alarm."""
    generator = np.random.default_rng(1)
    return float(
        np.mean([detect_change_over_runs(draw(generator, LOOKS)) is not None for _ in range(streams)])
    )


def measure_delay(accuracy: float, drop: float, clusters: int, runs_before: int, streams: int) -> float:
    """Return the median number of runs from a drop to the alarm, without streams that alarm before it."""
    generator = np.random.default_rng(2)
    delays = []
    for _ in range(streams):
        before = draw_accuracies(accuracy, clusters)(generator, runs_before)
        after = draw_accuracies(accuracy - drop, clusters)(generator, 200)
        series = ValuesOverRuns(*(np.concatenate(pair) for pair in zip(_fields(before), _fields(after))))
        change = detect_change_over_runs(series)
        if change is None or change.alarm >= runs_before:
            delays.append(np.inf if change is None else change.alarm - runs_before + 1)
    return float(np.median(delays))


def _fields(series: ValuesOverRuns) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return series.values, series.variances, series.weights


def compute_delay_of_fixed_test(
    accuracy: float, drop: float, clusters: int, runs_before: int, quantile: float = 1.96
) -> int:
    """Return the fewest runs since the drop with which a two-sided z-test at 5 % has a power of 50 %."""
    for runs in range(1, 1000):
        later = accuracy - drop
        variance = accuracy * (1 - accuracy) / (clusters * runs_before) + later * (1 - later) / (
            clusters * runs
        )
        if drop >= quantile * np.sqrt(variance):
            return runs
    return 1000


def main(streams: int = 1000) -> None:
    print(f"{streams} stable streams of {LOOKS} looks")
    print("| stable | ever an alarm |\n|---|---|")
    kinds: dict[str, Draw] = {
        "accuracy .95, 30 clusters": draw_accuracies(0.95, 30),
        "accuracy .85, 100 clusters": draw_accuracies(0.85, 100),
        "agreement with people .70, 200 items": draw_accuracies(0.7, 200),
        "judge accuracy .90, 50 items": draw_judge_accuracies(0.9, 50),
        "judge consistency .70, 100 items": draw_judge_accuracies(0.7, 100),
        "SPA of XCOMET, 100 items of WMT23 en-de": draw_rankings("spa", 100),
    }
    for name, draw in kinds.items():
        print(f"| {name} | {count_alarms(draw, streams):.3f} |", flush=True)
    print(
        "| drop of .05 from .85 after | items per run | runs to the alarm | fixed test |\n|---|---|---|---|"
    )
    for runs_before in (10, 30, 100):
        for clusters in (100, 300):
            delay = measure_delay(0.85, 0.05, clusters, runs_before, streams // 5)
            fixed = compute_delay_of_fixed_test(0.85, 0.05, clusters, runs_before)
            print(f"| {runs_before} runs | {clusters} | {delay:.0f} | {fixed} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
