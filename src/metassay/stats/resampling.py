"""Random resamples and subsets, as counts or weights of units."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError
from metassay.stats.arrays import FloatArray
from metassay.stats.parallel import map_blocks_in_threads
from metassay.stats.random import RESAMPLED_UNITS, create_generator_of_branch, create_random_generator_of_seed

# Each block of draws has a random stream of its own, so that results do not depend on the threads.
DRAWS_PER_BLOCK = 100


def draw_bootstrap_counts(segments: int, size: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """Draw `size` segments with replacement; return how often each is drawn, [draws, segments]."""
    drawn = rng.integers(0, segments, size=(draws, size))
    drawn += segments * np.arange(draws)[:, None]
    counts = np.bincount(drawn.ravel(), minlength=draws * segments)
    return counts.reshape(draws, segments).astype(np.float64)


def draw_subset_counts(segments: int, size: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """Draw random subsets of `size` segments; return 1 for those drawn, else 0: [draws, segments]."""
    counts = np.zeros((draws, segments))
    chosen = np.argpartition(rng.random((draws, segments)), size - 1, axis=1)[:, :size]
    np.put_along_axis(counts, chosen, 1.0, axis=1)
    return counts


def draw_cluster_counts(clusters: int, bootstraps: int, seed: int) -> NDArray[np.uint32]:
    """Draw bootstrap resamples of clusters; return how often each is drawn, [bootstraps, clusters]."""
    if bootstraps < 0:
        raise InputError(f"bootstraps must be 0 or more, not {bootstraps}.")
    rng = create_random_generator_of_seed(seed)
    counts = np.empty((bootstraps, clusters), dtype=np.uint32)
    for row in counts:
        row[:] = np.bincount(rng.integers(0, clusters, clusters), minlength=clusters)
    return counts


def map_bootstrap_resamples(
    function: Callable[[FloatArray], FloatArray],
    units: int,
    *,
    draws: int,
    seed: int,
    stream: int = 0,
    size: int | None = None,
    workers: int | None = None,
) -> FloatArray:
    """Call a function on the weights [block, units] of resamples; concatenate its results, [..., draws].

    Resamples have `size` units, by default as many as there are.
    """
    blocks = _draw_bootstrap_blocks(units, size or units, draws, seed, (stream, RESAMPLED_UNITS))
    return np.concatenate(map_blocks_in_threads(function, blocks, workers), axis=1)


def draw_subset_blocks(
    units: int, size: int, draws: int, seed: int, key: tuple[int, ...]
) -> Iterator[FloatArray]:
    """Yield random subsets of `size` units as weights [block, units], one block at a time."""
    for rng, block_draws in _make_block_generators(draws, seed, key):
        order = np.argsort(rng.random((block_draws, units)), axis=1)
        yield (order < size).astype(np.float64)


def _draw_bootstrap_blocks(
    units: int, size: int, draws: int, seed: int, key: tuple[int, ...]
) -> Iterator[FloatArray]:
    """Yield resamples of `size` units with replacement as weights [block, units], one block at a time."""
    probabilities = np.full(units, 1.0 / units)
    for rng, block_draws in _make_block_generators(draws, seed, key):
        yield rng.multinomial(size, probabilities, size=block_draws).astype(np.float64)


def _make_block_generators(
    draws: int, seed: int, key: tuple[int, ...]
) -> Iterator[tuple[np.random.Generator, int]]:
    """Yield the generator and the number of draws of each block."""
    for block, start in enumerate(range(0, draws, DRAWS_PER_BLOCK)):
        yield create_generator_of_branch(seed, *key, block), min(DRAWS_PER_BLOCK, draws - start)
