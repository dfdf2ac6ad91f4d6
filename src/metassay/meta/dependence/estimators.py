"""Other ways to read the human score off the metric, to show that a finding is not isotonic regression's.

Each keeps the mean of what it is fitted to, so ED(k) = mean f_G(m) − mean h for all of them, and they differ
in f_G alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from scipy.interpolate import BSpline
from scipy.optimize import nnls

from metassay.meta.dependence.cells import Cells
from metassay.stats.arrays import FloatArray
from metassay.stats.isotonic import fit_isotonic, predict

BINS = 20
KNOTS = 8
DEGREE = 2


def isotonic(cells: Cells) -> FloatArray:
    """f_G at every cell by isotonic regression: the published estimator."""
    scores = cells.sorted_metric
    return predict(scores, fit_isotonic(scores, cells.human, cells.weight), cells.metric)


def binned_means(cells: Cells, bins: int = BINS) -> FloatArray:
    """f_G as the mean of each of `bins` equally full bins of the metric; equal scores share a bin."""
    edges = np.unique(np.quantile(cells.metric, np.linspace(0, 1, bins + 1)[1:-1]))
    bin_of = np.searchsorted(edges, cells.metric, side="left")
    totals = np.bincount(bin_of, cells.weight, minlength=len(edges) + 1)
    sums = np.bincount(bin_of, cells.weight * cells.human, minlength=len(edges) + 1)
    means: FloatArray = (sums / np.where(totals > 0, totals, 1))[bin_of]
    return means


def monotone_spline(cells: Cells, knots: int = KNOTS) -> FloatArray:
    """f_G as a rising quadratic spline with knots at quantiles of the metric.

    B-spline coefficients that never fall make the spline rise, so it is a constant plus a non-negative
    combination of I-splines (Ramsay, 1988): non-negative least squares.
    """
    inner = np.unique(np.quantile(cells.metric, np.linspace(0, 1, knots)))
    if len(inner) < 2:
        return np.full(len(cells.metric), np.average(cells.human, weights=cells.weight))
    knot_vector = np.concatenate([np.repeat(inner[0], DEGREE), inner, np.repeat(inner[-1], DEGREE)])
    basis = BSpline.design_matrix(cells.metric, knot_vector, DEGREE).toarray()
    rising = np.cumsum(basis[:, ::-1], axis=1)[:, ::-1][:, 1:]
    constant = np.ones((len(basis), 1))
    design = np.hstack([constant, -constant, rising])
    root = np.sqrt(cells.weight)
    q, r = np.linalg.qr(design * root[:, None])
    coefficients, _ = nnls(r, q.T @ (cells.human * root))
    fitted: FloatArray = design @ coefficients
    return fitted


ESTIMATORS: Mapping[str, Callable[[Cells], FloatArray]] = {
    "isotonic": isotonic,
    "binned": binned_means,
    "spline": monotone_spline,
}


def deviations_by_estimator(cells: Cells) -> dict[str, FloatArray]:
    """ED of each group under each estimator of f_G."""
    return {name: cells.group_means(f(cells)) - cells.human_means for name, f in ESTIMATORS.items()}
