"""Holm's adjustment against its definition by sequential rejection."""

import numpy as np
import pytest

from metassay.stats.multiplicity import holm


def test_example_of_the_step_down_rule():
    assert holm([0.01, 0.02, 0.03, 0.005]) == pytest.approx([0.03, 0.04, 0.04, 0.02])


def test_adjusted_p_rejects_exactly_where_the_sequential_procedure_does():
    rng = np.random.default_rng(0)
    for _ in range(200):
        p = rng.random(rng.integers(1, 10)) ** 3
        level = rng.random() * 0.2
        rejected = np.zeros(len(p), dtype=bool)
        for step, which in enumerate(np.argsort(p)):
            if p[which] > level / (len(p) - step):
                break
            rejected[which] = True
        assert ((holm(p) <= level) == rejected).all()


def test_tests_not_made_are_not_counted():
    adjusted = holm([0.01, np.nan, 0.04])
    assert adjusted[[0, 2]] == pytest.approx([0.02, 0.04])
    assert np.isnan(adjusted[1])
