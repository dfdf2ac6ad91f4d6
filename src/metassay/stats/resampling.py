"""Random resamples and subsets, as counts or weights of units."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError
from metassay.stats.arrays import FloatArray
from metassay.stats.parallel import map_blocks_in_threads
from metassay.stats.random import RESAMPLED_UNITS, create_branch_generator

# Each block of draws has a random stream of its own, so that results do not depend on the threads.
DRAWS_PER_BLOCK = 100


def draw_bootstrap_counts(
    segment_count: int, sample_size: int, draws: int, rng: np.random.Generator
) -> FloatArray:
    """Draw segments with replacement; return how often each is drawn: [draws, segments]."""
    drawn = rng.integers(0, segment_count, size=(draws, sample_size))
    drawn += segment_count * np.arange(draws)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=draws * segment_count)
    return counts.reshape(draws, segment_count).astype(np.float64)


def draw_subset_counts(
    segment_count: int, subset_size: int, draws: int, rng: np.random.Generator
) -> FloatArray:
    """Draw random subsets of segments; return 1 for segments in the subset, else 0: [draws, segments]."""
    counts = np.zeros((draws, segment_count))
    chosen = np.argpartition(rng.random((draws, segment_count)), subset_size - 1, axis=1)[:, :subset_size]
    np.put_along_axis(counts, chosen, 1.0, axis=1)
    return counts


def draw_cluster_counts(cluster_count: int, resamples: int, seed: int) -> NDArray[np.uint32]:
    """Draw bootstrap resamples of clusters; return how often each is drawn: [resamples, clusters]."""
    if resamples < 0:
        raise InputError(f"bootstraps must be 0 or more, not {resamples}.")
    rng = np.random.default_rng(seed)
    counts = np.empty((resamples, cluster_count), dtype=np.uint32)
    for row in counts:
        row[:] = np.bincount(rng.integers(0, cluster_count, cluster_count), minlength=cluster_count)
    return counts


def map_bootstrap_resamples(
    function: Callable[[FloatArray], FloatArray],
    unit_count: int,
    *,
    draws: int,
    seed: int,
    stream: int = 0,
    sample_size: int | None = None,
    workers: int | None = None,
) -> FloatArray:
    """Call a function on blocks of bootstrap weights [draws, units], and concatenate its results.

    Resamples have `sample_size` units, by default as many as there are.
    """
    blocks = _draw_bootstrap_blocks(
        unit_count, sample_size or unit_count, draws, seed, (stream, RESAMPLED_UNITS)
    )
    return np.concatenate(map_blocks_in_threads(function, blocks, workers), axis=1)


def draw_subset_blocks(
    unit_count: int, subset_size: int, draws: int, seed: int, branch: tuple[int, ...]
) -> Iterator[FloatArray]:
    """Yield weights [draws, units] of random subsets of the units, one block of draws at a time."""
    for rng, block_draws in _create_block_generators(draws, seed, branch):
        order = np.argsort(rng.random((block_draws, unit_count)), axis=1)
        yield (order < subset_size).astype(np.float64)


def _draw_bootstrap_blocks(
    unit_count: int, sample_size: int, draws: int, seed: int, branch: tuple[int, ...]
) -> Iterator[FloatArray]:
    """Yield weights [draws, units] of bootstrap resamples, one block of draws at a time."""
    probabilities = np.full(unit_count, 1.0 / unit_count)
    for rng, block_draws in _create_block_generators(draws, seed, branch):
        yield rng.multinomial(sample_size, probabilities, size=block_draws).astype(np.float64)


def _create_block_generators(
    draws: int, seed: int, branch: tuple[int, ...]
) -> Iterator[tuple[np.random.Generator, int]]:
    """Yield a random generator and the number of draws for each block of draws."""
    for block, start in enumerate(range(0, draws, DRAWS_PER_BLOCK)):
        yield create_branch_generator(seed, *branch, block), min(DRAWS_PER_BLOCK, draws - start)
