"""Judging pairs, and refusing what cannot be judged."""

import numpy as np
import pytest
from by_hand import assay_pairs

from metassay.errors import InputError
from metassay.meta.contexts.pair_outcomes import (
    MISSING,
    RIGHT,
    TIE,
    WRONG,
    PairContexts,
    PairOutcomes,
    compare_scores_of_pairs,
)


def build(**changes):
    fields = {
        "metrics": ("bleu", "chrf"),
        "perturbation_names": ("removal", "insertion"),
        "outcomes": np.array([[1, 0, -1], [1, 1, -2]]),
        "items": np.array([0, 0, 1]),
        "outputs": np.array([0, 0, 1]),
        "clusters": np.array([0, 0, 0]),
        "perturbations": np.array([0, 1, 0]),
    }
    return PairOutcomes(**(fields | changes))


def test_every_outcome():
    better = np.array([[2.0, 1.0, 1.0, np.nan, 1.0]])
    worse = np.array([[1.0, 1.0, 2.0, 1.0, np.nan]])
    assert compare_scores_of_pairs(better, worse, np.array([0.0])).tolist() == [
        [RIGHT, TIE, WRONG, MISSING, MISSING]
    ]


def test_a_difference_within_the_tolerance_is_a_tie():
    better, worse = np.array([[0.5, 0.75], [0.5, 0.75]]), np.array([[0.25, 0.0], [0.25, 0.0]])
    assert compare_scores_of_pairs(better, worse, np.array([0.25, 0.0])).tolist() == [
        [TIE, RIGHT],
        [RIGHT, RIGHT],
    ]


def test_infinite_scores_are_refused():
    with pytest.raises(InputError, match="infinite"):
        compare_scores_of_pairs(np.array([[np.inf]]), np.array([[0.0]]), np.array([0.0]))


def test_shapes_of_scores_must_match():
    with pytest.raises(InputError, match="metrics × pairs"):
        compare_scores_of_pairs(np.zeros((2, 3)), np.zeros((2, 4)), np.zeros(2))


def test_valid_judgements_keep_narrow_types():
    outcomes = build(weights=[1, 1, 2])
    assert outcomes.pair_count == 3
    assert outcomes.outcomes.dtype == np.int8
    assert outcomes.items.dtype == np.int32
    assert outcomes.weights.dtype == np.float64


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metrics": ("bleu", "bleu")}, "named twice"),
        ({"outcomes": np.zeros((2, 4))}, "2 metrics × 3 pairs"),
        ({"perturbations": np.array([0, 1])}, "one code for each pair"),
        ({"perturbations": np.array([0, 1, 2])}, "perturbation without a name"),
        ({"items": np.array([0, -1, 1])}, "start at 0"),
        ({"outcomes": np.full((2, 3), 7)}, "none of right, tie, wrong and missing"),
        ({"weights": np.array([1.0, 0.0, 1.0])}, "positive and finite"),
        ({"weights": np.array([1.0])}, "one number for each pair"),
        ({"items": np.array([0, 1, 1])}, "belongs to two items"),
        ({"clusters": np.array([0, 1, 0])}, "belongs to two clusters"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        build(**changes)


def test_no_pairs_is_an_error():
    empty = np.array([], dtype=np.int32)
    columns = dict.fromkeys(("items", "outputs", "clusters", "perturbations"), empty)
    with pytest.raises(InputError, match="no pairs"):
        assay_pairs(build(outcomes=np.zeros((2, 0)), **columns), [])


def test_context_codes_need_names():
    with pytest.raises(InputError, match="without a name"):
        PairContexts("domain", ("news",), np.array([0, 1]))
    with pytest.raises(InputError, match="not distinct"):
        PairContexts("domain", ("news", "news"), np.array([0, 1]))
    assert PairContexts("domain", ("news",), np.array([0, -1])).codes.tolist() == [0, -1]


def test_taking_pairs_and_selecting_metrics():
    outcomes = build()
    assert outcomes.select_pairs(np.array([2, 0])).outcomes.tolist() == [[-1, 1], [-2, 1]]
    assert outcomes.select_metrics(np.array([1])).metrics == ("chrf",)


def test_values_without_pairs_are_dropped():
    contexts = PairContexts("domain", ("chat", "news", "talk"), np.array([2, -1, 0, 2]))
    assert contexts.drop_empty_contexts().values == ("chat", "talk")
    assert contexts.drop_empty_contexts().codes.tolist() == [1, -1, 0, 1]
    with pytest.raises(InputError, match="no pair belongs to a context of domain"):
        PairContexts("domain", ("news",), np.array([-1])).drop_empty_contexts()
