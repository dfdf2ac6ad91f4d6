"""Intervals of means over items: nominal coverage and width with half credits and few items."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.meta.judges.estimates import estimate_mean_over_items
from metassay.stats.bootstrap import ClusterBootstrap


@pytest.mark.parametrize("items", [30, 60, 100])
@pytest.mark.parametrize("shares", [(0.1, 0.3, 0.6), (0.25, 0.5, 0.25)])
def test_intervals_have_nominal_coverage_and_width_with_half_credits(items, shares):
    rng = np.random.default_rng(0)
    credit_values = np.array([0.0, 0.5, 1.0])
    truth = float(np.dot(shares, credit_values))
    bootstrap = ClusterBootstrap(np.random.default_rng(0), 200)
    covered = 0
    widths = []
    for _ in range(200):
        values = rng.choice(credit_values, size=items, p=shares)
        estimate = estimate_mean_over_items(values, np.arange(items, dtype=np.int32), bootstrap)
        covered += estimate.low <= truth <= estimate.high
        widths.append(estimate.high - estimate.low)
    sd = np.sqrt(np.dot(shares, (credit_values - truth) ** 2))
    assert 0.90 <= covered / 200 <= 0.99
    assert np.mean(widths) <= 1.1 * 2 * 1.96 * sd / np.sqrt(items)
