"""Random resamples and subsets, as counts or weights of units."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError
from metassay.stats.arrays import FloatArray
from metassay.stats.parallel import map_blocks_in_threads
from metassay.stats.random import RESAMPLED_UNITS, spawn_random_generator

# Each block of draws has a random stream of its own, so that results do not depend on the threads.
DRAWS_PER_BLOCK = 100
# Resamples of fewer items, or clusters of items, do not show how uncertain a value is.
FEWEST_CLUSTERS = 5


def draw_bootstrap_counts(
    segment_count: int, sample_size: int, draws: int, rng: np.random.Generator
) -> FloatArray:
    """Draw bootstrap samples of segments. Return how often each sample (row) contains each segment (column).

    Returns [draws, segments].
    """
    drawn = rng.integers(0, segment_count, size=(draws, sample_size))
    drawn += segment_count * np.arange(draws)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=draws * segment_count)
    return counts.reshape(draws, segment_count).astype(np.float64)


def draw_random_segment_subsets(
    segment_count: int, subset_size: int, subset_count: int, rng: np.random.Generator
) -> FloatArray:
    """Draw random subsets of segments. Returns 1 where a subset (row) contains a segment (column), else 0.

    Returns [draws, segments].
    """
    is_in_subset = np.zeros((subset_count, segment_count))
    chosen_segments = np.argpartition(rng.random((subset_count, segment_count)), subset_size - 1, axis=1)[
        :, :subset_size
    ]
    np.put_along_axis(is_in_subset, chosen_segments, 1.0, axis=1)
    return is_in_subset


def draw_cluster_counts(cluster_count: int, resamples: int, seed: int) -> NDArray[np.uint32]:
    """Draw bootstrap resamples of clusters. Return how often each resample (row) contains each cluster
    (column).

    A resample has as many clusters as there are. Returns [resamples, clusters].
    """
    if resamples < 0:
        raise InputError(f"bootstraps must be 0 or more, not {resamples}.")
    rng = np.random.default_rng(seed)
    counts = np.empty((resamples, cluster_count), dtype=np.uint32)
    for row in counts:
        row[:] = np.bincount(rng.integers(0, cluster_count, cluster_count), minlength=cluster_count)
    return counts


def map_bootstrap_resamples(
    compute_from_weights: Callable[[FloatArray], FloatArray],
    unit_count: int,
    *,
    draws: int,
    seed: int,
    stream: int = 0,
    sample_size: int | None = None,
    workers: int | None = None,
) -> FloatArray:
    """Draw bootstrap resamples in blocks, apply a function to each block, and join the results.

    A block says how often each resample contains each unit, such as a segment: [draws, units]. Resamples have
    `sample_size` units, by default as many as there are.
    """
    blocks = _draw_bootstrap_resamples_in_blocks(
        unit_count, sample_size or unit_count, draws, seed, (stream, RESAMPLED_UNITS)
    )
    return np.concatenate(map_blocks_in_threads(compute_from_weights, blocks, workers), axis=1)


def draw_random_subsets_in_blocks(
    unit_count: int, subset_size: int, draws: int, seed: int, generator_key: tuple[int, ...]
) -> Iterator[FloatArray]:
    """Yield random subsets as rows with 1 for each unit in the subset and 0 for the others.

    Rows come in blocks. A unit is, for example, a segment. Weights are [draws, units].
    """
    for rng, block_draws in _split_draws_into_blocks(draws, seed, generator_key):
        order = np.argsort(rng.random((block_draws, unit_count)), axis=1)
        yield (order < subset_size).astype(np.float64)


def _draw_bootstrap_resamples_in_blocks(
    unit_count: int, sample_size: int, draws: int, seed: int, generator_key: tuple[int, ...]
) -> Iterator[FloatArray]:
    """Yield bootstrap resamples as rows that say how often a resample contains each unit.

    Rows come in blocks. A unit is, for example, a segment. Weights are [draws, units].
    """
    probabilities = np.full(unit_count, 1.0 / unit_count)
    for rng, block_draws in _split_draws_into_blocks(draws, seed, generator_key):
        yield rng.multinomial(sample_size, probabilities, size=block_draws).astype(np.float64)


def _split_draws_into_blocks(
    draws: int, seed: int, generator_key: tuple[int, ...]
) -> Iterator[tuple[np.random.Generator, int]]:
    """Split random draws into blocks, and yield a random generator and the number of draws of each block."""
    for block, start in enumerate(range(0, draws, DRAWS_PER_BLOCK)):
        yield (
            spawn_random_generator(seed, *generator_key, block),
            min(DRAWS_PER_BLOCK, draws - start),
        )
