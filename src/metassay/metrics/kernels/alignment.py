"""The cheapest alignment of two token sequences under sclite's costs, with its choice among equals."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Codes = NDArray[np.int64]
Steps = NDArray[np.uint8]
HIT, SUBSTITUTION, DELETION, INSERTION = range(4)
_SUBSTITUTED, _DROPPED, _INSERTED = 4, 3, 3  # costs of sclite; a hit is free


@njit(cache=True, nogil=True)
def align(reference: Codes, output: Codes) -> Steps:
    """The steps from start to end; among equal costs, from the end: diagonal, insertion, deletion."""
    rows, columns = len(reference), len(output)
    cost = np.empty((rows + 1, columns + 1), np.int32)
    for i in range(rows + 1):
        cost[i, 0] = _DROPPED * i
    for j in range(columns + 1):
        cost[0, j] = _INSERTED * j
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            diagonal = cost[i - 1, j - 1] + (0 if reference[i - 1] == output[j - 1] else _SUBSTITUTED)
            cost[i, j] = min(diagonal, cost[i, j - 1] + _INSERTED, cost[i - 1, j] + _DROPPED)
    steps = np.empty(rows + columns, np.uint8)
    i, j, count = rows, columns, 0
    while i > 0 or j > 0:
        same = i > 0 and j > 0 and reference[i - 1] == output[j - 1]
        if i > 0 and j > 0 and cost[i, j] == cost[i - 1, j - 1] + (0 if same else _SUBSTITUTED):
            steps[count] = HIT if same else SUBSTITUTION
            i -= 1
            j -= 1
        elif j > 0 and cost[i, j] == cost[i, j - 1] + _INSERTED:
            steps[count] = INSERTION
            j -= 1
        else:
            steps[count] = DELETION
            i -= 1
        count += 1
    return steps[:count][::-1].copy()
