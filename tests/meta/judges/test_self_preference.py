"""Self-preference: a difference at equal human scores, error rate for fair judges, and power for biased ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from metassay.meta.judges.self_preference import (
    estimate_judge_bias_for_model_family,
    estimate_judge_bias_relative_to_other_judges,
)
from metassay.stats.resampling import draw_bootstrap_counts


def draw_counts(items, draws=200, seed=0):
    return draw_bootstrap_counts(items, items, draws, np.random.default_rng(seed)).astype(np.uint32)


def test_deviation_is_the_difference_of_means_within_equal_human_scores():
    """Two human grades with as many outputs of each family: a plain mean of two differences."""
    human = np.tile([1.0, 2.0], (2, 20))
    rng = np.random.default_rng(0)
    scores = rng.permutation(80).reshape(2, 40).astype(float)
    normal_scores = stats.norm.ppf((stats.rankdata(scores) - 0.5) / 80).reshape(2, 40)
    differences = [(normal_scores[0] - normal_scores[1])[human[0] == grade].mean() for grade in (1, 2)]
    preference = estimate_judge_bias_for_model_family(scores, human, np.array([True, False]))
    assert preference.deviation == pytest.approx(np.mean(differences))
    assert preference.low < preference.deviation < preference.high


def test_judge_that_repeats_the_human_scores_has_no_preference():
    human = np.random.default_rng(2).normal(size=(4, 50)) + np.arange(4)[:, None]
    preference = estimate_judge_bias_for_model_family(human, human, np.array([True, False, False, True]))
    assert preference.deviation == pytest.approx(0, abs=1e-9)
    assert preference.p == 1


def test_preference_does_not_depend_on_the_scales_of_judge_and_humans():
    rng = np.random.default_rng(3)
    human = rng.normal(size=(4, 50)) + np.arange(4)[:, None]
    score = human + rng.normal(size=(4, 50))
    in_family = np.array([True, False, False, True])
    first = estimate_judge_bias_for_model_family(score, human, in_family)
    assert estimate_judge_bias_for_model_family(np.exp(score), 5 * human - 3, in_family) == pytest.approx(
        first
    )


def test_families_that_share_no_human_score_cannot_be_compared():
    human = np.repeat([[1.0], [2.0]], 30, axis=1)
    scores = np.random.default_rng(0).normal(size=(2, 30))
    assert np.isnan(estimate_judge_bias_for_model_family(scores, human, np.array([True, False])).p)


def draw_judge(rng, systems, own_systems, gap, noise, items, *, kind="continuous", bias=0.0):
    """Draw scores of a judge and human scores; the judge's own family is better by `gap`.

    `noise` and `bias` (extra points for the own family) are in standard deviations of the human scores.
    """
    in_family = np.arange(systems) < own_systems
    quality = rng.normal(0, 0.3, systems) + gap * in_family
    difficulty = rng.normal(size=items)
    human = quality[:, None] + 0.7 * difficulty + 0.7 * rng.normal(size=(systems, items))
    if kind == "grades":
        human = np.clip(np.round(3 + human), 1, 5)
    elif kind == "penalties":
        human = -np.exp(-0.8 * human)
    sd = human.std()
    scores = human + noise * sd * rng.normal(size=human.shape) + bias * sd * in_family[:, None]
    if kind == "grades":
        scores = np.clip(np.round(scores), 1, 5)
    elif kind == "curved":
        scores = np.exp(scores)
    return scores, human, in_family


def p_of_draw(rng, *design, **options):
    return estimate_judge_bias_for_model_family(*draw_judge(rng, *design, **options)).p


SIZES = [(4, 1, 80), (6, 3, 60), (12, 2, 60)]
"""Systems, systems of the judge's own family, items."""


@pytest.mark.parametrize("kind", ["continuous", "grades", "penalties", "curved"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("gap", [0.0, 1.0, 2.0])
def test_fair_judge_is_accused_in_at_most_five_percent_whatever_the_quality_of_families(kind, size, gap):
    rng = np.random.default_rng(4)
    systems, own_systems, items = size
    rejected = [
        p_of_draw(rng, systems, own_systems, gap, noise, items, kind=kind) <= 0.05
        for noise in (0.3, 1.0, 2.0)
        for _ in range(100)
    ]
    assert sum(rejected) <= stats.binom.ppf(0.9995, 300, 0.05)


@pytest.mark.parametrize("gap", [0.0, 1.0])
@pytest.mark.parametrize("size", [(6, 2, 100), (12, 3, 100)])
def test_preference_of_half_a_standard_deviation_is_found_in_four_of_five_sets(size, gap):
    rng = np.random.default_rng(6)
    systems, own_systems, items = size
    p_values = [p_of_draw(rng, systems, own_systems, gap, 1.0, items, bias=0.5) for _ in range(40)]
    assert np.mean(np.array(p_values) <= 0.05) >= 0.8


def test_panel_is_the_mean_of_the_z_scores_of_the_other_judges():
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(3, 5, 40)) * np.array([1.0, 10.0, 0.1])[:, None, None]
    z = stats.zscore(scores.mean(axis=2), axis=1)
    deviations = z[1] - (z[0] + z[2]) / 2
    in_family = np.array([True, False, True, False, False])
    preference = estimate_judge_bias_relative_to_other_judges(scores, 1, in_family, draw_counts(40))
    assert preference.deviation == pytest.approx(deviations[in_family].mean() - deviations[~in_family].mean())


def test_judge_that_favours_its_family_is_detected_by_the_panel():
    rng = np.random.default_rng(3)
    quality = rng.normal(size=(6, 200)) + np.linspace(0, 2, 6)[[0, 3, 1, 4, 2, 5], None]
    scores = quality + rng.normal(size=(3, 6, 200)) * 0.5
    in_family = np.arange(6) < 2
    scores[0, in_family] += 0.8
    preference = estimate_judge_bias_relative_to_other_judges(scores, 0, in_family, draw_counts(200))
    assert preference.deviation > 0
    assert preference.p < 0.001


def test_preference_is_undefined_without_other_families():
    every_system = np.ones(3, dtype=bool)
    scores = np.random.default_rng(0).normal(size=(2, 3, 10))
    assert np.isnan(estimate_judge_bias_relative_to_other_judges(scores, 0, every_system, draw_counts(10)).p)
    assert np.isnan(estimate_judge_bias_for_model_family(scores[0], scores[1], every_system).p)
    missing = np.full((3, 10), np.nan)
    assert np.isnan(estimate_judge_bias_for_model_family(missing, scores[1], np.arange(3) < 1).p)


@pytest.mark.parametrize("offsets", [(0.0, 0.0, 0.0, 0.0), (0.0, 1.5, 0.5, 2.0)])
def test_judge_that_agrees_with_the_panel_is_rejected_in_at_most_five_percent(offsets):
    rng = np.random.default_rng(5)
    draws = 300
    rejected = 0
    in_family = np.arange(4) < 2
    for draw in range(draws):
        quality = rng.normal(size=(4, 60)) + np.array(offsets)[:, None]
        scores = quality + rng.normal(size=(4, 4, 60))
        rejected += (
            estimate_judge_bias_relative_to_other_judges(scores, 0, in_family, draw_counts(60, 200, draw)).p
            <= 0.05
        )
    assert rejected <= stats.binom.ppf(0.9995, draws, 0.05)
