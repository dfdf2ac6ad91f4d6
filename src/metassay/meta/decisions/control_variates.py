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
standard errors; `benchmarks/decisions.py` measures their coverage.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metassay.stats.arrays import FloatArray, LongArray

LEVEL = 0.95
THESE_ITEMS = "these items"
ITEMS_LIKE_THESE = "items like these"
_LARGEST_LEVERAGE = 0.9
_SMALLEST_SHARE_OF_DRAWS = 0.5


@dataclass(frozen=True)
class LabelledSample:
    """Human labels of some items and metric scores of all items, and how the labelled items were drawn.

    `human` and `metric` are `[series, items]`; `human` is NaN where an item has no label. `unit_of_item`
    numbers the unit of each item from 0. `probabilities` are the inclusion probabilities of the items; None
    for a simple random sample.
    """

    human: FloatArray
    metric: FloatArray
    unit_of_item: LongArray
    probabilities: FloatArray | None = None

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Mask `[series, items]` of the human labels that exist."""
        return np.asarray(~np.isnan(self.human))


@dataclass(frozen=True)
class SeriesEstimates:
    """Estimated mean human scores with standard errors, and bootstrap draws for intervals and tests.

    `t_draws` `[draws, series]` are (bootstrap estimate − estimate) / (bootstrap standard error); NaN where a
    resample had no variance.
    """

    values: FloatArray
    standard_errors: FloatArray
    slopes: FloatArray
    t_draws: FloatArray

    def intervals(self) -> tuple[FloatArray, FloatArray]:
        """Compute the equal-tailed 95 % bootstrap interval of each estimated mean."""
        lower_quantile, upper_quantile = _compute_defined_quantiles(
            self.t_draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]
        )
        low = self.values - upper_quantile * self.standard_errors
        high = self.values - lower_quantile * self.standard_errors
        return low, high

    def symmetric_intervals(self) -> tuple[FloatArray, FloatArray]:
        """Compute the symmetric 95 % bootstrap interval of each estimated difference of systems.

        Differences have heavy tails but little skewness; equal-tailed intervals cover them in 92 % only.
        """
        margin = _compute_defined_quantiles(np.abs(self.t_draws), [LEVEL])[0] * self.standard_errors
        return self.values - margin, self.values + margin

    def simultaneous_intervals(self) -> tuple[FloatArray, FloatArray]:
        """Compute intervals that contain all true values at once with probability 95 % (max-t)."""
        largest = np.nanmax(np.abs(self.t_draws), axis=1, initial=0.0)
        critical_value = np.quantile(largest, LEVEL)
        margin = critical_value * self.standard_errors
        return self.values - margin, self.values + margin

    def p_values(self) -> FloatArray:
        """Compute the two-sided p-value that each estimated mean is 0.

        The draws of all series are pooled, because those of one series alone cannot show p-values that are
        small enough to survive a correction for all pairs of systems.
        """
        draws = np.sort(np.abs(self.t_draws[~np.isnan(self.t_draws)]))
        with np.errstate(divide="ignore", invalid="ignore"):
            statistics = np.abs(self.values) / self.standard_errors
        as_extreme = len(draws) - np.searchsorted(draws, statistics, side="left")
        p_values = (1 + as_extreme) / (1 + len(draws))
        return np.asarray(np.where(np.isnan(statistics), np.nan, p_values))


def estimate_mean_human_scores(
    labelled_sample: LabelledSample,
    *,
    use_metric: bool,
    target: str,
    generator: np.random.Generator,
    resamples: int = 1000,
) -> SeriesEstimates:
    """Estimate mean human scores from labels of some items and metric scores of all items.

    One mean is estimated for each series. `target` is `THESE_ITEMS` (the mean over the items of the sample,
    so that labelling all of them leaves no uncertainty) or `ITEMS_LIKE_THESE` (the mean over the population
    that the items were drawn from). `use_metric=False` uses the labels alone. All series share the resamples,
    so that their errors can be compared.
    """
    unit_count = int(labelled_sample.unit_of_item.max()) + 1
    units_with_labels = np.unique(labelled_sample.unit_of_item[labelled_sample.labelled.any(axis=0)])
    drawn = generator.integers(0, len(units_with_labels), (resamples, len(units_with_labels)))
    resample_counts = np.zeros((resamples, len(units_with_labels)))
    rows = np.repeat(np.arange(resamples), len(units_with_labels))
    np.add.at(resample_counts, (rows, drawn.ravel()), 1.0)
    series_count = len(labelled_sample.human)
    values = np.empty(series_count)
    standard_errors = np.empty(series_count)
    slopes = np.empty(series_count)
    t_draws = np.empty((resamples, series_count))
    for series in range(series_count):
        population = _sum_scores_by_unit(labelled_sample, series, unit_count, use_metric=use_metric)
        every_unit_once = np.ones((1, unit_count))
        fit = _fit_resampled_means(population, every_unit_once)
        resampled = _fit_resampled_means(_select_unit_sums(population, units_with_labels), resample_counts)
        values[series] = fit.estimates[0]
        slopes[series] = fit.slopes[0]
        standard_errors[series] = _compute_standard_error(population, fit, target)
        with np.errstate(divide="ignore", invalid="ignore"):
            t_draws[:, series] = (resampled.estimates - fit.estimates[0]) / resampled.standard_errors
    t_draws[~np.isfinite(t_draws)] = np.nan
    return SeriesEstimates(values, standard_errors, slopes, t_draws)


@dataclass(frozen=True)
class _UnitSums:
    """Sums of human and metric scores over the labelled items of each sampling unit.

    Each item is weighted by the inverse of its inclusion probability.
    """

    counts: FloatArray
    human: FloatArray
    metric: FloatArray
    product: FloatArray
    metric_squared: FloatArray
    sampled_shares: FloatArray
    """Inclusion probability of each unit."""
    metric_mean_of_all: float
    metric_variance_of_all: float
    unlabelled_metric_sums: FloatArray
    """Sum over the unlabelled items of each unit of the centred metric scores."""
    item_count: int
    labelled_count: int


def _sum_scores_by_unit(
    labelled_sample: LabelledSample, series_index: int, unit_count: int, *, use_metric: bool
) -> _UnitSums:
    """Sum the human and metric scores of one series over the items of each sampling unit.

    Scores are centred, because sums of squares of uncentred scores lose digits.
    """
    labelled = labelled_sample.labelled[series_index]
    human = labelled_sample.human[series_index]
    metric = labelled_sample.metric[series_index] if use_metric else np.zeros_like(human)
    metric_mean = float(metric.mean())
    metric = metric - metric_mean
    unit_of_labelled = labelled_sample.unit_of_item[labelled]
    if labelled_sample.probabilities is None:
        weights = np.ones(int(labelled.sum()))
        sampled_shares = np.full(unit_count, labelled.mean())
    else:
        weights = 1 / labelled_sample.probabilities[labelled]
        sampled_shares = _average_by_unit(
            labelled_sample.probabilities, labelled_sample.unit_of_item, unit_count
        )

    def sum_by_unit(values: FloatArray, unit_of_value: LongArray) -> FloatArray:
        return np.asarray(np.bincount(unit_of_value, values, minlength=unit_count), dtype=np.float64)

    human_of_labelled = human[labelled]
    metric_of_labelled = metric[labelled]
    return _UnitSums(
        counts=sum_by_unit(weights, unit_of_labelled),
        human=sum_by_unit(weights * human_of_labelled, unit_of_labelled),
        metric=sum_by_unit(weights * metric_of_labelled, unit_of_labelled),
        product=sum_by_unit(weights * human_of_labelled * metric_of_labelled, unit_of_labelled),
        metric_squared=sum_by_unit(weights * metric_of_labelled**2, unit_of_labelled),
        sampled_shares=sampled_shares,
        metric_mean_of_all=0.0,
        metric_variance_of_all=float(metric.var(ddof=1)) if len(metric) > 1 else 0.0,
        unlabelled_metric_sums=sum_by_unit(metric[~labelled], labelled_sample.unit_of_item[~labelled]),
        item_count=len(human),
        labelled_count=int(labelled.sum()),
    )


def _select_unit_sums(unit_sums: _UnitSums, unit_indices: LongArray) -> _UnitSums:
    """Select the sums of some sampling units; those without labels would only slow down resampling."""
    return replace(
        unit_sums,
        counts=unit_sums.counts[unit_indices],
        human=unit_sums.human[unit_indices],
        metric=unit_sums.metric[unit_indices],
        product=unit_sums.product[unit_indices],
        metric_squared=unit_sums.metric_squared[unit_indices],
    )


def _average_by_unit(item_values: FloatArray, unit_of_item: LongArray, unit_count: int) -> FloatArray:
    """Average one value per item over the items of each sampling unit."""
    sizes = np.bincount(unit_of_item, minlength=unit_count)
    return np.asarray(np.bincount(unit_of_item, item_values, minlength=unit_count) / np.maximum(sizes, 1))


@dataclass(frozen=True)
class _FittedMeans:
    """Estimated means, metric slopes and standard errors, one per resample of the sampling units."""

    estimates: FloatArray
    slopes: FloatArray
    standard_errors: FloatArray
    unit_residuals: FloatArray
    """Contribution of each unit to the estimate, `[rows, units]`, corrected for leverage."""


def _fit_resampled_means(unit_sums: _UnitSums, draw_counts: FloatArray) -> _FittedMeans:
    """Estimate the mean human score on each resample; `draw_counts` is `[resamples, units]`."""
    size = draw_counts @ unit_sums.counts
    with np.errstate(divide="ignore", invalid="ignore"):
        human_mean = draw_counts @ unit_sums.human / size
        metric_mean = draw_counts @ unit_sums.metric / size
        covariance = draw_counts @ unit_sums.product / size - human_mean * metric_mean
        metric_squares = draw_counts @ unit_sums.metric_squared - size * metric_mean**2
    slopes = np.zeros(len(draw_counts))
    if unit_sums.metric_variance_of_all > 0:
        slopes = covariance / unit_sums.metric_variance_of_all
    estimates = human_mean + slopes * (unit_sums.metric_mean_of_all - metric_mean)
    metric_deviations = unit_sums.metric - metric_mean[:, None] * unit_sums.counts
    residuals = unit_sums.human - human_mean[:, None] * unit_sums.counts - slopes[:, None] * metric_deviations
    # Leaving out a unit moves the estimate by its residual / (1 − leverage): the jackknife, in closed form.
    own_squares = (
        unit_sums.metric_squared
        - 2 * metric_mean[:, None] * unit_sums.metric
        + metric_mean[:, None] ** 2 * unit_sums.counts
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        leverage = unit_sums.counts / size[:, None]
        if unit_sums.metric_variance_of_all > 0:
            from_metric = np.where(metric_squares[:, None] > 0, own_squares / metric_squares[:, None], 0)
            leverage = leverage + from_metric
        leverage = np.minimum(leverage, _LARGEST_LEVERAGE)
        unit_residuals = residuals / (1 - leverage) / size[:, None]
    standard_errors = np.sqrt((draw_counts * unit_residuals**2).sum(axis=1))
    return _FittedMeans(estimates, slopes, standard_errors, unit_residuals)


def _compute_standard_error(unit_sums: _UnitSums, fitted_means: _FittedMeans, target: str) -> float:
    """Compute the standard error of an estimated mean, over the given items or over their population."""
    unit_residuals = fitted_means.unit_residuals[0]
    if target == THESE_ITEMS:
        return float(np.sqrt(((1 - unit_sums.sampled_shares) * unit_residuals**2).sum()))
    # Items like these: labelled and unlabelled items are both random. By influence functions, a labelled
    # item counts with (h − λm) / n + λm / N and an unlabelled one with λm / N.
    slope = fitted_means.slopes[0]
    labelled_part = unit_residuals + slope * unit_sums.metric / unit_sums.item_count
    unlabelled_part = slope * unit_sums.unlabelled_metric_sums / unit_sums.item_count
    return float(np.sqrt(((labelled_part + unlabelled_part) ** 2).sum()))


def _compute_defined_quantiles(draws: FloatArray, levels: list[float]) -> FloatArray:
    """Compute quantiles of each column without undefined draws; NaN where most draws are undefined."""
    defined_share = (~np.isnan(draws)).mean(axis=0)
    filled = np.where(defined_share >= _SMALLEST_SHARE_OF_DRAWS, draws, 0.0)
    quantiles = np.nanquantile(filled, levels, axis=0)
    quantiles[:, defined_share < _SMALLEST_SHARE_OF_DRAWS] = np.nan
    return np.asarray(quantiles)
