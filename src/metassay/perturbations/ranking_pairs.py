"""Pairs of ranked lists and their reordered versions, and whether the reordered version is worse.

A random swap can move a relevant document up, or move no relevant document at all. Then the label "worse" is
wrong, and a metric that disagrees with it makes no error. The change of the gain shows this.
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
from metassay.perturbations.ranking import Reordering, fill_reordered_ranked_lists
from metassay.stats.arrays import LongArray
from metassay.stats.compilation import kernel
from metassay.stats.streams import Keys, compute_output_seeds, derive_seeds_from_name

Grades = NDArray[np.int32]


@dataclass(frozen=True, kw_only=True)
class RankedPairs(Pairs):
    """Pairs of a ranked list and a reordered version of it, stored as integer arrays so that metrics can
    score them fast.
    """

    lists: RankedLists
    """The outputs of the data set, in its order."""
    rows: LongArray
    """For each pair, the number of the list that was reordered."""
    copies: RankedLists
    """For each pair, the reordered list."""

    def filter_pairs(self, is_kept: NDArray[np.bool_]) -> Self:
        """Return the pairs for which `is_kept` is true."""
        filtered = super().filter_pairs(is_kept)
        if filtered is self:
            return self
        return replace(filtered, copies=self.copies.select_lists(np.flatnonzero(is_kept)))


def make_reordered_list_pairs(
    dataset: Dataset, perturbations: Sequence[Perturbation[Any]], *, seed: int
) -> RankedPairs:
    """Change the order of every ranked list of a data set by each perturbation, and pair each list with its
    reordered versions.
    """
    if dataset.qrels is None:
        raise InputError("rankings can be perturbed only with relevance judgements.", remedy="Pass --qrels.")
    outputs = dataset.outputs
    lists = build_ranked_lists(outputs["item"], outputs["output"], dataset.qrels)
    # Readers refuse the null character, so that different lists are different texts.
    keys = compute_output_seeds(seed, outputs["item"], outputs["output"].list.join("\0"))
    reorderings = [perturbation for perturbation in perturbations if isinstance(perturbation, Reordering)]
    # The pairs of each output then come in the order of the column `perturbation`, as in pairs of texts.
    reorderings.sort(key=lambda reordering: reordering.spec)
    orders = [
        reordering.draw_random_document_orders(lists.offsets, derive_seeds_from_name(keys, reordering.name))
        for reordering in reorderings
    ]
    has_relevant_document = lists.has_relevant_document
    is_changed = np.array(
        [has_relevant_document & _find_lists_with_moved_documents(lists.offsets, order) for order in orders]
    )
    # Transposed, so that pairs are sorted by output first and by perturbation second.
    rows, reordering_numbers = np.nonzero(is_changed.T)
    copies = _copy_ranked_lists_in_new_order(lists, orders, rows, reordering_numbers)
    specs = pl.Series([reordering.spec for reordering in reorderings], dtype=pl.String)
    frame = pl.DataFrame(
        {
            "item": outputs["item"].gather(rows),
            "system": outputs["system"].gather(rows),
            "perturbation": specs.gather(reordering_numbers),
            "output": lists.select_lists(rows).to_series(),
            "worse": copies.to_series(),
        }
    )
    counts = {}
    for reordering, changed in zip(reorderings, is_changed):
        counts[reordering.spec] = PerturbationCount(
            applied=int(changed.sum()),
            not_applicable=int((~has_relevant_document).sum()),
            unchanged=int((has_relevant_document & ~changed).sum()),
            pairs=int(changed.sum()),
        )
    notes = _list_notes_on_irrelevant_lists(has_relevant_document)
    priorities = _draw_random_priority_of_pairs(keys, reorderings, rows, reordering_numbers)
    return RankedPairs(frame, counts, notes, {}, priorities, lists=lists, rows=rows, copies=copies)


def _find_lists_with_moved_documents(list_offsets: LongArray, document_order: LongArray) -> NDArray[np.bool_]:
    """Return for each ranked list whether a new order moves any of its documents."""
    # A running count answers for all lists at once whether any document moved in them.
    moved_before = np.concatenate([[0], np.cumsum(document_order != np.arange(len(document_order)))])
    return np.asarray(moved_before[list_offsets[1:]] > moved_before[list_offsets[:-1]])


def _copy_ranked_lists_in_new_order(
    ranked_lists: RankedLists,
    document_orders: Sequence[LongArray],
    list_numbers: LongArray,
    order_numbers: LongArray,
) -> RankedLists:
    """Copy ranked lists, each in one of several new orders of its documents."""
    offsets = np.concatenate([[0], np.cumsum(np.diff(ranked_lists.offsets)[list_numbers])]).astype(np.int64)
    documents = np.empty(offsets[-1], np.int32)
    grades = np.empty(offsets[-1], np.int32)
    for number, order in enumerate(document_orders):
        selected = np.flatnonzero(order_numbers == number)
        fill_reordered_ranked_lists(
            ranked_lists.offsets,
            order,
            list_numbers[selected],
            offsets[selected],
            ranked_lists.documents,
            ranked_lists.grades,
            documents,
            grades,
        )
    return replace(
        ranked_lists,
        offsets=offsets,
        documents=documents,
        grades=grades,
        topics=ranked_lists.topics[list_numbers],
    )


def _draw_random_priority_of_pairs(
    random_keys: Keys,
    reorderings: Sequence[Reordering],
    list_positions: LongArray,
    reordering_positions: LongArray,
) -> Keys:
    """Draw a random number for each pair. If pairs are sampled, those with the lowest numbers are kept."""
    priorities = np.array(
        [derive_seeds_from_name(random_keys, f"sample {reordering.spec}") for reordering in reorderings]
    )
    return np.asarray(priorities[reordering_positions, list_positions], dtype=np.uint64)


def _list_notes_on_irrelevant_lists(
    has_relevant_document: NDArray[np.bool_],
) -> tuple[str, ...]:
    """Return a note for users about the ranked lists without any relevant document, or no note if there are
    none.
    """
    irrelevant_count = int((~has_relevant_document).sum())
    if not irrelevant_count:
        return ()
    total = len(has_relevant_document)
    return (
        f"{irrelevant_count} of {total} lists contain no relevant document, so no order can make them worse.",
    )


@dataclass(frozen=True)
class GainChange:
    """By how much the discounted cumulative gain of each ranked list changed when its documents were
    reordered.
    """

    change: NDArray[np.float64]
    """Discounted cumulative gain of the reordered list minus that of the list, divided by the ideal gain of
    the topic. The gain of a document is its grade, the discount is log2(rank + 1)."""
    is_clearly_worse: NDArray[np.bool_]
    """Whether the gain up to any rank is never higher in the reordered list, and lower at some rank: the list
    is worse under every discount."""

    @property
    def is_reordered_list_worse(self) -> NDArray[np.bool_]:
        """Whether each reordered list has a lower gain than the original, so that it is right to call it
        worse.
        """
        return self.change < 0

    def select_pairs(self, is_selected: NDArray[np.bool_]) -> GainChange:
        """Return the gain changes of the selected pairs."""
        return GainChange(self.change[is_selected], self.is_clearly_worse[is_selected])

    def count_pairs(self) -> dict[str, int]:
        """Count the pairs of ranked lists in which the reordered list is worse, equal, better, or worse at
        every rank.
        """
        return {
            "worse": int((self.change < 0).sum()),
            "equal": int((self.change == 0).sum()),
            "better": int((self.change > 0).sum()),
            "clearly_worse": int(self.is_clearly_worse.sum()),
        }


def compare_gains_of_reordered_lists(ranked_lists: RankedLists, reordered_lists: RankedLists) -> GainChange:
    """Compute by how much the discounted cumulative gain of each reordered list differs from that of the
    original list.
    """
    # The ideal list of a topic has all its judged documents, and may be longer than any ranked list.
    longest = max(
        np.diff(ranked_lists.offsets).max(initial=0), np.diff(ranked_lists.judgements.offsets).max(initial=0)
    )
    discounts = np.log2(np.arange(2, longest + 2, dtype=np.float64))
    change, is_clearly_worse = _compute_ndcg_change_of_lists(
        ranked_lists.offsets,
        ranked_lists.grades,
        reordered_lists.grades,
        ranked_lists.topics,
        ranked_lists.judgements.offsets,
        ranked_lists.judgements.grades,
        discounts,
    )
    return GainChange(change, is_clearly_worse)


@kernel
def _compute_ndcg_change_of_lists(
    list_offsets: LongArray,
    grades_before: Grades,
    grades_after: Grades,
    topics: LongArray,
    judged_offsets: LongArray,
    judged_grades: Grades,
    discounts: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Compute by how much the nDCG of each list changed, and whether it fell or stayed the same at
    every rank.
    """
    change = np.zeros(len(topics), np.float64)
    is_clearly_worse = np.zeros(len(topics), np.bool_)
    for i in range(len(topics)):
        ideal_gain = 0.0
        first = judged_offsets[topics[i]]
        for rank in range(judged_offsets[topics[i] + 1] - first):
            ideal_gain += judged_grades[first + rank] / discounts[rank]
        difference = 0
        lowest_difference = 0
        highest_difference = 0
        discounted_difference = 0.0
        for rank in range(list_offsets[i + 1] - list_offsets[i]):
            entry = list_offsets[i] + rank
            # Negative grades gain nothing. The grade of documents that nobody judged is -1.
            step = max(grades_after[entry], 0) - max(grades_before[entry], 0)
            difference += step
            lowest_difference = min(lowest_difference, difference)
            highest_difference = max(highest_difference, difference)
            discounted_difference += step / discounts[rank]
        # Without this, rounding errors would make equal gains differ.
        is_changed = lowest_difference < 0 or highest_difference > 0
        change[i] = discounted_difference / ideal_gain if is_changed and ideal_gain > 0.0 else 0.0
        is_clearly_worse[i] = lowest_difference < 0 and highest_difference == 0
    return change, is_clearly_worse
