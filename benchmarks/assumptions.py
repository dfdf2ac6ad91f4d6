"""How much the answer moves when a constant of ours is halved or doubled: the table of docs/assumptions.md.

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
from metassay.meta.contexts.robustness import robust_accuracy
from metassay.meta.dependence import deviations
from metassay.sample import sample_path
from metassay.stats import intervals, label_permutation, multiplicity, soft_accuracy
from metassay.stats.sign_flip import estimate_normal_error, normal_p_values, sign_flip_p_values
from metassay.workflows.assay import assay
from metassay.workflows.read import read


@dataclass(frozen=True)
class Constant:
    """A constant by module and name, the figure that is measured, and the function that measures it."""

    module: Any
    name: str
    figure: str
    measure: Any


@contextmanager
def changed(module, name, factor):
    """The constant multiplied by a factor, for a while."""
    value = getattr(module, name)
    setattr(module, name, value * factor)
    try:
        yield
    finally:
        setattr(module, name, value)


def sample(**options):
    data = read(sample_path("mt"))
    return assay(data, contexts=["domain", "system"], resamples=300, permutations=199, **options).to_dict()


def set_aside(minimum):
    found = sample(minimum_items=minimum)
    return sum(map(len, found["claims"]["set_aside"].values()))


def heavy_tails(limit):
    """Largest error of SPA's p-values, mean over pairs, among data sets that the closed form is used for."""
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(60):
        scores = rng.standard_t(rng.uniform(1.2, 6), (8, int(rng.integers(20, 300))))
        if np.abs(estimate_normal_error(scores)).mean() <= limit:
            drawn = sign_flip_p_values(scores, np.random.default_rng(1), 20_000)
            worst = max(worst, float(np.abs(drawn - normal_p_values(scores)).mean()))
    return worst


def confounded_coverage(replicates):
    """Share of intervals of σ² that hold its true value, with methods that differ by ±.1."""
    rng = np.random.default_rng(0)
    items, methods = 60, 4
    item, method = np.repeat(np.arange(items), methods), np.tile(np.arange(methods), items)
    truth = 0.75 + np.array([0.1, -0.1, 0.1, -0.1])
    held = []
    for _ in range(replicates):
        right = rng.random((calibration.METRICS, len(item))) < truth[method]
        made = calibration.judgements(right, item, item, item, method)
        contexts = calibration.contexts_of("all", item * 0)
        drawn = calibration.ClusterBootstrap(rng, 300)
        found = confounding.measure_confounding(made, contexts, ties="strict", bootstrap=drawn, rng=rng)
        held += ((found.low <= truth.var()) & (truth.var() <= found.high)).tolist()
    return np.mean(held)


def robust(radius):
    accuracy, shares = np.array([[0.9, 0.8, 0.6]]), np.array([50.0, 30.0, 20.0])
    return float(robust_accuracy(accuracy, shares, radius)[0])


def constants(replicates):
    few = max(replicates // 40, 2)
    null = calibration.heteroscedastic_null
    return (
        Constant(
            intervals,
            "_FEW_ERRORS",
            "coverage, accuracy .95, 200 items",
            lambda: calibration.coverage(0.95, 200, replicates),
        ),
        Constant(
            intervals,
            "_FEW_CLUSTERS",
            "coverage, accuracy .5, 15 items",
            lambda: calibration.coverage(0.5, 15, replicates, pairs=20),
        ),
        Constant(
            label_permutation,
            "_PRIOR_UNITS",
            "size of H1, small heterogeneous domains",
            lambda: calibration.rejection_rates(null, replicates, 199)[0],
        ),
        Constant(
            multiplicity,
            "_MIN_OBSERVATIONS",
            "metrics in the top group, 100 items",
            lambda: calibration.best_kept(100, few * 4)[1],
        ),
        Constant(confounding, "_EXCESS", "coverage of σ² between methods", lambda: confounded_coverage(few)),
        Constant(
            confounding,
            "_LEAST_SPREAD",
            "share of fair metrics flagged",
            lambda: calibration.flag_rates(few)[1],
        ),
        Constant(
            deviations,
            "NEAR",
            "coverage of SysDep, 6 systems",
            lambda: calibration.sysdep_coverage(6, 40, few * 8),
        ),
        Constant(
            deviations,
            "STEP_COST",
            "coverage of SysDep, 3 systems",
            lambda: calibration.sysdep_coverage(3, 40, few * 8),
        ),
        Constant(
            claims,
            "ERROR_RATE",
            "power, one of 20 contexts, 30 items",
            lambda: calibration.power(20, 30, 0.2, few),
        ),
        Constant(
            soft_accuracy,
            "MAX_NORMAL_ERROR",
            "largest error of a p-value in SPA",
            lambda: heavy_tails(soft_accuracy.MAX_NORMAL_ERROR),
        ),
    )


def rows(replicates):
    """Name, figure, and the figure with the constant halved, as it is, doubled."""
    for constant in constants(replicates):
        values = []
        for factor in (0.5, 1, 2):
            with changed(constant.module, constant.name, factor):
                values.append(constant.measure())
        yield (f"{constant.module.__name__.rpartition('.')[2]}.{constant.name}", constant.figure, *values)
    minimum = [set_aside(size) for size in (10, 20, 40)]
    yield ("--min-items", "contexts set aside, sample data", *minimum)
    yield ("radius", "robust accuracy of .9, .8, .6 at 50:30:20", *(robust(r) for r in (0.05, 0.1, 0.2)))
    evidence = sample()["recommendation"]
    picks = [entry["choice"] for part in evidence.values() for entry in part.values()]
    yield ("choice rounding", "contexts of the sample where it decides", *_rounding_changes(picks))


def _rounding_changes(picks):
    """How many choices change when stability is compared to the half or the double of a hundredth."""
    changes = []
    for step in (0.005, 0.01, 0.02):
        with _rounded(step):
            again = sample()["recommendation"]
        found = [entry["choice"] for part in again.values() for entry in part.values()]
        changes.append(sum(a != b for a, b in zip(picks, found)))
    return changes


@contextmanager
def _rounded(step):
    kept = choice.STABILITY_STEP
    choice.STABILITY_STEP = step
    try:
        yield
    finally:
        choice.STABILITY_STEP = kept


def main(replicates=400):
    print("| constant | figure | halved | as it is | doubled |\n|---|---|---|---|---|")
    for name, figure, *values in rows(replicates):
        shown = " | ".join(f"{value:.3f}" if isinstance(value, float) else str(value) for value in values)
        print(f"| `{name}` | {figure} | {shown} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
