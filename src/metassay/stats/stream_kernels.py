"""The random numbers of `streams.py` in compiled code."""

from __future__ import annotations

import numpy as np

from metassay.stats.compilation import kernel
from metassay.stats.streams import FIRST_FACTOR, SECOND_FACTOR, SPLITMIX_STEP


@kernel
def hash_integer_in_compiled_code(integer: np.uint64) -> np.uint64:
    """Turn a 64-bit integer into a random-looking one. This is `hash_integer` in compiled code."""
    integer = (integer ^ (integer >> np.uint64(30))) * FIRST_FACTOR
    integer = (integer ^ (integer >> np.uint64(27))) * SECOND_FACTOR
    return integer ^ (integer >> np.uint64(31))


@kernel
def advance_random_state(state: np.uint64) -> tuple[np.uint64, np.uint64]:
    """Return the next state of a random generator, and 32 random bits."""
    state = state + SPLITMIX_STEP
    return state, hash_integer_in_compiled_code(state) >> np.uint64(32)


@kernel
def draw_integer_below(state: np.uint64, limit: int | np.int64) -> tuple[np.uint64, np.int64]:
    """Return the next state of a random generator, and a random integer from 0 to `limit` - 1."""
    state, high = advance_random_state(state)
    return state, np.int64((high * np.uint64(limit)) >> np.uint64(32))
