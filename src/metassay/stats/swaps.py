"""Random exchanges of two metrics' scores, for testing whether one of them agrees better with people.

Under the null hypothesis two standardised metrics are exchangeable, so their scores may be swapped at random
(Deutsch, Dror and Roth 2021): whole segments (`perm-inputs`), whole systems (`perm-systems`), systems and
then segments (`perm-both`), or single cells (`cells`). All pairs of metrics share the swaps, so sums over
the swapped cells are computed once per metric, not once per pair of metrics.

Correlations after swaps need the sums of x, x^2 and x h over the cells alone. Each is linear in the swapped
cells, so a draw needs those sums of each metric and nothing of each pair. For Spearman every metric is
replaced by its ranks, over all cells or within each system, before anything is swapped.

Tie-calibrated accuracy is calibrated anew in every draw. For a grid of epsilons, the number of right pairs of
a metric is a sum over segments. It is therefore linear in the swapped segments: one product per metric gives
it for every draw and every epsilon of the grid, and the best epsilon of a mixture is a maximum over the grid.
Nothing is sorted again, and the test is exact: observed and swapped metrics are treated alike. (With an
epsilon fixed beforehand it is not: calibration makes two metrics more alike than their items are, and a size
of 5 % becomes 1 to 3 % where ties are many.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metassay.errors import UnknownName
from metassay.stats.arrays import BoolArray, Float32Array, FloatArray, average_ranks
from metassay.stats.compilation import kernel
from metassay.stats.parallel import map_blocks
from metassay.stats.random import make_branch_generator

SWAP_KINDS = ("perm-inputs", "perm-systems", "perm-both", "cells")

BLOCK = 50
"""Draws made at once. Each block has a random stream of its own: threads share blocks out in any way."""


@dataclass(frozen=True)
class Swaps:
    """Which cells each draw exchanges: those where `rows XOR columns`, or those in `cells` if given."""

    rows: BoolArray
    columns: BoolArray
    cells: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def swapped_sums(self, scores: FloatArray) -> FloatArray:
        """Sum over the swapped cells of every metric and system, `[draws, metrics, systems]`."""
        metrics, systems, segments = scores.shape
        if self.cells is not None:
            by_system = [
                self.cells[:, i].astype(np.float64) @ np.ascontiguousarray(scores[:, i].T)
                for i in range(systems)
            ]
            return np.stack(by_system, axis=-1)
        flat = scores.reshape(metrics * systems, segments)
        sums = (self.columns.astype(np.float64) @ flat.T).reshape(len(self), metrics, systems)
        return np.where(self.rows[:, None, :], scores.sum(axis=-1) - sums, sums)

    def mask(self, draw: int) -> BoolArray:
        """The swapped cells of one draw, `[systems, segments]`."""
        mask: BoolArray = self.rows[draw][:, None] ^ self.columns[draw][None, :]
        return mask if self.cells is None else np.asarray(self.cells[draw], dtype=np.bool_)


def standardize_metrics(metrics: FloatArray) -> FloatArray:
    """Metrics [metrics, systems, segments] with mean 0 and deviation 1 over all cells; 0 if constant.

    Two of them can be exchanged then.
    """
    centred = metrics - metrics.mean(axis=(1, 2), keepdims=True)
    deviation = centred.std(axis=(1, 2), keepdims=True)
    largest = np.abs(metrics).max(axis=(1, 2), keepdims=True, initial=0.0)
    varies = deviation > 1e-13 * largest
    scaled: FloatArray = np.where(varies, centred / np.where(varies, deviation, 1.0), 0.0)
    return scaled


SwapStatistic = Callable[[Swaps], Float32Array]
"""From a block of swaps to differences `[draws, pairs of metrics]`."""


def draw_swapped_differences(
    draw: SwapStatistic,
    scheme: str,
    *,
    draws: int,
    systems: int,
    segments: int,
    pairs: int,
    seed: int,
    stream: int = 0,
    workers: int | None = None,
) -> Float32Array:
    """Differences `[pairs, draws]` after random swaps; blocks are shared out over threads, BLAS stays on one.

    Hence bytes never depend on the number of threads.
    """
    drawn = np.empty((draws, pairs), dtype=np.float32)
    blocks = draw_swap_blocks(
        scheme, draws=draws, systems=systems, segments=segments, seed=seed, stream=stream
    )

    def work(block: tuple[int, Swaps]) -> None:
        start, swaps = block
        drawn[start : start + len(swaps)] = draw(swaps)

    map_blocks(work, blocks, workers)
    return np.ascontiguousarray(drawn.T)


def draw_swap_blocks(
    how: str, *, draws: int, systems: int, segments: int, seed: int, stream: int = 0
) -> Iterator[tuple[int, Swaps]]:
    """All draws in blocks, each with the index of its first draw; streams are independent of each other."""
    if how not in SWAP_KINDS:
        raise UnknownName("kind of swap", how, SWAP_KINDS)
    for block, start in enumerate(range(0, draws, BLOCK)):
        rng = make_branch_generator(seed, stream, block)
        yield start, _draw(how, rng, min(BLOCK, draws - start), systems, segments)


def _draw(how: str, rng: np.random.Generator, draws: int, systems: int, segments: int) -> Swaps:
    if how == "cells":
        cells = rng.random((draws, systems, segments), dtype=np.float32) < 0.5
        return Swaps(np.zeros((draws, systems), bool), np.zeros((draws, segments), bool), cells)
    rows = rng.random((draws, systems)) < 0.5
    columns = rng.random((draws, segments)) < 0.5
    if how == "perm-inputs":
        rows[:] = False
    if how == "perm-systems":
        columns[:] = False
    return Swaps(rows, columns)


def make_correlation_swapper(
    human: FloatArray,
    scores: FloatArray,
    per_unit: Callable[[FloatArray], FloatArray],
    *,
    by_rank: bool,
    per_system: bool = False,
) -> Callable[[Swaps], NDArray[np.float32]]:
    """A function from a block of swaps to r(A') - r(B') for all pairs of metrics, `[draws, pairs]`.

    `human` is `[systems, segments]`, `scores` `[metrics, systems, segments]`; `per_unit` sums segments into
    the units that are swapped. With `per_system`, r is the mean of the systems' own correlations.
    """
    groups = -1 if per_system else (-2, -1)
    if by_rank:
        human, scores = _ranked(human[None], groups)[0], _ranked(scores, groups)
    people = human - human.mean(axis=groups, keepdims=True)
    moments = [per_unit(part) for part in (scores, scores * scores, scores * people)]
    spread = (people * people).sum(axis=groups)
    cells = human.size // spread.size
    first, second = np.triu_indices(len(scores), 1)

    def grouped(sums: FloatArray) -> FloatArray:
        """From `[..., systems]` to `[..., groups]`."""
        return sums if per_system else sums.sum(axis=-1, keepdims=True)

    totals = [grouped(part.sum(axis=-1)) for part in moments]

    def differences(swaps: Swaps) -> NDArray[np.float32]:
        swapped = [grouped(swaps.swapped_sums(part)) for part in moments]
        moved = [part[:, second] - part[:, first] for part in swapped]
        ours = _correlation([total[first] + change for total, change in zip(totals, moved)], cells, spread)
        theirs = _correlation([total[second] - change for total, change in zip(totals, moved)], cells, spread)
        apart: NDArray[np.float32] = (ours - theirs).astype(np.float32)
        return apart

    return differences


def _correlation(moments: list[FloatArray], cells: int, spread: FloatArray) -> FloatArray:
    """The mean over groups, the last axis, of the correlations that are defined; NaN where none is."""
    x, xx, xh = moments
    variance = xx - x * x / cells
    defined = (variance > 1e-12 * xx) & (spread > 0)
    below = np.sqrt(np.where(defined, variance * spread, 1.0))
    r = np.where(defined, xh / below, 0.0)
    count = defined.sum(axis=-1)
    mean: FloatArray = np.divide(r.sum(axis=-1), count, out=np.full(count.shape, np.nan), where=count > 0)
    return mean


def _ranked(scores: FloatArray, groups: int | tuple[int, int]) -> FloatArray:
    """Ranks of each metric within each group, standardised so that two metrics can be exchanged."""
    if groups == -1:
        ranks = average_ranks(scores)
    else:
        ranks = average_ranks(scores.reshape(len(scores), -1)).reshape(scores.shape)
    ranks = ranks - ranks.mean(axis=groups, keepdims=True)
    deviation = ranks.std(axis=groups, keepdims=True)
    scaled: FloatArray = np.divide(ranks, deviation, out=np.zeros_like(ranks), where=deviation > 0)
    return scaled


STEPS = 256
"""Epsilons tried: 0 and quantiles of the differences of all metrics."""


def count_right_pairs(human: FloatArray, scores: FloatArray) -> Float32Array:
    """Right pairs of systems per metric, segment and epsilon, `[metrics, segments, epsilons]`.

    `human` is `[systems, segments]`, `scores` `[metrics, systems, segments]` on one scale.
    """
    first, second = np.triu_indices(len(human), 1)
    people = np.sign(human[first] - human[second])
    grid = _grid(scores, first, second)
    segments = np.broadcast_to(np.arange(human.shape[1]), people.shape)
    counts = np.zeros((len(scores), human.shape[1], len(grid)), dtype=np.float32)
    for m, metric in enumerate(scores):
        difference = metric[first] - metric[second]
        right = (np.sign(difference) == people) & (people != 0)
        step = np.searchsorted(grid, np.abs(difference))  # tied from this epsilon on
        inside = step < len(grid)
        gain = (people == 0).astype(np.float32) - right
        np.add.at(counts[m], (segments[inside], step[inside]), gain[inside])
        np.cumsum(counts[m], axis=1, out=counts[m])
        counts[m] += right.sum(axis=0, dtype=np.float32)[:, None]
    return counts


def compare_calibrated_accuracies(right: Float32Array, pairs: float) -> FloatArray:
    """Best share of right pairs of A less that of B, for all metrics A < B, out of `pairs` system pairs."""
    best = right.sum(axis=1, dtype=np.float64).max(axis=1)
    first, second = np.triu_indices(len(right), 1)
    difference: FloatArray = (best[first] - best[second]) / pairs
    return difference


def swap_calibrated_accuracies(right: Float32Array, pairs: float, swaps: Swaps) -> Float32Array:
    """The same after swaps of whole segments, `[draws, pairs of metrics]`."""
    mask = swaps.columns.astype(np.float32)
    swapped = np.stack([mask @ metric for metric in right], axis=1)
    metrics = len(right)
    out = np.empty((len(swaps), metrics * (metrics - 1) // 2), dtype=np.float32)
    _swapped_ties(right.sum(axis=1), swapped, np.float32(1.0 / pairs), out)
    return out


def _grid(scores: FloatArray, first: NDArray[np.int64], second: NDArray[np.int64]) -> FloatArray:
    """0 and equally frequent differences, from at most a few thousand of each metric."""
    sizes = [np.abs(metric[first] - metric[second]).ravel() for metric in scores]
    some = np.concatenate([np.sort(size)[:: max(1, len(size) // 4096)] for size in sizes])
    grid: FloatArray = np.unique(np.append(0.0, np.quantile(some, np.linspace(0, 1, STEPS))))
    return grid


@kernel
def _swapped_ties(total: Float32Array, swapped: Float32Array, share: np.float32, out: Float32Array) -> None:
    draws, metrics, steps = swapped.shape
    for t in range(draws):
        column = 0
        for a in range(metrics):
            for b in range(a + 1, metrics):
                best_a = np.float32(0.0)
                best_b = np.float32(0.0)
                for g in range(steps):
                    moved = swapped[t, b, g] - swapped[t, a, g]
                    best_a = max(best_a, total[a, g] + moved)
                    best_b = max(best_b, total[b, g] - moved)
                out[t, column] = (best_a - best_b) * share
                column += 1
