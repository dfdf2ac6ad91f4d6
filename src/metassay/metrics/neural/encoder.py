"""From texts to what a network makes of them: tokens, batches of equal work, and memory that runs out."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, UnknownName
from metassay.metrics.neural.token_batches import Index, TokenBatch, Tokenizer, Tokens, packed, tokenised

if TYPE_CHECKING:
    from torch import Tensor, nn

DTYPES = ("float32", "bfloat16", "float16")
BUDGETS = {"cpu": 4_096, "cuda": 65_536}
"""Tokens in a batch, padding included."""
PACKED_BUDGET = 131_072
"""Tokens in a batch without padding, on a GPU."""
IGNORED = ("pooler.", "position_ids", "token_type_ids")
"""Parts of a checkpoint that may be there or not without changing a score."""


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
    packs: bool = False
    """Whether texts are put end to end, for networks that take them so, instead of being padded."""

    def __post_init__(self) -> None:
        self.budget = self.budget or BUDGETS.get(self.device.split(":")[0], BUDGETS["cpu"])

    def pack(self) -> None:
        """From here on, batches are packed; they hold more where the budget is the usual one."""
        self.packs = True
        if self.budget == BUDGETS["cuda"]:
            self.budget = PACKED_BUDGET

    def run(
        self, tokens: Tokens, forward: Callable[[TokenBatch], Any], *, pad: int, kinds: Tokens | None = None
    ) -> Iterator[tuple[Index, Any]]:
        """For each batch, the texts in it and what `forward` makes of them; each text is in one batch."""
        import torch

        order = np.argsort(-tokens.lengths, kind="stable")
        ordered = tokens.lengths[order]
        start = 0
        while start < len(order):
            fitting = _packing if self.packs else _fitting
            texts = order[start : start + fitting(ordered[start:], self.budget)]
            try:
                with torch.inference_mode():
                    made = forward(self._batch(tokens, texts, pad, kinds))
            except (torch.OutOfMemoryError, MemoryError):
                made = None
            if made is None:  # outside `except`, whose traceback would keep the tensors alive
                self._halve(tokens, texts)
                continue
            yield texts, made
            start += len(texts)

    def text_rows(
        self, texts: Sequence[str], tokenizer: Tokenizer, forward: Callable[[TokenBatch], Tensor], *, pad: int
    ) -> tuple[Tensor, NDArray[np.bool_]]:
        """`forward`'s row for each text, and which texts were cut; a GPU works while more are made."""
        import torch

        found: Tensor | None = None
        cut = np.zeros(len(texts), np.bool_)
        for chosen, tokens in tokenised(tokenizer, texts, ahead=self.device.startswith("cuda")):
            made = self.rows(tokens, forward, pad=pad)
            cut[chosen] = tokens.truncated
            if len(chosen) == len(texts):
                return made, cut
            if found is None:
                found = torch.empty((len(texts), *made.shape[1:]), device=made.device)
            found[self.moved(chosen)] = made
        assert found is not None
        return found, cut

    def rows(
        self,
        tokens: Tokens,
        forward: Callable[[TokenBatch], Tensor],
        *,
        pad: int,
        kinds: Tokens | None = None,
    ) -> Tensor:
        """`forward`'s row of numbers for each text, in float32 on the device.

        Nothing is read back between batches, so a GPU computes one while the next is being prepared.
        """
        import torch

        found: Tensor | None = None
        for texts, made in self.run(tokens, forward, pad=pad, kinds=kinds):
            if found is None:
                found = torch.empty((len(tokens), *made.shape[1:]), device=made.device)
            found[self.moved(texts)] = made.float()
        return torch.empty((0, 1)) if found is None else found

    def _batch(self, tokens: Tokens, texts: Index, pad: int, kinds: Tokens | None) -> TokenBatch:
        if self.packs:
            return packed(tokens, texts, pad, self.moved, kinds)
        lengths = tokens.lengths[texts]
        padded = tokens.padded(texts, pad)
        ids, counts = self.moved(padded), self.moved(lengths)
        if lengths[0] == lengths[-1]:
            return TokenBatch(texts, ids, counts, None, solid=not (padded == pad).any())
        places = np.arange(ids.shape[1]) < lengths[:, None]
        return TokenBatch(texts, ids, counts, self.moved(places.astype(np.int64)))

    def moved(self, array: NDArray[Any]) -> Tensor:
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


def _packing(lengths: Index, budget: int) -> int:
    """How many of these texts, longest first, have together no more tokens than the budget."""
    return max(1, int(np.searchsorted(np.cumsum(lengths), budget, side="right")))


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


def compiled(plain: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """The function compiled for any number of tokens; the plain one from the first time that this fails."""
    import torch

    chosen = [torch.compile(plain, dynamic=True)]

    def run(*given: Tensor) -> Tensor:
        try:
            return chosen[0](*given)
        except torch._dynamo.exc.TorchDynamoException as error:  # noqa: SLF001
            warnings.warn(f"torch cannot compile the encoder here: {type(error).__name__}.", stacklevel=2)
            chosen[0] = plain
        return plain(*given)

    return run


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
