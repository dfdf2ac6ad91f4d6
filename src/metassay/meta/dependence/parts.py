"""What SysDep is made of: shrinkage that any noisy metric has, and what is left when that is taken away.

A metric that knows nothing gives every system the same expected human score: it flatters the worst and wrongs
the best, by exactly as much as they differ. A noisy metric does the same in part. That part of ED falls on a
line against the human means; who lies off the line is treated differently beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metassay.meta.dependence.cells import Cells
from metassay.meta.dependence.fits import expected_deviations, spread
from metassay.stats.arrays import FloatArray


@dataclass(frozen=True)
class Split:
    """ED = shrinkage + residual, per group; `slope` is ED per point of human mean (−1: knows nothing)."""

    shrinkage: FloatArray
    residual: FloatArray
    slope: float

    @property
    def residual_range(self) -> float:
        """Maximum minus minimum residual: what remains of SysDep after shrinkage."""
        return float(spread(self.residual))


def split_deviations(deviations: FloatArray, human_means: FloatArray) -> Split:
    """Least squares of ED on the human means: the fitted values are shrinkage, the rest is residual."""
    centred = human_means - human_means.mean()
    scale = float(centred @ centred)
    slope = float(centred @ deviations) / scale if scale > 0 else 0.0
    shrinkage = deviations.mean() + slope * centred
    return Split(shrinkage, deviations - shrinkage, slope)


def constant_sysdep(cells: Cells) -> float:
    """SysDep of a metric that gives every output the same score: the range of the human means."""
    return float(spread(cells.human_means))


def leave_one_out(cells: Cells) -> FloatArray:
    """SysDep without each group in turn, refitted; NaN where fewer than two groups are left.

    A range grows with the number of systems it is taken over, and one odd system may be all of it.
    """
    if cells.groups < 3:
        return np.full(cells.groups, np.nan)
    remaining = (cells.select(cells.group != k) for k in range(cells.groups))
    return np.array([float(spread(expected_deviations(rest))) for rest in remaining])
