"""Rankings of systems and inverted pairs, on scores that can be checked by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metassay.meta.dependence.deviations import (
    measure_how_much_groups_are_overrated,
    predict_mean_human_scores,
)
from metassay.meta.dependence.rankings import (
    find_system_pairs_in_wrong_order,
    rank_systems_by_human_and_metric_scores,
    sort_names_by_descending_mean,
)
from metassay.meta.dependence.scored_outputs import build_scored_outputs

NAMES = ("A", "B", "C")


def test_equal_means_are_ordered_by_name():
    assert sort_names_by_descending_mean(["z", "b", "a"], np.array([1.0, 2.0, 2.0])) == ["a", "b", "z"]


def test_deviations_explain_an_inversion_of_a_biased_metric():
    """The metric adds 2 to the scores of B, so that its predicted human score exceeds that of A."""
    human = np.array([[1.0, 2, 3, 4], [0, 1, 2, 3], [-3, -2, -1, 0]])
    metric = human + np.array([[0], [2], [0]])
    outputs = replace(build_scored_outputs(human, metric), group_names=NAMES)
    deviations = measure_how_much_groups_are_overrated(outputs)
    rankings = rank_systems_by_human_and_metric_scores(outputs, deviations)
    assert rankings.human == ["A", "B", "C"]
    assert rankings.metric == ["B", "A", "C"]
    assert rankings.remapped == ["B", "A", "C"]
    (pair,) = find_system_pairs_in_wrong_order(outputs, deviations)
    assert (pair.better, pair.worse, pair.human_gap, pair.metric_gap) == ("A", "B", 1, -1)
    assert pair.explained
    predicted = predict_mean_human_scores(outputs)
    assert pair.deviation_gap - pair.human_gap == pytest.approx(predicted[1] - predicted[0])


def test_deviations_do_not_explain_an_inversion_from_averaging_on_a_stretched_scale():
    """A strictly increasing metric has no deviations, but one huge score lifts the mean of B above that of A."""
    human = np.array([[3.0, 3, 3, 3], [0, 0, 0, 4], [1, 1, 1, 1]])
    outputs = replace(build_scored_outputs(human, 10.0**human), group_names=NAMES)
    deviations = measure_how_much_groups_are_overrated(outputs)
    np.testing.assert_allclose(deviations, 0, atol=1e-12)
    (pair,) = find_system_pairs_in_wrong_order(outputs, deviations)
    assert (pair.better, pair.worse) == ("A", "B")
    assert not pair.explained
    rankings = rank_systems_by_human_and_metric_scores(outputs, deviations)
    assert rankings.remapped == rankings.human


def test_largest_human_gap_comes_first_and_ties_are_no_inversions():
    human = np.repeat([[3.0], [2.0], [1.0]], 4, axis=1)
    inversions = find_system_pairs_in_wrong_order(build_scored_outputs(human, -human), np.zeros(3))
    assert [pair.human_gap for pair in inversions] == [2, 1, 1]
    assert (
        find_system_pairs_in_wrong_order(build_scored_outputs(human, np.zeros_like(human)), np.zeros(3)) == []
    )


def test_deviations_explain_an_inversion_only_where_they_exceed_the_human_gap():
    human = np.repeat([[1.0], [0.0]], 4, axis=1)
    outputs = build_scored_outputs(human, -human)
    (below,) = find_system_pairs_in_wrong_order(outputs, np.array([0.0, 0.9]))
    (above,) = find_system_pairs_in_wrong_order(outputs, np.array([0.0, 1.1]))
    assert (below.deviation_gap, below.explained) == (0.9, False)
    assert (above.deviation_gap, above.explained) == (1.1, True)
