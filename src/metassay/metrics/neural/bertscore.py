"""BERTScore (Zhang et al., 2020): each token's best match on the other side, in a contextual embedding."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, Place, UnknownName
from metassay.metrics.neural.base import Case, Homes, Made, NeuralMetric, once, settings_of
from metassay.metrics.neural.checkpoints import (
    content_hash,
    find_model,
    needed_file,
    read_json,
    read_weights,
    tokenizer_file,
    weight_files,
)
from metassay.metrics.neural.encoder import Batches, load_encoder
from metassay.metrics.neural.packed_encoder import PackedEncoder
from metassay.metrics.neural.published_models import LAYERS, baseline
from metassay.metrics.neural.token_batches import TokenBatch, Tokenizer, Tokens
from metassay.metrics.shared_work import SharedWork

if TYPE_CHECKING:
    from torch import Tensor

PARTS = ("precision", "recall", "f1")
Idf = tuple[Mapping[int, float], float]
"""The weights of tokens, and of those never seen."""
PREFIXED = {"roberta"}
"""Architectures whose byte-level tokenizer gets a space before the text."""
SUPPORTED = {"bert", "roberta", "xlm-roberta"}
KEPT_BYTES = {"cpu": 2**30, "cuda": 2**33}
"""So much of the token vectors is held at a time."""
PAIR_CELLS = {"cpu": 2**18, "cuda": 2**22}
"""Similarities computed at a time."""


class TokenVectors:
    """An encoder cut off after a layer, and the unit vectors of the tokens of texts."""

    def __init__(self, folder: Path, model: str, layer: int, dtype: str) -> None:
        self.config = read_json(needed_file(folder, "config.json", model=model))
        kind = self.config.get("model_type")
        if kind not in SUPPORTED:
            raise InputError(
                f"BERTScore on a model of type {kind} is not supported: {sorted(SUPPORTED)} are."
            )
        if not 0 <= layer <= self.config["num_hidden_layers"]:
            raise InputError(
                f"{model} has {self.config['num_hidden_layers']} layers; there is no layer {layer}."
            )
        self.batches = Batches()
        self.tokenizer = Tokenizer(tokenizer_file(folder, model=model), _longest(folder, self.config))
        self.pad = self.tokenizer.id("<pad>", "[PAD]")
        self.silent = {self.tokenizer.id("<s>", "[CLS]"), self.tokenizer.id("</s>", "[SEP]")}
        state = read_weights(weight_files(folder, model=model))
        self.encoder = load_encoder(self.config, state, dtype=dtype, device=self.batches.device)
        self.encoder.encoder.layer = self.encoder.encoder.layer[:layer]
        self.packed = PackedEncoder.suiting(self.encoder)
        if self.packed is not None:
            self.batches.pack()

    def tokens(self, texts: Sequence[str]) -> Tokens:
        """Ids of the stripped texts."""
        prefix = " " if self.config["model_type"] in PREFIXED else ""
        stripped = [text.strip() for text in texts]
        return self.tokenizer([prefix + text if text else text for text in stripped])

    def encoded(self, texts: list[str], levels: Sequence[Homes]) -> tuple[list[str], Tokens, Tensor]:
        """Texts, their tokens, and the unit vector of every token: [tokens, hidden] in float32 on the device.

        Of texts that other pieces or groups hold, too, all of the same home are among them.
        """
        parts: list[tuple[list[str], tuple[Tokens, NDArray[np.float32] | None]]] = []
        for homes in levels:
            found, texts = homes.parted(texts)
            parts += [homes.kept(self, home, partial(self._kept, homes)) for home in found]
        parts.append((texts, (self.tokens(texts), None)))
        tokens = Tokens.joined([own for _, (own, _) in parts])
        units, start = self._room(tokens), 0
        for _, (own, vectors) in parts:
            span = units[start : start + len(own.ids)]
            if vectors is None:
                self._fill(span, own)
            else:
                span.copy_(self.batches.moved(vectors))
            start += len(span)
        return [text for own, _ in parts for text in own], tokens, units

    def _kept(self, homes: Homes, texts: list[str]) -> tuple[Tokens, NDArray[np.float32] | None]:
        tokens = self.tokens(texts)
        units = self._room(tokens)
        self._fill(units, tokens)
        return tokens, homes.host(units)

    def _room(self, tokens: Tokens) -> Tensor:
        import torch

        return torch.empty((len(tokens.ids), self.config["hidden_size"]), device=self.batches.device)

    def _fill(self, found: Tensor, tokens: Tokens) -> None:
        """Put the unit vector of every token in its place."""

        def vectors(batch: TokenBatch) -> Tensor:
            if batch.packing is not None and self.packed is not None:
                states = self.packed(batch).float()
            else:
                made = self.encoder(input_ids=batch.ids, attention_mask=batch.mask)
                states = made.last_hidden_state.float()
            return states / states.norm(dim=-1, keepdim=True)

        for texts, made in self.batches.run(tokens, vectors, pad=self.pad):
            places, inside = tokens.places(texts)
            target = self.batches.moved(places[inside])
            found[target] = made if made.ndim == 2 else made[self.batches.moved(inside)]

    def weights(self, tokens: Tokens, idf: Idf | None) -> NDArray[np.float32]:
        """The weight of every token: 1 without idf, and 0 for the tokens that open and close a text."""
        if idf is None:
            return (~np.isin(tokens.ids, list(self.silent))).astype(np.float32)
        seen, unseen = idf
        return np.array([seen.get(token, unseen) for token in tokens.ids.tolist()], dtype=np.float32)


def _longest(folder: Path, config: Mapping[str, Any]) -> int:
    """The tokenizer's own limit; where it has none worth the name, 512 or what the positions allow."""
    settings = folder / "tokenizer_config.json"
    limit = read_json(settings).get("model_max_length", 0) if settings.is_file() else 0
    room = int(config["max_position_embeddings"]) - (2 if config["model_type"] != "bert" else 0)
    return int(limit) if 0 < limit <= room else min(512, room)


def matched(
    network: TokenVectors, cases: Sequence[tuple[str, str]], idf: Idf | None, shared: SharedWork
) -> Made:
    """Precision, recall and F1 of (output, reference) pairs: [pairs, 3].

    Pairs are taken reference by reference, in groups whose vectors fit into memory. What other pieces of the
    run or other groups hold, too, is encoded once and kept.
    """
    order = sorted(range(len(cases)), key=lambda number: (cases[number][1], cases[number][0]))
    groups = [order[chosen] for chosen in _groups(network, [cases[number] for number in order])]
    held = [sorted({text for number in numbers for text in cases[number]}) for numbers in groups]
    often = Counter(text for texts in held for text in texts)
    here = {text: (0, 0) for text, count in often.items() if count > 1}
    levels = Homes(shared), Homes(SharedWork(lambda: here))
    found, cut = np.empty((len(cases), 3)), set[str]()
    for numbers, wanted in zip(groups, held):
        texts, tokens, units = network.encoded(wanted, levels)
        place = dict(zip(texts, range(len(texts))))
        cut.update(text for text in wanted if tokens.truncated[place[text]])
        pairs = np.array([[place[text] for text in cases[number]] for number in numbers])
        found[numbers] = _scored(network, tokens, units, pairs, network.weights(tokens, idf))
    return Made(found, len(cut), network.tokenizer.limit)


def _groups(network: TokenVectors, cases: Sequence[tuple[str, str]]) -> Iterator[slice]:
    """Runs of cases whose texts have, by a generous estimate, no more tokens than may be kept."""
    kept = KEPT_BYTES.get(network.batches.device.split(":")[0], KEPT_BYTES["cpu"])
    room = kept // (4 * int(network.config["hidden_size"]))
    start, used, seen = 0, 0, set[str]()
    for number, pair in enumerate(cases):
        fresh = [text for text in dict.fromkeys(pair) if text not in seen]
        size = sum(len(text) + 2 for text in fresh)
        if seen and used + size > room and pair[1] != cases[number - 1][1]:
            yield slice(start, number)
            start, used, seen = number, 0, set[str]()
        used += size
        seen.update(fresh)
    yield slice(start, len(cases))


def _scored(
    network: TokenVectors,
    tokens: Tokens,
    units: Tensor,
    pairs: NDArray[np.int64],
    weights: NDArray[np.float32],
) -> NDArray[np.float64]:
    import torch

    device, moved = network.batches.device, network.batches.moved
    weight = moved(weights)
    lengths = tokens.lengths[pairs]
    order = np.lexsort((lengths[:, 0], lengths[:, 1]))[::-1]
    cells = PAIR_CELLS.get(device.split(":")[0], PAIR_CELLS["cpu"])
    found = torch.empty((len(pairs), 3), device=device)
    start = 0
    while start < len(order):
        longest = lengths[order[start:]].max(0)
        chosen = order[start : start + max(1, cells // int(longest[0] * longest[1]))]
        with torch.inference_mode():
            found[moved(chosen.copy())] = _matches(units, weight, tokens, pairs[chosen], network.batches)
        start += len(chosen)
    found[moved(np.flatnonzero((lengths <= 2).any(1)))] = 0.0  # nothing but the opening and closing token
    return found.double().cpu().numpy()  # type: ignore[no-any-return]


def _matches(units: Tensor, weight: Tensor, tokens: Tokens, pairs: NDArray[np.int64], on: Batches) -> Tensor:
    """P = Σ w_i max_j cos(i, j) / Σ w_i over the output's tokens, R the other way, and F1, of some pairs."""
    import torch

    sides = []
    for texts in pairs.T:
        places, inside = tokens.places(texts)
        where, kept = on.moved(places), on.moved(inside)
        sides.append((units[where], weight[where] * kept, kept))
    (output, own, kept_output), (reference, theirs, kept_reference) = sides
    cosines = torch.bmm(output, reference.transpose(1, 2))
    best_own = cosines.masked_fill(~kept_reference[:, None, :], -2.0).max(2).values
    best_their = cosines.masked_fill(~kept_output[:, :, None], -2.0).max(1).values
    precision = (best_own * (own / own.sum(1, keepdim=True))).sum(1)
    recall = (best_their * (theirs / theirs.sum(1, keepdim=True))).sum(1)
    return torch.stack([precision, recall, 2 * precision * recall / (precision + recall)], 1).nan_to_num(0.0)


def idf_weights(network: TokenVectors, texts: Sequence[str]) -> Idf:
    """log((N + 1) / (texts with the token + 1)) of each token, and log(N + 1) for tokens never seen."""
    tokens = network.tokens(texts)
    counts = Counter(token for number in range(len(tokens)) for token in set(tokens[number].tolist()))
    return {token: log((len(texts) + 1) / (seen + 1)) for token, seen in counts.items()}, log(len(texts) + 1)


@once
def load_vectors(model: str, layer: int, dtype: str) -> TokenVectors:
    """The encoder of a BERTScore."""
    return TokenVectors(find_model(model), model, layer, dtype)


@dataclass(frozen=True)
class BertScore(NeuralMetric):
    """BERTScore: precision, recall or F1 (`part`) of greedy matches between token vectors of one layer.

    `layer` is bert-score's choice for models it knows. `idf` names a file of texts, one a line, whose rare
    tokens weigh more; `rescale` a language, or a file, of baselines. Of several references the best counts.
    An empty side scores 0. bert-score lets padding hide negative similarities, which depends on what else is
    in its batch; here nothing does.
    """

    model: str = "FacebookAI/roberta-large"
    part_of: str = "f1"
    layer: int | None = None
    idf: str | None = None
    rescale: str | None = None

    name: ClassVar[str] = "bertscore"
    title: ClassVar[str] = "BERTScore"
    summary: ClassVar[str] = "BERTScore F1, or part_of=precision, recall (needs a downloaded model)"
    oracle: ClassVar[str] = "bert-score 0.3.13"
    several: ClassVar[str] = "max"

    def __post_init__(self) -> None:
        if self.part_of not in PARTS:
            raise UnknownName("part of BERTScore", self.part_of, PARTS)

    @property
    def chosen_layer(self) -> int:
        """The layer asked for, else bert-score's."""
        if self.layer is not None:
            return self.layer
        if Path(self.model).name not in LAYERS:
            raise InputError(
                f"bert-score names no layer for {self.model}.",
                remedy=f"Choose one: bertscore(model={self.model},layer=NUMBER)",
            )
        return LAYERS[Path(self.model).name]

    @property
    def sharing(self) -> tuple[Any, ...]:
        """Precision, recall and F1 of one model, rescaled or not, come from one pass."""
        return ("bertscore", *settings_of(self, "part_of", "rescale"))

    def part(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """One of precision, recall and F1, rescaled where asked."""
        place = PARTS.index(self.part_of)
        if self.rescale is None:
            return scores[:, place]
        lowest = baseline(self.model, self.chosen_layer, self.rescale)[place]
        return (scores[:, place] - lowest) / (1 - lowest)

    def load(self) -> TokenVectors:
        """The encoder."""
        return load_vectors(self.model, self.chosen_layer, self.dtype)  # type: ignore[no-any-return]

    def hashes(self) -> Mapping[str, str]:
        """Hashes of weights and tokenizer, and of the texts behind idf."""
        folder = find_model(self.model)
        found = {
            "weights": content_hash(weight_files(folder, model=self.model)),
            "tokenizer": content_hash([tokenizer_file(folder, model=self.model)]),
            "used_layer": str(self.chosen_layer),
        }
        if self.idf is not None:
            texts = "\n".join(self._idf_texts()).encode("utf-8", "surrogatepass")
            found["idf_texts"] = hashlib.sha256(texts).hexdigest()[:16]
        return found

    def cases(self, model: TokenVectors, cases: Sequence[Case], shared: SharedWork) -> Made:
        """P, R and F1 of each case."""
        idf = None if self.idf is None else idf_weights(model, self._idf_texts())
        return matched(model, [(output, reference or "") for output, _, reference in cases], idf, shared)

    def _idf_texts(self) -> list[str]:
        file = Path(str(self.idf))
        if not file.is_file():
            raise InputError("there is no such file of texts for idf.", place=Place(file=str(file)))
        return file.read_text(encoding="utf-8").splitlines()


METRICS = (BertScore,)
