"""Notes on what a reader of comparisons with human scores should check first."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from metassay.data.clusters import CLUSTER_COLUMNS
from metassay.data.directions import note_possible_penalties
from metassay.data.score_cube import ScoreCube


def note_score_cautions(cubes: Iterable[ScoreCube], human: str, *, has_clusters: bool) -> list[str]:
    """Return notes on human scores that seem to count errors, and on clusters that the user did not name."""
    notes: list[str] = []
    for cube in cubes:
        if human not in cube.human_scores:
            continue
        if human not in cube.lower_is_better:
            notes += note_possible_penalties(human, cube.human_scores[human])
        if not has_clusters:
            notes += _note_unused_clusters(cube)
    return list(dict.fromkeys(notes))


def _note_unused_clusters(cube: ScoreCube) -> list[str]:
    """Return a note on the first column that groups several items, as documents do."""
    columns = {name.lower(): name for name in reversed(list(cube.item_metadata))}
    for name in CLUSTER_COLUMNS:
        if name not in columns:
            continue
        column = columns[name]
        clusters = len(np.unique(cube.cluster_codes(column)))
        if 1 < clusters < len(cube.items):
            note = (
                f"Segments are taken as independent of each other, though several lie in one {column}. Where "
                f"those go together, intervals and tests need it as their unit: --cluster {column}."
            )
            return [note]
    return []
