"""`ScoreGrid`: arrange values of table rows as arrays of systems by items."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data import cells
from metassay.stats.arrays import FloatArray


@dataclass(frozen=True)
class ScoreGrid:
    """Maps rows of a table to positions in arrays `[systems, items]`; -1 for a row without a position."""

    systems: tuple[str, ...]
    items: tuple[str, ...]
    system_positions: NDArray[np.int64]
    item_positions: NDArray[np.int64]

    @classmethod
    def from_rows(
        cls,
        row_systems: pl.Series,
        row_items: pl.Series,
        sort_items: Callable[[Sequence[str]], list[str]] = cells.sort_ids,
    ) -> ScoreGrid:
        """Build a grid of all systems and items that occur in the rows of a table."""
        systems = row_systems.unique().sort().to_list()
        items = sort_items(row_items.unique().to_list())
        return cls.locate_rows(row_systems, row_items, systems, items)

    @classmethod
    def locate_rows(
        cls, row_systems: pl.Series, row_items: pl.Series, systems: Sequence[str], items: Sequence[str]
    ) -> ScoreGrid:
        """Find the position of each row in a grid of given systems and items."""
        return cls(
            tuple(systems),
            tuple(items),
            _find_positions(row_systems, systems),
            _find_positions(row_items, items),
        )

    def arrange_as_systems_by_items(self, row_values: FloatArray) -> FloatArray:
        """Arrange row values `[rows, ...]` as an array `[systems, items, ...]`; NaN where there is no row."""
        arranged = np.full((len(self.systems), len(self.items), *row_values.shape[1:]), np.nan)
        has_position = (self.system_positions >= 0) & (self.item_positions >= 0)
        systems = self.system_positions[has_position]
        items = self.item_positions[has_position]
        arranged[systems, items] = row_values[has_position]
        return arranged


def _find_positions(wanted_names: pl.Series, all_names: Sequence[str]) -> NDArray[np.int64]:
    """Return the position of each label in a sequence of names; -1 if it is not there."""
    positions = list(range(len(all_names)))
    return wanted_names.replace_strict(
        list(all_names), positions, default=-1, return_dtype=pl.Int64
    ).to_numpy()
