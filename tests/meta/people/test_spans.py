"""Span agreement against every possible matching, and against character sets where spans do not overlap."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from metassay.errors import InputError
from metassay.meta.people.spans import from_totals, matched_characters, span_agreement


def best_by_enumeration(people, metric):
    """The greatest total overlap over all one-to-one matchings, one after the other."""
    small, large = sorted((people, metric), key=len)
    matchings = itertools.permutations(large, len(small))
    return max(sum(len({*range(*a)} & {*range(*b)}) for a, b in zip(small, chosen)) for chosen in matchings)


def random_spans(rng, most=4):
    starts = rng.integers(0, 30, rng.integers(0, most + 1))
    return [(int(start), int(start + rng.integers(1, 12))) for start in starts]


def test_matching_is_the_best_of_all():
    rng = np.random.default_rng(0)
    for _ in range(300):
        people, metric = random_spans(rng), random_spans(rng)
        assert matched_characters(people, metric) == best_by_enumeration(people, metric)


def test_equal_spans_agree_wholly_and_distant_ones_not_at_all():
    spans = [[(0, 5), (7, 9)], [], [(2, 3)]]
    same = span_agreement(spans, spans)
    assert (same.micro.precision, same.micro.recall, same.micro.f1, same.macro.f1) == (1, 1, 1, 1)
    none = span_agreement([[(0, 5)], []], [[(5, 9)], []])
    assert (none.micro.f1, none.macro.f1) == (0, 0.5)


def test_swapping_sides_swaps_precision_and_recall():
    rng = np.random.default_rng(1)
    people, metric = [random_spans(rng) for _ in range(50)], [random_spans(rng) for _ in range(50)]
    here, there = span_agreement(people, metric), span_agreement(metric, people)
    for level in ("micro", "macro"):
        one, two = getattr(here, level), getattr(there, level)
        assert (one.precision, one.recall) == pytest.approx((two.recall, two.precision))
        assert one.f1 == pytest.approx(two.f1)
    assert here.micro.f1 == pytest.approx(2 * here.micro.precision * here.micro.recall / (here.micro.precision + here.micro.recall))  # fmt: skip


def test_micro_and_macro_by_hand():
    """Segment 1: 3 of 6 marked characters shared with people's 3; segment 2: nothing marked by the metric."""
    found = span_agreement([[(0, 3)], [(0, 5)]], [[(0, 6)], []])
    assert (found.micro.precision, found.micro.recall) == (0.5, 3 / 8)
    assert (found.macro.precision, found.macro.recall) == (0.25, 0.5)


def test_where_nothing_is_marked_nothing_is_claimed():
    empty = span_agreement([[], []], [[], []])
    assert np.isnan(empty.micro.f1)
    assert empty.macro.f1 == 1
    assert np.isnan(span_agreement([], []).macro.f1)
    assert np.isnan(from_totals(np.array([0.0, 0.0, 4.0])).precision)


def test_spans_that_mark_nothing_and_unequal_segments_are_refused():
    with pytest.raises(InputError, match="marks nothing"):
        span_agreement([[(3, 3)]], [[]])
    with pytest.raises(InputError, match="2 segments"):
        span_agreement([[], []], [[]])
