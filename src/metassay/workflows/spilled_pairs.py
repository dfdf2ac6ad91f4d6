"""Pairs of a large data set that were written to temporary files, to save memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from metassay.data.memory import memory_map_table
from metassay.meta.contexts.perturbation_validity import EditDistances
from metassay.workflows.wrong_pairs import LargestErrors


@dataclass(frozen=True)
class SpilledPairs:
    """The pairs of a large data set, which were written to temporary files to save memory, and statistics
    that were computed from them before.

    `human_differences` are differences of human scores by perturbation. `files` has the tables of the shards
    by name; they last until the run is finished. `pair_tables` (all pairs) and `edit_tables` (sampled pairs)
    are mapped into memory and can be read as long as they are held.
    """

    largest_errors: LargestErrors
    human_differences: Mapping[str, list[float]]
    files: Mapping[str, list[Path]]
    pair_tables: Sequence[pl.DataFrame]
    edit_tables: Sequence[pl.DataFrame]

    def read_edit_distances(self) -> EditDistances:
        """Return for each sampled pair how many edits turn one output into the other."""
        characters = np.concatenate([table["characters"] for table in self.edit_tables])
        return EditDistances(characters, np.concatenate([table["share"] for table in self.edit_tables]))

    def memory_map_tables(self) -> dict[str, list[pl.DataFrame]]:
        """Memory-map the temporary files. Returns the tables by name."""
        return {name: [memory_map_table(file) for file in files] for name, files in self.files.items()}
