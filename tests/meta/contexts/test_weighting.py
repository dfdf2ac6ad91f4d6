"""Density weights against scipy's kernel density, and on shapes with a known answer."""

import numpy as np
import pytest
from scipy.stats import gaussian_kde

from metassay.errors import InputError
from metassay.meta.contexts.density_weights import weight_outputs_by_density_in_context


def test_one_feature_equals_scipy_up_to_scale():
    values = np.random.default_rng(0).normal(size=400)
    weights = weight_outputs_by_density_in_context(values[:, None], np.zeros(400, dtype=np.int32))
    # scipy scales by the spread with n - 1
    factor = 400 ** (-1 / 5) * np.sqrt(399 / 400)
    density = gaussian_kde(values, bw_method=factor)(values)
    assert weights == pytest.approx(density / density.mean(), rel=1e-6)


def test_weights_have_mean_one_in_every_context():
    rng = np.random.default_rng(1)
    codes = rng.integers(-1, 3, 500).astype(np.int32)
    weights = weight_outputs_by_density_in_context(rng.normal(size=(500, 2)), codes)
    assert (weights > 0).all()
    assert (weights[codes == -1] == 1).all()
    for context in range(3):
        assert weights[codes == context].mean() == pytest.approx(1)


def test_odd_outputs_weigh_less_than_typical_ones():
    values = np.append(np.random.default_rng(2).normal(size=300), 8.0)
    weights = weight_outputs_by_density_in_context(values[:, None], np.zeros(301, dtype=np.int32))
    assert weights[-1] == weights.min()
    assert weights[-1] < 0.1


def test_what_is_odd_in_one_context_is_typical_in_another():
    rng = np.random.default_rng(3)
    values = np.concatenate([rng.normal(0, 1, 300), [6.0], rng.normal(6, 1, 300)])
    codes = np.array([0] * 301 + [1] * 300)
    assert weight_outputs_by_density_in_context(values[:, None], codes)[300] < 0.2
    moved = np.array([0] * 300 + [1] * 301)
    assert weight_outputs_by_density_in_context(values[:, None], moved)[300] > 1


def test_features_that_do_not_vary_give_equal_weights():
    assert (weight_outputs_by_density_in_context(np.ones((10, 2)), np.zeros(10, dtype=np.int32)) == 1).all()


def test_many_outputs_are_weighed_in_parts():
    values = np.random.default_rng(4).normal(size=5000)
    weights = weight_outputs_by_density_in_context(values[:, None], np.zeros(5000, dtype=np.int32))
    normal = np.exp(-(values**2) / 2)
    assert np.corrcoef(weights, normal)[0, 1] > 0.99


def test_missing_features_are_refused():
    with pytest.raises(InputError, match="missing or infinite"):
        weight_outputs_by_density_in_context(np.array([[np.nan]]), np.zeros(1, dtype=np.int32))
    with pytest.raises(InputError, match="outputs × features"):
        weight_outputs_by_density_in_context(np.zeros(3), np.zeros(3, dtype=np.int32))
