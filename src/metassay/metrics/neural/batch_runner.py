"""Run a network over many texts: in batches of similar work, and in smaller ones where memory runs out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError
from metassay.metrics.neural.token_batches import TokenBatch, build_packed_batch, build_padded_batch
from metassay.metrics.neural.tokenizer import Positions, TokenizedTexts, Tokenizer, tokenize_in_chunks

if TYPE_CHECKING:
    from torch import Tensor

R = TypeVar("R")
# Tokens in a batch, padding included, by kind of device.
TOKEN_BUDGETS = {"cpu": 4_096, "cuda": 65_536}
# Tokens in a packed batch on a GPU.
PACKED_TOKEN_BUDGET = 131_072


def choose_device() -> str:
    """Return the torch device to use: the one in METASSAY_DEVICE, or else the GPU if there is one, or else
    the CPU.
    """
    import torch

    return os.environ.get("METASSAY_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")


def get_device_kind(device: str) -> str:
    """Return the kind of a torch device without its number, such as `cuda` for `cuda:1`."""
    return device.partition(":")[0]


@dataclass
class BatchRunner:
    """Runs a network on texts in batches of limited size. The longest texts come first."""

    device: str = field(default_factory=choose_device)
    token_budget: int = 0
    packs_texts: bool = False
    """Whether batches are packed instead of padded, for networks that read packed batches."""

    def __post_init__(self) -> None:
        if self.token_budget == 0:
            self.token_budget = TOKEN_BUDGETS.get(get_device_kind(self.device), TOKEN_BUDGETS["cpu"])

    def enable_packed_batches(self) -> None:
        """Build all further batches without padding, for networks that can read such batches."""
        self.packs_texts = True
        if self.token_budget == TOKEN_BUDGETS["cuda"]:
            self.token_budget = PACKED_TOKEN_BUDGET

    def run_network_in_batches(
        self,
        tokens: TokenizedTexts,
        forward: Callable[[TokenBatch], R],
        *,
        pad_id: int,
        segment_ids: TokenizedTexts | None = None,
    ) -> Iterator[tuple[Positions, R]]:
        """Call `forward` on batches of texts. Yields, for each batch, the positions of its texts and what
        `forward` returned.
        """
        import torch

        order = np.argsort(-tokens.lengths, kind="stable")
        ordered_lengths = tokens.lengths[order]
        count_fitting = _count_texts_in_packed_batch if self.packs_texts else _count_texts_in_padded_batch
        start = 0
        while start < len(order):
            texts = order[start : start + count_fitting(ordered_lengths[start:], self.token_budget)]
            result: R | None = None
            # Not `except`, whose traceback would keep the tensors alive while memory is freed.
            with suppress(torch.OutOfMemoryError, MemoryError), torch.inference_mode():
                result = forward(self._build_token_batch(tokens, texts, pad_id, segment_ids))
            if result is None:
                self._reduce_batch_size(tokens, texts)
                continue
            yield texts, result
            start += len(texts)

    def compute_vector_per_text(
        self,
        tokens: TokenizedTexts,
        forward: Callable[[TokenBatch], Tensor],
        *,
        pad_id: int,
        segment_ids: TokenizedTexts | None = None,
    ) -> Tensor:
        """Call `forward` on batches of texts, and return the results as a tensor with one row per text.

        Nothing is read back between batches, so a GPU computes one while the next is being prepared.
        """
        import torch

        rows: Tensor | None = None
        for texts, batch_rows in self.run_network_in_batches(
            tokens, forward, pad_id=pad_id, segment_ids=segment_ids
        ):
            if rows is None:
                rows = torch.empty((len(tokens), *batch_rows.shape[1:]), device=batch_rows.device)
            rows[self.move_to_device(texts)] = batch_rows.float()
        return torch.empty((0, 1)) if rows is None else rows

    def tokenize_and_compute_vectors(
        self,
        texts: Sequence[str],
        tokenizer: Tokenizer,
        forward: Callable[[TokenBatch], Tensor],
        *,
        pad_id: int,
    ) -> tuple[Tensor, NDArray[np.bool_]]:
        """Tokenize texts and call `forward` on them in batches. Returns one row of results per text, and
        which texts were truncated.

        With a GPU, texts are tokenised in the background while it encodes those before.
        """
        import torch

        rows: Tensor | None = None
        truncated = np.zeros(len(texts), np.bool_)
        in_background = get_device_kind(self.device) == "cuda"
        for chunk, tokens in tokenize_in_chunks(tokenizer, texts, in_background=in_background):
            chunk_rows = self.compute_vector_per_text(tokens, forward, pad_id=pad_id)
            truncated[chunk] = tokens.truncated
            if len(chunk) == len(texts):
                return chunk_rows, truncated
            if rows is None:
                rows = torch.empty((len(texts), *chunk_rows.shape[1:]), device=chunk_rows.device)
            rows[self.move_to_device(chunk)] = chunk_rows
        assert rows is not None
        return rows, truncated

    def move_to_device(self, array: NDArray[Any]) -> Tensor:
        """Copy an array to the device of the network, without waiting for the copy to finish."""
        import torch

        tensor = torch.from_numpy(array)
        if get_device_kind(self.device) == "cuda":
            tensor = tensor.pin_memory()
        return tensor.to(self.device, non_blocking=True)

    def _build_token_batch(
        self, tokens: TokenizedTexts, text_numbers: Positions, pad_id: int, segment_ids: TokenizedTexts | None
    ) -> TokenBatch:
        """Build a batch of the texts with these numbers, with or without padding."""
        if self.packs_texts:
            return build_packed_batch(tokens, text_numbers, pad_id, self.move_to_device, segment_ids)
        return build_padded_batch(tokens, text_numbers, pad_id, self.move_to_device)

    def _reduce_batch_size(self, tokens: TokenizedTexts, text_indices: Positions) -> None:
        """Make batches smaller after memory ran out; raise an error if a single text is too large."""
        import torch

        longest = int(tokens.lengths[text_indices[0]])
        if len(text_indices) == 1:
            raise InputError(
                f"there is not enough memory on {self.device} for one text of {longest} tokens.",
                remedy="Use a smaller model or dtype=bfloat16, or set METASSAY_DEVICE=cpu.",
            )
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self.token_budget = max(longest, min(self.token_budget, longest * len(text_indices)) // 2)


def _count_texts_in_padded_batch(lengths: Positions, token_budget: int) -> int:
    """Return how many texts fit into the next batch with padding. `lengths` are those of the remaining texts,
    longest first.

    As many as the budget allows; but if texts of equal length fill half of it, no shorter ones, since a batch
    of equal lengths needs no padding and no mask.
    """
    most = max(1, token_budget // max(1, int(lengths[0])))
    equally_long = int(np.searchsorted(-lengths, -lengths[0], side="right"))
    if equally_long >= most / 2:
        return min(most, equally_long)
    return min(most, len(lengths))


def _count_texts_in_packed_batch(lengths: Positions, token_budget: int) -> int:
    """Return how many texts fit into the next batch without padding. `lengths` are those of the remaining
    texts, longest first.
    """
    return max(1, int(np.searchsorted(np.cumsum(lengths), token_budget, side="right")))
