"""Self-preference against another implementation of expected deviations, and where nobody is preferred."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.isotonic import IsotonicRegression

from metassay.meta.judges.judge_measures import Deviations, against_panel, against_people, preference
from metassay.stats.resampling import draw_bootstrap_counts


def counts(items, draws=200, seed=0):
    return draw_bootstrap_counts(items, items, draws, np.random.default_rng(seed)).astype(np.uint32)


def test_deviations_equal_scikit_learns_isotonic_regression():
    rng = np.random.default_rng(0)
    human = rng.normal(size=(4, 50))
    score = human + rng.normal(size=(4, 50))
    score[0, :5] = np.nan
    known = ~np.isnan(score)
    fitted = IsotonicRegression(out_of_bounds="clip").fit(score[known], human[known])
    expected = [fitted.predict(score[k][known[k]]).mean() - human[k][known[k]].mean() for k in range(4)]
    found = against_people(score, human, counts(50))
    assert found.observed == pytest.approx(expected)
    assert found.resampled.shape == (200, 4)


def test_each_resample_is_the_deviation_on_the_drawn_items():
    rng = np.random.default_rng(1)
    human = rng.normal(size=(3, 30))
    score = human + rng.normal(size=(3, 30))
    drawn = counts(30, draws=3)
    found = against_people(score, human, drawn)
    for row, expected in zip(drawn, found.resampled):
        again = np.repeat(np.arange(30), row)
        one = np.ones((1, len(again)), dtype=np.uint32)
        assert against_people(score[:, again], human[:, again], one).observed == pytest.approx(expected)


def test_the_panel_is_the_mean_of_the_others_z_scores():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(3, 5, 40)) * np.array([1.0, 10.0, 0.1])[:, None, None]
    z = stats.zscore(scores.mean(axis=2), axis=1)
    found = against_panel(scores, 1, counts(40))
    assert found.observed == pytest.approx(z[1] - (z[0] + z[2]) / 2)


def test_a_judge_that_adds_points_for_its_family_is_found_and_the_others_are_not_blamed():
    rng = np.random.default_rng(3)
    quality = rng.normal(size=(6, 200)) + np.linspace(0, 2, 6)[[0, 3, 1, 4, 2, 5], None]
    scores = quality + rng.normal(size=(3, 6, 200)) * 0.5
    own = np.array([True, True, False, False, False, False])
    scores[0, own] += 0.8
    by_people = preference(against_people(scores[0], quality, counts(200)), own)
    assert by_people.low > 0.3
    assert by_people.p < 0.001
    by_panel = preference(against_panel(scores, 0, counts(200)), own)
    assert by_panel.deviation > 0
    assert by_panel.p < 0.001


def test_a_fair_judge_is_blamed_as_often_as_the_level_says():
    rng, blamed, draws = np.random.default_rng(4), 0, 300
    own = np.array([True, True, False, False])
    for draw in range(draws):
        human = rng.normal(size=(4, 60))
        score = human + rng.normal(size=(4, 60))
        blamed += preference(against_people(score, human, counts(60, 200, draw)), own).p <= 0.05
    low, high = stats.binom.ppf([0.0005, 0.9995], draws, 0.05)
    assert low <= blamed <= high


def test_nothing_is_said_of_a_family_that_has_no_others():
    deviations = Deviations(np.zeros(3), np.zeros((5, 3)), 10)
    assert np.isnan(preference(deviations, np.ones(3, dtype=bool)).p)
    empty = against_people(np.full((2, 4), np.nan), np.zeros((2, 4)), counts(4))
    assert np.isnan(empty.observed).all()


@pytest.mark.parametrize("offsets", [(0.0, 0.0, 0.0, 0.0), (0.0, 1.5, 0.5, 2.0)])
def test_a_judge_like_the_rest_of_the_panel_is_blamed_no_more_often_than_the_level_says(offsets):
    rng, blamed, draws = np.random.default_rng(5), 0, 300
    own = np.array([True, True, False, False])
    for draw in range(draws):
        quality = rng.normal(size=(4, 60)) + np.array(offsets)[:, None]
        scores = quality + rng.normal(size=(4, 4, 60))
        blamed += preference(against_panel(scores, 0, counts(60, 200, draw)), own).p <= 0.05
    assert blamed <= stats.binom.ppf(0.9995, draws, 0.05)


def test_the_interval_and_p_value_of_a_preference_are_student_s():
    """Resampled deviations of ±.1 about .3, ten items: t(9) = 2.262 for 95 %, two-sided."""
    spread = 0.1 * np.sqrt(200 / 199)  # of 100 at +.1 and 100 at -.1
    drawn = np.stack([0.3 + np.tile([0.1, -0.1], 100), np.zeros(200)], axis=1)
    found = preference(Deviations(np.array([0.3, 0.0]), drawn, 10), np.array([True, False]))
    assert (found.low, found.high) == pytest.approx((0.3 - 2.262157 * spread, 0.3 + 2.262157 * spread))
    assert found.p == pytest.approx(2 * stats.t.sf(0.3 / spread, 9))
