"""From texts to what a network makes of them: tokens, batches of equal work, and memory that runs out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, UnknownName

if TYPE_CHECKING:
    from torch import Tensor, nn

Index = NDArray[np.int64]
DTYPES = ("float32", "bfloat16", "float16")
BUDGETS = {"cpu": 4_096, "cuda": 65_536}
"""Tokens in a batch, padding included."""
IGNORED = ("pooler.", "position_ids", "token_type_ids")
"""Parts of a checkpoint that may be there or not without changing a score."""


@dataclass(frozen=True)
class Tokens:
    """Token ids of texts, end to end, and how many texts had to be cut."""

    ids: NDArray[np.int64]
    offsets: Index
    """Ids of text i: `ids[offsets[i] : offsets[i + 1]]`."""
    truncated: int = 0

    @classmethod
    def of(cls, sequences: Sequence[Sequence[int]], truncated: int = 0) -> Tokens:
        """Sequences of ids, put end to end."""
        lengths = np.fromiter(map(len, sequences), np.int64, len(sequences))
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        flat = np.fromiter(chain.from_iterable(sequences), np.int64, int(offsets[-1]))
        return cls(flat, offsets, truncated)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, text: int) -> NDArray[np.int64]:
        return self.ids[self.offsets[text] : self.offsets[text + 1]]

    @property
    def lengths(self) -> Index:
        """Tokens per text."""
        return np.diff(self.offsets)

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
        return Tokens.of([one.ids for one in found], sum(bool(one.overflowing) for one in found))

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

        return tokenizers.Tokenizer.from_file(str(file))
    if file.name == "vocab.txt":
        from tokenizers.implementations import BertWordPieceTokenizer

        return BertWordPieceTokenizer(str(file), lowercase=True)._tokenizer  # noqa: SLF001
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(file.parent, local_files_only=True).backend_tokenizer


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

    @property
    def attended(self) -> Tensor:
        """The mask, made where there is none."""
        if self.mask is not None:
            return self.mask
        ones: Tensor = self.ids.new_ones(self.ids.shape)
        return ones


def device_name() -> str:
    """The device: METASSAY_DEVICE where it is set, else the GPU that torch finds, else the CPU."""
    import torch

    return os.environ.get("METASSAY_DEVICE") or ("cuda" if torch.cuda.is_available() else "cpu")


def torch_dtype(name: str) -> Any:
    """Torch's own value for `float32`, `bfloat16` or `float16`."""
    import torch

    if name not in DTYPES:
        raise UnknownName("dtype", name, DTYPES)
    return getattr(torch, name)


@dataclass
class Batches:
    """Runs a network over texts: longest first, so many tokens at a time, fewer where memory runs out."""

    device: str = field(default_factory=device_name)
    budget: int = 0

    def __post_init__(self) -> None:
        self.budget = self.budget or BUDGETS.get(self.device.split(":")[0], BUDGETS["cpu"])

    def run(
        self, tokens: Tokens, forward: Callable[[TokenBatch], Any], *, pad: int
    ) -> Iterator[tuple[Index, Any]]:
        """For each batch, the texts in it and what `forward` makes of them; each text is in one batch."""
        import torch

        order = np.argsort(-tokens.lengths, kind="stable")
        start = 0
        while start < len(order):
            texts = order[start : start + _fitting(tokens.lengths[order[start:]], self.budget)]
            try:
                with torch.inference_mode():
                    made = forward(self._batch(tokens, texts, pad))
            except (torch.OutOfMemoryError, MemoryError):
                made = None
            if made is None:  # outside `except`, whose traceback would keep the tensors alive
                self._halve(tokens, texts)
                continue
            yield texts, made
            start += len(texts)

    def rows(self, tokens: Tokens, forward: Callable[[TokenBatch], Tensor], *, pad: int) -> Tensor:
        """`forward`'s row of numbers for each text, in float32 on the device.

        Nothing is read back between batches, so a GPU computes one while the next is being prepared.
        """
        import torch

        found: Tensor | None = None
        for texts, made in self.run(tokens, forward, pad=pad):
            if found is None:
                found = torch.empty((len(tokens), *made.shape[1:]), device=made.device)
            found[self.moved(texts)] = made.float()
        return torch.empty((0, 1)) if found is None else found

    def _batch(self, tokens: Tokens, texts: Index, pad: int) -> TokenBatch:
        lengths = tokens.lengths[texts]
        padded = tokens.padded(texts, pad)
        ids, counts = self.moved(padded), self.moved(lengths)
        if lengths[0] == lengths[-1]:
            return TokenBatch(texts, ids, counts, None, solid=not (padded == pad).any())
        places = np.arange(ids.shape[1]) < lengths[:, None]
        return TokenBatch(texts, ids, counts, self.moved(places.astype(np.int64)))

    def moved(self, array: NDArray[np.int64]) -> Tensor:
        """The array on the device, on its way while the program goes on."""
        import torch

        tensor = torch.from_numpy(array)
        if self.device.startswith("cuda"):
            tensor = tensor.pin_memory()
        return tensor.to(self.device, non_blocking=True)

    def _halve(self, tokens: Tokens, texts: Index) -> None:
        """Half the budget from here on; an error where a single text is too much."""
        import torch

        longest = int(tokens.lengths[texts[0]])
        if len(texts) == 1:
            raise InputError(
                f"there is not enough memory on {self.device} for one text of {longest} tokens.",
                remedy="Use a smaller model or dtype=bfloat16, or set METASSAY_DEVICE=cpu.",
            )
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self.budget = max(longest, min(self.budget, longest * len(texts)) // 2)


def _fitting(lengths: Index, budget: int) -> int:
    """How many of these texts, longest first, make the next batch.

    As many as the budget holds; but once it is half full, no shorter ones, since a batch of equal lengths
    needs no padding and no mask.
    """
    most = max(1, budget // max(1, int(lengths[0])))
    equal = int(np.searchsorted(-lengths, -lengths[0], side="right"))
    if equal >= most / 2:
        return min(most, equal)
    return min(most, len(lengths))


def load_encoder(
    config: Mapping[str, Any],
    state: Mapping[str, Any],
    *,
    dtype: str = "float32",
    device: str = "cpu",
    pooler: bool = False,
) -> nn.Module:
    """The transformer that a `config.json` describes, with these weights, ready to score (SDPA attention)."""
    import torch
    from transformers import AutoConfig, AutoModel

    settings = {name: value for name, value in config.items() if name != "model_type"}
    with without_drawing():
        model = AutoModel.from_config(
            AutoConfig.for_model(config["model_type"], **settings), dtype=torch.float32
        )
    if not pooler and hasattr(model, "pooler"):
        model.pooler = None
    fill(model, state)
    if os.environ.get("METASSAY_COMPILE") == "1":
        for layer in model.encoder.layer:
            layer.forward = torch.compile(layer.forward, dynamic=True)
    model.to(device=device, dtype=torch_dtype(dtype)).eval()
    return model


def without_drawing() -> AbstractContextManager[Any]:
    """Models made inside get no random weights, which would be replaced anyway."""
    try:
        from transformers.initialization import no_init_weights
    except ImportError:  # an older transformers: slower, the same result
        return nullcontext()
    return no_init_weights()  # type: ignore[no-any-return]


def fill(model: nn.Module, state: Mapping[str, Any]) -> None:
    """Put the weights in place; an error names what is missing or left over."""
    own = model.state_dict()
    names = {_plain_name(name, own, getattr(model, "base_model_prefix", "")): name for name in state}
    fitting = {own_name: state[name] for own_name, name in names.items() if own_name in own}
    wrong = [name for name, tensor in fitting.items() if tensor.shape != own[name].shape]
    missing = [name for name in own if name not in fitting and not _is_ignored(name)]
    if missing or wrong:
        what = f"lacks {missing[0]}" if missing else f"has another shape of {wrong[0]}"
        count = len(missing) or len(wrong)
        raise InputError(f"the checkpoint does not fit its config.json: it {what} (and {count - 1} more).")
    model.load_state_dict(fitting, strict=False)


def _plain_name(name: str, own: Mapping[str, Any], prefix: str) -> str:
    """The name without the prefix that models with a head put before it, in today's spelling."""
    name = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
    bare = name.removeprefix(f"{prefix}.")
    return bare if prefix and bare in own else name


def _is_ignored(name: str) -> bool:
    return any(part in name for part in IGNORED)
