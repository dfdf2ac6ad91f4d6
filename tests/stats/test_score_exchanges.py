"""Score exchanges: which cells each kind exchanges."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.stats.score_exchanges import ScoreExchanges, draw_random_score_exchanges_in_blocks


def find_swapped_cells(swaps: ScoreExchanges) -> np.ndarray:
    """Return the mask `[draws, systems, segments]` of the swapped cells."""
    return swaps.rows[:, :, None] ^ swaps.columns[:, None, :] if swaps.cells is None else swaps.cells


@pytest.mark.parametrize(
    ("how", "whole_systems", "whole_segments"),
    [
        ("perm-inputs", False, True),
        ("perm-systems", True, False),
        ("perm-both", False, False),
        ("cells", False, False),
    ],
)
def test_each_kind_exchanges_its_own_units(how, whole_systems, whole_segments) -> None:
    """Whole segments, whole systems, both, or single cells: about half of all cells in any case."""
    masks = []
    for _, swaps in draw_random_score_exchanges_in_blocks(how, draws=60, systems=6, segments=8, seed=0):
        masks += list(find_swapped_cells(swaps))
    assert all((mask == mask[:, :1]).all() for mask in masks) == whole_systems
    assert all((mask == mask[:1]).all() for mask in masks) == whole_segments
    both = all(((mask ^ mask[:1]) == (mask ^ mask[:1])[:, :1]).all() for mask in masks)
    assert both == (how != "cells")  # rows exclusive-or columns
    assert np.mean(masks) == pytest.approx(0.5, abs=0.1)
