"""Orders of the systems and inverted pairs, on scores small enough to check by eye."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.meta.dependence.deviations import expected_deviations, remapped_means
from metassay.meta.dependence.results import Inversion, inversions, ranked, rankings
from metassay.meta.dependence.scored_outputs import cells_of

NAMES = ["A", "B", "C"]


def test_equal_means_are_ordered_by_name():
    assert ranked(["z", "b", "a"], np.array([1.0, 2.0, 2.0])) == ("a", "b", "z")


def test_an_inversion_that_the_deviations_explain():
    """The metric adds 2 to B's scores: read off the metric, B passes A."""
    human = np.array([[1.0, 2, 3, 4], [0, 1, 2, 3], [-3, -2, -1, 0]])
    metric = human + np.array([[0], [2], [0]])
    cells = cells_of(human, metric, names=NAMES)
    deviations = expected_deviations(cells)
    assert rankings(cells, deviations).human == ("A", "B", "C")
    assert rankings(cells, deviations).metric == ("B", "A", "C")
    assert rankings(cells, deviations).remapped == ("B", "A", "C")
    (pair,) = inversions(cells, deviations)
    assert (pair.better, pair.worse, pair.human_gap, pair.metric_gap) == ("A", "B", 1, -1)
    assert pair.explained
    remapped = remapped_means(cells)
    assert pair.deviation_gap - pair.human_gap == pytest.approx(remapped[1] - remapped[0])


def test_an_inversion_from_averaging_on_a_stretched_scale_is_not_explained():
    """A strictly rising metric treats all alike (ED 0), but one huge score carries B's mean past A's."""
    human = np.array([[3.0, 3, 3, 3], [0, 0, 0, 4], [1, 1, 1, 1]])
    cells = cells_of(human, 10.0**human, names=NAMES)
    deviations = expected_deviations(cells)
    np.testing.assert_allclose(deviations, 0, atol=1e-12)
    assert [(pair.better, pair.worse) for pair in inversions(cells, deviations)] == [("A", "B")]
    assert not inversions(cells, deviations)[0].explained
    assert rankings(cells, deviations).remapped == rankings(cells, deviations).human


def test_the_worst_case_comes_first_and_ties_are_no_inversions():
    human = np.repeat([[3.0], [2.0], [1.0]], 4, axis=1)
    gaps = [pair.human_gap for pair in inversions(cells_of(human, -human), np.zeros(3))]
    assert gaps == [2, 1, 1]
    assert inversions(cells_of(human, np.zeros_like(human)), np.zeros(3)) == ()


def test_deviations_explain_an_inversion_only_where_they_exceed_the_human_gap():
    assert not Inversion("A", "B", human_gap=1.0, metric_gap=-0.1, deviation_gap=0.9).explained
    assert Inversion("A", "B", human_gap=1.0, metric_gap=-0.1, deviation_gap=1.1).explained
