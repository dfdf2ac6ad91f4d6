"""Encode each text of a run once, and store the results for all batches and metrics that need them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.shared_cache import SharedCache, TextGroup

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
# Arrays of a run beyond this size are stored in temporary files instead of memory.
MAX_BYTES_IN_MEMORY = 2**30


def compute_once_for_equal_items(
    shared_cache: SharedCache,
    cache_key: Hashable,
    items: Sequence[K],
    compute: Callable[[list[K]], Iterable[V]],
) -> list[V]:
    """Return the result of `compute` for each item. Equal items are computed once, and the results are kept
    while the batch is scored.
    """
    values: dict[K, V] = shared_cache.batch_cache.setdefault(cache_key, {})
    new_items = [item for item in dict.fromkeys(items) if item not in values]
    if new_items:
        values.update(zip(new_items, compute(new_items)))
    return [values[item] for item in items]


@dataclass
class GroupResults:
    """Results for groups of texts that several batches contain. They are kept until the run ends."""

    members: dict[TextGroup, list[str]]
    """The texts of each group, sorted."""
    results: dict[tuple[object, TextGroup], Any] = field(default_factory=dict)
    """By network and group."""
    stored_bytes: int = 0


class TextGroups:
    """The texts that occur in several batches of a run, in groups.

    The texts of a group are encoded together, so that the result is the same whichever batch comes first. The
    results are kept until the run ends.
    """

    def __init__(self, shared_cache: SharedCache) -> None:
        self.group_of_text = shared_cache.find_text_groups()
        if GroupResults not in shared_cache.run_cache:
            members: dict[TextGroup, list[str]] = {}
            for text in sorted(self.group_of_text):
                members.setdefault(self.group_of_text[text], []).append(text)
            shared_cache.run_cache[GroupResults] = GroupResults(members)
        self.stored: GroupResults = shared_cache.run_cache[GroupResults]

    def find_shared_text_groups(self, texts: Iterable[str]) -> tuple[list[TextGroup], list[str]]:
        """Return the groups of shared texts to which some texts belong, and the texts that belong to no
        group.
        """
        groups: set[TextGroup] = set()
        ungrouped: list[str] = []
        for text in texts:
            group = self.group_of_text.get(text)
            if group is None:
                ungrouped.append(text)
            else:
                groups.add(group)
        return sorted(groups), ungrouped

    def compute_group_once(
        self, network: object, text_group: TextGroup, compute: Callable[[list[str]], V]
    ) -> tuple[list[str], V]:
        """Return the texts of a group and the result of `compute` for them. `compute` is called only once per
        group and network in a run.
        """
        texts = self.stored.members[text_group]
        if (network, text_group) not in self.stored.results:
            self.stored.results[network, text_group] = compute(texts)
        return texts, self.stored.results[network, text_group]

    def keep_array_until_run_ends(self, array_or_tensor: Any) -> NDArray[Any]:
        """Keep an array until the run ends, in memory or in a temporary file. Returns the kept array."""
        array: NDArray[Any] = (
            array_or_tensor if isinstance(array_or_tensor, np.ndarray) else array_or_tensor.cpu().numpy()
        )
        self.stored.stored_bytes += array.nbytes
        if self.stored.stored_bytes <= MAX_BYTES_IN_MEMORY or not array.size:
            return array
        with tempfile.TemporaryFile() as file:
            on_disk = np.memmap(file, array.dtype, "w+", shape=array.shape)
        on_disk[:] = array
        return on_disk


class VectorRows(NamedTuple):
    """Vectors of texts, and the number of the vector that belongs to each text."""

    vectors: Any
    """An array or a tensor: [vectors, hidden]."""
    rows: NDArray[np.int64]
    """For each column and each of its texts, the row of the vector: [columns, texts]."""
    truncated_count: int
    """How many of the texts were truncated."""


@dataclass
class EncodedTexts:
    """The vectors of the texts that were encoded for the current batch so far."""

    row_of_text: dict[str, int] = field(default_factory=dict)
    truncated: list[NDArray[np.bool_]] = field(default_factory=list)
    blocks: list[Any] = field(default_factory=list)
    """Vectors, in blocks that are joined when they are needed."""

    def store_text_vectors(self, texts: Sequence[str], vectors: Any, is_truncated: NDArray[np.bool_]) -> None:
        """Add the vectors of some texts, and for each text whether it was truncated."""
        first_row = len(self.row_of_text)
        self.row_of_text.update(zip(texts, range(first_row, first_row + len(texts))))
        self.blocks.append(vectors)
        self.truncated.append(is_truncated)

    def concatenate_text_vectors(self) -> Any:
        """Join all vectors that were added to one array and return it."""
        if len(self.blocks) > 1 and isinstance(self.blocks[0], np.ndarray):
            self.blocks = [np.concatenate(self.blocks)]
        elif len(self.blocks) > 1:
            import torch

            self.blocks = [torch.cat(self.blocks)]
        return self.blocks[0]


class TextVectors:
    """Computes the vectors of texts with a network. Each text is encoded only once for all batches and
    metrics of a run.

    `encode` returns the vectors of texts and which texts were truncated; `to_device` moves stored vectors
    back to the device of the network.
    """

    def __init__(
        self,
        shared_cache: SharedCache,
        network: object,
        encode: Callable[[list[str]], tuple[Any, NDArray[np.bool_]]],
        to_device: Callable[[NDArray[Any]], Any] = lambda array: array,
    ) -> None:
        self.network = network
        self.encode = encode
        self.to_device = to_device
        self.groups = TextGroups(shared_cache)
        self.encoded: EncodedTexts = shared_cache.batch_cache.setdefault(
            (EncodedTexts, network), EncodedTexts()
        )

    def get_vectors(self, text_columns: Sequence[Sequence[str]]) -> VectorRows:
        """Return the vectors of several lists of texts, such as outputs and references. Texts that have no
        vector yet are encoded first.
        """
        for column in text_columns:
            new_texts = [text for text in dict.fromkeys(column) if text not in self.encoded.row_of_text]
            groups, ungrouped = self.groups.find_shared_text_groups(new_texts)
            for group in groups:
                texts, (vectors, truncated) = self.groups.compute_group_once(
                    self.network, group, self._compute_and_keep_vectors
                )
                self.encoded.store_text_vectors(texts, self.to_device(vectors), truncated)
            if ungrouped:
                self.encoded.store_text_vectors(ungrouped, *self.encode(ungrouped))
        row_of_text = self.encoded.row_of_text
        rows = np.array([[row_of_text[text] for text in column] for column in text_columns], dtype=np.int64)
        truncated_count = int(np.concatenate(self.encoded.truncated)[np.unique(rows)].sum())
        return VectorRows(self.encoded.concatenate_text_vectors(), rows, truncated_count)

    def _compute_and_keep_vectors(self, texts: list[str]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Compute the vectors of texts and keep them until the run ends."""
        vectors, truncated = self.encode(texts)
        return self.groups.keep_array_until_run_ends(vectors), truncated
