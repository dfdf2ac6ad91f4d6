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
    """The position of each row of a table in an array with a row per system and a column per item. A position
    of −1 means that the table row is left out.
    """

    systems: tuple[str, ...]
    items: tuple[str, ...]
    system_positions: NDArray[np.int64]
    item_positions: NDArray[np.int64]

    @classmethod
    def from_rows(
        cls,
        system_of_row: pl.Series,
        item_of_row: pl.Series,
        sort_items: Callable[[Sequence[str]], list[str]] = cells.sort_ids,
    ) -> ScoreGrid:
        """Find the position of each table row in an array of all systems and items that occur in the
        table.
        """
        systems = system_of_row.unique().sort().to_list()
        items = sort_items(item_of_row.unique().to_list())
        return cls.find_row_positions(system_of_row, item_of_row, systems, items)

    @classmethod
    def find_row_positions(
        cls, system_of_row: pl.Series, item_of_row: pl.Series, systems: Sequence[str], items: Sequence[str]
    ) -> ScoreGrid:
        """Find the position of each table row in an array of the given systems and items."""
        return cls(
            tuple(systems),
            tuple(items),
            _find_positions_of_names(system_of_row, systems),
            _find_positions_of_names(item_of_row, items),
        )

    def arrange_as_system_by_item_matrix(self, row_values: FloatArray) -> FloatArray:
        """Arrange one value per table row as an array with a row per system and a column per item, with NaN
        where there is no value.
        """
        arranged = np.full((len(self.systems), len(self.items), *row_values.shape[1:]), np.nan)
        has_position = (self.system_positions >= 0) & (self.item_positions >= 0)
        systems = self.system_positions[has_position]
        items = self.item_positions[has_position]
        arranged[systems, items] = row_values[has_position]
        return arranged


def _find_positions_of_names(wanted_names: pl.Series, all_names: Sequence[str]) -> NDArray[np.int64]:
    """Find the position of each name of a column in a list of names. Names that are not in the list get
    −1.
    """
    positions = list(range(len(all_names)))
    return wanted_names.replace_strict(
        list(all_names), positions, default=-1, return_dtype=pl.Int64
    ).to_numpy()
