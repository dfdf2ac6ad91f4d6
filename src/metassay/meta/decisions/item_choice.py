"""Choose which items to have rated next, with known probabilities.

Where a metric predicts human scores well, labels add little; where its errors are large, they add much. An
item is therefore drawn with a probability in proportion to the predicted size of the error of the metric,
|h − λm| (active inference: Zrnic and Candès, 2024). A part of the probability is the same for all items, so
that no label gets a huge weight 1 / probability if the prediction is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metassay.meta.decisions.labelled_scores import LabelledScores
from metassay.meta.decisions.metric_choice import choose_metric_saving_most_labels
from metassay.stats.arrays import BoolArray, FloatArray, LongArray

# The part of the inclusion probabilities that is the same for all items.
UNIFORM_SHARE = 0.2
# With fewer labelled items the sizes of errors are predicted from the metrics alone.
_SMALLEST_PILOT = 20
# Lower limit of a predicted error, relative to the mean.
_SMALLEST_ERROR = 0.1


@dataclass(frozen=True)
class ChosenItems:
    """Items that people should label next, with the probability that each item has been chosen so far."""

    positions: LongArray
    probabilities: FloatArray
    """For each item the probability of having been chosen in this or an earlier round."""


def choose_items_to_label(
    labelled_scores: LabelledScores, item_count: int, rng: np.random.Generator
) -> ChosenItems:
    """Choose at random which items people should label next. Items on which the metric errs are preferred.

    If items were labelled before with probability p1, and an item that was not is drawn with probability p2
    now, its probability of being labelled in either round is p1 + (1 − p1) p2.
    """
    unit_count = int(labelled_scores.unit_of_item.max()) + 1
    errors = np.bincount(
        labelled_scores.unit_of_item,
        predict_metric_errors(labelled_scores),
        unit_count,
    )
    sizes = np.bincount(labelled_scores.unit_of_item, minlength=unit_count)
    is_labelled = np.bincount(labelled_scores.unit_of_item, labelled_scores.labelled_items, unit_count) > 0
    earlier = _get_earlier_probabilities(labelled_scores, is_labelled)
    # A share of uniform draws bounds the weights 1 / probability, should the predicted errors be wrong.
    rates = (1 - UNIFORM_SHARE) * errors / errors.sum() + UNIFORM_SHARE * sizes / sizes.sum()
    # Also computed for labelled units: the probability of either round needs it.
    now = _scale_rates_to_probabilities(rates, sizes, ~is_labelled, item_count)
    drawn_units = _draw_items_or_documents(np.where(is_labelled, 0.0, now), rng)
    is_drawn = np.zeros(unit_count, dtype=bool)
    is_drawn[drawn_units] = True
    combined = earlier + (1 - earlier) * now
    return ChosenItems(
        positions=np.flatnonzero(is_drawn[labelled_scores.unit_of_item]),
        probabilities=np.asarray(combined[labelled_scores.unit_of_item]),
    )


def predict_metric_errors(labelled_scores: LabelledScores) -> FloatArray:
    """Predict for each item how far the metric scores are from the human scores, up to a constant factor.

    Metrics err most on bad outputs. Without enough labels the prediction is the distance of an output from
    the best output, by the mean of all standardised metrics. With labels it is a regression of the errors of
    the metric that `estimate` would use on two such distances: by all metrics, and by this metric.
    """
    if not labelled_scores.metrics:
        return np.ones(len(labelled_scores.items))
    distance = _measure_distance_to_best_output(
        np.mean([_standardize_scores(metric) for metric in labelled_scores.metrics.values()], axis=0)
    )
    labelled = labelled_scores.labelled_items
    if labelled.sum() < _SMALLEST_PILOT:
        return _raise_small_errors(distance)
    name = choose_metric_saving_most_labels(labelled_scores).metric
    features = [np.ones(len(labelled_scores.items)), distance]
    if name is not None:
        features.append(_measure_distance_to_best_output(_standardize_scores(labelled_scores.metrics[name])))
    errors = _measure_metric_errors_on_labelled_items(
        labelled_scores, None if name is None else labelled_scores.metrics[name]
    )
    design = np.stack(features, axis=1)
    coefficients = np.linalg.lstsq(design[labelled], errors[labelled], rcond=None)[0]
    return _raise_small_errors(design @ coefficients)


def _standardize_scores(metric_scores: FloatArray) -> FloatArray:
    """Scale metric scores to mean 0 and standard deviation 1. A constant metric gets 0."""
    spread = metric_scores.std()
    return (
        np.asarray((metric_scores - metric_scores.mean()) / spread)
        if spread > 0
        else np.zeros_like(metric_scores)
    )


def _measure_distance_to_best_output(predicted_quality: FloatArray) -> FloatArray:
    """Compute for each item how much worse its outputs are than the best output of all items.

    Outputs are compared by predicted quality, averaged over systems.
    """
    return np.asarray(predicted_quality.max() - predicted_quality.mean(axis=0))


def _raise_small_errors(predicted_errors: FloatArray) -> FloatArray:
    """Replace predicted errors that are negative or very small by a small positive value."""
    mean = predicted_errors.mean()
    if not mean > 0:
        return np.ones_like(predicted_errors)
    return np.asarray(np.maximum(predicted_errors, _SMALLEST_ERROR * mean))


def _measure_metric_errors_on_labelled_items(
    labelled_scores: LabelledScores, metric_scores: FloatArray | None
) -> FloatArray:
    """Measure for each labelled item how far the metric scores are from the human labels.

    The scores are first fitted to the labels by a line for each system. Items without labels get NaN.
    """
    # λ is fitted for each system by itself, as `estimate` does.
    squares = np.full(labelled_scores.human.shape, np.nan)
    for system, human in enumerate(labelled_scores.human):
        labelled = ~np.isnan(human)
        residuals = human[labelled] - human[labelled].mean()
        if metric_scores is not None and metric_scores[system, labelled].std() > 0:
            centred = metric_scores[system, labelled] - metric_scores[system, labelled].mean()
            residuals = residuals - (residuals @ centred) / (centred @ centred) * centred
        squares[system, labelled] = residuals**2
    has_label = ~np.isnan(squares)
    with np.errstate(invalid="ignore"):
        means = np.where(has_label, squares, 0.0).sum(axis=0) / has_label.sum(axis=0)
    return np.asarray(np.sqrt(means))


def _get_earlier_probabilities(labelled_scores: LabelledScores, is_labelled_unit: BoolArray) -> FloatArray:
    """Return the probability that each item or document was labelled in an earlier round.

    If the probabilities are unknown, all are taken to be equal.
    """
    if labelled_scores.probabilities is None:
        return np.full(len(is_labelled_unit), is_labelled_unit.mean())
    sizes = np.bincount(labelled_scores.unit_of_item)
    return np.asarray(np.bincount(labelled_scores.unit_of_item, labelled_scores.probabilities) / sizes)


def _scale_rates_to_probabilities(
    sampling_rates: FloatArray, unit_sizes: LongArray, is_unlabelled: BoolArray, item_count: int
) -> FloatArray:
    """Scale sampling rates to probabilities, so that `item_count` items are drawn on average."""
    low, high = 0.0, 1.0
    # The bound ends the search if more items are asked for than are unlabelled.
    while (
        _compute_expected_item_count(high * sampling_rates, unit_sizes, is_unlabelled) < item_count
        and high < 1e12
    ):
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if _compute_expected_item_count(middle * sampling_rates, unit_sizes, is_unlabelled) < item_count:
            low = middle
        else:
            high = middle
    return np.minimum(high * sampling_rates, 1.0)


def _compute_expected_item_count(
    probabilities: FloatArray, unit_sizes: LongArray, is_unlabelled: BoolArray
) -> float:
    """Compute how many unlabelled items are drawn on average.

    Each item or document is drawn with the given probability.
    """
    return float((np.minimum(probabilities, 1.0) * unit_sizes)[is_unlabelled].sum())


def _draw_items_or_documents(unit_probabilities: FloatArray, rng: np.random.Generator) -> LongArray:
    """Draw items or documents at random with the given probabilities.

    The number drawn is the sum of the probabilities, rounded up or down at random. This is systematic
    sampling: the items or documents lie in random order on a line, each as long as its probability, and those
    under equally spaced points are drawn.
    """
    order = rng.permutation(len(unit_probabilities))
    ends = np.cumsum(unit_probabilities[order])
    # Rounding makes 49.9999… of a sum of 50, which would draw one unit too few.
    ends = np.round(ends, 9)
    starts = np.concatenate([[0.0], ends[:-1]])
    start = rng.random()
    # A unit is drawn if a point start + 0, 1, 2, … lies on its piece of the line.
    is_drawn = np.floor(ends - start) > np.floor(starts - start)
    return np.sort(order[is_drawn])
