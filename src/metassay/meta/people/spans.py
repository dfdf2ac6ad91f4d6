"""How far a metric and people mark the same characters as errors.

A span is [start, end) of an output. Spans of the two sides are matched one to one so that they share as many
characters as possible in total. Partial overlap counts by its share:

    precision = shared characters / characters that the metric marks
    recall    = shared characters / characters that people mark
    F1        = 2 · precision · recall / (precision + recall)

Micro-averages use the totals over all outputs. Macro-averages are means over outputs, where an output without
a span on either side counts 1, and one with spans on one side only counts 0.
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
class SpanScores:
    """Precision, recall and F1 of the spans of a metric; NaN where nothing is marked."""

    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class SpanComparison:
    """Scores of the spans of a metric against those of people."""

    micro: SpanScores
    macro: SpanScores
    counts: FloatArray
    """`[outputs, 3]`: characters shared, marked by the metric, and marked by people."""


def compare_spans(human: Sequence[Spans], metric: Sequence[Spans]) -> SpanComparison:
    """Compare the spans of people and of a metric, given per output in the same order."""
    if len(human) != len(metric):
        raise InputError(f"there are spans of {len(human)} segments from people and {len(metric)} others.")
    counts = [count_characters(of_people, of_metric) for of_people, of_metric in zip(human, metric)]
    array = np.array(counts, dtype=np.float64).reshape(len(human), 3)
    return SpanComparison(score_totals(array.sum(axis=0)), average_over_outputs(array), array)


def score_totals(totals: FloatArray) -> SpanScores:
    """Compute scores from the characters shared, marked by the metric and marked by people.

    All are NaN where neither side marks anything: there is no disagreement, but no evidence either.
    """
    shared, marked_by_metric, marked_by_people = (float(total) for total in totals)
    marked = marked_by_metric + marked_by_people
    return SpanScores(
        precision=shared / marked_by_metric if marked_by_metric else np.nan,
        recall=shared / marked_by_people if marked_by_people else np.nan,
        f1=2 * shared / marked if marked else np.nan,
    )


def average_over_outputs(counts: FloatArray) -> SpanScores:
    """Average the scores of outputs, from `[outputs, 3]` characters as in `SpanComparison`."""
    if not len(counts):
        return SpanScores(np.nan, np.nan, np.nan)
    shared, marked_by_metric, marked_by_people = counts.T
    has_no_span = (marked_by_metric == 0) & (marked_by_people == 0)

    def average_ratios(numerators: FloatArray, denominators: FloatArray) -> float:
        ratios = np.divide(numerators, denominators, out=np.zeros(len(counts)), where=denominators > 0)
        return float(np.where(has_no_span, 1.0, ratios).mean())

    return SpanScores(
        precision=average_ratios(shared, marked_by_metric),
        recall=average_ratios(shared, marked_by_people),
        f1=average_ratios(2 * shared, marked_by_metric + marked_by_people),
    )


def count_characters(human: Spans, metric: Spans) -> tuple[float, float, float]:
    """Count the characters of one output that both mark, that the metric marks and that people mark."""
    for start, end in (*human, *metric):
        if not 0 <= start < end:
            raise InputError(f"a span from {start} to {end} marks nothing.")
    marked_by_metric = float(sum(end - start for start, end in metric))
    marked_by_people = float(sum(end - start for start, end in human))
    return count_shared_characters(human, metric), marked_by_metric, marked_by_people


def count_shared_characters(human: Spans, metric: Spans) -> float:
    """Count the characters shared by spans that are matched one to one to the largest total.

    >>> count_shared_characters([(0, 4)], [(0, 2), (2, 4)])
    2.0
    """
    if not human or not metric:
        return 0.0
    human_array = np.array(human, dtype=np.float64)
    metric_array = np.array(metric, dtype=np.float64)
    starts = np.maximum(human_array[:, None, 0], metric_array[None, :, 0])
    ends = np.minimum(human_array[:, None, 1], metric_array[None, :, 1])
    overlaps = np.maximum(ends - starts, 0)
    rows, columns = linear_sum_assignment(overlaps, maximize=True)
    return float(overlaps[rows, columns].sum())
