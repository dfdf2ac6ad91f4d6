"""Notes on what a reader of comparisons with human scores should check first."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from scipy import stats

from metassay.data.clusters import CLUSTER_COLUMNS
from metassay.data.directions import note_possible_penalties
from metassay.data.score_cube import ScoreCube
from metassay.stats.arrays import FloatArray

CONTRARY_LEVEL = 0.001
"""How often a metric that knows nothing is said to be worse than a constant."""
_MINIMUM_ITEMS = 10


def note_score_cautions(cubes: Iterable[ScoreCube], human: str, *, has_clusters: bool) -> list[str]:
    """Return notes on scores whose direction may be wrong, and on clusters that the user did not name."""
    notes: list[str] = []
    for cube in cubes:
        if human not in cube.human_scores:
            continue
        if human not in cube.lower_is_better:
            notes += note_possible_penalties(human, cube.human_scores[human])
        notes += note_contrary_metrics(cube, human)
        if not has_clusters:
            notes += _note_unused_clusters(cube)
    return list(dict.fromkeys(notes))


def note_contrary_metrics(cube: ScoreCube, human: str) -> list[str]:
    """Return a note that names the metrics that disagree with human scores more than by chance."""
    human_scores = cube.get_oriented_scores(human)
    contrary = [
        name
        for name in cube.metric_scores
        if is_contrary_to_human(human_scores, cube.get_oriented_scores(name))
    ]
    if not contrary:
        return []
    note = (
        f"Worse than a constant metric for {human}, because they prefer outputs that people rate lower: "
        f"{', '.join(contrary)}. If the direction of a score is wrong, set it with --lower-is-better."
    )
    return [note]


def is_contrary_to_human(human: FloatArray, metric: FloatArray) -> bool:
    """Whether a metric orders the outputs of an item against human scores, more than by chance.

    Both arrays are `[systems, items]`, higher is better. A constant metric has covariance 0 with human
    scores within every item. The metric is contrary if the mean covariance over items is negative with
    p below `CONTRARY_LEVEL`, one-sided t-test.
    """
    is_present = ~np.isnan(human + metric)
    counts = is_present.sum(axis=0)
    is_comparable = counts >= 2
    if is_comparable.sum() < _MINIMUM_ITEMS:
        return False
    present_human = np.where(is_present, human, 0.0)[:, is_comparable]
    present_metric = np.where(is_present, metric, 0.0)[:, is_comparable]
    counts = counts[is_comparable]
    products = (present_human * present_metric).sum(axis=0) / counts
    covariances = products - present_human.sum(axis=0) * present_metric.sum(axis=0) / counts**2
    spread = covariances.std(ddof=1)
    if spread == 0:
        return bool(covariances[0] < 0)
    t = covariances.mean() / (spread / np.sqrt(len(covariances)))
    return bool(stats.t.cdf(t, len(covariances) - 1) < CONTRARY_LEVEL)


def _note_unused_clusters(cube: ScoreCube) -> list[str]:
    """Return a note on the first column, such as a document id, that several items share."""
    columns = {name.lower(): name for name in reversed(list(cube.item_metadata))}
    for name in CLUSTER_COLUMNS:
        if name not in columns:
            continue
        column = columns[name]
        clusters = len(np.unique(cube.number_clusters(column)))
        if 1 < clusters < len(cube.items):
            note = (
                f"Segments are taken as independent of each other, though several lie in one {column}. Where "
                f"those go together, intervals and tests need it as their unit: --cluster {column}."
            )
            return [note]
    return []
