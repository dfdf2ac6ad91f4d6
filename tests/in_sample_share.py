"""The share of labels saved, computed from the squared sample correlation: an oracle for the estimates."""

from __future__ import annotations

import numpy as np

from metassay.stats.arrays import FloatArray


def compute_in_sample_share(human: FloatArray, metric: FloatArray) -> float:
    """Return the mean over series of the squared sample correlation of human and metric scores.

    A series in which the metric is constant saves nothing. A series in which the human scores are constant
    is left out, because its mean is known without labels.
    """
    shares = []
    for human_scores, metric_scores in zip(human, metric):
        scored = ~np.isnan(human_scores + metric_scores)
        human_scored = human_scores[scored]
        metric_scored = metric_scores[scored]
        if len(human_scored) < 2 or human_scored.std() == 0:
            continue
        if metric_scored.std() == 0:
            shares.append(0.0)
        else:
            shares.append(float(np.corrcoef(human_scored, metric_scored)[0, 1] ** 2))
    return float(np.mean(shares)) if shares else float("nan")
