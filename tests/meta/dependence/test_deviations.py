"""SysDep and expected deviations: equal to scikit-learn's fits, known values of WMT23, exact identities."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn.isotonic import IsotonicRegression

from metassay.errors import InputError
from metassay.meta.dependence.deviations import (
    estimate_range_interval,
    predict_mean_human_scores,
    system_dependence,
)
from metassay.meta.dependence.scored_outputs import build_scored_outputs

PAIRS = ("en-de", "he-en", "zh-en")
SPOT = {
    "en-de": {"MetricX-23-QE-b-src": 2.292, "prismSrc-src": 11.197, "constant": 10.50},
    "he-en": {"Random-sysname-src": 2.605, "constant": 2.62},
    "zh-en": {"MetricX-23-QE-c-src": 0.959, "GEMBA-MQM-src": 1.446, "eBLEU-refA": 4.351, "constant": 4.47},
}


@pytest.fixture(scope="module")
def wmt23(real_data):
    """Human scores and metric scores `[systems, segments]` of a language pair."""

    def read(pair):
        table = pl.read_parquet(real_data(f"wmt23/wmt23_{pair}_metrics.parquet")).sort("system", "seg_id")
        shape = (table["system"].n_unique(), -1)
        scores = {
            name: table[name].to_numpy().reshape(shape)
            for name in table.columns
            if name not in {"lp", "system"}
        }
        del scores["seg_id"]
        return scores.pop("mqm"), scores

    return read


def deviations_with_scikit_learn(human, metric):
    """Expected deviations as the paper defines them, with scikit-learn."""

    def fit(m, h):
        return IsotonicRegression(out_of_bounds="clip").fit(m.ravel(), h.ravel())

    pooled = fit(metric, human)
    return np.array([(pooled.predict(m) - fit(m, h).predict(m)).mean() for m, h in zip(metric, human)])


@pytest.mark.parametrize("pair", PAIRS)
def test_every_wmt23_metric_equals_scikit_learn(wmt23, pair):
    human, metrics = wmt23(pair)
    assert len(metrics) == 43
    for name, metric in metrics.items():
        ours = system_dependence(human, metric, bootstraps=0)
        theirs = deviations_with_scikit_learn(human, metric)
        np.testing.assert_allclose(ours.deviations, theirs, rtol=0, atol=1e-9, err_msg=name)
        assert ours.sysdep == pytest.approx(np.ptp(theirs), abs=1e-9)


@pytest.mark.parametrize("pair", PAIRS)
def test_known_figures_of_wmt23(wmt23, pair):
    human, metrics = wmt23(pair)
    metrics["constant"] = np.zeros_like(human)
    for name, expected in SPOT[pair].items():
        digits = 2 if name == "constant" else 3
        assert round(system_dependence(human, metrics[name], bootstraps=0).sysdep, digits) == expected


def test_bootstrapped_deviations_equal_a_loop_over_scikit_learn_fits(wmt23):
    human, metrics = wmt23("en-de")
    metric = metrics["BLEU-refA"]
    segments = human.shape[1]
    rng = np.random.default_rng(7)
    total = np.zeros(len(human))
    for _ in range(20):
        drawn = rng.integers(0, segments, segments)
        pooled = IsotonicRegression(out_of_bounds="clip").fit(
            metric[:, drawn].ravel(), human[:, drawn].ravel()
        )
        for k, (m, h) in enumerate(zip(metric, human)):
            own = IsotonicRegression(out_of_bounds="clip").fit(m[drawn], h[drawn])
            total[k] += (pooled.predict(m) - own.predict(m)).mean()
    ours = system_dependence(human, metric, bootstraps=20, seed=7)
    np.testing.assert_allclose(ours.deviations, total / 20, rtol=0, atol=1e-9)


@pytest.fixture
def scores():
    rng = np.random.default_rng(3)
    human = rng.normal(size=(5, 60)) + np.arange(5)[:, None] / 3
    return human, human + rng.normal(size=human.shape)


small = arrays(float, (4, 12), elements=st.integers(-20, 20).map(float))


@settings(deadline=None)
@given(small, small)
def test_deviations_need_no_fit_per_system_because_fits_keep_the_mean(human, metric):
    outputs = build_scored_outputs(human, metric)
    single = deviations_with_scikit_learn(human, metric)
    np.testing.assert_allclose(
        predict_mean_human_scores(outputs) - human.mean(axis=1), single, rtol=0, atol=1e-12
    )


@settings(deadline=None)
@given(small)
def test_metric_equal_to_the_human_score_has_sysdep_zero(human):
    assert system_dependence(human, human, bootstraps=0).sysdep == pytest.approx(0, abs=1e-12)


@settings(deadline=None)
@given(small, small)
def test_constant_metric_has_the_range_of_the_human_means_as_sysdep(human, metric):
    constant = system_dependence(human, np.full_like(metric, 0.1), bootstraps=0)
    assert constant.sysdep == pytest.approx(np.ptp(human.mean(axis=1)), abs=1e-12)


@settings(deadline=None)
@given(small, small, st.sampled_from([np.exp, np.cbrt, np.arctan, lambda m: m**3, lambda m: 5 * m - 7]))
def test_strictly_increasing_transforms_of_the_metric_change_nothing(human, metric, transform):
    before = system_dependence(human, metric, bootstraps=0).deviations
    after = system_dependence(human, transform(metric / 4), bootstraps=0).deviations
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-12)


@settings(deadline=None)
@given(small, small, st.integers(1, 50), st.integers(-50, 50))
def test_positive_affine_maps_of_the_human_score_scale_sysdep(human, metric, scale, shift):
    before = system_dependence(human, metric, bootstraps=0).sysdep
    after = system_dependence(scale * human + shift, metric, bootstraps=0).sysdep
    assert after == pytest.approx(scale * before, abs=1e-9)


@settings(max_examples=20, deadline=None)
@given(small, small, arrays(np.int64, 12, elements=st.integers(0, 3)))
def test_integer_weights_equal_repeated_segments(human, metric, weights):
    weights[0] = 1
    repeated = np.repeat(np.arange(12), weights)
    weighted = system_dependence(human, metric, bootstraps=0, weights=weights).deviations
    unweighted = system_dependence(human[:, repeated], metric[:, repeated], bootstraps=0).deviations
    np.testing.assert_allclose(weighted, unweighted, rtol=0, atol=1e-10)


def test_weights_can_be_given_per_output(scores):
    human, metric = scores
    weights = np.ones_like(human)
    weights[2, :30] = 0
    human_with_gaps = np.where(weights > 0, human, np.nan)
    weighted = system_dependence(human, metric, bootstraps=0, weights=weights)
    np.testing.assert_array_equal(
        weighted.deviations, system_dependence(human_with_gaps, metric, bootstraps=0).deviations
    )


def test_missing_score_leaves_out_one_output(scores):
    human, metric = scores
    human[0, 3] = metric[1, 4] = np.nan
    keep = ~np.isnan(human + metric)
    fit = IsotonicRegression(out_of_bounds="clip").fit(metric[keep], human[keep])
    expected = [(fit.predict(m[k]) - h[k]).mean() for m, h, k in zip(metric, human, keep)]
    np.testing.assert_allclose(
        system_dependence(human, metric, bootstraps=0).deviations, expected, atol=1e-12
    )


def test_clusters_of_one_segment_change_nothing_and_larger_clusters_widen_the_interval(scores):
    human, metric = scores
    document = np.repeat(np.arange(10), 6)
    human = human + np.random.default_rng(0).normal(size=(5, 10))[:, document] * 2
    alone = system_dependence(human, metric)
    named = system_dependence(human, metric, clusters=[f"{i:03}" for i in range(60)])
    together = system_dependence(human, metric, clusters=document)
    assert (named.low, named.high, named.sysdep) == (alone.low, alone.high, alone.sysdep)
    assert together.high - together.low > 1.3 * (alone.high - alone.low)


def test_seed_determines_the_resamples(scores):
    assert system_dependence(*scores, seed=1).high == system_dependence(*scores, seed=1).high
    assert system_dependence(*scores, seed=1).high != system_dependence(*scores, seed=2).high


def test_interval_contains_the_estimate_and_is_none_without_bootstrap(scores):
    result = system_dependence(*scores)
    assert 0 <= result.low <= result.sysdep <= result.high
    assert (result.deviations_low <= result.deviations).all()
    assert (result.deviations <= result.deviations_high).all()
    single = system_dependence(*scores, bootstraps=0)
    assert (single.low, single.high, single.resampled_deviations) == (None, None, None)


def test_group_missing_from_some_resamples_leaves_all_results_finite():
    rng = np.random.default_rng(5)
    human, metric = rng.normal(size=(3, 40)), rng.normal(size=(3, 40))
    human[2, 2:] = np.nan
    result = system_dependence(human, metric)
    assert np.isnan(result.resampled_deviations[:, 2]).any()
    assert np.isfinite([result.sysdep, result.low, result.high, *result.deviations]).all()


def test_error_names_a_group_that_is_missing_from_every_resample():
    human = np.zeros((3, 500))
    human[1, 1:] = np.nan
    with pytest.raises(InputError, match=r"^1 has so few outputs that none of 1 resamples contains one"):
        system_dependence(human, np.zeros((3, 500)), bootstraps=1, seed=1)


@pytest.mark.parametrize("shift", [(0, 0, 0, 0, 0, 0), (-1, 0, 0, 0, 0, 1), (-1, -1, -1, 1, 1, 1)])
def test_intervals_cover_the_true_range(shift):
    """Simulated deviations with known truth: all equal, one pair differs, several are tied at both ends."""
    rng = np.random.default_rng(11)
    truth = np.array(shift, dtype=float)
    covered = 0
    for _ in range(400):
        estimate = truth + rng.normal(scale=0.3, size=6)
        low, high = estimate_range_interval(estimate, rng.normal(scale=0.3, size=(200, 6)))
        covered += low <= np.ptp(truth) <= high
    assert covered >= 0.93 * 400


def test_intervals_of_a_fair_metric_reach_zero():
    """h = m + noise: no system is treated differently, so that about 95 % of the intervals contain 0."""
    rng = np.random.default_rng(12)
    reach = 0
    for seed in range(100):
        metric = rng.normal(size=(4, 150))
        result = system_dependence(metric + rng.normal(size=metric.shape), metric, bootstraps=100, seed=seed)
        reach += result.low == 0
    assert reach >= 92


@pytest.mark.parametrize(
    ("human", "metric", "options", "message"),
    [
        (np.zeros((2, 3)), np.zeros((3, 2)), {}, r"\(2, 3\) but metric scores are \(3, 2\)"),
        (np.zeros(3), np.zeros(3), {}, "systems, segments"),
        (np.zeros((1, 3)), np.zeros((1, 3)), {}, "at least two"),
        (np.full((2, 3), [[1], [np.nan]]), np.zeros((2, 3)), {}, "system 1 has no output"),
        (np.zeros((2, 3)), np.full((2, 3), np.inf), {}, "metric score of system 0, segment 0 is infinite"),
        (np.zeros((2, 3)), np.zeros((2, 3)), {"clusters": [1, 2]}, "one label per segment"),
        (np.zeros((2, 3)), np.zeros((2, 3)), {"weights": [1, 2]}, "weights are"),
        (np.zeros((2, 3)), np.zeros((2, 3)), {"weights": [1, 2, -1]}, "not negative"),
        (np.zeros((2, 3)), np.zeros((2, 3)), {"bootstraps": -1}, "0 or more"),
    ],
)
def test_invalid_input_is_an_error(human, metric, options, message):
    with pytest.raises(InputError, match=message):
        system_dependence(human, metric, **options)


def test_intervals_allow_for_few_clusters_and_for_the_steps_of_the_fit():
    """Student's t over the normal quantile, and √(n / (n - 1.5 D)) with D steps counted in scikit-learn's fit."""
    rng = np.random.default_rng(0)
    human = rng.normal(size=(3, 20))
    metric = human + rng.normal(size=human.shape)
    found = system_dependence(human, metric, bootstraps=400)
    steps = len(np.unique(IsotonicRegression().fit_transform(metric.ravel(), human.ravel())))
    stretch = stats.t.ppf(0.975, 19) / stats.norm.ppf(0.975) * np.sqrt(60 / (60 - 1.5 * steps))
    plain = np.quantile(np.abs(found.resampled_deviations - found.single_fit_deviations), 0.95, axis=0)
    assert stretch > 1.1
    assert found.deviations_high - found.deviations == pytest.approx(stretch * plain)


def test_each_end_of_the_interval_allows_for_its_own_error():
    """Two groups one point apart; errors of the upper one range from -.1 to .3: it is more often too high."""
    errors = np.stack([np.zeros(401), np.linspace(-0.1, 0.3, 401)], axis=1)
    low, high = estimate_range_interval(np.array([0.0, 1.0]), errors)
    assert (low, high) == pytest.approx((1 - 0.29, 1 + 0.09))  # the 97.5 % points of .29 and .09


def test_the_lower_end_allows_for_every_group_that_may_be_the_highest():
    """A third group, .05 below the highest and much less certain, may be the highest as well."""
    wide = np.linspace(-0.4, 0.4, 401)
    errors = np.stack([np.zeros(401), np.zeros(401), wide], axis=1)
    low, _ = estimate_range_interval(np.array([0.0, 1.0, 0.95]), errors)
    assert low == pytest.approx(1 - 0.38)  # the 97.5 % point of its errors
    low, _ = estimate_range_interval(np.array([0.0, 1.0, -0.9 + 1]), errors / 100)
    assert low == pytest.approx(1)  # .9 below the highest: cannot be the highest
