"""The scores of rows, and checks that a metric returned valid ones."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.errors import InputError, MetricFailure
from metassay.metrics.base import Metric, Scores
from metassay.plugins import find_source_location, hash_user_code


@dataclass(frozen=True)
class RowScores:
    """The scores of every row by each metric, and the seconds that each metric took."""

    scores: dict[str, Scores]
    seconds: dict[str, float] = field(default_factory=dict)
    batch_count: int = 0


def check_metric_scores(metric: Metric, scores: NDArray[np.float64], rows: pl.DataFrame) -> Scores:
    """Raise an error unless a metric returned one score per row, none of them infinite. Returns the scores as
    floats.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != (rows.height,):
        raise _make_invalid_score_error(
            metric, f"{metric} returned {scores.shape} scores for {rows.height} outputs."
        )
    infinite = np.isinf(scores)
    if infinite.any():
        item = rows["item"][int(infinite.argmax())] if "item" in rows.columns else "?"
        raise _make_invalid_score_error(metric, f"{metric} is infinite on item {item}.")
    return scores


def _make_invalid_score_error(metric: Metric, message: str) -> MetricFailure:
    """Create the error for invalid scores. For a metric that the user wrote, it names the user's file and
    counts as wrong usage.
    """
    if not hash_user_code(metric):
        return MetricFailure(message)
    error = MetricFailure(f"{find_source_location(type(metric))}: {message}")
    error.exit_code = InputError.exit_code
    return error
