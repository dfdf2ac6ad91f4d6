"""Encode each text of a run once, and store the results for all batches and metrics that need them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.shared_work import SharedWork, TextGroup

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
# Arrays of a run beyond this size are stored in temporary files instead of memory.
MAX_BYTES_IN_MEMORY = 2**30


def compute_once_for_equal_items(
    shared_work: SharedWork,
    cache_key: Hashable,
    items: Sequence[K],
    compute: Callable[[list[K]], Iterable[V]],
) -> list[V]:
    """Return the value of each item, computed once for equal items of a batch."""
    values: dict[K, V] = shared_work.batch_cache.setdefault(cache_key, {})
    new_items = [item for item in dict.fromkeys(items) if item not in values]
    if new_items:
        values.update(zip(new_items, compute(new_items)))
    return [values[item] for item in items]


@dataclass
class GroupResults:
    """Results that were computed for groups of texts in one run."""

    members: dict[TextGroup, list[str]]
    """The texts of each group, sorted."""
    results: dict[tuple[object, TextGroup], Any] = field(default_factory=dict)
    """By network and group."""
    stored_bytes: int = 0


class TextGroups:
    """The texts that occur in several batches of a run, in groups.

    Texts of one group are encoded together, so that the result is the same whichever batch comes first, and
    stored until the run ends.
    """

    def __init__(self, shared_work: SharedWork) -> None:
        self.group_of_text = shared_work.find_text_groups()
        if GroupResults not in shared_work.run_cache:
            members: dict[TextGroup, list[str]] = {}
            for text in sorted(self.group_of_text):
                members.setdefault(self.group_of_text[text], []).append(text)
            shared_work.run_cache[GroupResults] = GroupResults(members)
        self.stored: GroupResults = shared_work.run_cache[GroupResults]

    def split_texts_by_group(self, texts: Iterable[str]) -> tuple[list[TextGroup], list[str]]:
        """Return the groups that these texts belong to, and the texts without a group."""
        groups: set[TextGroup] = set()
        ungrouped: list[str] = []
        for text in texts:
            group = self.group_of_text.get(text)
            if group is None:
                ungrouped.append(text)
            else:
                groups.add(group)
        return sorted(groups), ungrouped

    def compute_once(
        self, network: object, group: TextGroup, compute: Callable[[list[str]], V]
    ) -> tuple[list[str], V]:
        """Return the texts of a group and the result of `compute` for them, computed once in a run."""
        texts = self.stored.members[group]
        if (network, group) not in self.stored.results:
            self.stored.results[network, group] = compute(texts)
        return texts, self.stored.results[network, group]

    def store_array(self, values: Any) -> NDArray[Any]:
        """Store an array for the rest of the run, in memory or in a temporary file."""
        array: NDArray[Any] = values if isinstance(values, np.ndarray) else values.cpu().numpy()
        self.stored.stored_bytes += array.nbytes
        if self.stored.stored_bytes <= MAX_BYTES_IN_MEMORY or not array.size:
            return array
        with tempfile.TemporaryFile() as file:
            on_disk = np.memmap(file, array.dtype, "w+", shape=array.shape)
        on_disk[:] = array
        return on_disk


class VectorRows(NamedTuple):
    """An array of vectors, and the row of each text in it."""

    vectors: Any
    """An array or a tensor: [vectors, hidden]."""
    rows: NDArray[np.int64]
    """For each column and each of its texts, the row of the vector: [columns, texts]."""
    truncated_count: int
    """How many of the texts were truncated."""


@dataclass
class EncodedTexts:
    """The vectors of the texts that were encoded for the current batch."""

    row_of_text: dict[str, int] = field(default_factory=dict)
    truncated: list[NDArray[np.bool_]] = field(default_factory=list)
    blocks: list[Any] = field(default_factory=list)
    """Vectors, in blocks that are joined when they are needed."""

    def add(self, texts: Sequence[str], vectors: Any, truncated: NDArray[np.bool_]) -> None:
        """Store the vectors of texts, and which texts were truncated."""
        first_row = len(self.row_of_text)
        self.row_of_text.update(zip(texts, range(first_row, first_row + len(texts))))
        self.blocks.append(vectors)
        self.truncated.append(truncated)

    def join_vector_blocks(self) -> Any:
        """Join all vectors into one block and return it."""
        if len(self.blocks) > 1 and isinstance(self.blocks[0], np.ndarray):
            self.blocks = [np.concatenate(self.blocks)]
        elif len(self.blocks) > 1:
            import torch

            self.blocks = [torch.cat(self.blocks)]
        return self.blocks[0]


class TextVectors:
    """Vectors of texts by one network; each text is encoded once for all batches and metrics of a run.

    `encode` returns the vectors of texts and which texts were truncated; `to_device` moves stored vectors
    back to the device of the network.
    """

    def __init__(
        self,
        shared_work: SharedWork,
        network: object,
        encode: Callable[[list[str]], tuple[Any, NDArray[np.bool_]]],
        to_device: Callable[[NDArray[Any]], Any] = lambda array: array,
    ) -> None:
        self.network = network
        self.encode = encode
        self.to_device = to_device
        self.groups = TextGroups(shared_work)
        self.encoded: EncodedTexts = shared_work.batch_cache.setdefault(
            (EncodedTexts, network), EncodedTexts()
        )

    def get_or_encode_vectors(self, columns: Sequence[Sequence[str]]) -> VectorRows:
        """Return the vectors of several columns of texts; encode the texts that have none yet."""
        for column in columns:
            new_texts = [text for text in dict.fromkeys(column) if text not in self.encoded.row_of_text]
            groups, ungrouped = self.groups.split_texts_by_group(new_texts)
            for group in groups:
                texts, (vectors, truncated) = self.groups.compute_once(
                    self.network, group, self._encode_and_store
                )
                self.encoded.add(texts, self.to_device(vectors), truncated)
            if ungrouped:
                self.encoded.add(ungrouped, *self.encode(ungrouped))
        row_of_text = self.encoded.row_of_text
        rows = np.array([[row_of_text[text] for text in column] for column in columns], dtype=np.int64)
        truncated_count = int(np.concatenate(self.encoded.truncated)[np.unique(rows)].sum())
        return VectorRows(self.encoded.join_vector_blocks(), rows, truncated_count)

    def _encode_and_store(self, texts: list[str]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Encode texts and store their vectors for the rest of the run."""
        vectors, truncated = self.encode(texts)
        return self.groups.store_array(vectors), truncated
