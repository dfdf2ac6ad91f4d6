"""A panel of metrics in place of human scores: each metric is compared with the mean of all others."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from metassay.stats.arrays import FloatArray


def standardize_scores(scores: FloatArray) -> FloatArray:
    """Scale the scores of a metric to mean 0 and standard deviation 1. A constant metric gets 0."""
    is_scored = ~np.isnan(scores)
    sd = np.nanstd(scores) if is_scored.any() else 0.0
    if sd == 0:
        return np.asarray(scores - scores)  # 0, and NaN where a score is missing
    return np.asarray((scores - np.nanmean(scores)) / sd)


def average_scores_of_other_metrics(standardized_scores: Mapping[str, FloatArray], metric: str) -> FloatArray:
    """Average the scores of each output over all metrics except the given one.

    An output that no other metric scored gets NaN.
    """
    others = np.stack([scores for name, scores in standardized_scores.items() if name != metric])
    counts = (~np.isnan(others)).sum(axis=0)
    sums = np.nansum(others, axis=0)
    return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))
