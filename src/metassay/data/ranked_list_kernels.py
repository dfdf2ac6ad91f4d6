"""Loops over ranked lists in compiled code."""

from __future__ import annotations

import numpy as np

from metassay.data.ranked_lists import UNJUDGED, Codes
from metassay.stats.arrays import LongArray
from metassay.stats.compilation import kernel


@kernel
def look_up_grades(
    offsets: LongArray,
    documents: Codes,
    topics: LongArray,
    judged_offsets: LongArray,
    judged_documents: Codes,
    judged_grades: Codes,
    name_count: int,
) -> Codes:
    """Return the relevance grade of every document in ranked lists, or −1 for a document that nobody judged
    or that has a negative grade.
    """
    found = np.empty(len(documents), np.int32)
    grade = np.empty(name_count, np.int32)
    known_for = np.full(name_count, -1, np.int64)  # the topic that a document's entry in `grade` belongs to
    for i in range(len(topics)):
        topic = topics[i]
        if i == 0 or topics[i - 1] != topic:
            for entry in range(judged_offsets[topic], judged_offsets[topic + 1]):
                grade[judged_documents[entry]] = judged_grades[entry]
                known_for[judged_documents[entry]] = topic
        for entry in range(offsets[i], offsets[i + 1]):
            document = documents[entry]
            found[entry] = max(grade[document], UNJUDGED) if known_for[document] == topic else UNJUDGED
    return found


@kernel
def sort_grades_of_topics(offsets: LongArray, grades: Codes) -> tuple[Codes, LongArray]:
    """Return the grades of each topic that are not negative, highest first, and the position at which each
    topic starts.
    """
    ordered = np.empty(len(grades), np.int32)
    starts = np.zeros(len(offsets), np.int64)
    end = 0
    for topic in range(len(offsets) - 1):
        own = np.sort(grades[offsets[topic] : offsets[topic + 1]])
        for place in range(len(own) - 1, -1, -1):
            if own[place] < 0:
                break
            ordered[end] = own[place]
            end += 1
        starts[topic + 1] = end
    return ordered[:end].copy(), starts


@kernel
def concatenate_lists_of_rows(
    values: Codes, offsets: LongArray, rows: LongArray, new_offsets: LongArray
) -> Codes:
    """Return the values of the ranked lists with some row numbers, one list after another."""
    gathered = np.empty(new_offsets[-1], np.int32)
    for i in range(len(rows)):
        start, new = offsets[rows[i]], new_offsets[i]
        for place in range(new_offsets[i + 1] - new):
            gathered[new + place] = values[start + place]
    return gathered
