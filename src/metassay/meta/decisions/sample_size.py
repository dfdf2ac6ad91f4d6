"""How many items must be labelled for an interval of a given width, or to show a given difference.

The variance of an estimate from n of N items is A (1/n − 1/N). A follows from the standard error on the
items that are labelled so far, so that metric, skewness and documents are accounted for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from metassay.meta.decisions.control_variates import (
    ITEMS_LIKE_THESE,
    THESE_ITEMS,
    LabelledSample,
    SeriesEstimates,
    estimate_means,
)
from metassay.meta.decisions.labelled_scores import LabelledScores
from metassay.meta.decisions.metric_choice import choose_metric
from metassay.stats.labels_saved import subtract_pairs

LEVEL = 0.95


@dataclass(frozen=True)
class NeededItems:
    """How many items must be labelled in all, and for which system or pair of systems most are needed."""

    count: int
    hardest: tuple[str, ...]


def find_items_for_width(scores: LabelledScores, width: float, seed: int) -> NeededItems:
    """Find how many labelled items make the 95 % interval of every system at most this wide."""
    choice = choose_metric(scores)
    estimates = _estimate(scores, choice.metric, seed, differences=False)
    lows, highs = estimates.intervals()
    hardest = int(np.argmax(highs - lows))
    # The variance that an interval of this width has, relative to that of the standard error.
    pilot_width = float(highs[hardest] - lows[hardest])
    ratio = (width / pilot_width) ** 2
    return NeededItems(_count_for_variance(scores, ratio), (scores.systems[hardest],))


def find_items_for_difference(
    scores: LabelledScores, difference: float, power: float, seed: int
) -> NeededItems:
    """Find how many labelled items show a difference of two systems with this probability.

    The test is two-sided at 5 %, for two systems chosen in advance. The number is for the pair whose
    difference varies most, so that it is enough for every other pair.
    """
    choice = choose_metric(scores)
    metric = choice.metric if choice.use_for_differences else None
    estimates = _estimate(scores, metric, seed, differences=True)
    hardest = int(np.argmax(estimates.standard_errors))
    pairs = np.column_stack(np.triu_indices(len(scores.systems), 1))
    names = tuple(scores.systems[system] for system in pairs[hardest])
    variance = float(estimates.standard_errors[hardest]) ** 2
    # Standard errors of small samples are a little too large (two parameters), on purpose.
    variance *= 1 - 2 / scores.labelled_unit_count
    count = len(scores.items)
    for _ in range(20):  # Student's t depends on the number of items, which it decides
        freedom = max(count - 1, 2)
        quantiles = float(stdtrit(freedom, (1 + LEVEL) / 2) + stdtrit(freedom, power))
        count = _count_for_variance(scores, (difference / quantiles) ** 2 / variance)
    return NeededItems(count, names)


def _estimate(scores: LabelledScores, metric: str | None, seed: int, *, differences: bool) -> SeriesEstimates:
    human = scores.human
    metric_scores = np.zeros_like(human) if metric is None else scores.metrics[metric]
    if differences:
        human = subtract_pairs(human)
        metric_scores = subtract_pairs(metric_scores)
    sample = LabelledSample(human, metric_scores, scores.unit_of_item, scores.probabilities)
    return estimate_means(
        sample,
        use_metric=metric is not None,
        target=ITEMS_LIKE_THESE if scores.labelled_items.all() else THESE_ITEMS,
        generator=np.random.default_rng(seed),
    )


def _count_for_variance(scores: LabelledScores, ratio: float) -> int:
    """Return the number of labelled items at which the variance is `ratio` times that of today.

    If every item is labelled, the number is for a new sample of items like these, without a metric.
    """
    labelled = int(scores.labelled_items.sum())
    items = len(scores.items)
    if labelled == items:
        return math.ceil(labelled / ratio)
    inverse = (1 / labelled - 1 / items) * ratio + 1 / items
    return min(items, math.ceil(1 / inverse))
