"""Random exchanges of two metrics' scores, to test whether one of them agrees better with human scores.

Under the null hypothesis two standardised metrics are exchangeable, so their scores may be swapped at random
(Deutsch, Dror and Roth, 2021): whole segments (`perm-inputs`), whole systems (`perm-systems`), systems and
then segments (`perm-both`), or single cells (`cells`). All pairs of metrics share the swaps, so sums over
the swapped cells are computed once per metric, not once per pair of metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from metassay.errors import UnknownName
from metassay.stats.arrays import BoolArray, Float32Array, FloatArray, LongArray, divide_or_zero
from metassay.stats.parallel import map_blocks_in_threads
from metassay.stats.random import create_random_generator_from_key

SWAP_KINDS = ("perm-inputs", "perm-systems", "perm-both", "cells")
# Each block of draws has a random stream of its own, so that results do not depend on the threads.
DRAWS_PER_BLOCK = 50
# A standard deviation below this share of the largest score is rounding.
_ROUNDING_ERROR = 1e-13


@dataclass(frozen=True)
class Swaps:
    """Which scores, by system and segment, are exchanged between two metrics in each random draw.

    `rows` is [draws, systems], `columns` [draws, segments], `cells` [draws, systems, segments].
    """

    rows: BoolArray
    columns: BoolArray
    cells: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def create_draw_without_swaps(cls, systems: int, segments: int) -> Swaps:
        """Create a single draw in which no scores are exchanged."""
        return cls(np.zeros((1, systems), bool), np.zeros((1, segments), bool))

    def sum_swapped_scores(self, scores: FloatArray) -> FloatArray:
        """Sum the exchanged scores of every metric and system in each draw.

        Returns [draws, metrics, systems].
        """
        metrics, systems, segments = scores.shape
        if self.cells is not None:
            by_system = []
            for i in range(systems):
                by_system.append(self.cells[:, i].astype(np.float64) @ np.ascontiguousarray(scores[:, i].T))
            return np.stack(by_system, axis=-1)
        flat_scores = scores.reshape(metrics * systems, segments)
        sums = (self.columns.astype(np.float64) @ flat_scores.T).reshape(len(self), metrics, systems)
        return np.where(self.rows[:, None, :], scores.sum(axis=-1) - sums, sums)


# Function from a block of swaps to the differences of pairs of metrics: [draws, metric pairs].
SwapStatistic = Callable[[Swaps], Float32Array]


def list_metric_pairs(metric_count: int) -> LongArray:
    """List the positions of all pairs of different metrics, one pair per row.

    The order is that of `numpy.triu_indices`.
    """
    return np.column_stack(np.triu_indices(metric_count, 1)).astype(np.int64)


def standardize_metrics(metric_scores: FloatArray) -> FloatArray:
    """Scale the scores of each metric to mean 0 and standard deviation 1, or to 0 if they are all equal.

    `metric_scores` is [metrics, systems, segments]. Afterwards the scores of two metrics can be exchanged.
    """
    centred = metric_scores - metric_scores.mean(axis=(1, 2), keepdims=True)
    return divide_or_zero(centred, _compute_standard_deviations(metric_scores)[:, None, None])


def compute_metric_scales(metric_scores: FloatArray) -> FloatArray:
    """Return the factor that scales each metric to standard deviation 1. It is 0 for a metric whose scores
    are all equal.

    `metric_scores` is [metrics, systems, segments].
    """
    return divide_or_zero(1.0, _compute_standard_deviations(metric_scores))


def _compute_standard_deviations(metric_scores: FloatArray) -> FloatArray:
    """Compute the standard deviation of the scores of each metric. It is 0 if it may be only a rounding
    error.
    """
    deviations = metric_scores.std(axis=(1, 2))
    largest = np.abs(metric_scores).max(axis=(1, 2), initial=0.0)
    varies = deviations > _ROUNDING_ERROR * largest
    return np.where(varies, deviations, 0.0)


def compute_statistic_differences_after_random_swaps(
    statistic: SwapStatistic,
    swap_kind: str,
    *,
    draws: int,
    systems: int,
    segments: int,
    pairs: int,
    seed: int,
    stream: int = 0,
    workers: int | None = None,
) -> Float32Array:
    """Exchange scores between metrics at random many times, and compute the difference of a statistic between
    every two metrics each time.

    Returns [metric pairs, draws]. The result does not depend on the number of workers.
    """
    differences = np.empty((draws, pairs), dtype=np.float32)

    def write_differences_of_block(block: tuple[int, Swaps]) -> None:
        start, swaps = block
        differences[start : start + len(swaps)] = statistic(swaps)

    blocks = draw_random_swaps_in_blocks(
        swap_kind, draws=draws, systems=systems, segments=segments, seed=seed, stream=stream
    )
    map_blocks_in_threads(write_differences_of_block, blocks, workers)
    return np.ascontiguousarray(differences.T)


def draw_random_swaps_in_blocks(
    swap_kind: str, *, draws: int, systems: int, segments: int, seed: int, stream: int = 0
) -> Iterator[tuple[int, Swaps]]:
    """Yield random exchanges of scores in blocks of draws, each with the number of its first draw."""
    if swap_kind not in SWAP_KINDS:
        raise UnknownName("kind of swap", swap_kind, SWAP_KINDS)
    for block, start in enumerate(range(0, draws, DRAWS_PER_BLOCK)):
        rng = create_random_generator_from_key(seed, stream, block)
        yield start, _draw_swaps(swap_kind, rng, min(DRAWS_PER_BLOCK, draws - start), systems, segments)


def _draw_swaps(swap_kind: str, rng: np.random.Generator, draws: int, systems: int, segments: int) -> Swaps:
    """Draw at random which scores are exchanged: those of segments, of systems, of both, or single scores."""
    if swap_kind == "cells":
        cells = rng.random((draws, systems, segments), dtype=np.float32) < 0.5
        return Swaps(np.zeros((draws, systems), bool), np.zeros((draws, segments), bool), cells)
    rows = rng.random((draws, systems)) < 0.5
    columns = rng.random((draws, segments)) < 0.5
    if swap_kind == "perm-inputs":
        rows[:] = False
    if swap_kind == "perm-systems":
        columns[:] = False
    return Swaps(rows, columns)
