"""Encoder–decoders as metrics: MetricX (Juraska et al., 2023, 2024) and BARTScore (Yuan et al., 2021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from metassay.errors import InputError, Place, UnknownName
from metassay.metrics.neural.base import Case, Made, NeuralMetric, each, once
from metassay.metrics.neural.checkpoints import (
    content_hash,
    find_model,
    needed_file,
    read_json,
    read_weights,
    tokenizer_file,
    weight_files,
)
from metassay.metrics.neural.encoder import Batches, fill, torch_dtype, without_drawing
from metassay.metrics.neural.published_models import known
from metassay.metrics.neural.token_batches import TokenBatch, Tokenizer, Tokens
from metassay.metrics.shared_work import SharedWork

if TYPE_CHECKING:
    from torch import Tensor, nn

SCORE_TOKEN = 250_089
"""`<extra_id_10>`, whose logit at the first step is MetricX's score."""
WORST = 25.0
LIMITS = {"23": 1024, "24": 1536}
DIRECTIONS = ("precision", "recall", "f")


def _network(folder: Path, model: str, kind: str, dtype: str, device: str) -> nn.Module:
    """The encoder–decoder in a folder; `lm_head` must be a matrix of its own where the file has one."""
    import torch
    import transformers

    settings = read_json(needed_file(folder, "config.json", model=model))
    config_class = transformers.MT5Config if kind == "mt5" else transformers.BartConfig
    network_class = (
        transformers.MT5ForConditionalGeneration
        if kind == "mt5"
        else transformers.BartForConditionalGeneration
    )
    if settings.get("model_type") != kind:
        raise InputError(
            f"{model} is of type {settings.get('model_type')}, not {kind}.",
            place=Place(file=str(folder / "config.json")),
        )
    settings.pop("model_type")
    with without_drawing():
        network = network_class(config_class(**settings)).to(torch.float32)
    state = read_weights(weight_files(folder, model=model))
    if kind == "mt5" and "lm_head.weight" in state:
        network.lm_head.weight = torch.nn.Parameter(torch.empty_like(network.lm_head.weight))
    fill(network, _with_shared(state))
    return network.to(device=device, dtype=torch_dtype(dtype)).eval()


def _with_shared(state: Mapping[str, Any]) -> dict[str, Any]:
    """The state with every copy of the shared embedding that a file may leave out."""
    found = dict(state)
    shared = next((found[name] for name in ("shared.weight", "model.shared.weight") if name in found), None)
    for name in ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight"):
        for prefix in ("", "model."):
            if shared is not None:
                found.setdefault(f"{prefix}{name}", shared)
    return found


class MetricXNetwork:
    """A MetricX checkpoint with the tokenizer of the mT5 that it was trained from."""

    def __init__(self, model: str, tokenizer: str, version: str, dtype: str) -> None:
        self.batches = Batches()
        self.version = version
        self.network = _network(find_model(model), model, "mt5", dtype, self.batches.device)
        folder = find_model(tokenizer)
        self.tokenizer = Tokenizer(tokenizer_file(folder, model=tokenizer), LIMITS[version])

    def score(self, texts: Sequence[str]) -> Made:
        """The logit of `SCORE_TOKEN` after the decoder's start token, clamped to [0, 25]."""
        tokens = self.tokenizer(texts)
        without_end = Tokens.of([tokens[number][:-1].tolist() for number in range(len(tokens))])
        found = self.batches.rows(without_end, self._forward, pad=0).double().cpu().numpy()
        return Made(found, int(tokens.truncated.sum()), self.tokenizer.limit)

    def _forward(self, batch: TokenBatch) -> Tensor:
        start = batch.ids.new_zeros((len(batch.ids), 1))
        encoded = self.network.encoder(input_ids=batch.ids, attention_mask=batch.mask).last_hidden_state
        decoded = self.network.decoder(
            input_ids=start,
            encoder_hidden_states=encoded,
            encoder_attention_mask=batch.mask,
            use_cache=False,
        ).last_hidden_state[:, 0]
        logits: Tensor = decoded.float() @ self.network.lm_head.weight[SCORE_TOKEN].float()
        return logits.clamp(0.0, WORST)


@once
def load_metricx(model: str, tokenizer: str, version: str, dtype: str) -> MetricXNetwork:
    """A MetricX model."""
    return MetricXNetwork(model, tokenizer, version, dtype)


@dataclass(frozen=True)
class MetricX(NeuralMetric):
    """MetricX: errors from 0 (none) to 25; lower is better. Several references: the mean.

    `version` (23 or 24) decides how the input is written; by default the model's name does.
    """

    model: str = "google/metricx-24-hybrid-large-v2p6"
    tokenizer: str | None = None
    version: str | None = None

    name: ClassVar[str] = "metricx"
    title: ClassVar[str] = "MetricX"
    higher_is_better: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source", "references"})
    summary: ClassVar[str] = "MetricX-23 and 24, lower is better (needs a downloaded model)"

    @property
    def chosen_version(self) -> str:
        """23 or 24."""
        named = [version for version in LIMITS if f"metricx-{version}" in self.model.lower()]
        chosen = self.version or (named[0] if named else "24")
        if chosen not in LIMITS:
            raise UnknownName("version of MetricX", chosen, LIMITS)
        return chosen

    @property
    def chosen_tokenizer(self) -> str:
        """The mT5 whose tokenizer is used."""
        model = known(self.model)
        return self.tokenizer or (model.encoder if model and model.encoder else self.model)

    def load(self) -> MetricXNetwork:
        """The network."""
        given = (self.model, self.chosen_tokenizer, self.chosen_version, self.dtype)
        return load_metricx(*given)  # type: ignore[no-any-return]

    def hashes(self) -> Mapping[str, str]:
        """Hashes of weights and tokenizer."""
        weights = weight_files(find_model(self.model), model=self.model)
        name = self.chosen_tokenizer
        tokenizer = tokenizer_file(find_model(name), model=name)
        return {
            "weights": content_hash(weights),
            "tokenizer": content_hash([tokenizer]),
            "input": self.chosen_version,
        }

    def cases(self, model: MetricXNetwork, cases: Sequence[Case], _: SharedWork) -> Made:
        """The clamped logit of each case."""
        return model.score([metricx_input(self.chosen_version, *case) for case in cases])


@dataclass(frozen=True)
class MetricXQE(MetricX):
    """MetricX without reference."""

    name: ClassVar[str] = "metricx_qe"
    title: ClassVar[str] = "MetricX-QE"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source"})
    summary: ClassVar[str] = "MetricX without reference, lower is better (needs a downloaded model)"


def metricx_input(version: str, output: str, source: str | None, reference: str | None) -> str:
    """What the model reads.

    >>> metricx_input("24", "Hallo", "Hello", None)
    'source: Hello candidate: Hallo'
    """
    if version == "24":
        return f"source: {source} candidate: {output}" + (
            "" if reference is None else f" reference: {reference}"
        )
    return f"candidate: {output} " + (f"source: {source}" if reference is None else f"reference: {reference}")


class BartNetwork:
    """A BART, and the mean log-likelihood of one text given another."""

    def __init__(self, model: str, dtype: str) -> None:
        folder = find_model(model)
        self.batches = Batches()
        self.network = _network(folder, model, "bart", dtype, self.batches.device)
        limit = min(1024, int(self.network.config.max_position_embeddings))
        self.tokenizer = Tokenizer(tokenizer_file(folder, model=model), limit)
        self.pad = int(self.network.config.pad_token_id)

    def mean(self, pairs: Sequence[Sequence[tuple[str, str]]], shared: SharedWork) -> Made:
        """The mean over directions of the log-likelihoods of pairs; a piece's pairs are each read once."""
        found = [each(shared, (self, "pairs"), own, self.likelihoods) for own in pairs]
        cut = sum(cut for own in found for _, cut in own)
        return Made(
            np.mean([[score for score, _ in own] for own in found], axis=0), cut, self.tokenizer.limit
        )

    def likelihoods(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[float, bool]]:
        """Mean log-probability of each pair's second text given the first, and whether either was cut."""
        texts = sorted({text for pair in pairs for text in pair})
        tokens = self.tokenizer(texts)
        place = {text: number for number, text in enumerate(texts)}
        given = [tokens[place[first]].tolist() for first, _ in pairs]
        wanted = Tokens.of([tokens[place[second]].tolist() for _, second in pairs])

        def forward(batch: TokenBatch) -> Tensor:
            labels = self.batches.moved(wanted.padded(batch.texts, self.pad))
            return self._forward(batch, labels)

        # given and wanted share a budget: a pair is as long as both
        scores = self.batches.rows(Tokens.of(given), forward, pad=self.pad).double().cpu().tolist()
        cut = [any(tokens.truncated[place[text]] for text in pair) for pair in pairs]
        return list(zip(scores, cut))

    def _forward(self, batch: TokenBatch, labels: Tensor) -> Tensor:
        import torch

        shifted = labels.roll(1, dims=1)
        shifted[:, 0] = self.network.config.decoder_start_token_id
        logits = self.network(
            input_ids=batch.ids, attention_mask=batch.mask, decoder_input_ids=shifted, use_cache=False
        ).logits
        losses = torch.nn.functional.cross_entropy(
            logits.float().transpose(1, 2), labels, reduction="none", ignore_index=self.pad
        )
        return -losses.sum(1) / (labels != self.pad).sum(1)


@once
def load_bart(model: str, dtype: str) -> BartNetwork:
    """A BART."""
    return BartNetwork(model, dtype)


@dataclass(frozen=True)
class BartScore(NeuralMetric):
    """BARTScore: mean log-likelihood of the output given the reference (`direction=precision`), of the
    reference given the output (recall), or the mean of both (f). Several references: the mean.
    """

    model: str = "facebook/bart-large-cnn"
    direction: str = "f"

    name: ClassVar[str] = "bartscore"
    title: ClassVar[str] = "BARTScore"
    summary: ClassVar[str] = "BARTScore; direction=precision, recall or f (needs a downloaded model)"

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise UnknownName("direction of BARTScore", self.direction, DIRECTIONS)

    def load(self) -> BartNetwork:
        """The network."""
        return load_bart(self.model, self.dtype)  # type: ignore[no-any-return]

    def hashes(self) -> Mapping[str, str]:
        """Hashes of weights and tokenizer."""
        folder = find_model(self.model)
        return {
            "weights": content_hash(weight_files(folder, model=self.model)),
            "tokenizer": content_hash([tokenizer_file(folder, model=self.model)]),
        }

    def cases(self, model: BartNetwork, cases: Sequence[Case], shared: SharedWork) -> Made:
        """Log-likelihoods, averaged over the directions asked for."""
        pairs = []
        if self.direction in {"precision", "f"}:
            pairs.append([(theirs or "", own) for own, _, theirs in cases])
        if self.direction in {"recall", "f"}:
            pairs.append([(own, theirs or "") for own, _, theirs in cases])
        return model.mean(pairs, shared)


@dataclass(frozen=True)
class BartScoreSource(NeuralMetric):
    """BARTScore of faithfulness: mean log-likelihood of the output given the source."""

    model: str = "facebook/bart-large-cnn"

    name: ClassVar[str] = "bartscore_src"
    title: ClassVar[str] = "BARTScore (source)"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source"})
    summary: ClassVar[str] = "BARTScore of the output given the source (needs a downloaded model)"

    load = BartScore.load
    hashes = BartScore.hashes

    def cases(self, model: BartNetwork, cases: Sequence[Case], shared: SharedWork) -> Made:
        """Log-likelihoods."""
        return model.mean([[(source or "", output) for output, source, _ in cases]], shared)


METRICS = (MetricX, MetricXQE, BartScore, BartScoreSource)
