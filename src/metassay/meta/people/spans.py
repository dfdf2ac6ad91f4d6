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
from metassay.stats.arrays import FloatArray, divide_or_zero

Spans = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class SpanScores:
    """Precision, recall and F1 of the errors that a metric marks, compared with those that people mark.
    Undefined numbers are NaN.
    """

    precision: float
    recall: float
    f1: float


def compute_precision_recall_and_f1(character_counts: FloatArray) -> SpanScores:
    """Compute precision, recall and F1 of the errors that a metric marks. Takes three numbers of characters:
    marked by both people and the metric, by the metric, and by people.

    All scores are NaN if nobody marks anything; precision also if the metric does not, recall if people do
    not.
    """
    shared, marked_by_metric, marked_by_people = (float(total) for total in character_counts)
    marked = marked_by_metric + marked_by_people
    return SpanScores(
        precision=shared / marked_by_metric if marked_by_metric else np.nan,
        recall=shared / marked_by_people if marked_by_people else np.nan,
        f1=2 * shared / marked if marked else np.nan,
    )


def average_precision_recall_and_f1(character_counts: FloatArray) -> SpanScores:
    """Compute precision, recall and F1 for each output from numbers of marked characters, and average
    them over outputs.

    An output in which nobody marks anything counts as 1, one in which only one side does as 0.
    """
    if not len(character_counts):
        return SpanScores(np.nan, np.nan, np.nan)
    shared, marked_by_metric, marked_by_people = character_counts.T
    has_no_span = (marked_by_metric == 0) & (marked_by_people == 0)

    def average_ratios_over_outputs(numerators: FloatArray, denominators: FloatArray) -> float:
        """Divide two counts for each output, and average the ratios over outputs. An output in which
        nothing is marked counts as 1.
        """
        return float(np.where(has_no_span, 1.0, divide_or_zero(numerators, denominators)).mean())

    return SpanScores(
        precision=average_ratios_over_outputs(shared, marked_by_metric),
        recall=average_ratios_over_outputs(shared, marked_by_people),
        f1=average_ratios_over_outputs(2 * shared, marked_by_metric + marked_by_people),
    )


def count_marked_characters(human_spans: Spans, metric_spans: Spans) -> tuple[float, float, float]:
    """Count the characters of one output that are marked as errors by both people and the metric, by the
    metric, and by people.
    """
    for start, end in (*human_spans, *metric_spans):
        if not 0 <= start < end:
            raise InputError(f"a span from {start} to {end} is empty.")
    marked_by_metric = float(sum(end - start for start, end in metric_spans))
    marked_by_people = float(sum(end - start for start, end in human_spans))
    return count_characters_marked_by_both(human_spans, metric_spans), marked_by_metric, marked_by_people


def count_characters_marked_by_both(human_spans: Spans, metric_spans: Spans) -> float:
    """Count the characters that both people and a metric mark as errors. Each human span is matched with
    at most one span of the metric.

    Of all ways to match the spans, the one with the most shared characters counts.

    >>> count_characters_marked_by_both([(0, 4)], [(0, 2), (2, 4)])
    2.0
    """
    if not human_spans or not metric_spans:
        return 0.0
    human_array = np.array(human_spans, dtype=np.float64)
    metric_array = np.array(metric_spans, dtype=np.float64)
    starts = np.maximum(human_array[:, None, 0], metric_array[None, :, 0])
    ends = np.minimum(human_array[:, None, 1], metric_array[None, :, 1])
    overlaps = np.maximum(ends - starts, 0)
    rows, columns = linear_sum_assignment(overlaps, maximize=True)
    return float(overlaps[rows, columns].sum())
