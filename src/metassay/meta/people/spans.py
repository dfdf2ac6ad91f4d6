"""Error spans of people and of a metric: how far they mark the same characters.

A span is [start, end) of an output. Spans of the two sides are matched one to one so that the characters they
share are as many as possible in all; partial overlap counts by its share:

    precision = shared characters / characters that the metric marks
    recall    = shared characters / characters that people mark
    F1        = 2 · precision · recall / (precision + recall)

Micro-averages are taken from the totals over all segments, macro-averages are means over segments, where one
with no span on either side counts 1, and one with spans on one side only counts 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment

from metassay.errors import InputError
from metassay.stats.arrays import FloatArray

Spans = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class SpanAgreement:
    """Precision, recall and F1 of a metric's spans; NaN where nothing is marked to be a share of."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class SpanScores:
    """Agreement from totals (`micro`), and as mean over segments (`macro`); `segments` is [n, 3].

    The columns of `segments` are shared characters, those that the metric marks, and those that people mark.
    """

    micro: SpanAgreement
    macro: SpanAgreement
    segments: FloatArray


def span_agreement(people: Sequence[Spans], metric: Sequence[Spans]) -> SpanScores:
    """Agreement of a metric's spans with people's, given per segment in the same order."""
    if len(people) != len(metric):
        raise InputError(f"there are spans of {len(people)} segments from people and {len(metric)} others.")
    totals = np.array([segment_totals(own, said) for own, said in zip(people, metric)], dtype=np.float64)
    totals = totals.reshape(len(people), 3)
    return SpanScores(from_totals(totals.sum(axis=0)), mean_over_segments(totals), totals)


def from_totals(totals: FloatArray) -> SpanAgreement:
    """Agreement from shared, metric's and people's characters, summed over any segments.

    Where neither side marks anything there is nothing to disagree on, but nothing is shown either: NaN.
    """
    shared, said, true = (float(value) for value in totals)
    precision = shared / said if said else np.nan
    recall = shared / true if true else np.nan
    return SpanAgreement(precision, recall, 2 * shared / (said + true) if said + true else np.nan)


def matched_characters(people: Spans, metric: Spans) -> float:
    """Characters shared by spans matched one to one to the greatest total.

    >>> matched_characters([(0, 4)], [(0, 2), (2, 4)])
    2.0
    """
    if not people or not metric:
        return 0.0
    mine, theirs = np.array(people, dtype=np.float64), np.array(metric, dtype=np.float64)
    starts = np.maximum(mine[:, None, 0], theirs[None, :, 0])
    ends = np.minimum(mine[:, None, 1], theirs[None, :, 1])
    overlap = np.maximum(ends - starts, 0)
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    return float(overlap[rows, columns].sum())


def segment_totals(people: Spans, metric: Spans) -> tuple[float, float, float]:
    """Characters shared, marked by the metric, and marked by people in one output."""
    for start, end in (*people, *metric):
        if not 0 <= start < end:
            raise InputError(f"a span from {start} to {end} marks nothing.")
    lengths = [float(sum(end - start for start, end in spans)) for spans in (metric, people)]
    return matched_characters(people, metric), lengths[0], lengths[1]


def mean_over_segments(totals: FloatArray) -> SpanAgreement:
    """The macro average of segments' totals, `[n, 3]`."""
    if not len(totals):
        return SpanAgreement(np.nan, np.nan, np.nan)
    shared, said, true = totals.T
    empty = (said == 0) & (true == 0)
    parts = [
        np.where(empty, 1.0, np.divide(top, bottom, out=np.zeros(len(totals)), where=bottom > 0))
        for top, bottom in ((shared, said), (shared, true), (2 * shared, said + true))
    ]
    return SpanAgreement(*(float(part.mean()) for part in parts))
