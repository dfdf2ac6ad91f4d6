"""The measures of trec_eval and ir_measures, computed from the relevance grades of ranked lists.

A measure sees the grades of a list in rank order (negative: unjudged) and the judged grades of its topic,
highest first. Documents are relevant from `min_relevant_grade` on. Where trec_eval defines a measure as 0,
because nothing is relevant or nothing was retrieved, it is 0 here.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from metassay.stats.compilation import kernel

Integers = NDArray[np.int64]
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
# A cut-off beyond the end of any list.
NO_CUTOFF = np.int64(2**31 - 1)


@kernel
def compute_ranking_measures(
    offsets: Integers,
    grades: Grades,
    topics: Integers,
    judged_offsets: Integers,
    judged_grades: Grades,
    measures: Integers,
    arguments: Scores,
    relevance_thresholds: Integers,
    depths: Integers,
    discounts: Scores,
) -> Scores:
    """Compute several measures of retrieval quality, such as nDCG, for each ranked list.

    Returns [lists, measures]. List i has the grades `grades[offsets[i] : offsets[i + 1]]` and belongs to
    topic t = `topics[i]`, with the judged grades `judged_grades[judged_offsets[t] : judged_offsets[t + 1]]`.
    Each measure has a code, an argument (see `_compute_ranking_measure`), a relevance threshold and a depth
    to which lists are cut first. `discounts[i]` is log2(i + 2).
    """
    scores = np.empty((len(topics), len(measures)), np.float64)
    for i in range(len(topics)):
        topic = topics[i]
        topic_grades = judged_grades[judged_offsets[topic] : judged_offsets[topic + 1]]
        for m in range(len(measures)):
            end = min(offsets[i] + depths[m], offsets[i + 1])
            list_grades = grades[offsets[i] : end]
            scores[i, m] = _compute_ranking_measure(
                measures[m], arguments[m], relevance_thresholds[m], list_grades, topic_grades, discounts
            )
    return scores


@kernel
def _compute_ranking_measure(  # noqa: PLR0911 - one return per measure
    measure: int,
    measure_argument: float,
    min_relevant_grade: int,
    grades: Grades,
    judged_grades: Grades,
    discounts: Scores,
) -> float:
    """Compute one measure of retrieval quality for one ranked list from the relevance grades of its
    documents.

    `measure_argument` is the measure's cut-off, recall level, weight or persistence. For expected reciprocal
    rank, `min_relevant_grade` is the highest grade that there is.
    """
    retrieved = len(grades)
    if measure == NDCG:
        cutoff = int(measure_argument)
        ideal = _discounted_cumulative_gain(judged_grades, cutoff, discounts)
        return _discounted_cumulative_gain(grades, cutoff, discounts) / ideal if ideal > 0.0 else 0.0
    if measure == JUDGED:
        shown = min(int(measure_argument), retrieved)
        return _count_relevant_documents(grades, 0, shown) / shown if shown else 0.0
    if measure == EXPECTED_RECIPROCAL_RANK:
        return _expected_reciprocal_rank(grades, min_relevant_grade, min(int(measure_argument), retrieved))
    if measure == RANK_BIASED_PRECISION:
        return _rank_biased_precision(grades, min_relevant_grade, measure_argument)
    relevant = 0
    while relevant < len(judged_grades) and judged_grades[relevant] >= min_relevant_grade:
        relevant += 1
    if relevant == 0 or retrieved == 0:
        return 0.0
    if measure == RECIPROCAL_RANK:
        return _reciprocal_rank(grades, min_relevant_grade)
    if measure == INTERPOLATED_PRECISION:
        return _interpolated_precision(grades, relevant, min_relevant_grade, measure_argument)
    if measure == BPREF:
        return _binary_preference(grades, relevant, len(judged_grades) - relevant, min_relevant_grade)
    if measure == R_PRECISION:
        return _count_relevant_documents(grades, min_relevant_grade, min(relevant, retrieved)) / relevant
    if measure >= SET_PRECISION:
        hits = _count_relevant_documents(grades, min_relevant_grade, retrieved)
        return (
            _compute_order_independent_measure(measure, hits, retrieved, relevant, measure_argument)
            if hits
            else 0.0
        )
    cutoff = int(measure_argument)
    end = min(cutoff, retrieved)
    if measure == AVERAGE_PRECISION:
        return _average_precision(grades, relevant, min_relevant_grade, end)
    hits = _count_relevant_documents(grades, min_relevant_grade, end)
    if measure == PRECISION:
        return hits / cutoff
    if measure == RELATIVE_PRECISION:
        return hits / min(cutoff, relevant)
    if measure == RECALL:
        return hits / relevant
    return 1.0 if hits else 0.0  # SUCCESS


@kernel
def _count_relevant_documents(grades: Grades, min_relevant_grade: int, cutoff: int) -> int:
    """Count the relevant documents among the first ones of a ranked list."""
    count = 0
    for i in range(cutoff):
        count += grades[i] >= min_relevant_grade
    return count


@kernel
def _average_precision(grades: Grades, relevant_count: int, min_relevant_grade: int, cutoff: int) -> float:
    """Compute the average precision of a ranked list: the mean, over relevant documents, of the precision at
    their rank.
    """
    hits = 0
    total = 0.0
    for i in range(cutoff):
        if grades[i] >= min_relevant_grade:
            hits += 1
            total += hits / (i + 1)
    return total / relevant_count


@kernel
def _reciprocal_rank(grades: Grades, min_relevant_grade: int) -> float:
    """Compute 1 / rank of the first relevant document, or 0 if there is none."""
    for i in range(len(grades)):
        if grades[i] >= min_relevant_grade:
            return 1.0 / (i + 1)
    return 0.0


@kernel
def _interpolated_precision(
    grades: Grades, relevant_count: int, min_relevant_grade: int, recall: float
) -> float:
    """Compute the highest precision at or after the rank where a recall is reached.

    The number of relevant documents that makes up `recall` is rounded, halves up, as from trec_eval 10 on.
    """
    needed = math.floor(recall * relevant_count)
    if recall * relevant_count - needed >= 0.5:
        needed += 1
    hits = 0
    best = 0.0
    for i in range(len(grades)):
        hits += grades[i] >= min_relevant_grade
        if hits >= needed and hits / (i + 1) > best:
            best = hits / (i + 1)
    return best


@kernel
def _discounted_cumulative_gain(grades: Grades, cutoff: int, discounts: Scores) -> float:
    """Compute the sum of the grades of the first documents, each divided by the discount of its rank."""
    total = 0.0
    for i in range(min(cutoff, len(grades))):
        if grades[i] > 0:
            total += grades[i] / discounts[i]
    return total


@kernel
def _rank_biased_precision(grades: Grades, min_relevant_grade: int, persistence: float) -> float:
    """Compute rank-biased precision: relevant documents count less at each further rank, by the factor
    `persistence`.

    It is (1 − p) Σ p^(i − 1) over the ranks i of relevant documents, where p is the persistence.
    """
    weight = 1.0
    total = 0.0
    for i in range(len(grades)):
        if grades[i] >= min_relevant_grade:
            total += weight
        weight *= persistence
    return (1.0 - persistence) * total


@kernel
def _expected_reciprocal_rank(grades: Grades, highest_grade: int, cutoff: int) -> float:
    """Compute the expected 1 / rank at which a reader stops, who is more likely to stop at documents with
    high grades.

    The reader stops at a document of grade g with probability (2^g − 1) / 2^highest_grade.
    """
    still_reading = 1.0
    total = 0.0
    for i in range(cutoff):
        if grades[i] > 0:
            stops = (2.0 ** min(grades[i], highest_grade) - 1.0) / 2.0**highest_grade
            total += still_reading * stops / (i + 1)
            still_reading *= 1.0 - stops
    return total


@kernel
def _binary_preference(
    grades: Grades, relevant_count: int, nonrelevant_count: int, min_relevant_grade: int
) -> float:
    """Compute bpref: how seldom judged nonrelevant documents are ranked above relevant ones.

    It is the share of the judged nonrelevant documents that are ranked below each relevant one.
    """
    nonrelevant_above = 0
    total = 0.0
    for i in range(len(grades)):
        if grades[i] >= min_relevant_grade:
            share_above = 0.0
            if nonrelevant_above:
                share_above = min(nonrelevant_above, relevant_count) / min(nonrelevant_count, relevant_count)
            total += 1.0 - share_above
        elif grades[i] >= 0:
            nonrelevant_above += 1
    return total / relevant_count


@kernel
def _compute_order_independent_measure(
    measure: int, hit_count: int, retrieved_count: int, relevant_count: int, beta: float
) -> float:
    """Compute a measure that ignores the order of documents, such as precision, from numbers of documents."""
    if measure == SET_PRECISION:
        return hit_count / retrieved_count
    if measure == SET_RELATIVE_PRECISION:
        return hit_count / min(retrieved_count, relevant_count)
    if measure == SET_RECALL:
        return hit_count / relevant_count
    if measure == SET_AVERAGE_PRECISION:
        return hit_count * hit_count / (retrieved_count * relevant_count)
    precision = hit_count / retrieved_count
    recall = hit_count / relevant_count
    return (beta + 1.0) * precision * recall / (recall + beta * precision)
