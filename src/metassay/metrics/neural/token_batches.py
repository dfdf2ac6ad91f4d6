"""Texts as token ids, and batches of them on a device: as a rectangle with padding, or end to end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

Index = NDArray[np.int64]
FIRST_TEXTS, GROWTH, MOST_TEXTS = 1_024, 1.5, 8_192
"""Texts tokenised at a time while a GPU works on those before: fewer at first, so that it starts soon, and
then no more than are ready when it wants them."""
WORDS = 2**18
"""Words whose tokens a tokenizer remembers; its own habit is 10,000."""


@dataclass(frozen=True)
class Tokens:
    """Token ids of texts, end to end, and which texts had to be cut."""

    ids: NDArray[np.int64]
    offsets: Index
    """Ids of text i: `ids[offsets[i] : offsets[i + 1]]`."""
    cut: NDArray[np.bool_] | None = None

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]], cut: NDArray[np.bool_] | None = None) -> Tokens:
        """Sequences of ids, put end to end."""
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        flat = np.fromiter(chain.from_iterable(sequences), np.int64, int(offsets[-1]))
        return cls(flat, offsets, cut)

    @classmethod
    def joined(cls, parts: Sequence[Tokens]) -> Tokens:
        """The texts of all parts."""
        lengths = np.concatenate([part.lengths for part in parts])
        ids, cut = (np.concatenate(own) for own in zip(*((part.ids, part.truncated) for part in parts)))
        return cls(ids, np.concatenate(([0], np.cumsum(lengths))), cut)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, text: int) -> NDArray[np.int64]:
        return self.ids[self.offsets[text] : self.offsets[text + 1]]

    @property
    def lengths(self) -> Index:
        """Tokens per text."""
        return np.diff(self.offsets)

    @property
    def truncated(self) -> NDArray[np.bool_]:
        """Which texts were cut."""
        return np.zeros(len(self), np.bool_) if self.cut is None else self.cut

    def padded(self, texts: Index, pad: int) -> NDArray[np.int64]:
        """The chosen texts as a rectangle."""
        places, inside = self.places(texts)
        return np.where(inside, self.ids[places], pad)

    def places(self, texts: Index) -> tuple[Index, NDArray[np.bool_]]:
        """Where the tokens of some texts are, as a rectangle, and which of its cells are tokens."""
        lengths = self.lengths[texts]
        cells = np.arange(int(lengths.max()))
        inside = cells < lengths[:, None]
        return np.where(inside, self.offsets[texts][:, None] + cells, 0), inside


class Tokenizer:
    """A tokenizer read from its file as it is; its padding and truncation are switched off."""

    def __init__(self, file: Path, limit: int) -> None:
        self.limit = limit
        self.backend = _backend(file)
        self.backend.no_padding()
        self.backend.enable_truncation(limit)

    def __call__(self, texts: Sequence[str], *, special: bool = True) -> Tokens:
        """Ids of each text with its special tokens, at most `limit` of them."""
        found = self.backend.encode_batch_fast(list(texts), add_special_tokens=special)
        cut = np.fromiter((bool(one.overflowing) for one in found), np.bool_, len(found))
        return Tokens.of([one.ids for one in found], cut)

    def with_offsets(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """Ids of each text, and for each id the characters that it stands for ((0, 0) for special tokens)."""
        return [(one.ids, one.offsets) for one in self.backend.encode_batch(list(texts))]

    def id(self, *tokens: str) -> int:
        """The id of the first of these tokens that there is."""
        found = [self.backend.token_to_id(token) for token in tokens]
        known = [number for number in found if number is not None]
        if not known:
            raise InputError(f"the tokenizer has none of the tokens {', '.join(tokens)}.")
        return int(known[0])


def _backend(file: Path) -> Any:
    if file.suffix == ".json":
        import tokenizers

        made = tokenizers.Tokenizer.from_file(str(file))
        if hasattr(made.model, "_resize_cache"):
            made.model._resize_cache(WORDS)  # noqa: SLF001 — it has no other name
        return made
    if file.name == "vocab.txt":
        from tokenizers.implementations import BertWordPieceTokenizer

        return BertWordPieceTokenizer(str(file), lowercase=True)._tokenizer  # noqa: SLF001
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(file.parent, local_files_only=True).backend_tokenizer


@dataclass(frozen=True)
class Packing:
    """Where each text of a packed batch begins, and which of its text's tokens each token is."""

    bounds: Tensor
    """Tokens of text i: `bounds[i]` to `bounds[i + 1]`, int32 as flash attention takes them."""
    longest: int
    places: Tensor
    """0, 1, … in each text."""
    counted: Tensor
    """1, 2, … over the tokens of a text that are not the padding id, and 0 for those that are."""
    kinds: Tensor | None = None
    """Which of two joined texts each token is of, for encoders that are told."""


@dataclass(frozen=True)
class TokenBatch:
    """Some texts as tensors on the device."""

    texts: Index
    """Which texts, as positions in the order given."""
    ids: Tensor
    lengths: Tensor
    mask: Tensor | None
    """1 for tokens, 0 for padding; None where all texts are equally long, so that attention needs no mask."""
    solid: bool = False
    """True where no position holds the padding id, be it padding or written in a text."""
    packing: Packing | None = None
    """Where the texts are, if `ids` holds them end to end instead of as a rectangle."""
    parts: tuple[tuple[TokenBatch, slice], ...] = ()
    """Of a packed batch: the texts of each length as a rectangle, and the tokens that they are."""

    @property
    def attended(self) -> Tensor:
        """The mask, made where there is none."""
        if self.mask is not None:
            return self.mask
        ones: Tensor = self.ids.new_ones(self.ids.shape)
        return ones


def packed(
    tokens: Tokens,
    texts: Index,
    pad: int,
    moved: Callable[[NDArray[Any]], Tensor],
    kinds: Tokens | None = None,
) -> TokenBatch:
    """Texts, longest first, end to end; `kinds` says of each token which of two joined texts it is of."""
    lengths = tokens.lengths[texts]
    bounds = np.concatenate(([0], np.cumsum(lengths)))
    total = np.arange(int(bounds[-1]))
    begins = np.repeat(bounds[:-1], lengths)
    from_where = np.repeat(tokens.offsets[texts], lengths) + total - begins
    ids = tokens.ids[from_where]
    written = ids != pad
    running = np.concatenate(([0], np.cumsum(written)))
    counted = np.where(written, running[1:] - np.repeat(running[bounds[:-1]], lengths), 0)
    packing = Packing(
        moved(bounds.astype(np.int32)),
        int(lengths[0]),
        moved(total - begins),
        moved(counted),
        None if kinds is None else moved(kinds.ids[from_where]),
    )
    on_device, counts, solid = moved(ids), moved(lengths), bool(written.all())
    edges = [0, *(np.flatnonzero(np.diff(lengths)) + 1).tolist(), len(lengths)]
    parts = []
    for start, end in pairwise(edges):
        span = slice(int(bounds[start]), int(bounds[end]))
        rectangle = on_device[span].view(end - start, -1)
        alone = TokenBatch(texts[start:end], rectangle, counts[start:end], None, solid=solid)
        parts.append((alone, span))
    return TokenBatch(texts, on_device, counts, None, solid=solid, packing=packing, parts=tuple(parts))


def tokenised(
    tokenizer: Callable[[Sequence[str]], Tokens], texts: Sequence[str], *, ahead: bool
) -> Iterator[tuple[Index, Tokens]]:
    """Which texts, and their tokens: all at once, or with `ahead` some at a time, made in the background.

    In the background, longer texts (in characters) come first; the order depends on the texts alone.
    """
    if not ahead or len(texts) <= FIRST_TEXTS:
        yield np.arange(len(texts)), tokenizer(texts)
        return
    order = np.argsort([-len(text) for text in texts], kind="stable")
    ends = [FIRST_TEXTS]
    while ends[-1] < len(order):
        ends.append(ends[-1] + min(MOST_TEXTS, int(FIRST_TEXTS * GROWTH ** len(ends))))
    some = np.split(order, ends[:-1])

    def made(chosen: Index) -> Tokens:
        return tokenizer([texts[number] for number in chosen.tolist()])

    with ThreadPoolExecutor(1, thread_name_prefix="tokenizer") as background:
        waiting = [background.submit(made, chosen) for chosen in some]
        try:
            for number, chosen in enumerate(some):
                yield chosen, waiting[number].result()
        finally:
            background.shutdown(wait=True, cancel_futures=True)
