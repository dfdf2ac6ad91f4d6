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
    """Return the relevance grade of every document in ranked lists, or −1 for a document that nobody judged
    or that has a negative grade.
    """
    found = np.empty(len(documents), np.int32)
    grade = np.empty(document_count, np.int32)
    known_for = np.full(
        document_count, -1, np.int64
    )  # the topic that a document's entry in `grade` belongs to
    for i in range(len(topic_of_list)):
        topic = topic_of_list[i]
        if i == 0 or topic_of_list[i - 1] != topic:
            for entry in range(judged_offsets[topic], judged_offsets[topic + 1]):
                grade[judged_documents[entry]] = judged_grades[entry]
                known_for[judged_documents[entry]] = topic
        for entry in range(list_offsets[i], list_offsets[i + 1]):
            document = documents[entry]
            found[entry] = max(grade[document], UNJUDGED) if known_for[document] == topic else UNJUDGED
    return found


@kernel
def sort_grades_of_topics(topic_offsets: LongArray, grades: Codes) -> tuple[Codes, LongArray]:
    """Return the grades of each topic that are not negative, highest first, and the position at which each
    topic starts.
    """
    ordered = np.empty(len(grades), np.int32)
    starts = np.zeros(len(topic_offsets), np.int64)
    end = 0
    for topic in range(len(topic_offsets) - 1):
        own = np.sort(grades[topic_offsets[topic] : topic_offsets[topic + 1]])
        for place in range(len(own) - 1, -1, -1):
            if own[place] < 0:
                break
            ordered[end] = own[place]
            end += 1
        starts[topic + 1] = end
    return ordered[:end].copy(), starts


@kernel
def select_lists_by_row(
    values: Codes, list_offsets: LongArray, row_numbers: LongArray, result_offsets: LongArray
) -> Codes:
    """Return the values of the ranked lists with some row numbers, one list after another."""
    gathered = np.empty(result_offsets[-1], np.int32)
    for i in range(len(row_numbers)):
        start, new = list_offsets[row_numbers[i]], result_offsets[i]
        for place in range(result_offsets[i + 1] - new):
            gathered[new + place] = values[start + place]
    return gathered
