"""Random exchanges of two metrics' scores, to test whether one of them agrees better with human scores.

Under the null hypothesis two standardised metrics are exchangeable, so their scores may be exchanged at
random (Deutsch, Dror and Roth, 2021): whole segments (`perm-inputs`), whole systems (`perm-systems`), systems
and then segments (`perm-both`), or single cells (`cells`). All pairs of metrics share the exchanges, so sums
over the exchanged cells are computed once per metric, not once per pair of metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from metassay.errors import UnknownName
from metassay.stats.arrays import BoolArray, Float32Array, FloatArray, LongArray, divide_or_zero
from metassay.stats.parallel import map_blocks_in_threads
from metassay.stats.random import spawn_random_generator

EXCHANGE_KINDS = ("perm-inputs", "perm-systems", "perm-both", "cells")
# Each block of draws has a random stream of its own, so that results do not depend on the threads.
DRAWS_PER_BLOCK = 50
# A standard deviation below this share of the largest score is rounding.
_ROUNDING_ERROR = 1e-13


@dataclass(frozen=True)
class ScoreExchanges:
    """Which scores are exchanged between two metrics in each random draw, by system and segment.

    A score is exchanged if either its row or its column is marked, but not both, or if its cell is marked.

    `rows` is [draws, systems], `columns` [draws, segments], `cells` [draws, systems, segments].
    """

    rows: BoolArray
    columns: BoolArray
    cells: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def create_without_exchanges(cls, system_count: int, segment_count: int) -> ScoreExchanges:
        """Create a single draw in which no scores are exchanged."""
        return cls(np.zeros((1, system_count), bool), np.zeros((1, segment_count), bool))

    def sum_exchanged_scores(self, metric_scores: FloatArray) -> FloatArray:
        """Sum the scores of each metric and system after each random exchange of scores between systems.

        Returns [draws, metrics, systems].
        """
        metrics, systems, segments = metric_scores.shape
        if self.cells is not None:
            by_system = []
            for i in range(systems):
                by_system.append(
                    self.cells[:, i].astype(np.float64) @ np.ascontiguousarray(metric_scores[:, i].T)
                )
            return np.stack(by_system, axis=-1)
        flat_scores = metric_scores.reshape(metrics * systems, segments)
        sums = (self.columns.astype(np.float64) @ flat_scores.T).reshape(len(self), metrics, systems)
        return np.where(self.rows[:, None, :], metric_scores.sum(axis=-1) - sums, sums)


# Function from a block of exchanges to the differences of pairs of metrics: [draws, metric pairs].
ExchangeStatistic = Callable[[ScoreExchanges], Float32Array]


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


def compute_inverse_standard_deviations(metric_scores: FloatArray) -> FloatArray:
    """Return the factor that scales each metric to standard deviation 1; 0 if its scores are all equal.

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


def compute_differences_after_exchanges(
    statistic: ExchangeStatistic,
    exchange_kind: str,
    *,
    draws: int,
    systems: int,
    segments: int,
    pairs: int,
    seed: int,
    stream: int = 0,
    workers: int | None = None,
) -> Float32Array:
    """Compute how much every two metrics differ in a statistic after each of many random exchanges of scores.

    Returns [metric pairs, draws]. The result does not depend on the number of workers.
    """
    differences = np.empty((draws, pairs), dtype=np.float32)

    def fill_differences_of_draws(first_draw_and_exchanges: tuple[int, ScoreExchanges]) -> None:
        start, exchanges = first_draw_and_exchanges
        differences[start : start + len(exchanges)] = statistic(exchanges)

    blocks = draw_random_score_exchanges_in_blocks(
        exchange_kind, draws=draws, systems=systems, segments=segments, seed=seed, stream=stream
    )
    map_blocks_in_threads(fill_differences_of_draws, blocks, workers)
    return np.ascontiguousarray(differences.T)


def draw_random_score_exchanges_in_blocks(
    exchange_kind: str, *, draws: int, systems: int, segments: int, seed: int, stream: int = 0
) -> Iterator[tuple[int, ScoreExchanges]]:
    """Yield random exchanges of scores between metrics in blocks, each with the number of its first draw."""
    if exchange_kind not in EXCHANGE_KINDS:
        raise UnknownName("kind of exchange", exchange_kind, EXCHANGE_KINDS)
    for block, start in enumerate(range(0, draws, DRAWS_PER_BLOCK)):
        rng = spawn_random_generator(seed, stream, block)
        yield (
            start,
            _draw_score_exchanges(exchange_kind, rng, min(DRAWS_PER_BLOCK, draws - start), systems, segments),
        )


def _draw_score_exchanges(
    exchange_kind: str, rng: np.random.Generator, draw_count: int, system_count: int, segment_count: int
) -> ScoreExchanges:
    """Draw at random which scores are exchanged: those of segments, of systems, of both, or single scores."""
    if exchange_kind == "cells":
        cells = rng.random((draw_count, system_count, segment_count), dtype=np.float32) < 0.5
        return ScoreExchanges(
            np.zeros((draw_count, system_count), bool), np.zeros((draw_count, segment_count), bool), cells
        )
    rows = rng.random((draw_count, system_count)) < 0.5
    columns = rng.random((draw_count, segment_count)) < 0.5
    if exchange_kind == "perm-inputs":
        rows[:] = False
    if exchange_kind == "perm-systems":
        columns[:] = False
    return ScoreExchanges(rows, columns)
