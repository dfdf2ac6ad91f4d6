"""Many millions of values, a block at a time: the same as all of them at once."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.stats import arrays
from metassay.stats.arrays import counted_together, lowest, places_of


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_BLOCK", 7)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("reverse", [False, True])
def test_the_lowest_are_the_first_of_all_sorted(seed: int, *, reverse: bool) -> None:
    """With many ties and gaps; equal ones as they come, gaps last."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 6, rng.integers(0, 60)).astype(np.float32)
    values[rng.random(len(values)) < 0.3] = np.nan
    by = [(np.isnan(v), 0 if np.isnan(v) else -v if reverse else v, n) for n, v in enumerate(values)]
    expected = [n for *_, n in sorted(by)]
    for most in (1, 5, 30, 100):
        assert lowest(values, most, reverse=reverse).tolist() == expected[:most]


def test_places_and_counts_are_those_of_a_loop() -> None:
    rng = np.random.default_rng(0)
    first, second = (rng.integers(0, 4, 50).astype(np.int8) for _ in range(2))
    mask, there = rng.random(50) < 0.5, rng.integers(-1, 50, 50)
    assert places_of(mask).tolist() == [n for n in range(50) if mask[n]]
    assert places_of(mask[:0]).tolist() == []
    for own, away in ((None, None), (mask, None), (None, there), (mask, there)):
        found = np.zeros((4, 4), dtype=int)
        for n in range(50):
            place = n if away is None else away[n]
            if (own is None or own[n]) and place >= 0:
                found[first[n], second[place]] += 1
        assert counted_together(first, second, own, away).tolist() == found.tolist()
