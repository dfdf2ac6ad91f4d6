"""BLEURT (Sellam et al., 2020; Pu et al., 2021): reference and output read together by an encoder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from metassay.errors import InputError, Place
from metassay.metrics.neural.base import Case, Made, NeuralMetric, once
from metassay.metrics.neural.checkpoints import (
    content_hash,
    find_model,
    needed_file,
    read_json,
    read_weights,
    sentencepiece_model,
    weight_files,
)
from metassay.metrics.neural.encoder import Batches, load_encoder
from metassay.metrics.neural.packed_encoder import PackedEncoder, first_states
from metassay.metrics.neural.token_batches import TokenBatch, Tokenizer, Tokens
from metassay.metrics.shared_work import SharedWork

if TYPE_CHECKING:
    from torch import Tensor

VOCABULARIES = ("tokenizer.json", "spm.model", "sent_piece.model", "vocab.txt")
SHARED = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "max_position_embeddings",
    "type_vocab_size",
    "layer_norm_eps",
)
"""Settings that transformers calls as BLEURT does."""
SPECIAL = re.compile(r"(\[(?:CLS|SEP|PAD|MASK|UNK)\])")


class BleurtNetwork:
    """A BLEURT checkpoint: a BERT, or a RemBERT where the configuration has an embedding size, and a head."""

    def __init__(self, folder: Path, model: str, dtype: str, activation: str | None) -> None:
        config = read_json(needed_file(folder, "config.json", model=model))
        rem = bool(config.get("embedding_size"))
        self.limit = int(config["max_position_embeddings"])
        self.batches = Batches()
        self.ids = _pieces(needed_file(folder, *VOCABULARIES, model=model))
        state = read_weights(weight_files(folder, model=model))
        self.encoder = load_encoder(
            _configuration(config, rem, activation),
            {_renamed(name): tensor for name, tensor in state.items() if name.startswith("bleurt.")},
            dtype=dtype,
            device=self.batches.device,
            pooler=True,
        )
        self.packed = PackedEncoder.suiting(self.encoder)
        if self.packed is not None:
            self.batches.pack()
        self.head = [
            state[f"classifier.{part}"].float().to(self.batches.device) for part in ("weight", "bias")
        ]

    def score(self, pairs: Sequence[tuple[str, str]]) -> Made:
        """Scores of (reference, output) pairs."""
        texts = sorted({text for pair in pairs for text in pair})
        pieces = dict(zip(texts, self.ids(texts)))
        room = self.limit - 3
        kept = [_cut(pieces[reference], pieces[output], room) for reference, output in pairs]
        long = sum(len(pieces[a]) + len(pieces[b]) > room for a, b in pairs)
        first, last = self.ids.first, self.ids.last
        tokens = Tokens.of([[first, *a, last, *b, last] for a, b in kept])
        opening = np.array([len(a) + 2 for a, _ in kept])
        places = np.arange(len(tokens.ids)) - np.repeat(tokens.offsets[:-1], tokens.lengths)
        kinds = Tokens((places >= np.repeat(opening, tokens.lengths)).astype(np.int64), tokens.offsets)

        def forward(batch: TokenBatch) -> Tensor:
            import torch

            if batch.packing is not None and self.packed is not None:
                first = first_states(self.packed(batch), batch)
                pooled = self.encoder.pooler(first[:, None])
            else:
                segments = self.batches.moved(kinds.padded(batch.texts, 0))
                made = self.encoder(input_ids=batch.ids, attention_mask=batch.mask, token_type_ids=segments)
                pooled = made.pooler_output
            return torch.nn.functional.linear(pooled.float(), *self.head)[:, 0]

        found = self.batches.rows(tokens, forward, pad=0, kinds=kinds)
        return Made(found.double().cpu().numpy(), long, self.limit)


def _cut(reference: list[int], output: list[int], room: int) -> tuple[list[int], list[int]]:
    """Both, shortened from the longer one's end until they fit; of two equally long ones the output."""
    excess = len(reference) + len(output) - room
    if excess <= 0:
        return reference, output
    a, b = len(reference), len(output)
    level = min(excess, abs(a - b))
    a, b = (a - level, b) if a > b else (a, b - level)
    rest = excess - level
    return reference[: a - rest // 2], output[: b - (rest + 1) // 2]


class _pieces:  # noqa: N801 — used as a function with two attributes
    """Ids of texts without opening and closing tokens, from whichever vocabulary file there is."""

    def __init__(self, file: Path) -> None:
        self.sentencepiece: Any = None
        if file.suffix == ".model":
            self.sentencepiece = sentencepiece_model(file)
            self.first, self.last = (self.sentencepiece.piece_to_id(token) for token in ("[CLS]", "[SEP]"))
            if self.first == self.sentencepiece.unk_id():
                raise InputError("this vocabulary has no [CLS].", place=Place(file=str(file)))
        else:
            self.tokenizer = Tokenizer(file, 10**6)
            self.first, self.last = self.tokenizer.id("[CLS]"), self.tokenizer.id("[SEP]")

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        if self.sentencepiece is not None:
            return [self._split(text) for text in texts]
        tokens = self.tokenizer(texts, special=False)
        return [tokens[number].tolist() for number in range(len(texts))]

    def _split(self, text: str) -> list[int]:
        """Special tokens written in a text are special, as in bleurt-pytorch."""
        found: list[int] = []
        for part in SPECIAL.split(text):
            special = SPECIAL.fullmatch(part) is not None
            found += [self.sentencepiece.piece_to_id(part)] if special else self.sentencepiece.encode(part)
        return found


def _configuration(config: Mapping[str, Any], rem: bool, activation: str | None) -> dict[str, Any]:
    """The same encoder as transformers calls it."""
    found: dict[str, Any] = {"model_type": "rembert" if rem else "bert", "pad_token_id": 0}
    found |= {name: config[name] for name in SHARED if name in config}
    if rem:
        found["input_embedding_size"] = config["embedding_size"]
    if activation is not None:
        found["hidden_act"] = activation
    return found


def _renamed(name: str) -> str:
    bare = name.removeprefix("bleurt.")
    return bare.replace("encoder.embedding_projection", "encoder.embedding_hidden_mapping_in")


@once
def load_bleurt(model: str, dtype: str, activation: str | None) -> BleurtNetwork:
    """A BLEURT checkpoint in PyTorch's form."""
    folder = find_model(model)
    if (folder / "saved_model.pb").is_file():
        raise InputError(
            f"{model} is a TensorFlow model, which is not read here.",
            remedy="Use the same weights in PyTorch's form: hf download lucadiliello/BLEURT-20",
        )
    return BleurtNetwork(folder, model, dtype, activation)


@dataclass(frozen=True)
class Bleurt(NeuralMetric):
    """BLEURT: a regression on `[CLS] reference [SEP] output [SEP]`. Several references: the mean.

    `activation` overrides the encoder's; the first TensorFlow models computed gelu by tanh (`gelu_new`).
    """

    model: str = "lucadiliello/BLEURT-20"
    activation: str | None = None

    name: ClassVar[str] = "bleurt"
    title: ClassVar[str] = "BLEURT"
    summary: ClassVar[str] = "BLEURT, 20 and earlier (needs a downloaded model)"
    oracle: ClassVar[str] = "bleurt-pytorch 0.0.1"

    def load(self) -> BleurtNetwork:
        """The network."""
        return load_bleurt(self.model, self.dtype, self.activation)  # type: ignore[no-any-return]

    def hashes(self) -> Mapping[str, str]:
        """Hashes of weights and vocabulary."""
        folder = find_model(self.model)
        return {
            "weights": content_hash(weight_files(folder, model=self.model)),
            "tokenizer": content_hash([needed_file(folder, *VOCABULARIES, model=self.model)]),
        }

    def cases(self, model: BleurtNetwork, cases: Sequence[Case], _: SharedWork) -> Made:
        """The head's score of each case."""
        return model.score([(reference or "", output) for output, _, reference in cases])


METRICS = (Bleurt,)
