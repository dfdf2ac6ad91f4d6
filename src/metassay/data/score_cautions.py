"""Notes on what a reader of comparisons with human scores should check first."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy import stats

from metassay.data.clusters import CLUSTER_COLUMNS
from metassay.data.columns import find_columns_named
from metassay.data.directions import warn_of_scores_that_may_count_errors
from metassay.data.score_cube import ScoreCube
from metassay.stats.arrays import FloatArray

# How often a metric that knows nothing is said to be worse than a constant.
CONTRARY_LEVEL = 0.001
# With fewer items a metric may disagree with people by chance.
_MINIMUM_ITEMS = 10


def warn_of_doubtful_scores(
    score_cubes: Iterable[ScoreCube], human_score: str, *, has_clusters: bool
) -> list[str]:
    """Return notes on scores that may be lower-is-better, and on a column that could be used as cluster."""
    notes: list[str] = []
    for cube in score_cubes:
        if human_score not in cube.human_scores:
            continue
        if human_score not in cube.lower_is_better:
            notes += warn_of_scores_that_may_count_errors(human_score, cube.human_scores[human_score])
        notes += warn_of_metrics_contrary_to_human(cube, human_score)
        if not has_clusters:
            notes += _suggest_cluster_column(cube)
    return list(dict.fromkeys(notes))


def warn_of_metrics_contrary_to_human(score_cube: ScoreCube, human_score: str) -> list[str]:
    """Return a note on metrics that order outputs against human scores, more than by chance."""
    human_scores = score_cube.get_oriented_scores(human_score)
    contrary = []
    for name in score_cube.metric_scores:
        if is_contrary_to_human(human_scores, score_cube.get_oriented_scores(name)):
            contrary.append(name)
    if not contrary:
        return []
    note = (
        f"Worse than a constant metric for {human_score}, because they prefer outputs that people rate "
        f"lower: {', '.join(contrary)}. If the direction of a score is wrong, set it with --lower-is-better."
    )
    return [note]


def is_contrary_to_human(human_scores: FloatArray, metric_scores: FloatArray) -> bool:
    """Return whether a metric orders the outputs of an item against human scores, more than by chance.

    Both arrays are `[systems, items]`, higher is better. A constant metric has covariance 0 with human
    scores within every item. The metric is contrary if the mean covariance over items is negative with
    p below `CONTRARY_LEVEL`, one-sided t-test.
    """
    is_present = ~np.isnan(human_scores + metric_scores)
    counts = is_present.sum(axis=0)
    is_comparable = counts >= 2
    if is_comparable.sum() < _MINIMUM_ITEMS:
        return False
    present_human = np.where(is_present, human_scores, 0.0)[:, is_comparable]
    present_metric = np.where(is_present, metric_scores, 0.0)[:, is_comparable]
    counts = counts[is_comparable]
    products = (present_human * present_metric).sum(axis=0) / counts
    covariances = products - present_human.sum(axis=0) * present_metric.sum(axis=0) / counts**2
    spread = covariances.std(ddof=1)
    if spread == 0:
        return bool(covariances[0] < 0)
    t = covariances.mean() / (spread / np.sqrt(len(covariances)))
    return bool(stats.t.cdf(t, len(covariances) - 1) < CONTRARY_LEVEL)


def _suggest_cluster_column(score_cube: ScoreCube) -> list[str]:
    """Return a note on the first column that groups items, such as a document id."""
    for column in find_columns_named(score_cube.item_metadata, CLUSTER_COLUMNS):
        clusters = len(np.unique(score_cube.number_clusters(column)))
        if 1 < clusters < len(score_cube.items):
            note = (
                f"Segments are taken as independent of each other, though several lie in one {column}. Where "
                f"those go together, intervals and tests need it as their unit: --cluster {column}."
            )
            return [note]
    return []
