"""Is a reordered ranking really worse? Checked against the gain of its documents.

A random exchange may bring a relevant document up, or move none at all; then the label of the pair is wrong,
and an "error" of a measure is not its fault.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metassay.data.rankings import RankedLists

Ints = NDArray[np.int64]
Grades = NDArray[np.int32]


@dataclass(frozen=True)
class GainChange:
    """What became of the gain of each list when it was reordered, and whether all measures must agree.

    `change` is the discounted cumulative gain of the copy minus that of the list, over the ideal gain of its
    topic (gain = grade, discount log2(rank + 1)). `clear` marks pairs in which the gain collected up to any
    rank is never higher in the copy, and lower somewhere: worse under every discount, not this one alone.
    """

    change: NDArray[np.float64]
    clear: NDArray[np.bool_]

    @property
    def worse(self) -> NDArray[np.bool_]:
        """Pairs whose label is right: the gain fell."""
        return self.change < 0

    def take(self, chosen: NDArray[np.bool_]) -> GainChange:
        """The pairs marked."""
        return GainChange(self.change[chosen], self.clear[chosen])

    def counts(self) -> dict[str, int]:
        """Pairs by what became of the gain."""
        return {
            "worse": int((self.change < 0).sum()),
            "equal": int((self.change == 0).sum()),
            "better": int((self.change > 0).sum()),
            "clearly_worse": int(self.clear.sum()),
        }


def gain_change(lists: RankedLists, copies: RankedLists) -> GainChange:
    """The change of gain from each list to its copy; both have the same topics and documents."""
    longest = max(np.diff(lists.offsets).max(initial=0), np.diff(lists.judgements.offsets).max(initial=0))
    discounts = np.log2(np.arange(2, longest + 2, dtype=np.float64))
    judged = lists.judgements
    change, clear = _changes(
        lists.offsets, lists.grades, copies.grades, lists.topics, judged.offsets, judged.grades, discounts
    )
    return GainChange(change, clear)


@njit(cache=True, nogil=True)
def _changes(
    offsets: Ints,
    before: Grades,
    after: Grades,
    topics: Ints,
    judged_offsets: Ints,
    judged: Grades,
    discounts: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    change = np.zeros(len(topics))
    clear = np.zeros(len(topics), np.bool_)
    for i in range(len(topics)):
        ideal = 0.0
        first = judged_offsets[topics[i]]
        for place in range(judged_offsets[topics[i] + 1] - first):
            ideal += judged[first + place] / discounts[place]
        ahead, lowest, highest, total = 0, 0, 0, 0.0
        for place in range(offsets[i + 1] - offsets[i]):
            entry = offsets[i] + place
            step = max(after[entry], 0) - max(before[entry], 0)
            ahead += step
            lowest, highest = min(lowest, ahead), max(highest, ahead)
            total += step / discounts[place]
        moved = lowest < 0 or highest > 0
        change[i] = total / ideal if moved and ideal > 0.0 else 0.0
        clear[i] = lowest < 0 and highest == 0
    return change, clear
