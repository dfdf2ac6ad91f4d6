"""Measure how results change when a constant is halved or doubled: a table of benchmarks/README.md.

    python benchmarks/assumptions.py [replicates]

Each constant is changed in place and one figure that rests on it measured again, on the same random numbers.
"""

import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

import calibration
from metassay.meta.contexts import choice, claims, confounding
from metassay.meta.contexts.robustness import compute_distributionally_robust_accuracy
from metassay.meta.dependence import deviations
from metassay.sample import get_bundled_sample_path
from metassay.stats import intervals, label_permutation, multiplicity, soft_accuracy
from metassay.stats.sign_flip import (
    compute_normal_p_values,
    compute_sign_flip_p_values,
    estimate_normal_p_value_errors,
)
from metassay.workflows.assay import assay
from metassay.workflows.read import read


@dataclass(frozen=True)
class Constant:
    """A constant, the figure that depends on it, and the function that measures the figure."""

    module: Any
    name: str
    figure: str
    measure: Any


@contextmanager
def scale_constant(module, name, factor):
    """Multiply a constant by a factor inside a `with` block."""
    value = getattr(module, name)
    setattr(module, name, value * factor)
    try:
        yield
    finally:
        setattr(module, name, value)


def load_sample(**options):
    data = read(get_bundled_sample_path("mt"))
    return assay(data, contexts=["domain", "system"], resamples=300, permutations=199, **options).to_dict()


def count_small_contexts(minimum):
    found = load_sample(minimum_items=minimum)
    return sum(map(len, found["claims"]["set_aside"].values()))


def measure_heavy_tails(limit):
    """Measure the largest error of SPA's p-values on data for which the closed form is used."""
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(60):
        scores = rng.standard_t(rng.uniform(1.2, 6), (8, int(rng.integers(20, 300))))
        if np.abs(estimate_normal_p_value_errors(scores)).mean() <= limit:
            drawn = compute_sign_flip_p_values(scores, np.random.default_rng(1), 20_000)
            worst = max(worst, float(np.abs(drawn - compute_normal_p_values(scores)).mean()))
    return worst


def measure_variance_coverage(replicates):
    """Measure how often the interval of σ² contains its true value, with perturbations that differ by ±.1."""
    rng = np.random.default_rng(0)
    items, methods = 60, 4
    item, method = np.repeat(np.arange(items), methods), np.tile(np.arange(methods), items)
    truth = 0.75 + np.array([0.1, -0.1, 0.1, -0.1])
    held = []
    for _ in range(replicates):
        right = rng.random((calibration.METRICS, len(item))) < truth[method]
        made = calibration.build_outcomes(right, item, item, item, method)
        contexts = calibration.build_contexts("all", item * 0)
        drawn = calibration.ClusterBootstrap(rng, 300)
        found = confounding.measure_accuracy_dependence_on_perturbation(
            made, contexts, ties="strict", bootstrap=drawn, rng=rng
        )
        held += ((found.low <= truth.var()) & (truth.var() <= found.high)).tolist()
    return np.mean(held)


def measure_robustness(radius):
    accuracy, shares = np.array([[0.9, 0.8, 0.6]]), np.array([50.0, 30.0, 20.0])
    return float(compute_distributionally_robust_accuracy(accuracy, shares, radius)[0])


def list_constants(replicates):
    few = max(replicates // 40, 2)
    null = calibration.draw_heteroscedastic_null
    return (
        Constant(
            intervals,
            "_FEW_ERRORS",
            "coverage, accuracy .95, 200 items",
            lambda: calibration.measure_coverage(0.95, 200, replicates),
        ),
        Constant(
            intervals,
            "_FEW_CLUSTERS",
            "coverage, accuracy .5, 15 items",
            lambda: calibration.measure_coverage(0.5, 15, replicates, pairs=20),
        ),
        Constant(
            label_permutation,
            "_PRIOR_UNITS",
            "size of H1, small heterogeneous domains",
            lambda: calibration.measure_rejection_rates(null, replicates, 199)[0],
        ),
        Constant(
            multiplicity,
            "_MIN_OBSERVATIONS",
            "metrics in the top group, 100 items",
            lambda: calibration.measure_top_group(100, few * 4)[1],
        ),
        Constant(
            confounding, "_EXCESS", "coverage of σ² between methods", lambda: measure_variance_coverage(few)
        ),
        Constant(
            confounding,
            "_LEAST_SPREAD",
            "share of fair metrics flagged",
            lambda: calibration.measure_confounding_flags(few)[1],
        ),
        Constant(
            deviations,
            "NEAR",
            "coverage of SysDep, 6 systems",
            lambda: calibration.measure_sysdep_coverage(6, 40, few * 8),
        ),
        Constant(
            deviations,
            "STEP_COST",
            "coverage of SysDep, 3 systems",
            lambda: calibration.measure_sysdep_coverage(3, 40, few * 8),
        ),
        Constant(
            claims,
            "ERROR_RATE",
            "power, one of 20 contexts, 30 items",
            lambda: calibration.measure_power(20, 30, 0.2, few),
        ),
        Constant(
            soft_accuracy,
            "MAX_NORMAL_ERROR",
            "largest error of a p-value in SPA",
            lambda: measure_heavy_tails(soft_accuracy.MAX_NORMAL_ERROR),
        ),
    )


def measure_constants(replicates):
    """Yield name, figure, and the figure with the constant halved, unchanged and doubled."""
    for constant in list_constants(replicates):
        values = []
        for factor in (0.5, 1, 2):
            with scale_constant(constant.module, constant.name, factor):
                values.append(constant.measure())
        yield (f"{constant.module.__name__.rpartition('.')[2]}.{constant.name}", constant.figure, *values)
    minimum = [count_small_contexts(size) for size in (10, 20, 40)]
    yield ("--min-items", "contexts set aside, sample data", *minimum)
    yield (
        "radius",
        "robust accuracy of .9, .8, .6 at 50:30:20",
        *(measure_robustness(r) for r in (0.05, 0.1, 0.2)),
    )
    evidence = load_sample()["recommendation"]
    picks = [entry["choice"] for part in evidence.values() for entry in part.values()]
    yield ("choice rounding", "contexts of the sample where it decides", *_count_rounding_changes(picks))


def _count_rounding_changes(picks):
    """Count the choices that change when stability is rounded to half or twice a hundredth."""
    changes = []
    for step in (0.005, 0.01, 0.02):
        with _round_stability(step):
            again = load_sample()["recommendation"]
        found = [entry["choice"] for part in again.values() for entry in part.values()]
        changes.append(sum(a != b for a, b in zip(picks, found)))
    return changes


@contextmanager
def _round_stability(step):
    kept = choice.STABILITY_STEP
    choice.STABILITY_STEP = step
    try:
        yield
    finally:
        choice.STABILITY_STEP = kept


def main(replicates=400):
    print("| constant | figure | halved | as it is | doubled |\n|---|---|---|---|---|")
    for name, figure, *values in measure_constants(replicates):
        shown = " | ".join(f"{value:.3f}" if isinstance(value, float) else str(value) for value in values)
        print(f"| `{name}` | {figure} | {shown} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
