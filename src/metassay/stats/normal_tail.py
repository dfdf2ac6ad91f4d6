"""The upper tail of the normal distribution from a table, for compiled loops."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from metassay.stats.arrays import FloatArray
from metassay.stats.compilation import kernel

# The grid of z values on which the upper tail of the normal distribution is tabulated.
_STEPS_PER_UNIT = 512
_LARGEST_Z = 8.0
# 1 - Phi on a grid. Linear interpolation is off by at most 1.2e-7, a thousandth of the Monte-Carlo error.
UPPER_TAIL: FloatArray = ndtr(
    -np.linspace(-_LARGEST_Z, _LARGEST_Z, int(2 * _LARGEST_Z * _STEPS_PER_UNIT) + 1)
)


@kernel
def interpolate_normal_p_value(
    difference_sum: float, square_sum: float, upper_tail_table: FloatArray
) -> float:
    """Look up the p-value of a sum of differences in a table of the normal distribution.

    It is the probability that a standard normal variable exceeds `difference_sum` / √`square_sum`; 0.5 if
    there are no differences.
    """
    if square_sum <= 0.0:
        return 0.5
    z = min(max(difference_sum / np.sqrt(square_sum), -_LARGEST_Z + 1e-9), _LARGEST_Z - 1e-9)
    position = (z + _LARGEST_Z) * _STEPS_PER_UNIT
    step = int(position)
    return float(
        upper_tail_table[step] + (position - step) * (upper_tail_table[step + 1] - upper_tail_table[step])
    )
