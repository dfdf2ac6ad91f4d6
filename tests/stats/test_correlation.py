"""Compiled correlations against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from metassay.stats.correlation import correlate, correlate_system_scores, lag_one_autocorrelation

ORACLES = {
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "kendall": lambda x, y: stats.kendalltau(x, y).statistic,
    "kendall_c": lambda x, y: stats.kendalltau(x, y, variant="c").statistic,
}


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("coarse", [False, True])
def test_short_vectors_equal_scipy(name: str, coarse: bool) -> None:
    rng = np.random.default_rng(1)
    human, metrics = rng.normal(size=9), rng.normal(size=(40, 9))
    if coarse:
        human, metrics = np.round(human), np.round(metrics * 1.5)
    expected = [ORACLES[name](human, metric) for metric in metrics]
    np.testing.assert_allclose(correlate_system_scores(name, human, metrics), expected, atol=1e-12)
    np.testing.assert_allclose([correlate(name, human, m) for m in metrics], expected, atol=1e-12)


def test_pairwise_accuracy_counts_pairs_with_the_same_sign() -> None:
    assert correlate_system_scores(
        "pa", np.array([1.0, 2.0, 3.0]), np.array([1.0, 3.0, 2.0])
    ) == pytest.approx(2 / 3)
    assert correlate_system_scores(
        "pa", np.array([1.0, 1.0, 3.0]), np.array([2.0, 2.0, 1.0])
    ) == pytest.approx(1 / 3)


@pytest.mark.parametrize("name", ORACLES)
def test_a_vector_that_never_varies_has_no_correlation(name: str) -> None:
    constant = np.full(5, 0.1 + 0.2)
    assert np.isnan(correlate_system_scores(name, np.arange(5.0), constant))
    assert np.isnan(correlate(name, np.arange(5.0), constant))


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="Did you mean pearson"):
        correlate_system_scores("pearsson", np.arange(3.0), np.arange(3.0))
    with pytest.raises(ValueError, match="unknown correlation"):
        correlate("cosine", np.arange(3.0), np.arange(3.0))


def test_scores_as_given_tie_only_when_equal():
    """Two scores that differ in the twelfth digit of a far larger third are ordered, as scipy orders them."""
    human, metric = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1e-13, 2e-13, 1.0, 0.5])
    exact = float(correlate_system_scores("kendall", human, metric, exact=True))
    assert exact == pytest.approx(stats.kendalltau(human, metric).statistic)
    assert float(correlate_system_scores("spearman", human, metric, exact=True)) == pytest.approx(
        stats.spearmanr(human, metric).statistic
    )
    assert float(correlate_system_scores("kendall", human, metric)) != pytest.approx(exact)


def test_neighbours_of_shuffled_values_are_alike_by_chance():
    """In short series r is about -1 / n where nothing runs, and its p-value about ½."""
    rng = np.random.default_rng(0)
    p = [lag_one_autocorrelation(rng.random(10))[1] for _ in range(2000)]
    assert np.mean(p) == pytest.approx(0.5, abs=0.03)
    r, _ = lag_one_autocorrelation(np.array([1.0, 2.0, 3.0, 4.0]))
    assert r == pytest.approx((1.5 * 0.5 - 0.5 * 0.5 + 0.5 * 1.5) / 5)  # deviations -1.5, -.5, .5, 1.5
