"""Random exchanges of two metrics' scores, for testing whether one of them agrees better with people.

Under the null hypothesis two standardised metrics are exchangeable, so their scores may be swapped at random
(Deutsch, Dror and Roth 2021): whole segments (`perm-inputs`), whole systems (`perm-systems`), systems and
then segments (`perm-both`), or single cells (`cells`). All pairs of metrics share the swaps, so sums over
the swapped cells are computed once per metric, not once per pair of metrics.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metassay.errors import UnknownName
from metassay.stats.arrays import BoolArray, FloatArray
from metassay.stats.random import branch

SWAPS = ("perm-inputs", "perm-systems", "perm-both", "cells")

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


def blocks_of_swaps(
    how: str, *, draws: int, systems: int, segments: int, seed: int, stream: int = 0
) -> Iterator[tuple[int, Swaps]]:
    """All draws in blocks, each with the index of its first draw; streams are independent of each other."""
    if how not in SWAPS:
        raise UnknownName("kind of swap", how, SWAPS)
    for block, start in enumerate(range(0, draws, BLOCK)):
        rng = branch(seed, stream, block)
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
