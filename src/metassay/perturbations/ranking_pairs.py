"""Pairs of ranked lists, every worse copy a permutation of indices, and whether a copy really is worse.

A random exchange may bring a relevant document up, or move none at all; then the label of the pair is wrong,
and an "error" of a measure is not its fault. Told by the gain of the documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.dataset import Dataset
from metassay.data.ranked_lists import RankedLists, build_ranked_lists
from metassay.errors import InputError
from metassay.perturbations.base import Perturbation
from metassay.perturbations.pairs import Pairs, PerturbationCount
from metassay.perturbations.ranking import Reordering, place_copies
from metassay.stats.arrays import LongArray
from metassay.stats.compilation import kernel
from metassay.stats.streams import Keys, derive_keys, hash_outputs

Grades = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class RankedPairs(Pairs):
    """Pairs of rankings that also hold them as arrays, so that scoring needs no document ids."""

    lists: RankedLists
    """The outputs of the data set, in its order."""
    rows: LongArray
    """For each pair, which of the lists was made worse."""
    copies: RankedLists
    """For each pair, the worse list."""

    def filter_rows(self, keep: NDArray[np.bool_]) -> Self:
        """The pairs marked, arrays included."""
        chosen = super().filter_rows(keep)
        if chosen is self:
            return self
        return replace(chosen, copies=self.copies.take(np.flatnonzero(keep)))


def make_ranked_pairs(dataset: Dataset, methods: Sequence[Perturbation[Any]], *, seed: int) -> RankedPairs:
    """Every list reordered by every method: the same pairs as one list at a time, by index alone."""
    if dataset.qrels is None:
        raise InputError("rankings can be made worse only where relevance is known.", remedy="Pass --qrels.")
    outputs = dataset.outputs
    lists = build_ranked_lists(outputs["item"], outputs["output"], dataset.qrels)
    keys = hash_outputs(seed, outputs["item"], outputs["output"].list.join("\0"))
    reorderings = sorted((m for m in methods if isinstance(m, Reordering)), key=lambda method: method.spec)
    orders = [method.orders(lists.offsets, derive_keys(keys, method.name)) for method in reorderings]
    relevant = lists.has_relevant
    moved = np.array([relevant & _moved(lists.offsets, order) for order in orders])
    rows, which = np.nonzero(moved.T)
    copies = _copies(lists, orders, rows, which)
    specs = pl.Series([method.spec for method in reorderings], dtype=pl.String)
    frame = pl.DataFrame(
        {
            "item": outputs["item"].gather(rows),
            "system": outputs["system"].gather(rows),
            "perturbation": specs.gather(which),
            "output": lists.take(rows).to_series(),
            "worse": copies.to_series(),
        }
    )
    counts = {
        method.spec: PerturbationCount(
            applied=int(changed.sum()),
            not_applicable=int((~relevant).sum()),
            unchanged=int((relevant & ~changed).sum()),
            pairs=int(changed.sum()),
        )
        for method, changed in zip(reorderings, moved)
    }
    notes = _notes(relevant)
    priorities = _priorities(keys, reorderings, rows, which)
    return RankedPairs(frame, counts, notes, {}, priorities, lists=lists, rows=rows, copies=copies)


def _moved(offsets: LongArray, order: LongArray) -> NDArray[np.bool_]:
    """Which lists an order changes."""
    before = np.concatenate([[0], np.cumsum(order != np.arange(len(order)))])
    return np.asarray(before[offsets[1:]] > before[offsets[:-1]])


def _copies(
    lists: RankedLists, orders: Sequence[LongArray], rows: LongArray, which: LongArray
) -> RankedLists:
    """List `rows[i]` in the order of method `which[i]`, for all i."""
    offsets = np.concatenate([[0], np.cumsum(np.diff(lists.offsets)[rows])]).astype(np.int64)
    documents, grades = (np.empty(offsets[-1], np.int32) for _ in range(2))
    for method, order in enumerate(orders):
        mine = np.flatnonzero(which == method)
        place_copies(
            lists.offsets, order, rows[mine], offsets[mine], lists.documents, lists.grades, documents, grades
        )
    return replace(lists, offsets=offsets, documents=documents, grades=grades, topics=lists.topics[rows])


def _priorities(keys: Keys, methods: Sequence[Reordering], rows: LongArray, which: LongArray) -> Keys:
    table = np.array([derive_keys(keys, f"sample {method.spec}") for method in methods])
    return np.asarray(table[which, rows], dtype=np.uint64)


def _notes(relevant: NDArray[np.bool_]) -> tuple[str, ...]:
    without = int((~relevant).sum())
    if not without:
        return ()
    return (f"{without} of {len(relevant)} lists hold no relevant document: no order can make them worse.",)


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


@kernel
def _changes(
    offsets: LongArray,
    before: Grades,
    after: Grades,
    topics: LongArray,
    judged_offsets: LongArray,
    judged: Grades,
    discounts: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    change = np.zeros(len(topics), np.float64)
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
