"""BERTScore (Zhang et al., 2020): each token's best match on the other side, in a contextual embedding."""

from __future__ import annotations

import csv
import hashlib
import importlib.util
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, Place, UnknownName
from metassay.metrics.neural.base import Case, NeuralMetric, once, report_truncation, settings_of
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
from metassay.metrics.neural.packed import PackedEncoder
from metassay.metrics.neural.tokens import TokenBatch, Tokenizer, Tokens

if TYPE_CHECKING:
    from torch import Tensor

LAYERS = {
    "roberta-large": 17,
    "roberta-base": 10,
    "xlm-roberta-large": 17,
    "xlm-roberta-base": 9,
    "bert-base-uncased": 9,
    "bert-large-uncased": 18,
    "bert-base-chinese": 8,
    "bert-base-multilingual-cased": 9,
    "bert-base-turkish-cased": 10,
    "scibert_scivocab_uncased": 8,
}
"""The layers that bert-score chose, by agreement with people on WMT16."""
PARTS = ("precision", "recall", "f1")
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

    def units(self, tokens: Tokens) -> Tensor:
        """The unit vector of every token, texts end to end: [tokens, hidden] in float32 on the device."""
        import torch

        found = torch.empty((int(tokens.offsets[-1]), self.config["hidden_size"]), device=self.batches.device)

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
        return found

    def weights(self, tokens: Tokens, idf: Mapping[int, float] | None, unseen: float) -> NDArray[np.float32]:
        """The weight of every token: 1 without idf, and 0 for the tokens that open and close a text."""
        if idf is None:
            return (~np.isin(tokens.ids, list(self.silent))).astype(np.float32)
        return np.array([idf.get(token, unseen) for token in tokens.ids.tolist()], dtype=np.float32)


def _longest(folder: Path, config: Mapping[str, Any]) -> int:
    """The tokenizer's own limit; where it has none worth the name, 512 or what the positions allow."""
    settings = folder / "tokenizer_config.json"
    limit = read_json(settings).get("model_max_length", 0) if settings.is_file() else 0
    room = int(config["max_position_embeddings"]) - (2 if config["model_type"] != "bert" else 0)
    return int(limit) if 0 < limit <= room else min(512, room)


def matched(
    network: TokenVectors, cases: Sequence[tuple[str, str]], idf: Mapping[int, float] | None, unseen: float
) -> NDArray[np.float64]:
    """Precision, recall and F1 of (output, reference) pairs: [pairs, 3].

    Pairs are taken reference by reference, so that a text is encoded once though not all vectors are kept.
    """
    order = sorted(range(len(cases)), key=lambda number: (cases[number][1], cases[number][0]))
    found = np.empty((len(cases), 3))
    for chosen in _groups(network, [cases[number] for number in order]):
        numbers = order[chosen]
        own = [cases[number] for number in numbers]
        texts = sorted({text for pair in own for text in pair})
        place = {text: number for number, text in enumerate(texts)}
        tokens = network.tokens(texts)
        report_truncation("bertscore", tokens.truncated, network.tokenizer.limit)
        pairs = np.array([[place[output], place[reference]] for output, reference in own])
        found[numbers] = _scored(network, tokens, pairs, network.weights(tokens, idf, unseen))
    return found


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
    network: TokenVectors, tokens: Tokens, pairs: NDArray[np.int64], weights: NDArray[np.float32]
) -> NDArray[np.float64]:
    import torch

    device = network.batches.device
    units, weight = network.units(tokens), torch.from_numpy(weights).to(device)
    lengths = tokens.lengths[pairs]
    order = np.lexsort((lengths[:, 0], lengths[:, 1]))[::-1]
    cells = PAIR_CELLS.get(device.split(":")[0], PAIR_CELLS["cpu"])
    found = torch.empty((len(pairs), 3))
    start = 0
    while start < len(order):
        longest = lengths[order[start:]].max(0)
        chosen = order[start : start + max(1, cells // int(longest[0] * longest[1]))]
        with torch.inference_mode():
            found[torch.from_numpy(chosen.copy())] = _matches(units, weight, tokens, pairs[chosen]).cpu()
        start += len(chosen)
    found[torch.from_numpy((lengths <= 2).any(1))] = 0.0  # nothing but the opening and closing token
    return found.double().numpy()  # type: ignore[no-any-return]


def _matches(units: Tensor, weight: Tensor, tokens: Tokens, pairs: NDArray[np.int64]) -> Tensor:
    """P = Σ w_i max_j cos(i, j) / Σ w_i over the output's tokens, R the other way, and F1, of some pairs."""
    import torch

    sides = []
    for texts in pairs.T:
        places, inside = tokens.places(texts)
        where, kept = torch.from_numpy(places).to(units.device), torch.from_numpy(inside).to(units.device)
        sides.append((units[where], weight[where] * kept, kept))
    (output, own, kept_output), (reference, theirs, kept_reference) = sides
    cosines = torch.bmm(output, reference.transpose(1, 2))
    best_own = cosines.masked_fill(~kept_reference[:, None, :], -2.0).max(2).values
    best_their = cosines.masked_fill(~kept_output[:, :, None], -2.0).max(1).values
    precision = (best_own * (own / own.sum(1, keepdim=True))).sum(1)
    recall = (best_their * (theirs / theirs.sum(1, keepdim=True))).sum(1)
    return torch.stack([precision, recall, 2 * precision * recall / (precision + recall)], 1).nan_to_num(0.0)


def idf_weights(network: TokenVectors, texts: Sequence[str]) -> tuple[dict[int, float], float]:
    """log((N + 1) / (texts with the token + 1)) of each token, and log(N + 1) for tokens never seen."""
    tokens = network.tokens(texts)
    counts = Counter(token for number in range(len(tokens)) for token in set(tokens[number].tolist()))
    return {token: log((len(texts) + 1) / (seen + 1)) for token, seen in counts.items()}, log(len(texts) + 1)


def baseline(model: str, layer: int, table: str) -> tuple[float, float, float]:
    """The scores of unrelated sentences: from the tables that the package bert-score brings, or a file."""
    file = Path(table)
    if not file.is_file():
        package = importlib.util.find_spec("bert_score")
        if package is None or package.origin is None:
            raise InputError(
                "rescaling needs the baselines that the package bert-score brings, and it is not installed.",
                remedy="Install it with: pip install --no-deps bert-score",
            )
        folder = Path(package.origin).parent / "rescale_baseline" / table
        named = [folder / f"{name}.tsv" for name in (model, Path(model).name)]
        file = next((path for path in named if path.is_file()), named[-1])
    if not file.is_file():
        raise InputError(f"bert-score has no baseline of {model} for {table}.", place=Place(file=str(file)))
    with file.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            if int(row["LAYER"]) == layer:
                return float(row["P"]), float(row["R"]), float(row["F"])
    raise InputError(f"there is no row of layer {layer}.", place=Place(file=str(file)))


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
        """Precision, recall and F1 of one model come from one pass."""
        return ("bertscore", *settings_of(self, "part_of"))

    def part(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """One of precision, recall and F1."""
        return scores[:, PARTS.index(self.part_of)]

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

    def cases(self, model: TokenVectors, cases: Sequence[Case]) -> NDArray[np.float64]:
        """P, R and F1 of each case, rescaled where asked."""
        idf, unseen = (None, 0.0) if self.idf is None else idf_weights(model, self._idf_texts())
        pairs = [(output, reference or "") for output, _, reference in cases]
        found = matched(model, pairs, idf, unseen)
        if self.rescale is None:
            return found
        lowest = np.array(baseline(self.model, self.chosen_layer, self.rescale))
        return (found - lowest) / (1 - lowest)  # type: ignore[no-any-return]

    def _idf_texts(self) -> list[str]:
        file = Path(str(self.idf))
        if not file.is_file():
            raise InputError("there is no such file of texts for idf.", place=Place(file=str(file)))
        return file.read_text(encoding="utf-8").splitlines()


METRICS = (BertScore,)
