"""Groups of sign flips: sums against flipping one by one, p-values against enumeration and scipy."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from metassay.stats.flip_groups import compute_p_values_under_random_signs, draw_random_signs_of_segments


def test_sums_equal_flipping_every_segment_one_by_one() -> None:
    rng = np.random.default_rng(0)
    group = draw_random_signs_of_segments(rng, 1000, segments=40)
    scores = rng.normal(size=(7, 11, 40))  # more rows than are transformed at the same time
    segments = np.flatnonzero(rng.random(40) < 0.5)
    sums = group.sum_scores_under_random_signs(np.moveaxis(scores, 2, 0).astype(np.float32), segments)
    assert sums.shape == (7, 11, 512)
    for product in (0, 1, 6, 511):
        signs = np.array([(-1) ** (product & int(code)).bit_count() for code in group.codes])
        expected = (scores * signs)[:, :, segments].sum(axis=2)
        np.testing.assert_allclose(sums[:, :, product], expected, atol=1e-5)


def test_p_values_of_few_segments_equal_enumeration() -> None:
    """With more sign vectors than segments the group has every assignment of signs equally often."""
    rng = np.random.default_rng(3)
    scores = rng.integers(-5, 1, size=(6, 8)).astype(np.float64)  # many ties
    scores[1] = scores[0]
    group = draw_random_signs_of_segments(np.random.default_rng(5), 2**15, segments=8)
    signs = np.array(list(itertools.product([1, -1], repeat=8)))
    first, second = np.triu_indices(6, 1)
    differences = scores[first] - scores[second]
    flipped = differences @ signs.T
    observed = differences.sum(axis=1, keepdims=True)
    exact = ((flipped > observed) + 0.5 * (flipped == observed)).mean(axis=1)
    np.testing.assert_allclose(compute_p_values_under_random_signs(scores, group), exact, atol=1e-12)


def test_p_values_of_many_segments_are_as_precise_as_those_of_independent_flips() -> None:
    """Over 400 groups: right on average, with at most the variance p (1 - p) / 1000."""
    scores = np.random.default_rng(1).normal(size=(2, 60)) ** 3
    exact = stats.permutation_test(
        (scores[0] - scores[1],),
        np.sum,
        permutation_type="samples",
        alternative="greater",
        n_resamples=200_000,
        vectorized=True,
        rng=np.random.default_rng(2),
    ).pvalue
    drawn = np.array(
        [
            compute_p_values_under_random_signs(
                scores, draw_random_signs_of_segments(np.random.default_rng(seed), 1000, 60)
            )[0]
            for seed in range(400)
        ]
    )
    independent_variance = exact * (1 - exact) / 1000
    assert drawn.mean() == pytest.approx(exact, abs=4 * np.sqrt(independent_variance / 400) + 0.002)
    assert drawn.var() <= 1.3 * independent_variance
