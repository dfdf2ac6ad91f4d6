"""Test whether the labelled items are a random sample of all items."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metassay.meta.decisions.labelled_scores import LabelledScores


@dataclass(frozen=True)
class SampleCheck:
    """Result of testing whether the labelled items are a random sample of all items.

    `metric` is the one whose mean scores on labelled and on all items differ most, in standard errors.
    """

    p: float
    metric: str
    labelled_mean: float
    mean_of_all: float


def check_labelled_items_are_random_sample(
    labelled_scores: LabelledScores, rng: np.random.Generator, permutations: int = 999
) -> SampleCheck | None:
    """Test whether the labelled items are a random sample of all items.

    Their metric scores are compared with those of random samples. The statistic is the largest standardised
    difference over all metrics, so that one test is made however many metrics there are. The test is exact,
    because all draws of items or documents have the same probability under the null hypothesis. Returns None
    if nothing can be compared: there is no metric, all items are labelled, or their probabilities are
    unequal.
    """
    labelled_items = labelled_scores.labelled_items
    if labelled_scores.probabilities is not None or not labelled_scores.metrics or labelled_items.all():
        return None
    unit_count = int(labelled_scores.unit_of_item.max()) + 1
    item_means = np.stack([metric.mean(axis=0) for metric in labelled_scores.metrics.values()])
    unit_sums = np.stack(
        [np.bincount(labelled_scores.unit_of_item, means, unit_count) for means in item_means]
    )
    unit_sizes = np.bincount(labelled_scores.unit_of_item, minlength=unit_count)
    is_labelled = np.bincount(labelled_scores.unit_of_item, labelled_items, unit_count) > 0
    draws = np.empty((permutations + 1, unit_count))
    draws[0] = is_labelled
    for row in range(1, permutations + 1):
        draws[row] = rng.permutation(is_labelled)
    means = draws @ unit_sums.T / (draws @ unit_sizes)[:, None]
    means_of_all = item_means.mean(axis=1)
    spread = means.std(axis=0)
    varies = spread > 1e-12 * np.abs(means_of_all)
    if not varies.any():
        return None
    statistics = np.abs(means[:, varies] - means_of_all[varies]) / spread[varies]
    largest = statistics.max(axis=1)
    p = float((largest >= largest[0] * (1 - 1e-12)).mean())
    position = int(np.flatnonzero(varies)[statistics[0].argmax()])
    metric = list(labelled_scores.metrics)[position]
    return SampleCheck(p, metric, float(means[0, position]), float(means_of_all[position]))
