"""Self-preference: equal to scikit-learn, power for a biased judge, and error rate for a fair one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.isotonic import IsotonicRegression

from metassay.meta.judges.self_preference import (
    SystemDeviations,
    deviations_from_humans,
    deviations_from_panel,
    estimate_family_preference,
)
from metassay.stats.resampling import draw_bootstrap_counts


def draw_counts(items, draws=200, seed=0):
    return draw_bootstrap_counts(items, items, draws, np.random.default_rng(seed)).astype(np.uint32)


def test_deviations_equal_scikit_learns_isotonic_regression():
    rng = np.random.default_rng(0)
    human = rng.normal(size=(4, 50))
    score = human + rng.normal(size=(4, 50))
    score[0, :5] = np.nan
    known = ~np.isnan(score)
    fitted = IsotonicRegression(out_of_bounds="clip").fit(score[known], human[known])
    expected = [fitted.predict(score[k][known[k]]).mean() - human[k][known[k]].mean() for k in range(4)]
    found = deviations_from_humans(score, human, draw_counts(50))
    assert found.observed == pytest.approx(expected)
    assert found.resampled.shape == (200, 4)


def test_resampled_deviations_equal_those_of_repeated_items():
    rng = np.random.default_rng(1)
    human = rng.normal(size=(3, 30))
    score = human + rng.normal(size=(3, 30))
    drawn = draw_counts(30, draws=3)
    found = deviations_from_humans(score, human, drawn)
    for row, expected in zip(drawn, found.resampled):
        again = np.repeat(np.arange(30), row)
        one = np.ones((1, len(again)), dtype=np.uint32)
        assert deviations_from_humans(score[:, again], human[:, again], one).observed == pytest.approx(
            expected
        )


def test_panel_is_the_mean_of_the_z_scores_of_the_other_judges():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(3, 5, 40)) * np.array([1.0, 10.0, 0.1])[:, None, None]
    z = stats.zscore(scores.mean(axis=2), axis=1)
    found = deviations_from_panel(scores, 1, draw_counts(40))
    assert found.observed == pytest.approx(z[1] - (z[0] + z[2]) / 2)


def test_judge_that_favours_its_family_is_detected():
    rng = np.random.default_rng(3)
    quality = rng.normal(size=(6, 200)) + np.linspace(0, 2, 6)[[0, 3, 1, 4, 2, 5], None]
    scores = quality + rng.normal(size=(3, 6, 200)) * 0.5
    own = np.array([True, True, False, False, False, False])
    scores[0, own] += 0.8
    by_people = estimate_family_preference(deviations_from_humans(scores[0], quality, draw_counts(200)), own)
    assert by_people.low > 0.3
    assert by_people.p < 0.001
    by_panel = estimate_family_preference(deviations_from_panel(scores, 0, draw_counts(200)), own)
    assert by_panel.deviation > 0
    assert by_panel.p < 0.001


def test_fair_judge_is_rejected_in_five_percent():
    rng, rejected, draws = np.random.default_rng(4), 0, 300
    own = np.array([True, True, False, False])
    for draw in range(draws):
        human = rng.normal(size=(4, 60))
        score = human + rng.normal(size=(4, 60))
        rejected += (
            estimate_family_preference(
                deviations_from_humans(score, human, draw_counts(60, 200, draw)), own
            ).p
            <= 0.05
        )
    low, high = stats.binom.ppf([0.0005, 0.9995], draws, 0.05)
    assert low <= rejected <= high


def test_preference_is_undefined_without_other_families():
    deviations = SystemDeviations(np.zeros(3), np.zeros((5, 3)), 10)
    assert np.isnan(estimate_family_preference(deviations, np.ones(3, dtype=bool)).p)
    empty = deviations_from_humans(np.full((2, 4), np.nan), np.zeros((2, 4)), draw_counts(4))
    assert np.isnan(empty.observed).all()


@pytest.mark.parametrize("offsets", [(0.0, 0.0, 0.0, 0.0), (0.0, 1.5, 0.5, 2.0)])
def test_judge_that_agrees_with_the_panel_is_rejected_in_at_most_five_percent(offsets):
    rng, rejected, draws = np.random.default_rng(5), 0, 300
    own = np.array([True, True, False, False])
    for draw in range(draws):
        quality = rng.normal(size=(4, 60)) + np.array(offsets)[:, None]
        scores = quality + rng.normal(size=(4, 4, 60))
        rejected += (
            estimate_family_preference(deviations_from_panel(scores, 0, draw_counts(60, 200, draw)), own).p
            <= 0.05
        )
    assert rejected <= stats.binom.ppf(0.9995, draws, 0.05)


def test_interval_and_p_value_follow_students_t():
    """Resampled deviations of ±.1 about .3, ten items: t(9) = 2.262 for 95 %, two-sided."""
    spread = 0.1 * np.sqrt(200 / 199)  # of 100 at +.1 and 100 at -.1
    drawn = np.stack([0.3 + np.tile([0.1, -0.1], 100), np.zeros(200)], axis=1)
    found = estimate_family_preference(
        SystemDeviations(np.array([0.3, 0.0]), drawn, 10), np.array([True, False])
    )
    assert (found.low, found.high) == pytest.approx((0.3 - 2.262157 * spread, 0.3 + 2.262157 * spread))
    assert found.p == pytest.approx(2 * stats.t.sf(0.3 / spread, 9))
