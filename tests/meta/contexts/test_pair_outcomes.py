"""Judging pairs, and refusing what cannot be judged."""

import numpy as np
import pytest

from metassay.errors import InputError
from metassay.meta.contexts.assay import assay_pairs
from metassay.meta.contexts.pair_outcomes import MISSING, RIGHT, TIE, WRONG, Contexts, Judgements, judge


def build(**changes):
    fields = {
        "metrics": ("bleu", "chrf"),
        "methods": ("removal", "insertion"),
        "outcome": np.array([[1, 0, -1], [1, 1, -2]]),
        "item": np.array([0, 0, 1]),
        "output": np.array([0, 0, 1]),
        "cluster": np.array([0, 0, 0]),
        "method": np.array([0, 1, 0]),
    }
    return Judgements(**(fields | changes))


def test_every_outcome():
    better = np.array([[2.0, 1.0, 1.0, np.nan, 1.0]])
    worse = np.array([[1.0, 1.0, 2.0, 1.0, np.nan]])
    assert judge(better, worse, np.array([0.0])).tolist() == [[RIGHT, TIE, WRONG, MISSING, MISSING]]


def test_a_difference_within_the_tolerance_is_a_tie():
    better, worse = np.array([[0.5, 0.75], [0.5, 0.75]]), np.array([[0.25, 0.0], [0.25, 0.0]])
    assert judge(better, worse, np.array([0.25, 0.0])).tolist() == [[TIE, RIGHT], [RIGHT, RIGHT]]


def test_infinite_scores_are_refused():
    with pytest.raises(InputError, match="infinite"):
        judge(np.array([[np.inf]]), np.array([[0.0]]), np.array([0.0]))


def test_shapes_of_scores_must_match():
    with pytest.raises(InputError, match="metrics × pairs"):
        judge(np.zeros((2, 3)), np.zeros((2, 4)), np.zeros(2))


def test_valid_judgements_keep_narrow_types():
    judgements = build(weights=[1, 1, 2])
    assert judgements.pairs == 3
    assert judgements.outcome.dtype == np.int8
    assert judgements.item.dtype == np.int32
    assert judgements.weights.dtype == np.float64


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metrics": ("bleu", "bleu")}, "named twice"),
        ({"outcome": np.zeros((2, 4))}, "2 metrics × 3 pairs"),
        ({"method": np.array([0, 1])}, "one code for each pair"),
        ({"method": np.array([0, 1, 2])}, "method without a name"),
        ({"item": np.array([0, -1, 1])}, "start at 0"),
        ({"outcome": np.full((2, 3), 7)}, "none of right, tie, wrong and missing"),
        ({"weights": np.array([1.0, 0.0, 1.0])}, "positive and finite"),
        ({"weights": np.array([1.0])}, "one number for each pair"),
        ({"item": np.array([0, 1, 1])}, "belongs to two items"),
        ({"cluster": np.array([0, 1, 0])}, "belongs to two clusters"),
    ],
)
def test_what_does_not_fit_together_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        build(**changes)


def test_no_pairs_is_an_error():
    empty = np.array([], dtype=np.int32)
    columns = dict.fromkeys(("item", "output", "cluster", "method"), empty)
    with pytest.raises(InputError, match="no pairs"):
        assay_pairs(build(outcome=np.zeros((2, 0)), **columns), [])


def test_context_codes_need_names():
    with pytest.raises(InputError, match="without a name"):
        Contexts("domain", ("news",), np.array([0, 1]))
    with pytest.raises(InputError, match="not distinct"):
        Contexts("domain", ("news", "news"), np.array([0, 1]))
    assert Contexts("domain", ("news",), np.array([0, -1])).codes.tolist() == [0, -1]


def test_taking_pairs_and_selecting_metrics():
    judgements = build()
    assert judgements.take(np.array([2, 0])).outcome.tolist() == [[-1, 1], [-2, 1]]
    assert judgements.select(np.array([1])).metrics == ("chrf",)


def test_values_without_pairs_are_dropped():
    contexts = Contexts("domain", ("chat", "news", "talk"), np.array([2, -1, 0, 2]))
    assert contexts.occupied().values == ("chat", "talk")
    assert contexts.occupied().codes.tolist() == [1, -1, 0, 1]
    with pytest.raises(InputError, match="no pair lies in a context of domain"):
        Contexts("domain", ("news",), np.array([-1])).occupied()
