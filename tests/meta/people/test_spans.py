"""Span agreement against every possible matching, and against character sets where spans do not overlap."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from metassay.errors import InputError
from metassay.meta.people.spans import compare_spans, compute_span_scores, count_shared_characters


def find_largest_overlap(people, metric):
    """The greatest total overlap over all one-to-one matchings, one after the other."""
    small, large = sorted((people, metric), key=len)
    matchings = itertools.permutations(large, len(small))
    return max(sum(len({*range(*a)} & {*range(*b)}) for a, b in zip(small, chosen)) for chosen in matchings)


def draw_spans(rng, most=4):
    starts = rng.integers(0, 30, rng.integers(0, most + 1))
    return [(int(start), int(start + rng.integers(1, 12))) for start in starts]


def test_matching_is_the_best_of_all():
    rng = np.random.default_rng(0)
    for _ in range(300):
        people, metric = draw_spans(rng), draw_spans(rng)
        assert count_shared_characters(people, metric) == find_largest_overlap(people, metric)


def test_equal_spans_agree_wholly_and_distant_ones_not_at_all():
    spans = [[(0, 5), (7, 9)], [], [(2, 3)]]
    same = compare_spans(spans, spans)
    assert (same.micro.precision, same.micro.recall, same.micro.f1, same.macro.f1) == (1, 1, 1, 1)
    none = compare_spans([[(0, 5)], []], [[(5, 9)], []])
    assert (none.micro.f1, none.macro.f1) == (0, 0.5)


def test_swapping_sides_swaps_precision_and_recall():
    rng = np.random.default_rng(1)
    people, metric = [draw_spans(rng) for _ in range(50)], [draw_spans(rng) for _ in range(50)]
    here, there = compare_spans(people, metric), compare_spans(metric, people)
    for level in ("micro", "macro"):
        one, two = getattr(here, level), getattr(there, level)
        assert (one.precision, one.recall) == pytest.approx((two.recall, two.precision))
        assert one.f1 == pytest.approx(two.f1)
    assert here.micro.f1 == pytest.approx(2 * here.micro.precision * here.micro.recall / (here.micro.precision + here.micro.recall))  # fmt: skip


def test_micro_and_macro_by_hand():
    """Segment 1: 3 of 6 marked characters shared with people's 3; segment 2: nothing marked by the metric."""
    comparison = compare_spans([[(0, 3)], [(0, 5)]], [[(0, 6)], []])
    assert (comparison.micro.precision, comparison.micro.recall) == (0.5, 3 / 8)
    assert (comparison.macro.precision, comparison.macro.recall) == (0.25, 0.5)


def test_where_nothing_is_marked_nothing_is_claimed():
    empty = compare_spans([[], []], [[], []])
    assert np.isnan(empty.micro.f1)
    assert empty.macro.f1 == 1
    assert np.isnan(compare_spans([], []).macro.f1)
    assert np.isnan(compute_span_scores(np.array([0.0, 0.0, 4.0])).precision)


def test_spans_that_mark_nothing_and_unequal_segments_are_refused():
    with pytest.raises(InputError, match="marks nothing"):
        compare_spans([[(3, 3)]], [[]])
    with pytest.raises(InputError, match="2 segments"):
        compare_spans([[], []], [[]])
