"""Curves of f_k and f_G: those of scikit-learn, within their bands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from metassay.meta.dependence.curves import fit_human_score_curves
from metassay.meta.dependence.scored_outputs import build_scored_outputs
from metassay.stats.resampling import draw_cluster_counts


@pytest.fixture
def outputs():
    rng = np.random.default_rng(0)
    metric = rng.normal(size=(3, 80)) + np.arange(3)[:, None]
    outputs = build_scored_outputs(metric + rng.normal(size=metric.shape), metric)
    return replace(outputs, group_names=("a", "b", "c"))


def test_curve_without_resamples_is_one_fit_within_the_scores_of_the_group(outputs):
    curves = fit_human_score_curves(outputs, draw_cluster_counts(outputs.cluster_count, 0, 0))
    assert list(curves.groups) == ["a", "b", "c"]
    for group, curve in enumerate(curves.groups.values()):
        in_group = outputs.groups == group
        fit = IsotonicRegression(out_of_bounds="nan")
        fit.fit(outputs.metric_scores[in_group], outputs.human_scores[in_group])
        np.testing.assert_allclose(np.array(curve.mean, dtype=float), fit.predict(curves.grid), atol=1e-9)
    assert None not in curves.pooled.mean


def test_curves_are_non_decreasing_and_within_their_bands(outputs):
    curves = fit_human_score_curves(outputs, draw_cluster_counts(outputs.cluster_count, 50, 0))
    for curve in (curves.pooled, *curves.groups.values()):
        mean, low, high = (np.array(values, dtype=float) for values in (curve.mean, curve.low, curve.high))
        is_defined = ~np.isnan(mean)
        assert (low[is_defined] <= mean[is_defined]).all()
        assert (mean[is_defined] <= high[is_defined]).all()
        assert (np.diff(mean[is_defined]) >= -1e-12).all()
