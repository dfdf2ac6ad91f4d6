"""Span agreement against every possible matching, and against character sets where spans do not overlap."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from metassay.errors import InputError
from metassay.meta.people.spans import (
    average_precision_recall_and_f1,
    compute_precision_recall_and_f1,
    count_characters_marked_by_both,
    count_marked_characters,
)


def find_largest_overlap(people, metric):
    """The greatest total overlap over all one-to-one matchings, one after the other."""
    small, large = sorted((people, metric), key=len)
    matchings = itertools.permutations(large, len(small))
    return max(sum(len({*range(*a)} & {*range(*b)}) for a, b in zip(small, chosen)) for chosen in matchings)


def score_spans(people, metric):
    """Micro and macro scores of the spans of a metric, given per output."""
    counts = [count_marked_characters(*spans) for spans in zip(people, metric, strict=True)]
    array = np.array(counts, dtype=np.float64).reshape(-1, 3)
    return compute_precision_recall_and_f1(array.sum(axis=0)), average_precision_recall_and_f1(array)


def draw_spans(rng, most=4):
    starts = rng.integers(0, 30, rng.integers(0, most + 1))
    return [(int(start), int(start + rng.integers(1, 12))) for start in starts]


def test_matching_is_the_best_of_all():
    rng = np.random.default_rng(0)
    for _ in range(300):
        people, metric = draw_spans(rng), draw_spans(rng)
        assert count_characters_marked_by_both(people, metric) == find_largest_overlap(people, metric)


def test_equal_spans_agree_wholly_and_distant_ones_not_at_all():
    spans = [[(0, 5), (7, 9)], [], [(2, 3)]]
    micro, macro = score_spans(spans, spans)
    assert (micro.precision, micro.recall, micro.f1, macro.f1) == (1, 1, 1, 1)
    micro, macro = score_spans([[(0, 5)], []], [[(5, 9)], []])
    assert (micro.f1, macro.f1) == (0, 0.5)


def test_swapping_sides_swaps_precision_and_recall():
    rng = np.random.default_rng(1)
    people, metric = [draw_spans(rng) for _ in range(50)], [draw_spans(rng) for _ in range(50)]
    scores = score_spans(people, metric)
    for one, two in zip(scores, score_spans(metric, people)):
        assert (one.precision, one.recall) == pytest.approx((two.recall, two.precision))
        assert one.f1 == pytest.approx(two.f1)
    micro = scores[0]
    harmonic_mean = 2 * micro.precision * micro.recall / (micro.precision + micro.recall)
    assert micro.f1 == pytest.approx(harmonic_mean)


def test_micro_and_macro_by_hand():
    """Segment 1: 3 of 6 marked characters shared with people's 3; segment 2: nothing marked by the metric."""
    micro, macro = score_spans([[(0, 3)], [(0, 5)]], [[(0, 6)], []])
    assert (micro.precision, micro.recall) == (0.5, 3 / 8)
    assert (macro.precision, macro.recall) == (0.25, 0.5)


def test_where_nothing_is_marked_nothing_is_claimed():
    micro, macro = score_spans([[], []], [[], []])
    assert np.isnan(micro.f1)
    assert macro.f1 == 1
    assert np.isnan(score_spans([], [])[1].f1)
    assert np.isnan(compute_precision_recall_and_f1(np.array([0.0, 0.0, 4.0])).precision)


def test_spans_that_mark_nothing_are_refused():
    with pytest.raises(InputError, match="is empty"):
        count_marked_characters([(3, 3)], [])
