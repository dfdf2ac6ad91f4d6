"""Rogan and Gladen's correction where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.meta.judges.alternative_annotator_test import corrected_share, rogan_gladen
from metassay.stats.bootstrap import ClusterBootstrap


def test_it_undoes_the_errors_of_a_judge_exactly():
    """The share called good is Se π + (1 − Sp)(1 − π) by definition."""
    for truth in (0.1, 0.4, 0.9):
        for sensitivity, specificity in ((0.9, 0.8), (0.7, 0.6), (1.0, 1.0)):
            share = sensitivity * truth + (1 - specificity) * (1 - truth)
            found = rogan_gladen(np.array(share), np.array(sensitivity), np.array(specificity))
            assert found == pytest.approx(truth)


def test_intervals_hold_the_truth_although_the_raw_share_does_not():
    rng, held, raw_off = np.random.default_rng(0), 0, 0
    for draw in range(200):
        truth = (rng.random(600) < 0.3).astype(float)
        said = np.where(truth == 1, rng.random(600) < 0.8, rng.random(600) < 0.3).astype(float)
        gold = np.where(np.arange(600) < 200, truth, np.nan)
        bootstrap = ClusterBootstrap(np.random.default_rng(draw), 300)
        found = corrected_share(said, gold, np.arange(600, dtype=np.int32), bootstrap)
        held += found.low <= 0.3 <= found.high
        raw_off += found.judged > 0.36
        assert found.labelled == 200
    assert 0.9 <= held / 200 <= 0.99
    assert raw_off / 200 > 0.95


def test_a_judge_that_knows_nothing_cannot_be_corrected():
    rng = np.random.default_rng(1)
    truth, said = rng.integers(0, 2, 300).astype(float), rng.integers(0, 2, 300).astype(float)
    items, bootstrap = np.arange(300, dtype=np.int32), ClusterBootstrap(rng, 100)
    assert np.isnan(corrected_share(said, truth, items, bootstrap).value)
    assert np.isnan(corrected_share(said, np.full(300, np.nan), items, bootstrap).value)
    assert np.isnan(rogan_gladen(np.array(0.5), np.array(0.3), np.array(0.3)))
