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
    list_offsets: Integers,
    document_grades: Grades,
    topic_of_list: Integers,
    judged_offsets: Integers,
    judged_grades: Grades,
    measure_codes: Integers,
    measure_arguments: Scores,
    min_relevant_grades: Integers,
    list_depths: Integers,
    rank_discounts: Scores,
) -> Scores:
    """Compute several measures of retrieval quality, such as nDCG, for each ranked list.

    Returns [lists, measures]. List i has the grades `document_grades[list_offsets[i] : list_offsets[i + 1]]`
    and belongs to topic t = `topic_of_list[i]`, with the judged grades `judged_grades[judged_offsets[t] :
    judged_offsets[t + 1]]`. Each measure has a code, an argument (see `_compute_ranking_measure`), a
    relevance threshold and a depth to which lists are cut first. `rank_discounts[i]` is log2(i + 2).
    """
    scores = np.empty((len(topic_of_list), len(measure_codes)), np.float64)
    for i in range(len(topic_of_list)):
        topic = topic_of_list[i]
        topic_grades = judged_grades[judged_offsets[topic] : judged_offsets[topic + 1]]
        for m in range(len(measure_codes)):
            end = min(list_offsets[i] + list_depths[m], list_offsets[i + 1])
            list_grades = document_grades[list_offsets[i] : end]
            scores[i, m] = _compute_ranking_measure(
                measure_codes[m],
                measure_arguments[m],
                min_relevant_grades[m],
                list_grades,
                topic_grades,
                rank_discounts,
            )
    return scores


@kernel
def _compute_ranking_measure(  # noqa: PLR0911 - one return per measure
    measure_code: int,
    measure_argument: float,
    min_relevant_grade: int,
    document_grades: Grades,
    judged_grades: Grades,
    rank_discounts: Scores,
) -> float:
    """Compute one measure of retrieval quality for one ranked list, given the relevance grades of its
    documents.

    `measure_argument` is the measure's cut-off, recall level, weight or persistence. For expected reciprocal
    rank, `min_relevant_grade` is the highest grade that there is.
    """
    retrieved = len(document_grades)
    if measure_code == NDCG:
        cutoff = int(measure_argument)
        ideal = _discounted_cumulative_gain(judged_grades, cutoff, rank_discounts)
        return (
            _discounted_cumulative_gain(document_grades, cutoff, rank_discounts) / ideal
            if ideal > 0.0
            else 0.0
        )
    if measure_code == JUDGED:
        shown = min(int(measure_argument), retrieved)
        return _count_relevant_documents(document_grades, 0, shown) / shown if shown else 0.0
    if measure_code == EXPECTED_RECIPROCAL_RANK:
        return _expected_reciprocal_rank(
            document_grades, min_relevant_grade, min(int(measure_argument), retrieved)
        )
    if measure_code == RANK_BIASED_PRECISION:
        return _rank_biased_precision(document_grades, min_relevant_grade, measure_argument)
    relevant = 0
    while relevant < len(judged_grades) and judged_grades[relevant] >= min_relevant_grade:
        relevant += 1
    if relevant == 0 or retrieved == 0:
        return 0.0
    if measure_code == RECIPROCAL_RANK:
        return _reciprocal_rank(document_grades, min_relevant_grade)
    if measure_code == INTERPOLATED_PRECISION:
        return _interpolated_precision(document_grades, relevant, min_relevant_grade, measure_argument)
    if measure_code == BPREF:
        return _binary_preference(
            document_grades, relevant, len(judged_grades) - relevant, min_relevant_grade
        )
    if measure_code == R_PRECISION:
        return (
            _count_relevant_documents(document_grades, min_relevant_grade, min(relevant, retrieved))
            / relevant
        )
    if measure_code >= SET_PRECISION:
        hits = _count_relevant_documents(document_grades, min_relevant_grade, retrieved)
        return (
            _compute_order_independent_measure(measure_code, hits, retrieved, relevant, measure_argument)
            if hits
            else 0.0
        )
    cutoff = int(measure_argument)
    end = min(cutoff, retrieved)
    if measure_code == AVERAGE_PRECISION:
        return _average_precision(document_grades, relevant, min_relevant_grade, end)
    hits = _count_relevant_documents(document_grades, min_relevant_grade, end)
    if measure_code == PRECISION:
        return hits / cutoff
    if measure_code == RELATIVE_PRECISION:
        return hits / min(cutoff, relevant)
    if measure_code == RECALL:
        return hits / relevant
    return 1.0 if hits else 0.0  # SUCCESS


@kernel
def _count_relevant_documents(document_grades: Grades, min_relevant_grade: int, cutoff: int) -> int:
    """Count the relevant documents among the first `cutoff` documents of a ranked list."""
    count = 0
    for i in range(cutoff):
        count += document_grades[i] >= min_relevant_grade
    return count


@kernel
def _average_precision(
    document_grades: Grades, relevant_count: int, min_relevant_grade: int, cutoff: int
) -> float:
    """Compute the average precision of a ranked list: the precision at the rank of each relevant document,
    averaged over all relevant documents.
    """
    hits = 0
    total = 0.0
    for i in range(cutoff):
        if document_grades[i] >= min_relevant_grade:
            hits += 1
            total += hits / (i + 1)
    return total / relevant_count


@kernel
def _reciprocal_rank(document_grades: Grades, min_relevant_grade: int) -> float:
    """Compute 1 / rank of the first relevant document, or 0 if there is none."""
    for i in range(len(document_grades)):
        if document_grades[i] >= min_relevant_grade:
            return 1.0 / (i + 1)
    return 0.0


@kernel
def _interpolated_precision(
    document_grades: Grades, relevant_count: int, min_relevant_grade: int, recall: float
) -> float:
    """Compute interpolated precision: the highest precision at any rank by which a given recall has been
    reached.

    The number of relevant documents that makes up `recall` is rounded, halves up, as from trec_eval 10 on.
    """
    needed = math.floor(recall * relevant_count)
    if recall * relevant_count - needed >= 0.5:
        needed += 1
    hits = 0
    best = 0.0
    for i in range(len(document_grades)):
        hits += document_grades[i] >= min_relevant_grade
        if hits >= needed and hits / (i + 1) > best:
            best = hits / (i + 1)
    return best


@kernel
def _discounted_cumulative_gain(document_grades: Grades, cutoff: int, rank_discounts: Scores) -> float:
    """Sum the grades of the first documents, each divided by the discount of its rank."""
    total = 0.0
    for i in range(min(cutoff, len(document_grades))):
        if document_grades[i] > 0:
            total += document_grades[i] / rank_discounts[i]
    return total


@kernel
def _rank_biased_precision(document_grades: Grades, min_relevant_grade: int, persistence: float) -> float:
    """Compute rank-biased precision: the weight of a relevant document falls by the factor `persistence` at
    each rank.

    It is (1 − p) Σ p^(i − 1) over the ranks i of relevant documents, where p is the persistence.
    """
    weight = 1.0
    total = 0.0
    for i in range(len(document_grades)):
        if document_grades[i] >= min_relevant_grade:
            total += weight
        weight *= persistence
    return (1.0 - persistence) * total


@kernel
def _expected_reciprocal_rank(document_grades: Grades, highest_grade: int, cutoff: int) -> float:
    """Compute expected reciprocal rank: the expected value of 1 / rank at which a reader stops. Documents
    with high grades are more likely to stop the reader.

    The reader stops at a document of grade g with probability (2^g − 1) / 2^highest_grade.
    """
    still_reading = 1.0
    total = 0.0
    for i in range(cutoff):
        if document_grades[i] > 0:
            stops = (2.0 ** min(document_grades[i], highest_grade) - 1.0) / 2.0**highest_grade
            total += still_reading * stops / (i + 1)
            still_reading *= 1.0 - stops
    return total


@kernel
def _binary_preference(
    document_grades: Grades, relevant_count: int, nonrelevant_count: int, min_relevant_grade: int
) -> float:
    """Compute bpref, which is high if few documents that were judged nonrelevant are ranked above relevant
    ones.

    It is the share of the judged nonrelevant documents that are ranked below each relevant one.
    """
    nonrelevant_above = 0
    total = 0.0
    for i in range(len(document_grades)):
        if document_grades[i] >= min_relevant_grade:
            share_above = 0.0
            if nonrelevant_above:
                share_above = min(nonrelevant_above, relevant_count) / min(nonrelevant_count, relevant_count)
            total += 1.0 - share_above
        elif document_grades[i] >= 0:
            nonrelevant_above += 1
    return total / relevant_count


@kernel
def _compute_order_independent_measure(
    measure_code: int, hit_count: int, retrieved_count: int, relevant_count: int, beta: float
) -> float:
    """Compute a measure that ignores the order of documents, such as recall, from the numbers of retrieved
    and relevant documents.
    """
    if measure_code == SET_PRECISION:
        return hit_count / retrieved_count
    if measure_code == SET_RELATIVE_PRECISION:
        return hit_count / min(retrieved_count, relevant_count)
    if measure_code == SET_RECALL:
        return hit_count / relevant_count
    if measure_code == SET_AVERAGE_PRECISION:
        return hit_count * hit_count / (retrieved_count * relevant_count)
    precision = hit_count / retrieved_count
    recall = hit_count / relevant_count
    return (beta + 1.0) * precision * recall / (recall + beta * precision)
