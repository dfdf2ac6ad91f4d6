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
    """Labels and metric scores of several series, and how the labelled items were drawn.

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
        """Where a series has a label, `[series, items]`."""
        return np.asarray(~np.isnan(self.human))


@dataclass(frozen=True)
class SeriesEstimates:
    """Estimates of several series, with draws of their studentised errors for intervals and tests.

    `t_draws` `[draws, series]` are (bootstrap estimate − estimate) / (bootstrap standard error); NaN where a
    resample had no variance.
    """

    values: FloatArray
    standard_errors: FloatArray
    slopes: FloatArray
    t_draws: FloatArray

    def intervals(self) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the equal-tailed 95 % interval of each series, for means of skewed scores."""
        lower_quantile, upper_quantile = _quantiles(self.t_draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
        low = self.values - upper_quantile * self.standard_errors
        high = self.values - lower_quantile * self.standard_errors
        return low, high

    def symmetric_intervals(self) -> tuple[FloatArray, FloatArray]:
        """Return the ends of the symmetric 95 % interval of each series, for differences of systems.

        Differences have heavy tails but little skewness; equal-tailed intervals cover them in 92 % only.
        """
        margin = _quantiles(np.abs(self.t_draws), [LEVEL])[0] * self.standard_errors
        return self.values - margin, self.values + margin

    def simultaneous_intervals(self) -> tuple[FloatArray, FloatArray]:
        """Return intervals that cover all series at once with probability 95 % (max-t)."""
        largest = np.nanmax(np.abs(self.t_draws), axis=1, initial=0.0)
        critical_value = np.quantile(largest, LEVEL)
        margin = critical_value * self.standard_errors
        return self.values - margin, self.values + margin

    def p_values(self) -> FloatArray:
        """Return two-sided p-values of each series against 0.

        The draws of all series are pooled, because those of one series alone cannot show p-values that are
        small enough to survive a correction for all pairs of systems.
        """
        draws = np.sort(np.abs(self.t_draws[~np.isnan(self.t_draws)]))
        with np.errstate(divide="ignore", invalid="ignore"):
            statistics = np.abs(self.values) / self.standard_errors
        as_extreme = len(draws) - np.searchsorted(draws, statistics, side="left")
        p_values = (1 + as_extreme) / (1 + len(draws))
        return np.asarray(np.where(np.isnan(statistics), np.nan, p_values))


def estimate_means(
    sample: LabelledSample,
    *,
    use_metric: bool,
    target: str,
    generator: np.random.Generator,
    resamples: int = 1000,
) -> SeriesEstimates:
    """Estimate the mean human score of each series.

    `target` is `THESE_ITEMS` (the mean over the items at hand, so that labelling all of them leaves no
    uncertainty) or `ITEMS_LIKE_THESE` (the mean over the population that the items were drawn from).
    `use_metric=False` uses the labels alone. All series share the resamples, so that their errors can be
    compared.
    """
    unit_count = int(sample.unit_of_item.max()) + 1
    units_with_labels = np.unique(sample.unit_of_item[sample.labelled.any(axis=0)])
    drawn = generator.integers(0, len(units_with_labels), (resamples, len(units_with_labels)))
    resample_counts = np.zeros((resamples, len(units_with_labels)))
    rows = np.repeat(np.arange(resamples), len(units_with_labels))
    np.add.at(resample_counts, (rows, drawn.ravel()), 1.0)
    series_count = len(sample.human)
    values = np.empty(series_count)
    standard_errors = np.empty(series_count)
    slopes = np.empty(series_count)
    t_draws = np.empty((resamples, series_count))
    for series in range(series_count):
        population = _summarize_series(sample, series, unit_count, use_metric=use_metric)
        every_unit_once = np.ones((1, unit_count))
        fit = _fit(population, every_unit_once)
        resampled = _fit(_select_units(population, units_with_labels), resample_counts)
        values[series] = fit.estimates[0]
        slopes[series] = fit.slopes[0]
        standard_errors[series] = _final_standard_error(population, fit, target)
        with np.errstate(divide="ignore", invalid="ignore"):
            t_draws[:, series] = (resampled.estimates - fit.estimates[0]) / resampled.standard_errors
    t_draws[~np.isfinite(t_draws)] = np.nan
    return SeriesEstimates(values, standard_errors, slopes, t_draws)


@dataclass(frozen=True)
class _SeriesSums:
    """Sums over the labelled items of each unit, weighted by inverse inclusion probability, of one series."""

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


def _summarize_series(
    sample: LabelledSample, series: int, unit_count: int, *, use_metric: bool
) -> _SeriesSums:
    """Sum a series by unit. Scores are centred, because sums of squares of uncentred scores lose digits."""
    labelled = sample.labelled[series]
    human = sample.human[series]
    metric = sample.metric[series] if use_metric else np.zeros_like(human)
    metric_mean = float(metric.mean())
    metric = metric - metric_mean
    unit_of_labelled = sample.unit_of_item[labelled]
    if sample.probabilities is None:
        weights = np.ones(int(labelled.sum()))
        sampled_shares = np.full(unit_count, labelled.mean())
    else:
        weights = 1 / sample.probabilities[labelled]
        sampled_shares = _average_by_unit(sample.probabilities, sample.unit_of_item, unit_count)

    def sum_by_unit(values: FloatArray, units: LongArray) -> FloatArray:
        return np.asarray(np.bincount(units, values, minlength=unit_count), dtype=np.float64)

    human_of_labelled = human[labelled]
    metric_of_labelled = metric[labelled]
    return _SeriesSums(
        counts=sum_by_unit(weights, unit_of_labelled),
        human=sum_by_unit(weights * human_of_labelled, unit_of_labelled),
        metric=sum_by_unit(weights * metric_of_labelled, unit_of_labelled),
        product=sum_by_unit(weights * human_of_labelled * metric_of_labelled, unit_of_labelled),
        metric_squared=sum_by_unit(weights * metric_of_labelled**2, unit_of_labelled),
        sampled_shares=sampled_shares,
        metric_mean_of_all=0.0,
        metric_variance_of_all=float(metric.var(ddof=1)) if len(metric) > 1 else 0.0,
        unlabelled_metric_sums=sum_by_unit(metric[~labelled], sample.unit_of_item[~labelled]),
        item_count=len(human),
        labelled_count=int(labelled.sum()),
    )


def _select_units(sums: _SeriesSums, units: LongArray) -> _SeriesSums:
    """Keep the sums of these units; units without labels would only slow down the resamples."""
    return replace(
        sums,
        counts=sums.counts[units],
        human=sums.human[units],
        metric=sums.metric[units],
        product=sums.product[units],
        metric_squared=sums.metric_squared[units],
    )


def _average_by_unit(values: FloatArray, unit_of_item: LongArray, unit_count: int) -> FloatArray:
    sizes = np.bincount(unit_of_item, minlength=unit_count)
    return np.asarray(np.bincount(unit_of_item, values, minlength=unit_count) / np.maximum(sizes, 1))


@dataclass(frozen=True)
class _Fit:
    """Estimates, slopes and standard errors (with replacement) of one series, one per row of the counts."""

    estimates: FloatArray
    slopes: FloatArray
    standard_errors: FloatArray
    unit_residuals: FloatArray
    """Contribution of each unit to the estimate, `[rows, units]`, corrected for leverage."""


def _fit(sums: _SeriesSums, counts: FloatArray) -> _Fit:
    """Fit a series on resamples of units; `counts` `[rows, units]` says how often each unit was drawn."""
    size = counts @ sums.counts
    with np.errstate(divide="ignore", invalid="ignore"):
        human_mean = counts @ sums.human / size
        metric_mean = counts @ sums.metric / size
        covariance = counts @ sums.product / size - human_mean * metric_mean
        metric_squares = counts @ sums.metric_squared - size * metric_mean**2
    slopes = np.zeros(len(counts))
    if sums.metric_variance_of_all > 0:
        slopes = covariance / sums.metric_variance_of_all
    estimates = human_mean + slopes * (sums.metric_mean_of_all - metric_mean)
    metric_deviations = sums.metric - metric_mean[:, None] * sums.counts
    residuals = sums.human - human_mean[:, None] * sums.counts - slopes[:, None] * metric_deviations
    # Leaving out a unit moves the estimate by its residual / (1 − leverage): the jackknife, in closed form.
    own_squares = (
        sums.metric_squared - 2 * metric_mean[:, None] * sums.metric + metric_mean[:, None] ** 2 * sums.counts
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        leverage = sums.counts / size[:, None]
        if sums.metric_variance_of_all > 0:
            from_metric = np.where(metric_squares[:, None] > 0, own_squares / metric_squares[:, None], 0)
            leverage = leverage + from_metric
        leverage = np.minimum(leverage, _LARGEST_LEVERAGE)
        unit_residuals = residuals / (1 - leverage) / size[:, None]
    standard_errors = np.sqrt((counts * unit_residuals**2).sum(axis=1))
    return _Fit(estimates, slopes, standard_errors, unit_residuals)


def _final_standard_error(sums: _SeriesSums, fit: _Fit, target: str) -> float:
    """Return the standard error for a target, with the share of the items that needed no sampling removed."""
    unit_residuals = fit.unit_residuals[0]
    if target == THESE_ITEMS:
        return float(np.sqrt(((1 - sums.sampled_shares) * unit_residuals**2).sum()))
    # Items like these: labelled and unlabelled items are both random. By influence functions, a labelled
    # item counts with (h − λm) / n + λm / N and an unlabelled one with λm / N.
    slope = fit.slopes[0]
    labelled_part = unit_residuals + slope * sums.metric / sums.item_count
    unlabelled_part = slope * sums.unlabelled_metric_sums / sums.item_count
    return float(np.sqrt(((labelled_part + unlabelled_part) ** 2).sum()))


def _quantiles(draws: FloatArray, levels: list[float]) -> FloatArray:
    """Return quantiles of each column without undefined draws; NaN where most draws are undefined."""
    defined_share = (~np.isnan(draws)).mean(axis=0)
    filled = np.where(defined_share >= _SMALLEST_SHARE_OF_DRAWS, draws, 0.0)
    quantiles = np.nanquantile(filled, levels, axis=0)
    quantiles[:, defined_share < _SMALLEST_SHARE_OF_DRAWS] = np.nan
    return np.asarray(quantiles)
