"""Choosing a metric: the paper's toy table, preferences in order, and sentences with their numbers."""

from dataclasses import replace

import numpy as np
import pytest

from metassay.meta.contexts.choice import Evidence, first_choice, recommend, robust_choice, table_evidence
from metassay.meta.contexts.claims import Settled
from metassay.meta.contexts.tables import choice_entries
from metassay.reporting.reasons import with_reasons

METRICS, CONTEXTS = ("A", "B", "C"), ("X", "Y", "Z")
TOY = np.array([[0.9, 0.9, 0.3], [0.7, 0.7, 0.7], [0.3, 0.3, 0.9]])  # Deviyani and Diaz (2025), table 1


def why(evidence: Evidence, context: str) -> str:
    return with_reasons(choice_entries(evidence), evidence)[context]["why"]


def test_toy_table_of_the_paper():
    evidence = table_evidence(METRICS, CONTEXTS, TOY)
    found = recommend(evidence)
    assert evidence.accuracy[:, 0] == pytest.approx([0.7, 0.7, 0.5])
    assert found["global"].choice == "B"
    assert found["global"].metrics[0] == "B"
    assert robust_choice(evidence) == "B"
    assert found["Z"].choice == "C"
    assert found["X"].choice == found["Y"].choice == "A"


def test_top_group_holds_the_equally_accurate_only():
    found = recommend(table_evidence(METRICS, CONTEXTS, TOY))
    assert set(found["global"].top_group) == {"A", "B"}
    assert found["Z"].top_group == ("C",)


def test_metrics_are_ordered_by_accuracy():
    assert recommend(table_evidence(METRICS, CONTEXTS, TOY))["Z"].metrics == ("C", "B", "A")


def test_cost_decides_between_equally_stable_metrics():
    accuracy = np.array([[0.8, 0.7], [0.8, 0.7]])
    evidence = table_evidence("PQ", "XY", accuracy, cost={"P": "neural CPU", "Q": "cheap"})
    assert recommend(evidence)["X"].top_group == ("Q", "P")
    assert "because it costs less" in why(evidence, "X")


def test_stability_comes_before_cost():
    evidence = table_evidence("AB", "XYZ", TOY[:2], cost={"A": "cheap", "B": "paid requests"})
    assert recommend(evidence)["global"].choice == "B"


def test_criteria_of_the_user_come_after_cost():
    accuracy = np.array([[0.8, 0.7], [0.8, 0.7]])
    criteria = {"interpretability": {"P": 1.0, "Q": 3.0}}
    evidence = table_evidence("PQ", "XY", accuracy, criteria=criteria)
    found = recommend(evidence)["Y"]
    assert found.choice == "Q"
    assert "for its interpretability" in why(evidence, "Y")


def test_shares_weigh_the_whole():
    evidence = table_evidence(METRICS, CONTEXTS, TOY, shares=np.array([0.0, 0.0, 1.0]))
    assert recommend(evidence)["global"].choice == "C"


def test_the_sentence_names_the_metric_the_context_and_the_number():
    said = why(table_evidence(METRICS, CONTEXTS, TOY), "Z")
    assert said.startswith("C tells a better output from a worse one in 90 % of pairs on Z.")
    assert said.endswith("It is the only metric in the top group; B follows with 70 %.")


def test_the_sentence_names_a_difference_in_cost():
    evidence = table_evidence(METRICS, CONTEXTS, TOY, cost={"C": "neural GPU", "B": "cheap"})
    assert why(evidence, "Z").endswith("B follows with 70 % and costs less (cheap against neural GPU).")
    evidence = table_evidence(METRICS, CONTEXTS, TOY, cost={"C": "cheap", "B": "tagger"})
    assert why(evidence, "Z").endswith("B follows with 70 % and costs more (tagger against cheap).")
    evidence = table_evidence(METRICS, CONTEXTS, TOY, cost={"C": "cheap", "B": "cheap"})
    assert why(evidence, "Z").endswith("B follows with 70 %.")


def test_a_settled_choice_holds_but_where_another_is_shown_to_be_ahead():
    evidence = table_evidence(METRICS, CONTEXTS, TOY)
    evidence = replace(evidence, settled=Settled("A", {"Z": ["B", "C"]}, frozenset({"Y"})))
    found = recommend(evidence)
    assert [found[name].choice for name in ("global", *CONTEXTS)] == ["A", "A", "A", "C"]
    assert why(evidence, "X").endswith("and none is shown to be more accurate here.")
    assert why(evidence, "Y").endswith("too few items are here for another.")
    assert why(evidence, "Z").endswith("ahead here of A, the choice over all contexts: 30 %.")


def test_metrics_that_decide_alike_are_one_opinion():
    evidence = replace(
        table_evidence("PQR", "XY", np.array([[0.8, 0.7], [0.8, 0.7], [0.8, 0.7]])), same=[("P", "Q")]
    )
    said = why(evidence, "X")
    assert "R may be as accurate; P is preferred" in said
    assert "Q" not in said
    alone = replace(evidence, top=np.array([[True] * 3, [True] * 3, [False] * 3]))
    assert "It is the only metric in the top group; R follows" in why(alone, "X")


def test_the_first_choice_is_the_cheapest_of_those_that_may_be_best():
    top, behind = np.array([True, True, False]), np.zeros(3, dtype=bool)
    accuracy = np.array([0.8, 0.81, 0.7])
    assert first_choice(accuracy, top, behind, np.zeros(3)) == 1
    assert first_choice(accuracy, top, behind, np.array([0.0, 3.0, 0.0])) == 0
    assert first_choice(accuracy, top, np.array([True, False, False]), np.array([0.0, 3.0, 0.0])) == 1


def test_accuracy_decides_inside_the_top_group_where_it_is_clear():
    """A and B may both be best on X; B is stable, but a paired test puts it behind A there."""
    evidence = table_evidence("AB", "XYZ", TOY[:2])
    both = replace(evidence, top=np.ones((2, 4), dtype=bool))
    assert recommend(both)["X"].choice == "B"
    assert "though A has the higher estimate" in why(both, "X")
    behind = np.zeros((2, 4), dtype=bool)
    behind[1, 1] = True
    clear = replace(both, behind=behind)
    found = recommend(clear)
    assert found["X"].top_group == ("A", "B")
    assert found["X"].behind == ("B",)
    assert why(clear, "X").endswith(
        "A is preferred because the others are behind when two at a time are compared."
    )
    assert found["Y"].choice == "B"


def test_the_sentence_says_what_the_pairs_are():
    evidence = replace(table_evidence(METRICS, CONTEXTS, TOY), pairs="pairs judged by people")
    assert "in 90 % of pairs judged by people on Z." in why(evidence, "Z")


def test_of_equally_stable_and_costly_metrics_the_more_robust_is_preferred():
    """Both are right in .8 of two contexts and .5 of the third, which is the rarer one for P."""
    accuracy = np.array([[0.8, 0.5, 0.8], [0.8, 0.8, 0.5]])
    evidence = table_evidence("QP", "XYZ", accuracy, shares=np.array([0.5, 0.3, 0.2]))
    both = replace(evidence, top=np.ones((2, 4), dtype=bool))
    assert evidence.robust[1] > evidence.robust[0]
    assert recommend(both)["X"].top_group == ("P", "Q")
    assert why(both, "X").endswith("P is preferred because it holds up best when the mix of contexts shifts.")


def test_a_hundredth_of_spread_counts_and_less_does_not():
    """Spreads of .100, .104 and .12 between two contexts: the first two are equally stable, so cost decides."""
    spread = np.array([0.100, 0.104, 0.12]) / np.sqrt(2)
    accuracy = 0.7 + np.outer(spread, [1, -1])
    cost = {"A": "neural GPU", "B": "cheap", "C": "cheap"}
    evidence = replace(table_evidence("ABC", "XY", accuracy, cost=cost), top=np.ones((3, 3), dtype=bool))
    assert evidence.spread == pytest.approx([0.100, 0.104, 0.12])
    assert recommend(evidence)["X"].top_group == ("B", "A", "C")
