"""The functions f_G and f_k with confidence bands, as charts show them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metassay.meta.dependence.scored_outputs import ScoredOutputs
from metassay.results.base import replace_nan_by_none
from metassay.results.depend import Curve, MetricCurves
from metassay.stats.arrays import FloatArray
from metassay.stats.isotonic import Counts, fit_isotonic, predict_isotonic
from metassay.stats.levels import CONFIDENCE_LEVEL
from metassay.stats.sorted_scores import sort_scores

# Points at which a curve is evaluated.
POINTS = 60


def fit_human_score_curves(outputs: ScoredOutputs, resample_counts: Counts) -> MetricCurves:
    """Fit curves that predict the human score from the metric score, for all outputs and for each group.

    The functions are evaluated at quantiles of the metric scores. Without resamples there is no band.
    """
    grid = np.unique(np.quantile(outputs.metric_scores, np.linspace(0, 1, POINTS)))
    if not len(resample_counts):
        resample_counts = np.ones((1, outputs.cluster_count), dtype=np.uint32)
    every_output = np.ones(len(outputs.groups), dtype=bool)
    group_curves = {}
    for group, name in enumerate(outputs.group_names):
        group_curves[name] = _fit_human_score_curve(outputs, outputs.groups == group, resample_counts, grid)
    return MetricCurves(
        grid=grid.tolist(),
        pooled=_fit_human_score_curve(outputs, every_output, resample_counts, grid),
        groups=group_curves,
    )


def _fit_human_score_curve(
    outputs: ScoredOutputs,
    is_selected_output: NDArray[np.bool_],
    resample_counts: Counts,
    metric_score_grid: FloatArray,
) -> Curve:
    """Fit a curve that predicts the human score of the selected outputs from the metric score.

    Returns the mean over resamples with a 95 % band.
    """
    scores = sort_scores(outputs.metric_scores[is_selected_output])
    human_scores = outputs.human_scores[is_selected_output]
    weights = outputs.weights[is_selected_output]
    clusters = outputs.clusters[is_selected_output]
    curves = np.empty((len(resample_counts), len(metric_score_grid)))
    for resample, counts in enumerate(resample_counts):
        fit = fit_isotonic(scores, human_scores, weights * counts[clusters])
        curves[resample] = predict_isotonic(scores, fit, metric_score_grid)
    curves = curves[~np.isnan(curves).any(axis=1)]  # a resample may contain none of these outputs
    tail = (1 - CONFIDENCE_LEVEL) / 2
    is_outside = (metric_score_grid < scores.knots[0]) | (metric_score_grid > scores.knots[-1])

    def remove_values_outside_observed_range(curve_values: FloatArray) -> list[float | None]:
        """Replace values by None where the metric score lies outside the observed scores."""
        return replace_nan_by_none(np.where(is_outside, np.nan, curve_values))

    return Curve(
        mean=remove_values_outside_observed_range(curves.mean(axis=0)),
        low=remove_values_outside_observed_range(np.quantile(curves, tail, axis=0)),
        high=remove_values_outside_observed_range(np.quantile(curves, 1 - tail, axis=0)),
    )
