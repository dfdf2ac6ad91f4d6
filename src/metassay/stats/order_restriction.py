"""How far values are from following a given order (Robertson, Wright and Dykstra, 1988)."""

from __future__ import annotations

import numpy as np
from numba import njit

from metassay.stats.arrays import FloatArray


def nearest_in_order(rows: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each row the nearest values that never fall along it, and the distance to them.

    Nearest by weighted least squares; the distance is Σ weight · (value - nearest)². Pool-adjacent-violators.

    >>> nearest, distance = nearest_in_order(np.array([[1.0, 3.0, 2.0]]), np.ones(3))
    >>> nearest.tolist(), distance.tolist()
    ([[1.0, 2.5, 2.5]], [0.5])
    """
    rows = np.ascontiguousarray(np.atleast_2d(rows), dtype=np.float64)
    nearest = _pool_rows(rows, np.ascontiguousarray(weights, dtype=np.float64))
    return nearest, ((rows - nearest) ** 2 * weights).sum(axis=1)


@njit(cache=True, nogil=True)
def _pool_rows(rows: FloatArray, weights: FloatArray) -> FloatArray:
    nearest = np.empty_like(rows)
    count = rows.shape[1]
    level, mass, first = np.empty(count), np.empty(count), np.empty(count, dtype=np.int64)
    for row in range(len(rows)):
        blocks = 0
        for place in range(count):
            level[blocks], mass[blocks], first[blocks] = rows[row, place], weights[place], place
            blocks += 1
            while blocks > 1 and level[blocks - 2] > level[blocks - 1]:
                total = mass[blocks - 2] + mass[blocks - 1]
                pooled = mass[blocks - 2] * level[blocks - 2] + mass[blocks - 1] * level[blocks - 1]
                level[blocks - 2], mass[blocks - 2] = pooled / total, total
                blocks -= 1
        for block in range(blocks):
            end = first[block + 1] if block + 1 < blocks else count
            nearest[row, first[block] : end] = level[block]
    return nearest
