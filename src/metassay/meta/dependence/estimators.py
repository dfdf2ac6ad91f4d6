"""Alternatives to isotonic regression for f_G, to see whether a result depends on that choice.

Each of them keeps the mean of the scores it is fitted to, so that ED(k) = mean f_G(m) − mean h for all of
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.interpolate import BSpline
from scipy.optimize import nnls

from metassay.meta.dependence.scored_outputs import ScoredOutputs
from metassay.stats.arrays import FloatArray
from metassay.stats.isotonic import fit_isotonic, predict_isotonic

# Bins of metric scores with equally many outputs.
BINS = 20
# Knots at quantiles of the metric scores, the lowest and the highest score included.
SPLINE_KNOTS = 8
SPLINE_DEGREE = 2


def predict_human_scores_by_isotonic_regression(outputs: ScoredOutputs) -> FloatArray:
    """Predict the human score of every output by isotonic regression on the metric score.

    This is the estimator of the published definition.
    """
    scores = outputs.sorted_metric_scores
    fit = fit_isotonic(scores, outputs.human_scores, outputs.weights)
    return predict_isotonic(scores, fit, outputs.metric_scores)


def predict_human_scores_by_binned_means(outputs: ScoredOutputs, bins: int = BINS) -> FloatArray:
    """Predict the human score of every output as the mean over outputs with similar metric scores.

    Outputs are similar if they are in the same bin. The bins have nearly equal numbers of outputs; equal
    metric scores are in the same bin.
    """
    edges = np.unique(np.quantile(outputs.metric_scores, np.linspace(0, 1, bins + 1)[1:-1]))
    bin_of_output = np.searchsorted(edges, outputs.metric_scores, side="left")
    bin_count = len(edges) + 1
    total_weights = np.bincount(bin_of_output, outputs.weights, minlength=bin_count)
    weighted_sums = np.bincount(bin_of_output, outputs.weights * outputs.human_scores, minlength=bin_count)
    bin_means = weighted_sums / np.where(total_weights > 0, total_weights, 1)
    means: FloatArray = bin_means[bin_of_output]
    return means


def predict_human_scores_by_monotone_spline(outputs: ScoredOutputs) -> FloatArray:
    """Predict the human score of every output by a non-decreasing spline of the metric score.

    The spline is quadratic. The knots are quantiles of the metric scores. A spline whose B-spline
    coefficients never decrease is non-decreasing; it is a constant plus a non-negative combination of
    I-splines (Ramsay, 1988), which non-negative least squares finds.
    """
    inner_knots = np.unique(np.quantile(outputs.metric_scores, np.linspace(0, 1, SPLINE_KNOTS)))
    if len(inner_knots) < 2:
        mean = np.average(outputs.human_scores, weights=outputs.weights)
        return np.full(len(outputs.metric_scores), mean)
    first_knots = np.repeat(inner_knots[0], SPLINE_DEGREE)
    last_knots = np.repeat(inner_knots[-1], SPLINE_DEGREE)
    all_knots = np.concatenate([first_knots, inner_knots, last_knots])
    b_splines = BSpline.design_matrix(outputs.metric_scores, all_knots, SPLINE_DEGREE).toarray()
    i_splines = np.cumsum(b_splines[:, ::-1], axis=1)[:, ::-1][:, 1:]
    constant = np.ones((len(b_splines), 1))
    design = np.hstack([constant, -constant, i_splines])  # the constant may be negative
    root_weights = np.sqrt(outputs.weights)
    # the QR decomposition leaves a small problem with the same solution
    q, r = np.linalg.qr(design * root_weights[:, None])
    coefficients, _ = nnls(r, q.T @ (outputs.human_scores * root_weights))
    fitted: FloatArray = design @ coefficients
    return fitted


ESTIMATORS: Mapping[str, Callable[[ScoredOutputs], FloatArray]] = {
    "isotonic": predict_human_scores_by_isotonic_regression,
    "binned": predict_human_scores_by_binned_means,
    "spline": predict_human_scores_by_monotone_spline,
}


def measure_overrating_by_each_method(outputs: ScoredOutputs) -> dict[str, FloatArray]:
    """Compute how much a metric overrates each system, with several methods to predict human scores."""
    deviations: dict[str, FloatArray] = {}
    for name, fit in ESTIMATORS.items():
        deviations[name] = outputs.average_by_group(fit(outputs)) - outputs.human_means_of_groups
    return deviations
