"""How many items must be labelled for an interval of a given width, or to show a given difference.

The variance of an estimate from n of N items is A (1/n − 1/N). A follows from the standard error on the
items that are labelled so far, so that metric, skewness and documents are accounted for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from metassay.meta.decisions.control_variates import ITEMS_LIKE_THESE, THESE_ITEMS
from metassay.meta.decisions.labelled_scores import LabelledScores
from metassay.meta.decisions.metric_choice import choose_metric_saving_most_labels
from metassay.meta.decisions.system_estimates import estimate_human_means_from_labelled_items
from metassay.stats.labels_saved import compute_system_differences
from metassay.stats.levels import CONFIDENCE_LEVEL


@dataclass(frozen=True)
class NeededItems:
    """The number of items that people must label, and the system or pair of systems that needs it."""

    count: int
    hardest: tuple[str, ...]


def count_items_needed_for_interval_width(
    labelled_scores: LabelledScores, interval_width: float, seed: int
) -> NeededItems:
    """Compute how many items people must label so that no 95 % interval is wider than desired.

    The intervals are those of the mean scores of systems.
    """
    choice = choose_metric_saving_most_labels(labelled_scores)
    human = labelled_scores.human
    metric = None if choice.metric is None else labelled_scores.metrics[choice.metric]
    estimates = estimate_human_means_from_labelled_items(
        labelled_scores, human, metric, _choose_item_population_to_estimate(labelled_scores), seed
    )
    lows, highs = estimates.compute_confidence_intervals_of_means()
    hardest = int(np.argmax(highs - lows))
    # The variance that an interval of this width has, relative to that of the standard error.
    pilot_width = float(highs[hardest] - lows[hardest])
    ratio = (interval_width / pilot_width) ** 2
    return NeededItems(
        _compute_items_needed_for_variance(labelled_scores, ratio), (labelled_scores.systems[hardest],)
    )


def count_items_needed_for_difference(
    labelled_scores: LabelledScores, difference: float, power: float, seed: int
) -> NeededItems:
    """Compute how many items people must label to detect a given difference between two systems with a given
    power.

    The test is two-sided at 5 %, for two systems chosen in advance. The number is for the pair whose
    difference varies most, so that it is enough for every other pair.
    """
    choice = choose_metric_saving_most_labels(labelled_scores)
    human = compute_system_differences(labelled_scores.human)
    metric = None
    if choice.metric is not None and choice.use_for_differences:
        metric = compute_system_differences(labelled_scores.metrics[choice.metric])
    estimates = estimate_human_means_from_labelled_items(
        labelled_scores, human, metric, _choose_item_population_to_estimate(labelled_scores), seed
    )
    hardest = int(np.argmax(estimates.standard_errors))
    pairs = np.column_stack(np.triu_indices(len(labelled_scores.systems), 1))
    names = tuple(labelled_scores.systems[system] for system in pairs[hardest])
    variance = float(estimates.standard_errors[hardest]) ** 2
    # Standard errors of small samples are a little too large (two parameters), on purpose.
    variance *= 1 - 2 / labelled_scores.labelled_unit_count
    count = len(labelled_scores.items)
    for _ in range(20):  # Student's t depends on the number of items, which it decides
        freedom = max(count - 1, 2)
        quantiles = float(stdtrit(freedom, (1 + CONFIDENCE_LEVEL) / 2) + stdtrit(freedom, power))
        count = _compute_items_needed_for_variance(labelled_scores, (difference / quantiles) ** 2 / variance)
    return NeededItems(count, names)


def _choose_item_population_to_estimate(labelled_scores: LabelledScores) -> str:
    """Return over which items a mean is estimated: the given items, or all items like these.

    The second choice is for data in which all items are labelled.
    """
    return ITEMS_LIKE_THESE if labelled_scores.labelled_items.all() else THESE_ITEMS


def _compute_items_needed_for_variance(labelled_scores: LabelledScores, desired_variance_ratio: float) -> int:
    """Compute how many items must be labelled to change the variance of an estimated mean by the given
    factor.

    If every item is labelled, the number is for a new sample of items like these, without a metric.
    """
    labelled = int(labelled_scores.labelled_items.sum())
    items = len(labelled_scores.items)
    if labelled == items:
        return math.ceil(labelled / desired_variance_ratio)
    inverse = (1 / labelled - 1 / items) * desired_variance_ratio + 1 / items
    return min(items, math.ceil(1 / inverse))
