"""The correction of Rogan and Gladen where the true share is known."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.meta.judges.label_correction import (
    correct_share_for_judge_errors,
    estimate_corrected_share_of_good_outputs,
)
from metassay.stats.bootstrap import ClusterBootstrap


def test_correction_recovers_the_true_share_exactly():
    """The share called good is Se π + (1 − Sp)(1 − π) by definition."""
    for truth in (0.1, 0.4, 0.9):
        for sensitivity, specificity in ((0.9, 0.8), (0.7, 0.6), (1.0, 1.0)):
            share = sensitivity * truth + (1 - specificity) * (1 - truth)
            corrected = correct_share_for_judge_errors(
                np.array(share), np.array(sensitivity), np.array(specificity)
            )
            assert corrected == pytest.approx(truth)


def test_intervals_cover_the_true_share_and_the_raw_share_is_biased():
    rng = np.random.default_rng(0)
    covered = 0
    biased = 0
    for draw in range(200):
        truth = (rng.random(600) < 0.3).astype(float)
        verdicts = np.where(truth == 1, rng.random(600) < 0.8, rng.random(600) < 0.3).astype(float)
        gold = np.where(np.arange(600) < 200, truth, np.nan)
        bootstrap = ClusterBootstrap(np.random.default_rng(draw), 300)
        correction = estimate_corrected_share_of_good_outputs(
            verdicts, gold, np.arange(600, dtype=np.int32), bootstrap
        )
        covered += correction.low <= 0.3 <= correction.high
        biased += correction.judged > 0.36
        assert correction.labelled == 200
    assert 0.9 <= covered / 200 <= 0.99
    assert biased / 200 > 0.95


def test_judge_without_information_is_not_corrected():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 300).astype(float)
    verdicts = rng.integers(0, 2, 300).astype(float)
    items = np.arange(300, dtype=np.int32)
    bootstrap = ClusterBootstrap(rng, 100)
    assert np.isnan(estimate_corrected_share_of_good_outputs(verdicts, truth, items, bootstrap).value)
    assert np.isnan(
        estimate_corrected_share_of_good_outputs(verdicts, np.full(300, np.nan), items, bootstrap).value
    )
    assert np.isnan(correct_share_for_judge_errors(np.array(0.5), np.array(0.3), np.array(0.3)))


@pytest.mark.parametrize("prevalence", [0.01, 0.05, 0.95, 0.99])
def test_there_is_an_interval_that_covers_at_extreme_prevalence(prevalence):
    rng = np.random.default_rng(2)
    covered = 0
    for draw in range(100):
        truth = (rng.random(500) < prevalence).astype(float)
        verdicts = np.where(truth == 1, rng.random(500) < 0.9, rng.random(500) < 0.15).astype(float)
        gold = np.where(np.arange(500) < 100, truth, np.nan)
        bootstrap = ClusterBootstrap(np.random.default_rng(draw), 200)
        correction = estimate_corrected_share_of_good_outputs(
            verdicts, gold, np.arange(500, dtype=np.int32), bootstrap
        )
        covered += correction.low <= prevalence <= correction.high  # false if undefined
    assert covered >= 88
