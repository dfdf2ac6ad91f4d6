"""Choosing a metric: the paper's toy table, and preferences in order."""

from dataclasses import replace

import numpy as np
import pytest

from assay_builders import make_choice_table
from metassay.meta.contexts.choice import (
    OverallMetricChoice,
    choose_metric_for_unknown_contexts,
    choose_single_metric_for_all_contexts,
    recommend_metric_for_each_context,
)

METRICS, CONTEXTS = ("A", "B", "C"), ("X", "Y", "Z")
TOY = np.array([[0.9, 0.9, 0.3], [0.7, 0.7, 0.7], [0.3, 0.3, 0.9]])  # Deviyani and Diaz (2025), table 1


def test_toy_table_of_the_paper():
    table = make_choice_table(METRICS, CONTEXTS, TOY)
    found = recommend_metric_for_each_context(table)
    assert table.accuracy[:, 0] == pytest.approx([0.7, 0.7, 0.5])
    assert found["global"].choice == "B"
    assert found["global"].metrics[0] == "B"
    assert choose_metric_for_unknown_contexts(table) == found["global"].robust_choice == "B"
    assert found["Z"].choice == "C"
    assert found["X"].choice == found["Y"].choice == "A"
    assert found["X"].robust_choice is None


def test_top_group_holds_the_equally_accurate_only():
    found = recommend_metric_for_each_context(make_choice_table(METRICS, CONTEXTS, TOY))
    assert set(found["global"].top_group) == {"A", "B"}
    assert found["Z"].top_group == ["C"]


def test_metrics_are_ordered_by_accuracy():
    assert recommend_metric_for_each_context(make_choice_table(METRICS, CONTEXTS, TOY))["Z"].metrics == [
        "C",
        "B",
        "A",
    ]


def test_cost_decides_between_equally_stable_metrics():
    accuracy = np.array([[0.8, 0.7], [0.8, 0.7]])
    table = make_choice_table("PQ", "XY", accuracy, cost_classes={"P": "neural CPU", "Q": "cheap"})
    assert recommend_metric_for_each_context(table)["X"].top_group == ["Q", "P"]


def test_stability_comes_before_cost():
    table = make_choice_table("AB", "XYZ", TOY[:2], cost_classes={"A": "cheap", "B": "paid requests"})
    assert recommend_metric_for_each_context(table)["global"].choice == "B"


def test_criteria_of_the_user_come_after_cost():
    accuracy = np.array([[0.8, 0.7], [0.8, 0.7]])
    criteria = {"interpretability": {"P": 1.0, "Q": 3.0}}
    table = make_choice_table("PQ", "XY", accuracy, criteria=criteria)
    assert recommend_metric_for_each_context(table)["Y"].choice == "Q"


def test_shares_weigh_the_mean_over_contexts():
    table = make_choice_table(METRICS, CONTEXTS, TOY, context_shares=np.array([0.0, 0.0, 1.0]))
    assert recommend_metric_for_each_context(table)["global"].choice == "C"


def test_the_choice_of_the_run_holds_except_where_another_is_shown_to_be_ahead():
    table = make_choice_table(METRICS, CONTEXTS, TOY)
    found = recommend_metric_for_each_context(table, OverallMetricChoice("A", {"Z": ["B", "C"]}))
    assert [found[name].choice for name in ("global", *CONTEXTS)] == ["A", "A", "A", "C"]


def test_a_choice_by_human_pairs_is_the_same_in_every_context():
    table = make_choice_table(METRICS, CONTEXTS, TOY)
    found = recommend_metric_for_each_context(table, OverallMetricChoice("C", human_top_group=["C", "B"]))
    assert {entry.choice for entry in found.values()} == {"C"}
    assert found["X"].top_group == ["C", "B"]
    assert found["X"].metrics == ["A", "B", "C"]


def test_the_first_choice_is_the_cheapest_of_those_that_may_be_best():
    may_be_best, is_worse_than_another = np.array([True, True, False]), np.zeros(3, dtype=bool)
    accuracy = np.array([0.8, 0.81, 0.7])

    def choose(is_worse_than_another, costs):
        return choose_single_metric_for_all_contexts(
            accuracy,
            may_be_best,
            is_worse_than_another,
            costs,
            is_unrelated_to_quality=np.zeros(3, dtype=bool),
        )

    assert choose(is_worse_than_another, np.zeros(3)) == 1
    costs = np.array([0.0, 3.0, 0.0])
    assert choose(is_worse_than_another, costs) == 0
    assert choose(np.array([True, False, False]), costs) == 1


def test_accuracy_decides_inside_the_top_group_where_it_is_clear():
    """A and B may both be best on X; B is stable, but a paired test puts it behind A there."""
    table = make_choice_table("AB", "XYZ", TOY[:2])
    both = replace(table, may_be_best=np.ones((2, 4), dtype=bool))
    assert recommend_metric_for_each_context(both)["X"].choice == "B"
    is_worse_than_another = np.zeros((2, 4), dtype=bool)
    is_worse_than_another[1, 1] = True
    found = recommend_metric_for_each_context(replace(both, is_worse_than_another=is_worse_than_another))
    assert found["X"].top_group == ["A", "B"]
    assert found["X"].behind == ["B"]
    assert found["Y"].choice == "B"


def test_of_equally_stable_and_costly_metrics_the_more_robust_is_preferred():
    """Both are right in .8 of two contexts and .5 of the third, which is the rarer one for P."""
    accuracy = np.array([[0.8, 0.5, 0.8], [0.8, 0.8, 0.5]])
    table = make_choice_table("QP", "XYZ", accuracy, context_shares=np.array([0.5, 0.3, 0.2]))
    both = replace(table, may_be_best=np.ones((2, 4), dtype=bool))
    assert table.robust_accuracy[1] > table.robust_accuracy[0]
    assert recommend_metric_for_each_context(both)["X"].top_group == ["P", "Q"]


def test_a_hundredth_of_spread_counts_and_less_does_not():
    """Spreads of .100, .104 and .12 between two contexts: the first two are equally stable, so cost decides."""
    spread = np.array([0.100, 0.104, 0.12]) / np.sqrt(2)
    accuracy = 0.7 + np.outer(spread, [1, -1])
    costs = {"A": "neural GPU", "B": "cheap", "C": "cheap"}
    table = make_choice_table("ABC", "XY", accuracy, cost_classes=costs)
    table = replace(table, may_be_best=np.ones((3, 3), dtype=bool))
    assert table.spread == pytest.approx([0.100, 0.104, 0.12])
    assert recommend_metric_for_each_context(table)["X"].top_group == ["B", "A", "C"]
