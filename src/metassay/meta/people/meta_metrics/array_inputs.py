"""Check the arrays that users of the Python functions pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from metassay.errors import InputError
from metassay.stats.arrays import FloatArray


def drop_incomplete_items(human: ArrayLike, metric: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return human and metric scores as float64 `[systems, items]`, without items that lack any score.

    Raises `InputError` for unequal shapes, fewer than two systems, infinite scores, or if no item is left.
    """
    human = np.asarray(human, dtype=np.float64)
    metric = np.asarray(metric, dtype=np.float64)
    if human.shape != metric.shape:
        raise InputError(
            f"human scores have shape {human.shape}, metric scores {metric.shape}: they must agree."
        )
    if human.ndim != 2 or human.shape[0] < 2:
        raise InputError(
            f"scores of at least two systems are needed, [systems, segments]; got {human.shape}."
        )
    if np.isinf(human).any() or np.isinf(metric).any():
        raise InputError("a score is infinite.", remedy="Leave a score that does not exist as NaN.")
    is_complete = ~(np.isnan(human) | np.isnan(metric)).any(axis=0)
    if not is_complete.any():
        raise InputError("no segment has a human and a metric score of every system.")
    return human[:, is_complete], metric[:, is_complete]
