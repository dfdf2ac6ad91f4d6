"""Estimates of human means from few labels and a metric on all items.

Some items have human labels h, all have metric scores m. The mean human score over all items is estimated by

    mean(h) + λ (mean(m over all items) − mean(m over labelled items)),    λ = Cov(h, m) / Var(m),

a control variate (Chaganty, Mussmann and Liang, 2018), equal to prediction-powered inference with power
tuning (Angelopoulos, Duchi and Zrnic, 2023). λ = 0 gives the mean of the labels alone. Whatever λ is, the
estimate is unbiased if the labelled items are a random sample; a good metric only makes it more precise.

A *series* is what is estimated: the scores of one system, or the differences of two systems. A *unit* is what
was drawn into the sample: an item, or a document if whole documents were labelled.

Human scores are skewed (most translations have no error, a few have many), so that normal intervals cover the
mean in 89 to 93 % only, with 50 labels. Intervals are therefore bootstrap-t intervals with jackknife-like
standard errors; `benchmarks/estimate_coverage.py` measures their coverage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.compilation import kernel
from metassay.stats.levels import CONFIDENCE_LEVEL

THESE_ITEMS = "these items"
ITEMS_LIKE_THESE = "items like these"
# A residual is divided by 1 − leverage (HC3); a unit that decides the slope alone would be divided by 0.
_LARGEST_LEVERAGE = 0.9
# The only method with which a new draw exceeds the quantile of few draws with exactly its probability.
_QUANTILE_METHOD: Literal["weibull"] = "weibull"
# With fewer defined draws, their quantiles would describe unusual resamples only.
_SMALLEST_SHARE_OF_DRAWS = 0.5


@dataclass(frozen=True)
class LabelledSample:
    """Human labels of some items and metric scores of all items.

    Each item may have a probability of being chosen for labelling. `human` and `metric` are `[series,
    items]`; `human` is NaN where an item has no label. If `metric` is None, the labels alone are used.
    `unit_of_item` numbers the unit of each item from 0. `probabilities` are the inclusion probabilities of
    the items; None for a simple random sample.
    """

    human: FloatArray
    metric: FloatArray | None
    unit_of_item: LongArray
    probabilities: FloatArray | None = None

    @property
    def is_labelled(self) -> NDArray[np.bool_]:
        """Boolean mask of the entries of `human` that have a label."""
        return np.asarray(~np.isnan(self.human))


@dataclass(frozen=True)
class MeanEstimates:
    """Estimated mean human scores, or differences between them, with standard errors and bootstrap draws.

    `t_draws` `[draws, series]` are (bootstrap estimate − estimate) / (bootstrap standard error); NaN where a
    resample had no variance.
    """

    values: FloatArray
    standard_errors: FloatArray
    t_draws: FloatArray

    def compute_confidence_intervals_of_means(self) -> tuple[FloatArray, FloatArray]:
        """Compute the 95 % bootstrap interval of each estimated mean."""
        lower_quantile, upper_quantile = _compute_quantiles_without_nan(
            self.t_draws, [(1 - CONFIDENCE_LEVEL) / 2, (1 + CONFIDENCE_LEVEL) / 2]
        )
        low = self.values - upper_quantile * self.standard_errors
        high = self.values - lower_quantile * self.standard_errors
        return low, high

    def compute_simultaneous_intervals(self) -> tuple[FloatArray, FloatArray]:
        """Compute intervals that contain all true means at once with a probability of 95 %.

        They are wider than single intervals.
        """
        largest = np.nanmax(np.abs(self.t_draws), axis=1, initial=0.0)
        critical_value = np.quantile(largest, CONFIDENCE_LEVEL, method=_QUANTILE_METHOD)
        margin = critical_value * self.standard_errors
        return self.values - margin, self.values + margin

    def compute_p_values_of_zero_means(self) -> FloatArray:
        """Compute for each estimated mean the two-sided p-value of the hypothesis that the true mean is 0.

        The draws of all series are pooled, because those of one series alone cannot show p-values that are
        small enough to survive a correction for all pairs of systems.
        """
        # A permutation-like p-value: the observed statistic counts as one of the draws, so that p is never 0.
        draws = np.sort(np.abs(self.t_draws[~np.isnan(self.t_draws)]))
        with np.errstate(divide="ignore", invalid="ignore"):
            statistics = np.abs(self.values) / self.standard_errors
        as_extreme = len(draws) - np.searchsorted(draws, statistics, side="left")
        p_values = (1 + as_extreme) / (1 + len(draws))
        return np.asarray(np.where(np.isnan(statistics), np.nan, p_values))


def estimate_mean_human_scores(
    labelled_sample: LabelledSample,
    *,
    target: str,
    generator: np.random.Generator,
    resamples: int = 1000,
) -> MeanEstimates:
    """Estimate mean human scores from human labels of some items and metric scores of all items.

    One mean is estimated for each series. `target` is `THESE_ITEMS` (the mean over the items of the sample,
    so that labelling all of them leaves no uncertainty) or `ITEMS_LIKE_THESE` (the mean over the population
    that the items were drawn from). All series share the resamples, so that their errors can be compared.
    """
    units_with_labels = np.unique(labelled_sample.unit_of_item[labelled_sample.is_labelled.any(axis=0)])
    drawn = generator.integers(0, len(units_with_labels), (resamples, len(units_with_labels)))
    drawn_units = units_with_labels[drawn]
    series_count = len(labelled_sample.human)
    values = np.empty(series_count)
    standard_errors = np.empty(series_count)
    t_draws = np.empty((resamples, series_count))
    for series in range(series_count):
        unit_sums = _sum_scores_by_sampling_unit(labelled_sample, series)
        values[series], slope, residuals = _estimate_mean_human_score(
            units_with_labels, unit_sums.labelled, unit_sums.metric_variance
        )
        standard_errors[series] = _compute_standard_error(
            unit_sums, units_with_labels, slope, residuals, target
        )
        resampled_values, resampled_errors = _estimate_mean_human_score_on_resamples(
            drawn_units, unit_sums.labelled, unit_sums.metric_variance
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            t_draws[:, series] = (resampled_values - values[series]) / resampled_errors
    # A resample that repeats one unit has no variance.
    t_draws[~np.isfinite(t_draws)] = np.nan
    return MeanEstimates(values, standard_errors, t_draws)


@dataclass(frozen=True)
class _ScoreSumsByUnit:
    """Sums of human and metric scores for each item, or for each document if people labelled documents."""

    labelled: FloatArray
    """`[units, 5]`: sums of 1, h, m, hm and m² over labelled items, weighted by 1 / inclusion probability."""
    sampled_shares: FloatArray
    """Inclusion probability of each unit."""
    metric_variance: float
    """Variance of the metric scores of all items."""
    metric: FloatArray
    """Sums of the metric scores over all items, not weighted."""
    item_count: int


_COUNT, _HUMAN, _METRIC, _PRODUCT, _METRIC_SQUARED = range(5)


def _sum_scores_by_sampling_unit(labelled_sample: LabelledSample, series_index: int) -> _ScoreSumsByUnit:
    """Sum human and metric scores for each item, or for each document if people labelled documents.

    Metric scores are centred, so that their mean over all items is 0.
    """
    unit_count = int(labelled_sample.unit_of_item.max()) + 1
    labelled = ~np.isnan(labelled_sample.human[series_index])
    human = labelled_sample.human[series_index, labelled]
    metric = np.zeros(len(labelled))
    if labelled_sample.metric is not None:
        metric = labelled_sample.metric[series_index] - labelled_sample.metric[series_index].mean()
    metric_of_labelled = metric[labelled]
    if labelled_sample.probabilities is None:
        weights = np.ones(len(human))
        sampled_shares = np.full(unit_count, labelled.mean())
    else:
        weights = 1 / labelled_sample.probabilities[labelled]
        unit_sizes = np.bincount(labelled_sample.unit_of_item, minlength=unit_count)
        probability_sums = np.bincount(
            labelled_sample.unit_of_item, labelled_sample.probabilities, minlength=unit_count
        )
        sampled_shares = probability_sums / np.maximum(unit_sizes, 1)
    terms = [
        np.ones(len(human)),
        human,
        metric_of_labelled,
        human * metric_of_labelled,
        metric_of_labelled**2,
    ]
    unit_of_labelled = labelled_sample.unit_of_item[labelled]
    sums = [np.bincount(unit_of_labelled, weights * term, minlength=unit_count) for term in terms]
    return _ScoreSumsByUnit(
        labelled=np.stack(sums, axis=1),
        sampled_shares=sampled_shares,
        metric_variance=float(metric.var(ddof=1)) if len(metric) > 1 else 0.0,
        metric=np.bincount(labelled_sample.unit_of_item, metric, minlength=unit_count).astype(np.float64),
        item_count=len(labelled),
    )


@kernel
def _estimate_mean_human_score(
    labelled_units: LongArray, unit_score_sums: FloatArray, metric_variance: float
) -> tuple[float, float, FloatArray]:
    """Estimate the mean human score from labelled items or documents.

    An item or document that is listed twice counts twice. Returns the estimate, the slope λ, and by how much
    each unit moves the estimate. Leaving out a unit moves it by residual / (1 − leverage): the jackknife, in
    closed form.
    """
    residuals = np.full(len(labelled_units), np.nan)
    totals = np.zeros(5)
    for unit in labelled_units:
        for term in range(5):
            totals[term] += unit_score_sums[unit, term]
    size = totals[_COUNT]
    if size == 0:
        return np.nan, np.nan, residuals
    human_mean = totals[_HUMAN] / size
    metric_mean = totals[_METRIC] / size
    slope = 0.0
    # λ uses the variance of the metric over all items, which is known, not over the labelled ones.
    if metric_variance > 0:
        slope = (totals[_PRODUCT] / size - human_mean * metric_mean) / metric_variance
    metric_squares = totals[_METRIC_SQUARED] - size * metric_mean**2
    for position, unit in enumerate(labelled_units):
        count = unit_score_sums[unit, _COUNT]
        metric_deviation = unit_score_sums[unit, _METRIC] - metric_mean * count
        residual = unit_score_sums[unit, _HUMAN] - human_mean * count - slope * metric_deviation
        leverage = count / size
        if metric_variance > 0 and metric_squares > 0:
            unit_squares = (
                unit_score_sums[unit, _METRIC_SQUARED]
                - 2 * metric_mean * unit_score_sums[unit, _METRIC]
                + metric_mean**2 * count
            )
            leverage += unit_squares / metric_squares
        residuals[position] = residual / (1 - min(leverage, _LARGEST_LEVERAGE)) / size
    return human_mean - slope * metric_mean, slope, residuals


@kernel
def _estimate_mean_human_score_on_resamples(
    resampled_units: LongArray, unit_score_sums: FloatArray, metric_variance: float
) -> tuple[FloatArray, FloatArray]:
    """Estimate the mean human score and its standard error on each resample of items or documents."""
    values = np.empty(len(resampled_units))
    standard_errors = np.empty(len(resampled_units))
    for draw in range(len(resampled_units)):
        value, _, residuals = _estimate_mean_human_score(
            resampled_units[draw], unit_score_sums, metric_variance
        )
        values[draw] = value
        standard_errors[draw] = np.sqrt((residuals**2).sum())
    return values, standard_errors


def _compute_standard_error(
    unit_sums: _ScoreSumsByUnit, units: LongArray, slope: float, residuals: FloatArray, target: str
) -> float:
    """Compute the standard error of an estimated mean human score.

    The mean is over the given items or over the population that they come from.
    """
    if target == THESE_ITEMS:
        # Items that were drawn for certain add nothing to the error.
        return float(np.sqrt(((1 - unit_sums.sampled_shares[units]) * residuals**2).sum()))
    # Items like these: labelled and unlabelled items are both random. By influence functions, a labelled
    # item counts with (h − λm) / n + λm / N and an unlabelled one with λm / N.
    contributions = slope * unit_sums.metric / unit_sums.item_count
    contributions[units] += residuals
    return float(np.sqrt((contributions**2).sum()))


def _compute_quantiles_without_nan(draws: FloatArray, levels: list[float]) -> FloatArray:
    """Compute quantiles of each column, ignoring NaN. A column that is mostly NaN gets NaN."""
    defined_share = (~np.isnan(draws)).mean(axis=0)
    filled = np.where(defined_share >= _SMALLEST_SHARE_OF_DRAWS, draws, 0.0)
    quantiles = np.nanquantile(filled, levels, axis=0, method=_QUANTILE_METHOD)
    quantiles[:, defined_share < _SMALLEST_SHARE_OF_DRAWS] = np.nan
    return np.asarray(quantiles)
