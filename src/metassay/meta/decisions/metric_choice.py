"""Choose the metric that helps most to estimate human scores from few labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metassay.meta.decisions.labelled_scores import LabelledScores
from metassay.stats.arrays import FloatArray
from metassay.stats.intervals import IntervalEstimate
from metassay.stats.labels_saved import compute_system_differences, estimate_labels_saved

# A metric that leaves less of the variance was computed from the labels.
_SMALLEST_RESIDUAL_SHARE = 1e-6


@dataclass(frozen=True)
class MetricCandidate:
    """A metric and the share of human labels that it makes unnecessary.

    There is one share for the mean of a system and one for the difference of two systems.
    """

    metric: str
    for_mean: IntervalEstimate
    for_difference: IntervalEstimate
    copies_labels: bool
    """Whether the metric equals the labels, up to scale, where there are labels."""


@dataclass(frozen=True)
class LabelSavingChoice:
    """The metric that saves the most human labels, and all metrics from best to worst.

    No metric is chosen if labels alone are at least as precise.
    """

    candidates: list[MetricCandidate]
    metric: str | None
    use_for_differences: bool
    """Whether the chosen metric also saves labels for differences of systems."""


def choose_metric_saving_most_labels(labelled_scores: LabelledScores) -> LabelSavingChoice:
    """Choose the metric that makes the most human labels unnecessary for estimating the mean of a system.

    The share of a useless metric is 0 on average, so that a metric is used only if it is above 0. A metric
    that copies the labels is never used: its residuals are 0 where there are labels, and would promise an
    exact estimate whatever its scores are elsewhere.
    """
    candidates = [_measure_labels_saved(labelled_scores, name) for name in labelled_scores.metrics]
    candidates.sort(key=lambda candidate: (-np.nan_to_num(candidate.for_mean.value), candidate.metric))
    for candidate in candidates:
        if candidate.for_mean.value > 0 and not candidate.copies_labels:
            return LabelSavingChoice(candidates, candidate.metric, candidate.for_difference.value > 0)
    return LabelSavingChoice(candidates, None, use_for_differences=False)


def _measure_labels_saved(labelled_scores: LabelledScores, metric_name: str) -> MetricCandidate:
    """Estimate the share of human labels that a metric makes unnecessary, from items that have labels."""
    labelled = labelled_scores.labelled_items
    human = labelled_scores.human[:, labelled]
    metric = labelled_scores.metrics[metric_name][:, labelled]
    units = labelled_scores.unit_of_item[labelled]
    for_difference = IntervalEstimate(np.nan, np.nan, np.nan)
    if len(human) > 1:
        for_difference = estimate_labels_saved(
            compute_system_differences(human), compute_system_differences(metric), units
        )
    return MetricCandidate(
        metric_name,
        estimate_labels_saved(human, metric, units),
        for_difference,
        _is_copy_of_labels(human, metric),
    )


def _is_copy_of_labels(human_by_system: FloatArray, metric_by_system: FloatArray) -> bool:
    """Return whether a metric is a linear function of human labels, so that it was computed from them."""
    for human_scores, metric_scores in zip(human_by_system, metric_by_system):
        labelled = ~np.isnan(human_scores)
        labels = human_scores[labelled]
        scores = metric_scores[labelled]
        if len(labels) < 3 or labels.std() == 0 or scores.std() == 0:
            continue
        residual_share = 1 - np.corrcoef(labels, scores)[0, 1] ** 2
        if residual_share < _SMALLEST_RESIDUAL_SHARE:
            return True
    return False
