"""f_k and f_G on a grid: scikit-learn's functions, with bands that hold them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from metassay.meta.dependence.curves import curves
from metassay.meta.dependence.scored_outputs import cells_of
from metassay.stats.resampling import draw_counts


@pytest.fixture
def cells():
    rng = np.random.default_rng(0)
    metric = rng.normal(size=(3, 80)) + np.arange(3)[:, None]
    return cells_of(metric + rng.normal(size=metric.shape), metric, names=["a", "b", "c"])


def test_without_resamples_a_curve_is_the_single_fit_within_its_own_scores(cells):
    found = curves(cells, draw_counts(cells.clusters, 0, 0))
    for k, curve in enumerate(found.own):
        mine = cells.group == k
        fit = IsotonicRegression(out_of_bounds="nan").fit(cells.metric[mine], cells.human[mine])
        np.testing.assert_allclose(curve.mean, fit.predict(found.grid), atol=1e-9)
    assert [curve.name for curve in found.own] == ["a", "b", "c"]
    assert not np.isnan(found.pooled.mean).any()


def test_bands_hold_the_mean_and_rise(cells):
    found = curves(cells, draw_counts(cells.clusters, 50, 0), points=30)
    for curve in (found.pooled, *found.own):
        inside = ~np.isnan(curve.mean)
        assert (curve.low[inside] <= curve.mean[inside]).all()
        assert (curve.mean[inside] <= curve.high[inside]).all()
        assert (np.diff(curve.mean[inside]) >= -1e-12).all()
