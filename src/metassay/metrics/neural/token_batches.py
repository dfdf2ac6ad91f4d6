"""Batches of token ids on a device: as a rectangle with padding, or packed one text after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.neural.tokenizer import Positions, TokenizedTexts

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Packing:
    """In a batch without padding: where each text begins, and the position of each token in its text."""

    text_bounds: Tensor
    """Tokens of text i: `text_bounds[i]` to `text_bounds[i + 1]`, int32 as flash attention takes them."""
    longest: int
    positions: Tensor
    """For each token its position in its text, from 0 on."""
    positions_without_padding: Tensor
    """For each token its position among those that are not the padding id, from 1 on; 0 for padding ids.

    A text may contain the padding token literally, and RoBERTa does not count it.
    """
    segment_ids: Tensor | None = None
    """For each token, which of two joined texts it belongs to, for encoders with segment embeddings."""


@dataclass(frozen=True)
class TokenBatch:
    """The token ids of some texts as tensors on the device of the network, with or without padding."""

    texts: Positions
    """Which texts: their positions among all texts that are encoded."""
    ids: Tensor
    """[texts, longest], or [tokens] in a packed batch."""
    lengths: Tensor
    mask: Tensor | None
    """1 for tokens, 0 for padding; None where all texts are equally long, so that attention needs no mask."""
    has_no_padding_id: bool = False
    """Whether no position has the padding id, neither as padding nor literally in a text."""
    packing: Packing | None = None
    """Where the texts are in a packed batch; None for a rectangle."""
    rectangles: tuple[tuple[TokenBatch, slice], ...] = ()
    """In a packed batch: the texts of each length as a rectangle, and the slice of their tokens."""

    @property
    def attention_mask(self) -> Tensor:
        """A tensor that is 1 for tokens and 0 for padding."""
        if self.mask is not None:
            return self.mask
        ones: Tensor = self.ids.new_ones(self.ids.shape)
        return ones


def build_padded_batch(
    tokens: TokenizedTexts, text_numbers: Positions, pad_id: int, to_device: Callable[[NDArray[Any]], Tensor]
) -> TokenBatch:
    """Build a batch in which shorter texts are padded to the length of the longest text."""
    lengths = tokens.lengths[text_numbers]
    padded = tokens.pad_texts(text_numbers, pad_id)
    ids = to_device(padded)
    device_lengths = to_device(lengths)
    are_equally_long = lengths[0] == lengths[-1]
    if are_equally_long:
        has_no_padding_id = not (padded == pad_id).any()
        return TokenBatch(text_numbers, ids, device_lengths, None, has_no_padding_id=has_no_padding_id)
    is_token = np.arange(padded.shape[1]) < lengths[:, None]
    return TokenBatch(text_numbers, ids, device_lengths, to_device(is_token.astype(np.int64)))


def build_packed_batch(
    tokens: TokenizedTexts,
    text_numbers: Positions,
    pad_id: int,
    to_device: Callable[[NDArray[Any]], Tensor],
    segment_ids: TokenizedTexts | None = None,
) -> TokenBatch:
    """Build a batch in which texts follow one another in a single row, so that no padding is needed."""
    lengths = tokens.lengths[text_numbers]
    bounds = np.concatenate(([0], np.cumsum(lengths)))
    token_numbers = np.arange(int(bounds[-1]))
    text_starts = np.repeat(bounds[:-1], lengths)
    sources = np.repeat(tokens.offsets[text_numbers], lengths) + token_numbers - text_starts
    ids = tokens.ids[sources]
    is_written = ids != pad_id
    written_before = np.concatenate(([0], np.cumsum(is_written)))
    written_in_text = written_before[1:] - np.repeat(written_before[bounds[:-1]], lengths)
    packing = Packing(
        text_bounds=to_device(bounds.astype(np.int32)),
        longest=int(lengths[0]),
        positions=to_device(token_numbers - text_starts),
        positions_without_padding=to_device(np.where(is_written, written_in_text, 0)),
        segment_ids=None if segment_ids is None else to_device(segment_ids.ids[sources]),
    )
    device_ids = to_device(ids)
    device_lengths = to_device(lengths)
    has_no_padding_id = bool(is_written.all())
    length_changes = (np.flatnonzero(np.diff(lengths)) + 1).tolist()
    rectangles = []
    for start, end in pairwise([0, *length_changes, len(lengths)]):
        span = slice(int(bounds[start]), int(bounds[end]))
        rectangle = TokenBatch(
            text_numbers[start:end],
            device_ids[span].view(end - start, -1),
            device_lengths[start:end],
            None,
            has_no_padding_id=has_no_padding_id,
        )
        rectangles.append((rectangle, span))
    return TokenBatch(
        text_numbers,
        device_ids,
        device_lengths,
        None,
        has_no_padding_id=has_no_padding_id,
        packing=packing,
        rectangles=tuple(rectangles),
    )
