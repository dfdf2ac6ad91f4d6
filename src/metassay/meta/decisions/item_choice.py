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
from metassay.meta.decisions.metric_choice import choose_metric
from metassay.stats.arrays import BoolArray, FloatArray, LongArray

UNIFORM_SHARE = 0.2
"""The part of the inclusion probabilities that is the same for all items."""
_SMALLEST_PILOT = 20
"""With fewer labelled items the sizes of errors are predicted from the metrics alone."""
_SMALLEST_ERROR = 0.1
"""Lower limit of a predicted error, relative to the mean."""


@dataclass(frozen=True)
class ChosenItems:
    """Positions of the items to rate next, and the probability of every item to be labelled by then."""

    positions: LongArray
    probabilities: FloatArray
    """For each item the probability of having been chosen in this or an earlier round."""


def choose_items(scores: LabelledScores, count: int, generator: np.random.Generator) -> ChosenItems:
    """Draw about `count` unlabelled items; whole documents if these are the sampling unit.

    If items were labelled before with probability p1, and an item that was not is drawn with probability p2
    now, its probability of being labelled in either round is p1 + (1 − p1) p2.
    """
    unit_count = int(scores.unit_of_item.max()) + 1
    errors = np.bincount(scores.unit_of_item, predict_error_sizes(scores), unit_count)
    sizes = np.bincount(scores.unit_of_item, minlength=unit_count)
    is_labelled = np.bincount(scores.unit_of_item, scores.labelled_items, unit_count) > 0
    earlier = _find_earlier_probabilities(scores, is_labelled)
    rates = (1 - UNIFORM_SHARE) * errors / errors.sum() + UNIFORM_SHARE * sizes / sizes.sum()
    now = _scale_probabilities(rates, sizes, ~is_labelled, count)
    drawn_units = _draw_units(np.where(is_labelled, 0.0, now), generator)
    is_drawn = np.zeros(unit_count, dtype=bool)
    is_drawn[drawn_units] = True
    combined = earlier + (1 - earlier) * now
    return ChosenItems(
        positions=np.flatnonzero(is_drawn[scores.unit_of_item]),
        probabilities=np.asarray(combined[scores.unit_of_item]),
    )


def predict_error_sizes(scores: LabelledScores) -> FloatArray:
    """Predict for each item how far the metric is from the human scores, averaged over systems, up to scale.

    Metrics err most on bad outputs. Without enough labels the prediction is the distance of an output from
    the best output, by the mean of all standardised metrics. With labels it is a regression of the errors of
    the metric that `estimate` would use on two such distances: by all metrics, and by this metric.
    """
    if not scores.metrics:
        return np.ones(len(scores.items))
    distance = _measure_distance(
        np.mean([_standardize(metric) for metric in scores.metrics.values()], axis=0)
    )
    labelled = scores.labelled_items
    if labelled.sum() < _SMALLEST_PILOT:
        return _limit_below(distance)
    name = choose_metric(scores).metric
    features = [np.ones(len(scores.items)), distance]
    if name is not None:
        features.append(_measure_distance(_standardize(scores.metrics[name])))
    errors = _measure_errors(scores, None if name is None else scores.metrics[name])
    design = np.stack(features, axis=1)
    coefficients = np.linalg.lstsq(design[labelled], errors[labelled], rcond=None)[0]
    return _limit_below(design @ coefficients)


def _standardize(metric: FloatArray) -> FloatArray:
    spread = metric.std()
    return np.asarray((metric - metric.mean()) / spread) if spread > 0 else np.zeros_like(metric)


def _measure_distance(quality: FloatArray) -> FloatArray:
    """Return how far the outputs of each item are below the best output of all, averaged over systems."""
    return np.asarray(quality.max() - quality.mean(axis=0))


def _limit_below(errors: FloatArray) -> FloatArray:
    """Replace predictions that are negative or close to 0."""
    mean = errors.mean()
    if not mean > 0:
        return np.ones_like(errors)
    return np.asarray(np.maximum(errors, _SMALLEST_ERROR * mean))


def _measure_errors(scores: LabelledScores, metric: FloatArray | None) -> FloatArray:
    """Return the root mean square over systems of h − λm for each labelled item, NaN for other items."""
    squares = np.full(scores.human.shape, np.nan)
    for system, human in enumerate(scores.human):
        labelled = ~np.isnan(human)
        residuals = human[labelled] - human[labelled].mean()
        if metric is not None and metric[system, labelled].std() > 0:
            centred = metric[system, labelled] - metric[system, labelled].mean()
            residuals = residuals - (residuals @ centred) / (centred @ centred) * centred
        squares[system, labelled] = residuals**2
    has_label = ~np.isnan(squares)
    with np.errstate(invalid="ignore"):
        means = np.where(has_label, squares, 0.0).sum(axis=0) / has_label.sum(axis=0)
    return np.asarray(np.sqrt(means))


def _find_earlier_probabilities(scores: LabelledScores, is_labelled: BoolArray) -> FloatArray:
    """Return the probability of each unit to have been labelled before; equal ones if none are known."""
    if scores.probabilities is None:
        return np.full(len(is_labelled), is_labelled.mean())
    sizes = np.bincount(scores.unit_of_item)
    return np.asarray(np.bincount(scores.unit_of_item, scores.probabilities) / sizes)


def _scale_probabilities(rates: FloatArray, sizes: LongArray, is_open: BoolArray, count: int) -> FloatArray:
    """Scale rates to probabilities of at most 1, such that `count` items of open units are expected."""
    low, high = 0.0, 1.0
    while _expected_items(high * rates, sizes, is_open) < count and high < 1e12:
        high *= 2
    for _ in range(100):
        middle = (low + high) / 2
        if _expected_items(middle * rates, sizes, is_open) < count:
            low = middle
        else:
            high = middle
    return np.minimum(high * rates, 1.0)


def _expected_items(probabilities: FloatArray, sizes: LongArray, is_open: BoolArray) -> float:
    return float((np.minimum(probabilities, 1.0) * sizes)[is_open].sum())


def _draw_units(probabilities: FloatArray, generator: np.random.Generator) -> LongArray:
    """Draw units with exactly these inclusion probabilities; their number is the sum, rounded up or down.

    Systematic sampling: the units lie in random order on a line, each as long as its probability, and those
    under equally spaced points are drawn.
    """
    order = generator.permutation(len(probabilities))
    ends = np.cumsum(probabilities[order])
    # Rounding makes 49.9999… of a sum of 50, which would draw one unit too few.
    ends = np.round(ends, 9)
    starts = np.concatenate([[0.0], ends[:-1]])
    start = generator.random()
    is_drawn = np.floor(ends - start) > np.floor(starts - start)
    return np.sort(order[is_drawn])
