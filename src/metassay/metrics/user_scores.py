"""Check the scores that code of users returns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from metassay.metrics.base import Scores


def convert_to_score_array(scores: Any, size: int) -> Scores | None:
    """Convert scores that user code returned to an array; None if they are not `size` numbers."""
    if not isinstance(scores, Iterable):
        return None
    try:
        array = np.asarray([np.nan if score is None else score for score in scores], dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return array if array.shape == (size,) else None
