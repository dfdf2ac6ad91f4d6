import math

import numpy as np
import pytest
from scipy.stats import somersd

from metassay.meta.judges.item_order import estimate_share_of_pairs_ordered_like_humans


@pytest.mark.parametrize("levels", [3, 5, 1000])
def test_accuracy_is_somers_d_with_humans_as_the_independent_scores(levels):
    rng = np.random.default_rng(levels)
    for count in (2, 3, 20, 700):  # 700 outputs are more than one block
        human = rng.integers(levels, size=count).astype(float)
        judge = human + rng.integers(levels, size=count)
        human[0], human[1] = 0, 1  # so that there is a pair
        estimate = estimate_share_of_pairs_ordered_like_humans(judge, human)
        agreement = np.sign(human[:, None] - human) * np.sign(judge[:, None] - judge)
        ordered_pairs = np.count_nonzero(human[:, None] != human)
        assert estimate.value == pytest.approx((1 + agreement.sum() / ordered_pairs) / 2)
        assert estimate.pairs == ordered_pairs // 2
        if count <= 20:  # SciPy takes minutes for a table of 700 by 700 values
            assert estimate.value == pytest.approx((1 + somersd(human, judge).statistic) / 2)


def test_variance_is_that_of_a_loop_that_leaves_each_output_out():
    rng = np.random.default_rng(0)
    human = rng.normal(size=40)
    judge = human + rng.normal(size=40)
    estimate = estimate_share_of_pairs_ordered_like_humans(judge, human)
    others = [
        estimate_share_of_pairs_ordered_like_humans(np.delete(judge, i), np.delete(human, i)).value
        for i in range(40)
    ]
    variance = 39 / 40 * sum((value - np.mean(others)) ** 2 for value in others)
    # Wilson's interval (1927) for p (1 - p) / variance observations, with Student's t of 39 degrees
    p = estimate.value
    size = p * (1 - p) / variance
    t = 2.0226909
    centre = (p + t**2 / (2 * size)) / (1 + t**2 / size)
    half_width = t / (1 + t**2 / size) * math.sqrt(p * (1 - p) / size + t**2 / (4 * size**2))
    assert (estimate.low, estimate.high) == pytest.approx((centre - half_width, centre + half_width))


@pytest.mark.parametrize("noise", [0.3, 1.0, 3.0])
def test_intervals_cover_the_accuracy_of_a_judge_with_normal_noise(noise):
    correlation = 1 / math.sqrt(1 + noise**2)
    accuracy = 0.5 + math.asin(correlation) / math.pi  # Sheppard (1899): concordance of normal variables
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        human = rng.normal(size=50)
        estimate = estimate_share_of_pairs_ordered_like_humans(human + noise * rng.normal(size=50), human)
        covered += estimate.low <= accuracy <= estimate.high
    assert 0.92 <= covered / 400 <= 0.99


def test_without_pairs_there_is_no_accuracy_and_without_spare_pairs_no_interval():
    assert math.isnan(estimate_share_of_pairs_ordered_like_humans(np.arange(5.0), np.ones(5)).value)
    decided_by_one = estimate_share_of_pairs_ordered_like_humans(np.arange(5.0), np.array([0.0, 0, 0, 0, 1]))
    assert (decided_by_one.value, decided_by_one.pairs) == (1, 4)
    assert math.isnan(decided_by_one.low)
