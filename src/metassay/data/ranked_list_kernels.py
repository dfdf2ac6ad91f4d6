"""Loops over ranked lists in compiled code."""

from __future__ import annotations

import numpy as np

from metassay.data.ranked_lists import UNJUDGED, Codes
from metassay.stats.arrays import LongArray
from metassay.stats.compilation import kernel


@kernel
def look_up_grades_of_documents(
    list_offsets: LongArray,
    documents: Codes,
    topic_of_list: LongArray,
    judged_offsets: LongArray,
    judged_documents: Codes,
    judged_grades: Codes,
    document_count: int,
) -> Codes:
    """Look up the relevance grade of every document in ranked lists. The grade is −1 for a document that
    nobody judged or whose grade is negative.
    """
    grades = np.empty(len(documents), np.int32)
    current_grades = np.empty(document_count, np.int32)
    # The topic that the entry of each document in `current_grades` belongs to.
    topic_of_grade = np.full(document_count, -1, np.int64)
    for i in range(len(topic_of_list)):
        topic = topic_of_list[i]
        if i == 0 or topic_of_list[i - 1] != topic:
            for entry in range(judged_offsets[topic], judged_offsets[topic + 1]):
                current_grades[judged_documents[entry]] = judged_grades[entry]
                topic_of_grade[judged_documents[entry]] = topic
        for entry in range(list_offsets[i], list_offsets[i + 1]):
            document = documents[entry]
            is_judged = topic_of_grade[document] == topic
            grades[entry] = max(current_grades[document], UNJUDGED) if is_judged else UNJUDGED
    return grades


@kernel
def sort_grades_of_topics(topic_offsets: LongArray, grades: Codes) -> tuple[Codes, LongArray]:
    """Sort the relevance grades of each topic, highest first, leaving out negative ones. Also returns where
    the grades of each topic start.
    """
    ordered = np.empty(len(grades), np.int32)
    starts = np.zeros(len(topic_offsets), np.int64)
    end = 0
    for topic in range(len(topic_offsets) - 1):
        ascending = np.sort(grades[topic_offsets[topic] : topic_offsets[topic + 1]])
        for grade in ascending[::-1]:
            if grade < 0:
                break
            ordered[end] = grade
            end += 1
        starts[topic + 1] = end
    return ordered[:end].copy(), starts


@kernel
def select_lists_by_row(
    values: Codes, list_offsets: LongArray, row_numbers: LongArray, result_offsets: LongArray
) -> Codes:
    """Copy the values of the ranked lists with the given row numbers, one list after another."""
    gathered = np.empty(result_offsets[-1], np.int32)
    for i in range(len(row_numbers)):
        start = list_offsets[row_numbers[i]]
        new_start = result_offsets[i]
        for position in range(result_offsets[i + 1] - new_start):
            gathered[new_start + position] = values[start + position]
    return gathered
