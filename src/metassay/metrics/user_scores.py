"""Check the scores that code of users returns."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from metassay.metrics.base import Scores


def convert_to_score_array(scores: Any, output_count: int) -> Scores | None:
    """Convert the result of a user's function to an array of scores. None if it is not a list of
    `output_count` numbers.
    """
    if not isinstance(scores, Iterable):
        return None
    try:
        array = np.asarray([np.nan if score is None else score for score in scores], dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return array if array.shape == (output_count,) else None
