"""Tests of the differences between systems with the default number of draws."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.data.score_cube import ScoreCube
from metassay.meta.aggregation.system_comparison import compare_systems
from metassay.metrics.registry import parse_metric


@pytest.mark.parametrize("test_name", ["bootstrap", "randomization"])
def test_clear_differences_between_many_systems_are_significant(test_name: str) -> None:
    systems = 14
    items = 60
    rng = np.random.default_rng(0)
    # The means of neighbouring systems differ by 2.6 times the standard deviation of the scores.
    scores = np.arange(systems)[:, None] + rng.normal(scale=0.38, size=(systems, items))
    cube = ScoreCube(
        dataset="simulated",
        systems=tuple(f"system{number:02d}" for number in range(systems)),
        items=tuple(f"{item:03d}" for item in range(items)),
        human_scores={},
        metric_scores={"meteor": scores},
    )
    comparisons = compare_systems(cube, parse_metric("meteor"), test_name)
    assert len(comparisons) == 91
    assert all(comparison.p_holm <= 0.05 for comparison in comparisons)
