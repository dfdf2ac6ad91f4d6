"""Worse rankings: a few pairs of documents change places, or the top is shuffled.

Only a list that holds a relevant document can get worse by another order, so the others are left alone.
Whether a changed order really is worse depends on which documents moved: see `ranking_pairs.gain_change`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from metassay.data.ranked_lists import RankedLists
from metassay.errors import InputError
from metassay.perturbations.base import Perturbation, View
from metassay.stats.arrays import LongArray
from metassay.stats.compilation import kernel
from metassay.stats.streams import Keys, Stream, draw_below, draw_high_bits
from metassay.tasks.base import OutputKind

Ranking = tuple[str, ...]
COPIES = 4
"""Worse copies of each list by default: one method stands in for the four that texts get."""


@dataclass(frozen=True)
class Reordering(Perturbation[Ranking]):
    """A perturbation that only changes the order. `copy` numbers independent versions of the same list."""

    output_kind: ClassVar[OutputKind] = OutputKind.RANKING
    needs_spaces: ClassVar[bool] = False
    needed_fields: ClassVar[frozenset[str]] = frozenset({"grades"})
    copy: int = 1

    def __post_init__(self) -> None:
        if self.copy < 1:
            raise InputError(f"the copies of {self.name} are counted from 1, not {self.copy}.")

    @abstractmethod
    def order(self, size: int, stream: Stream) -> list[int]:
        """The places of a list of this size in their new order."""

    @abstractmethod
    def orders(self, offsets: LongArray, keys: Keys) -> LongArray:
        """`order` of many lists at once: for each new entry, the old one."""

    def apply(self, view: View[Ranking], stream: Stream) -> Ranking | None:
        """The documents in their new order; None where no document is relevant."""
        if not any(view.grades.get(document, 0) > 0 for document in view.output):
            return None
        return tuple(
            view.output[place] for place in self.order(len(view.output), _restarted(stream, self.copy))
        )

    def apply_all(self, views: Sequence[View[Ranking]], keys: Keys) -> list[Ranking | None]:
        """The same, with all orders drawn in compiled code."""
        offsets = np.concatenate([[0], np.cumsum([len(view.output) for view in views])]).astype(np.int64)
        places = self.orders(offsets, keys) - np.repeat(offsets[:-1], np.diff(offsets))
        found: list[Ranking | None] = []
        for view, start, end in zip(views, offsets[:-1], offsets[1:]):
            relevant = any(view.grades.get(document, 0) > 0 for document in view.output)
            order = places[start:end].tolist()
            found.append(tuple(view.output[place] for place in order) if relevant else None)
        return found

    def worsened(self, lists: RankedLists, keys: Keys) -> RankedLists:
        """All lists in their new order, by index alone; those without a relevant document too."""
        return lists.reordered(self.orders(lists.offsets, keys))


@dataclass(frozen=True)
class RankSwapping(Reordering):
    """Exchanges pairs of documents (Deviyani and Diaz, 2025); no document moves twice.

    `swaps` is how many; 0, the default, is one for every five documents, at least one:
    fewer often move no relevant document (one of a hundred leaves the gain of 72 % of the lists of TREC-COVID
    as it was, ten 15 %, twenty 7 %).
    """

    name: ClassVar[str] = "rank_swapping"
    summary: ClassVar[str] = "exchanges pairs of documents, one for every five"
    swaps: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.swaps < 0:
            raise InputError(f"{self.name} cannot make {self.swaps} swaps.")

    @classmethod
    def list_defaults(cls) -> tuple[RankSwapping, ...]:
        """Several independent copies, since there is but one method."""
        return tuple(cls(copy=copy) for copy in range(1, COPIES + 1))

    def pairs(self, sizes: LongArray) -> LongArray:
        """How many pairs of a list of each size change places."""
        wanted = np.maximum(sizes // 5, 1) if self.swaps == 0 else np.full_like(sizes, self.swaps)
        return np.minimum(wanted, sizes // 2)

    def order(self, size: int, stream: Stream) -> list[int]:
        """Places with the pairs drawn exchanged."""
        count = int(self.pairs(np.array([size]))[0])
        drawn = stream.sample(size, 2 * count)
        order = list(range(size))
        for one, other in zip(drawn[::2], drawn[1::2]):
            order[one], order[other] = order[other], order[one]
        return order

    def orders(self, offsets: LongArray, keys: Keys) -> LongArray:
        """`order` of many lists at once."""
        return swapped_orders(offsets, keys, self.pairs(np.diff(offsets)), self.copy)


@dataclass(frozen=True)
class Shuffle(Reordering):
    """Shuffles the first 100 documents, or `top` of them."""

    name: ClassVar[str] = "shuffle"
    default: ClassVar[bool] = False
    summary: ClassVar[str] = "shuffles the first 100 documents"
    top: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.top < 2:
            raise InputError(f"the first {self.top} documents cannot be shuffled.")

    def order(self, size: int, stream: Stream) -> list[int]:
        """The first places in random order, the rest as it is."""
        top = min(size, self.top)
        return [*stream.sample(top, top), *range(top, size)]

    def orders(self, offsets: LongArray, keys: Keys) -> LongArray:
        """`order` of many lists at once."""
        return shuffled_orders(offsets, keys, self.top, self.copy)


def _restarted(stream: Stream, copy: int) -> Stream:
    """The stream for a further copy: the number drawn last is its key."""
    for _ in range(copy - 1):
        stream = Stream((stream.draw_below(1 << 32) << 32) | stream.draw_below(1 << 32))
    return stream


PERTURBATIONS = (RankSwapping, Shuffle)


Codes = NDArray[np.int32]


@kernel
def _restarted_state(state: np.uint64, copy: int) -> np.uint64:
    """The state of the stream for a further copy: the number drawn last becomes the key."""
    for _ in range(copy - 1):
        state, high = draw_high_bits(state)
        state, low = draw_high_bits(state)
        state = (high << np.uint64(32)) | low
    return state


@kernel
def _sample(order: LongArray, size: int, count: int, state: np.uint64) -> None:
    """Draw `count` different numbers below `size` into the front of `order` (partial Fisher–Yates)."""
    for place in range(size):
        order[place] = place
    for place in range(count):
        state, step = draw_below(state, size - place)
        other = place + step
        order[place], order[other] = order[other], order[place]


@kernel
def swapped_orders(offsets: LongArray, keys: Keys, swaps: LongArray, copy: int) -> LongArray:
    """`RankSwapping.order` for every list; `swaps[i]` pairs of entries of list i change places."""
    order = np.arange(offsets[-1])
    drawn = np.empty(np.max(np.diff(offsets)) if len(keys) else 0, np.int64)
    for i in range(len(keys)):
        start, size = offsets[i], offsets[i + 1] - offsets[i]
        _sample(drawn, size, 2 * swaps[i], _restarted_state(keys[i], copy))
        for swap in range(swaps[i]):
            one, other = start + drawn[2 * swap], start + drawn[2 * swap + 1]
            order[one], order[other] = order[other], order[one]
    return order


@kernel
def shuffled_orders(offsets: LongArray, keys: Keys, top: int, copy: int) -> LongArray:
    """`Shuffle.order` for every list: the first `top` entries in random order."""
    order = np.arange(offsets[-1])
    drawn = np.empty(np.max(np.diff(offsets)) if len(keys) else 0, np.int64)
    for i in range(len(keys)):
        start = offsets[i]
        size = min(offsets[i + 1] - start, top)
        _sample(drawn, size, size, _restarted_state(keys[i], copy))
        for place in range(size):
            order[start + place] = start + drawn[place]
    return order


@kernel
def place_copies(
    offsets: LongArray,
    order: LongArray,
    rows: LongArray,
    starts: LongArray,
    documents: Codes,
    grades: Codes,
    new_documents: Codes,
    new_grades: Codes,
) -> None:
    """Write list `rows[i]` in its new order to the entries from `starts[i]` on."""
    for i in range(len(rows)):
        first = offsets[rows[i]]
        for place in range(offsets[rows[i] + 1] - first):
            old = order[first + place]
            new_documents[starts[i] + place] = documents[old]
            new_grades[starts[i] + place] = grades[old]
