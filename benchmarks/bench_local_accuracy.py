"""Time local accuracy with cluster-bootstrap intervals, and the whole contextual analysis, on many pairs.

    python benchmarks/bench_local_accuracy.py [largest number of pairs]

The peer is `scipy.stats.bootstrap` on the items' mean accuracies, context by context, for a few contexts.
Aims: 1,000,000 pairs × 20 metrics × 1,000 contexts × 1,000 resamples in under 10 s on two cores and under
2 GB; time linear in pairs.
"""

import os
import resource
import sys
import time

import numpy as np
from scipy.stats import bootstrap
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from metassay.meta.contexts.accuracy import sort_pairs_by_item
from metassay.meta.contexts.column_analysis import estimate_accuracy_intervals
from metassay.meta.contexts.context_statistics import build_context_statistics
from metassay.meta.contexts.pair_analysis import analyze_pairs
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes
from metassay.stats.bootstrap import ClusterBootstrap

METRICS, CONTEXTS, RESAMPLES, METHODS, SYSTEMS = 20, 1000, 1000, 4, 10
WORKERS = min(2, os.cpu_count() or 1)


def draw_outcomes(pairs, contexts=CONTEXTS, seed=0):
    """Draw outcomes: four pairs per output, ten outputs per item, every output in a random context."""
    rng = np.random.default_rng(seed)
    output = np.repeat(np.arange(pairs // METHODS, dtype=np.int32), METHODS)
    outcome = np.empty((METRICS, len(output)), dtype=np.int8)
    for m in range(METRICS):
        outcome[m] = np.where(rng.random(len(output), dtype=np.float32) < 0.6 + 0.015 * m, 1, -1)
    item = output // SYSTEMS
    outcomes = PairOutcomes(
        metrics=tuple(f"metric{m:02d}" for m in range(METRICS)),
        perturbation_names=tuple(f"perturbation{k}" for k in range(METHODS)),
        outcomes=outcome,
        items=item,
        outputs=output,
        clusters=item,
        perturbations=np.tile(np.arange(METHODS), len(output) // METHODS),
    )
    codes = rng.integers(0, contexts, output[-1] + 1)[output]
    return outcomes, PairContexts("context", tuple(map(str, range(contexts))), codes)


def compute_ours(outcomes, contexts):
    bootstrap_draws = ClusterBootstrap(np.random.default_rng(0), RESAMPLES)
    pairs, (sorted_contexts,) = sort_pairs_by_item(outcomes, [contexts])
    with threadpool_limits(1):
        return estimate_accuracy_intervals(pairs, sorted_contexts, "strict", bootstrap_draws)


def compute_percentile_intervals(outcomes, contexts, few):
    """Compute percentile intervals of the first few contexts with scipy."""
    right = outcomes.outcomes == 1
    for context in range(few):
        inside = np.flatnonzero(contexts.codes == context)
        items, place = np.unique(outcomes.items[inside], return_inverse=True)
        sizes = np.bincount(place, minlength=len(items))
        sums = [np.bincount(place, weights=right[m, inside], minlength=len(items)) for m in range(METRICS)]
        means = np.stack(sums) / sizes
        bootstrap((means,), np.mean, n_resamples=RESAMPLES, batch=100, axis=-1, method="percentile", rng=0)


def measure_seconds(function, *arguments):
    start = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - start


def main(largest=10_000_000):
    compute_ours(*draw_outcomes(4000, 5))  # compiles
    sizes = [size for size in (100_000, 1_000_000, 10_000_000) if size <= largest]
    seconds = {}
    for size in sizes:
        data = draw_outcomes(size)
        seconds[size] = measure_seconds(compute_ours, *data)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        per_pair = 1e6 * seconds[size] / size
        print(
            f"{size:>10,} pairs: {seconds[size]:6.2f} s, {per_pair:.2f} µs a pair, peak so far {peak:.2f} GB"
        )
    few = 20
    slow = measure_seconds(compute_percentile_intervals, *draw_outcomes(1_000_000), few) * CONTEXTS / few
    ratio = slow / seconds[1_000_000]
    print(f"scipy.stats.bootstrap, 1,000,000 pairs: {slow:.0f} s, from {few} contexts: {ratio:.0f} × ours")
    outcomes, contexts = draw_outcomes(1_000_000)
    took = measure_seconds(
        lambda: build_context_statistics(analyze_pairs(outcomes, [contexts], workers=WORKERS))
    )
    print(f"the whole assay, 1,000,000 pairs × {METRICS} metrics × {CONTEXTS} contexts: {took:.1f} s")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
