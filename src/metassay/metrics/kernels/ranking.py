"""Ranking measures of trec_eval and some beside, one function each, over all lists at once.

A measure sees the grades of a list in rank order (negative: unjudged) and the judged grades of its topic,
highest first. `rel` is the lowest grade that counts as relevant. What trec_eval defines as 0 for want of
relevant or retrieved documents is 0 here.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from metassay.stats.compilation import kernel

Ints = NDArray[np.int64]
Grades = NDArray[np.int32]
Scores = NDArray[np.float64]

(
    AVERAGE_PRECISION,
    R_PRECISION,
    RECIPROCAL_RANK,
    INTERPOLATED_PRECISION,
    PRECISION,
    RELATIVE_PRECISION,
    RECALL,
    SUCCESS,
    NDCG,
    BPREF,
    SET_PRECISION,
    SET_RELATIVE_PRECISION,
    SET_RECALL,
    SET_AVERAGE_PRECISION,
    SET_F,
    RANK_BIASED_PRECISION,
    EXPECTED_RECIPROCAL_RANK,
    JUDGED,
) = range(18)
EVERYTHING = np.int64(2**31 - 1)
"""A cut-off beyond any list."""


@kernel
def _count(grades: Grades, rel: int, end: int) -> int:
    """Relevant documents among the first `end`."""
    count = 0
    for i in range(end):
        count += grades[i] >= rel
    return count


@kernel
def _average_precision(grades: Grades, relevant: int, rel: int, end: int) -> float:
    found, total = 0, 0.0
    for i in range(end):
        if grades[i] >= rel:
            found += 1
            total += found / (i + 1)
    return total / relevant


@kernel
def _reciprocal_rank(grades: Grades, rel: int) -> float:
    for i in range(len(grades)):
        if grades[i] >= rel:
            return 1.0 / (i + 1)
    return 0.0


@kernel
def _interpolated_precision(grades: Grades, relevant: int, rel: int, recall: float) -> float:
    """The highest precision at or below the rank where `recall` is reached.

    The number of relevant documents that makes up `recall` is rounded, halves up, as from trec_eval 10 on.
    """
    needed = math.floor(recall * relevant)
    if recall * relevant - needed >= 0.5:
        needed += 1
    found, best = 0, 0.0
    for i in range(len(grades)):
        found += grades[i] >= rel
        if found >= needed and found / (i + 1) > best:
            best = found / (i + 1)
    return best


@kernel
def _discounted_gain(grades: Grades, end: int, discounts: Scores) -> float:
    total = 0.0
    for i in range(min(end, len(grades))):
        if grades[i] > 0:
            total += grades[i] / discounts[i]
    return total


@kernel
def _rank_biased_precision(grades: Grades, rel: int, persistence: float) -> float:
    weight, total = 1.0, 0.0
    for i in range(len(grades)):
        if grades[i] >= rel:
            total += weight
        weight *= persistence
    return (1.0 - persistence) * total


@kernel
def _expected_reciprocal_rank(grades: Grades, highest: int, end: int) -> float:
    """One over the rank at which a reader stops, who stops at a grade g with (2^g − 1) / 2^highest."""
    reading, total = 1.0, 0.0
    for i in range(end):
        if grades[i] > 0:
            stops = (2.0 ** min(grades[i], highest) - 1.0) / 2.0**highest
            total += reading * stops / (i + 1)
            reading *= 1.0 - stops
    return total


@kernel
def _binary_preference(grades: Grades, relevant: int, nonrelevant: int, rel: int) -> float:
    """Judged documents alone: the share of the first R nonrelevant ones that follow each relevant one."""
    ahead, total = 0, 0.0
    for i in range(len(grades)):
        if grades[i] >= rel:
            total += 1.0 - (min(ahead, relevant) / min(nonrelevant, relevant) if ahead else 0.0)
        elif grades[i] >= 0:
            ahead += 1
    return total / relevant


@kernel
def _set_measure(measure: int, found: int, retrieved: int, relevant: int, beta: float) -> float:
    """Measures that ignore the order."""
    if measure == SET_PRECISION:
        return found / retrieved
    if measure == SET_RELATIVE_PRECISION:
        return found / min(retrieved, relevant)
    if measure == SET_RECALL:
        return found / relevant
    if measure == SET_AVERAGE_PRECISION:
        return found * found / (retrieved * relevant)
    precision, recall = found / retrieved, found / relevant
    return (beta + 1.0) * precision * recall / (recall + beta * precision)


@kernel
def _measure(  # noqa: PLR0911
    measure: int, argument: float, rel: int, grades: Grades, judged: Grades, discounts: Scores
) -> float:
    """One measure of one list; `argument` is its cut-off, recall level, weight or persistence.

    For expected reciprocal rank `rel` is the highest grade there is.
    """
    if measure == NDCG:
        cut = int(argument)
        ideal = _discounted_gain(judged, cut, discounts)
        return _discounted_gain(grades, cut, discounts) / ideal if ideal > 0.0 else 0.0
    relevant, retrieved = 0, len(grades)
    if measure == JUDGED:
        shown = min(int(argument), retrieved)
        return _count(grades, 0, shown) / shown if shown else 0.0
    if measure == EXPECTED_RECIPROCAL_RANK:
        return _expected_reciprocal_rank(grades, rel, min(int(argument), retrieved))
    if measure == RANK_BIASED_PRECISION:
        return _rank_biased_precision(grades, rel, argument)
    while relevant < len(judged) and judged[relevant] >= rel:
        relevant += 1
    if relevant == 0 or retrieved == 0:
        return 0.0
    if measure == RECIPROCAL_RANK:
        return _reciprocal_rank(grades, rel)
    if measure == INTERPOLATED_PRECISION:
        return _interpolated_precision(grades, relevant, rel, argument)
    if measure == BPREF:
        return _binary_preference(grades, relevant, len(judged) - relevant, rel)
    if measure == R_PRECISION:
        return _count(grades, rel, min(relevant, retrieved)) / relevant
    if measure >= SET_PRECISION:
        found = _count(grades, rel, retrieved)
        return _set_measure(measure, found, retrieved, relevant, argument) if found else 0.0
    cut = int(argument)
    end = min(cut, retrieved)
    if measure == AVERAGE_PRECISION:
        return _average_precision(grades, relevant, rel, end)
    found = _count(grades, rel, end)
    if measure == PRECISION:
        return found / cut
    if measure == RELATIVE_PRECISION:
        return found / min(cut, relevant)
    if measure == RECALL:
        return found / relevant
    return 1.0 if found else 0.0  # SUCCESS


@kernel
def measure_lists(
    offsets: Ints,
    grades: Grades,
    topics: Ints,
    judged_offsets: Ints,
    judged: Grades,
    measures: Ints,
    arguments: Scores,
    rels: Ints,
    depths: Ints,
    discounts: Scores,
) -> Scores:
    """Every measure of every list: [lists, measures]. `depths` cut the lists first."""
    out = np.empty((len(topics), len(measures)), np.float64)
    for i in range(len(topics)):
        own = judged[judged_offsets[topics[i]] : judged_offsets[topics[i] + 1]]
        for m in range(len(measures)):
            end = min(offsets[i] + depths[m], offsets[i + 1])
            out[i, m] = _measure(measures[m], arguments[m], rels[m], grades[offsets[i] : end], own, discounts)
    return out
