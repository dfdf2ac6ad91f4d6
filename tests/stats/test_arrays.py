"""Many millions of values, a block at a time: the same as all of them at once."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.stats import arrays
from metassay.stats.arrays import (
    count_joint_occurrences,
    find_positions_of_lowest,
    find_true_positions,
    pack_codes_into_two_bits,
    unpack_codes_from_two_bits,
)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_BLOCK", 7)


@pytest.mark.parametrize("seed", range(20))
def test_the_lowest_are_the_first_of_all_sorted(seed: int) -> None:
    """With many ties and gaps; equal ones as they come, gaps last."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 6, rng.integers(0, 60)).astype(np.float32)
    values[rng.random(len(values)) < 0.3] = np.nan
    by = [(np.isnan(v), 0 if np.isnan(v) else v, n) for n, v in enumerate(values)]
    expected = [n for *_, n in sorted(by)]
    for most in (1, 5, 30, 100):
        assert find_positions_of_lowest(values, most).tolist() == expected[:most]


def test_places_and_counts_are_those_of_a_loop() -> None:
    rng = np.random.default_rng(0)
    first, second = (rng.integers(0, 4, 50).astype(np.int8) for _ in range(2))
    mask, there = rng.random(50) < 0.5, rng.integers(-1, 50, 50)
    assert find_true_positions(mask).tolist() == [n for n in range(50) if mask[n]]
    assert find_true_positions(mask[:0]).tolist() == []
    for own, away in ((None, None), (mask, None), (None, there), (mask, there)):
        found = np.zeros((4, 4), dtype=int)
        for n in range(50):
            place = n if away is None else away[n]
            if (own is None or own[n]) and place >= 0:
                found[first[n], second[place]] += 1
        assert count_joint_occurrences(first, second, own, away).tolist() == found.tolist()


@pytest.mark.parametrize("count", range(10))
def test_codes_come_out_as_they_went_in(count: int) -> None:
    codes = np.random.default_rng(count).integers(0, 4, count).astype(np.int8)
    assert len(pack_codes_into_two_bits(codes)) == -(-count // 4)
    assert unpack_codes_from_two_bits(pack_codes_into_two_bits(codes), count).tolist() == codes.tolist()


@pytest.mark.parametrize("shape", [(1,), (7,), (5, 9), (3, 40, 15), (4, 1)])
@pytest.mark.parametrize("values", [3, 10**6])
def test_average_ranks_are_those_of_scipy(shape, values) -> None:
    from scipy.stats import rankdata

    drawn = np.random.default_rng(values).integers(0, values, shape)
    np.testing.assert_array_equal(arrays.average_ranks(drawn), rankdata(drawn, axis=-1))
    missing = np.where(drawn == drawn.flat[0], np.nan, drawn)
    np.testing.assert_array_equal(arrays.average_ranks(missing), rankdata(missing, axis=-1))
