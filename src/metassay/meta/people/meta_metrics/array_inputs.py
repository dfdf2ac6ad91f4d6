"""Check the arrays that users of the Python functions pass."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from metassay.errors import InputError
from metassay.stats.arrays import FloatArray


def drop_incomplete_items(human_scores: ArrayLike, metric_scores: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Convert human and metric scores to arrays of floats, and leave out items with a missing score.

    Raises `InputError` for unequal shapes, fewer than two systems, infinite scores, or if no item is left.
    """
    human_scores = np.asarray(human_scores, dtype=np.float64)
    metric_scores = np.asarray(metric_scores, dtype=np.float64)
    if human_scores.shape != metric_scores.shape:
        raise InputError(
            f"human scores have shape {human_scores.shape}, "
            f"metric scores {metric_scores.shape}: they must agree."
        )
    if human_scores.ndim != 2 or human_scores.shape[0] < 2:
        raise InputError(
            f"scores of at least two systems are needed, [systems, segments]; got {human_scores.shape}."
        )
    if np.isinf(human_scores).any() or np.isinf(metric_scores).any():
        raise InputError("a score is infinite.", remedy="Leave a score that does not exist as NaN.")
    is_complete = ~(np.isnan(human_scores) | np.isnan(metric_scores)).any(axis=0)
    if not is_complete.any():
        raise InputError("no item has a human score and a metric score for every system.")
    return human_scores[:, is_complete], metric_scores[:, is_complete]
