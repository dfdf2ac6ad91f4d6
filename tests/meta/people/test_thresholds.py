"""The difference of system means from which on people agree with a metric."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.thresholds import estimate_agreement_thresholds


def test_the_threshold_is_above_every_difference_that_is_wrong() -> None:
    """Small differences are wrong half of the time, differences from about 1 on are always right."""
    human = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    metric = np.array([[0.1], [0.0], [1.1], [1.0], [2.1], [2.0]])
    rows = estimate_agreement_thresholds("m", [ScoreArrays(human, metric[None])], [0], resamples=50)
    differences = {row.agreement: row.difference or np.inf for row in rows}
    wrong = []
    for i, j in combinations(range(6), 2):
        if (metric[i, 0] - metric[j, 0]) * (human[i, 0] - human[j, 0]) < 0:
            wrong.append(abs(metric[i, 0] - metric[j, 0]))
    assert max(wrong) < differences[0.95] <= 0.9 + 1e-9
    assert differences[0.8] <= differences[0.9] <= differences[0.95]


def test_a_metric_that_is_always_wrong_has_no_threshold() -> None:
    human = np.arange(5.0)[:, None]
    rows = estimate_agreement_thresholds("m", [ScoreArrays(human, -human[None])], [0], resamples=5)
    assert [row.difference for row in rows] == [None, None, None]


def estimate_differences(pairs: list[tuple[bool, float]]) -> list[float | None]:
    """Thresholds over data sets of two systems: whether people agree, and the metric's difference."""
    datasets = []
    for people_agree, difference in pairs:
        human = np.array([[1.0], [0.0]]) if people_agree else np.array([[0.0], [1.0]])
        datasets.append(ScoreArrays(human, np.array([[[difference], [0.0]]])))
    rows = estimate_agreement_thresholds("m", datasets, [0] * len(datasets), resamples=1)
    return [row.difference for row in rows]


def test_the_threshold_is_the_first_difference_at_which_enough_people_agree() -> None:
    """Ten pairs, .1 to 1.0 apart; people disagree on the first and third: pooled shares 0, ½, ½, 1, …"""
    people_agree = [False, True, False, *[True] * 7]
    pairs = [(agree, size / 10) for size, agree in enumerate(people_agree, start=1)]
    assert estimate_differences(pairs) == pytest.approx([0.4, 0.4, 0.4])


def test_a_share_that_is_never_reached_has_no_threshold() -> None:
    pairs = [(True, 0.5)] * 14 + [(False, 0.5)]  # 93 % agree
    assert estimate_differences(pairs) == [pytest.approx(0.5), pytest.approx(0.5), None]
