"""MetricX (Juraska et al., 2023, 2024): an mT5 that predicts an MQM penalty."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from metassay.errors import UnknownName
from metassay.metrics.neural.base import NetworkInput, NetworkScores, NeuralMetric
from metassay.metrics.neural.batch_runner import BatchRunner
from metassay.metrics.neural.checkpoints import (
    find_model_folder,
    find_tokenizer_file,
    find_weight_files,
    hash_file_contents,
)
from metassay.metrics.neural.loaded_models import cache_loaded_models
from metassay.metrics.neural.published_models import find_published_model
from metassay.metrics.neural.seq2seq import MT5, load_seq2seq_model
from metassay.metrics.neural.token_batches import TokenBatch
from metassay.metrics.neural.tokenizer import TokenizedTexts, Tokenizer
from metassay.metrics.shared_cache import SharedCache

if TYPE_CHECKING:
    from torch import Tensor

# `<extra_id_10>`, whose logit at the first step of the decoder is the score.
SCORE_TOKEN = 250_089
# MetricX predicts MQM penalties, which are at most 25 for a segment.
WORST_SCORE = 25.0
# Tokens that each version of MetricX reads.
TOKEN_LIMITS = {"23": 1024, "24": 1536}


class MetricXNetwork:
    """A MetricX model with its tokenizer, which is the tokenizer of an mT5 model."""

    def __init__(self, model: str, tokenizer: str, version: str, dtype: str) -> None:
        self.runner = BatchRunner()
        self.version = version
        self.network = load_seq2seq_model(find_model_folder(model), model, MT5, dtype, self.runner.device)
        tokenizer_file = find_tokenizer_file(find_model_folder(tokenizer), model=tokenizer)
        self.tokenizer = Tokenizer(tokenizer_file, TOKEN_LIMITS[version])

    def compute_metricx_scores(self, formatted_texts: Sequence[str]) -> NetworkScores:
        """Score texts that `format_metricx_input` wrote. Scores are between 0 and 25."""
        tokens = self.tokenizer(formatted_texts)
        # MetricX was trained without the token that ends a text.
        without_end = TokenizedTexts.from_token_sequences(
            [tokens[i][:-1].tolist() for i in range(len(tokens))]
        )
        rows = self.runner.compute_vector_per_text(without_end, self._score_batch, pad_id=0)
        truncated_count = int(tokens.truncated.sum())
        return NetworkScores(rows.double().cpu().numpy(), truncated_count, self.tokenizer.limit)

    def _score_batch(self, batch: TokenBatch) -> Tensor:
        """Run the model on a batch of texts and return a score for each."""
        start_ids = batch.ids.new_zeros((len(batch.ids), 1))
        encoded = self.network.encoder(input_ids=batch.ids, attention_mask=batch.mask).last_hidden_state
        decoded = self.network.decoder(
            input_ids=start_ids,
            encoder_hidden_states=encoded,
            encoder_attention_mask=batch.mask,
            use_cache=False,
        ).last_hidden_state[:, 0]
        logits: Tensor = decoded.float() @ self.network.lm_head.weight[SCORE_TOKEN].float()
        return logits.clamp(0.0, WORST_SCORE)


@cache_loaded_models
def load_metricx_network(model: str, tokenizer: str, version: str, dtype: str) -> MetricXNetwork:
    """Load a MetricX model that was downloaded before."""
    return MetricXNetwork(model, tokenizer, version, dtype)


@dataclass(frozen=True)
class MetricX(NeuralMetric[MetricXNetwork]):
    """MetricX: a network predicts how bad the errors are, from 0 (no errors) to 25. Several references are
    averaged.

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
    def metricx_version(self) -> str:
        """The version of MetricX: the user's choice, or else the version in the model's name, or else 24."""
        version = self.version
        if version is None:
            in_name = [version for version in TOKEN_LIMITS if f"metricx-{version}" in self.model.lower()]
            version = in_name[0] if in_name else "24"
        if version not in TOKEN_LIMITS:
            raise UnknownName("version of MetricX", version, TOKEN_LIMITS)
        return version

    @property
    def chosen_tokenizer(self) -> str:
        """The name of the tokenizer: the user's choice, or else that of the mT5 model from which this model
        was trained.
        """
        if self.tokenizer is not None:
            return self.tokenizer
        published = find_published_model(self.model)
        return published.encoder if published and published.encoder else self.model

    def load_neural_network(self) -> MetricXNetwork:
        """Load the MetricX model of this metric."""
        return load_metricx_network(self.model, self.chosen_tokenizer, self.metricx_version, self.dtype)

    def hash_model_files(self) -> dict[str, str]:
        """Return hashes of the weights and the tokenizer, which identify the model."""
        tokenizer = self.chosen_tokenizer
        return {
            "weights": hash_file_contents(find_weight_files(find_model_folder(self.model), model=self.model)),
            "tokenizer": hash_file_contents(
                [find_tokenizer_file(find_model_folder(tokenizer), model=tokenizer)]
            ),
            "input": self.metricx_version,
        }

    def score_inputs(
        self, network: MetricXNetwork, inputs: Sequence[NetworkInput], shared_cache: SharedCache
    ) -> NetworkScores:
        """Write each input in the format of this version of MetricX, and score it."""
        del shared_cache
        return network.compute_metricx_scores(
            [format_metricx_input(self.metricx_version, network_input) for network_input in inputs]
        )


@dataclass(frozen=True)
class MetricXQE(MetricX):
    """MetricX without references (quality estimation)."""

    name: ClassVar[str] = "metricx_qe"
    title: ClassVar[str] = "MetricX-QE"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source"})
    summary: ClassVar[str] = "MetricX without reference, lower is better (needs a downloaded model)"


def format_metricx_input(version: str, network_input: NetworkInput) -> str:
    """Write output, source and reference as one text, in the format on which a version of MetricX was
    trained.

    >>> format_metricx_input("24", NetworkInput("Hallo", "Hello", None))
    'source: Hello candidate: Hallo'
    """
    output, source, reference = network_input
    if version == "24":
        text = f"source: {source} candidate: {output}"
        return text if reference is None else f"{text} reference: {reference}"
    if reference is None:
        return f"candidate: {output} source: {source}"
    return f"candidate: {output} reference: {reference}"
