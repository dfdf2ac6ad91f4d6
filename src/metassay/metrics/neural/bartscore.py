"""BARTScore (Yuan et al., 2021): how likely BART finds one text, given another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from metassay.errors import UnknownName
from metassay.metrics.neural.base import NetworkInput, NetworkScores, NeuralMetric
from metassay.metrics.neural.batch_runner import BatchRunner
from metassay.metrics.neural.checkpoints import (
    find_model_folder,
    find_tokenizer_file,
)
from metassay.metrics.neural.loaded_models import cache_loaded_models
from metassay.metrics.neural.seq2seq import BART, load_seq2seq_model
from metassay.metrics.neural.text_vectors import compute_once_for_equal_items
from metassay.metrics.neural.token_batches import TokenBatch
from metassay.metrics.neural.tokenizer import TokenizedTexts, Tokenizer
from metassay.metrics.shared_cache import SharedCache

if TYPE_CHECKING:
    from torch import Tensor

PRECISION, RECALL, BOTH = DIRECTIONS = ("precision", "recall", "f")
# The limit of BARTScore's own code; longer texts are truncated.
MAX_TOKENS = 1024


class TextPair(NamedTuple):
    """Two texts: BART computes how likely the second is, given the first."""

    given: str
    predicted: str


class Likelihood(NamedTuple):
    """How likely BART finds a text given another: the mean log-probability of its tokens."""

    log_probability: float
    truncated: bool


class BartNetwork:
    """A BART model that computes how likely one text is, given another."""

    def __init__(self, model: str, dtype: str) -> None:
        folder = find_model_folder(model)
        self.runner = BatchRunner()
        self.network = load_seq2seq_model(folder, model, BART, dtype, self.runner.device)
        limit = min(MAX_TOKENS, int(self.network.config.max_position_embeddings))
        self.tokenizer = Tokenizer(find_tokenizer_file(folder, model=model), limit)
        self.pad_id = int(self.network.config.pad_token_id)

    def compute_mean_log_likelihoods(
        self, pairs_by_direction: Sequence[Sequence[TextPair]], shared_cache: SharedCache
    ) -> NetworkScores:
        """Return the mean log-likelihood of each input. If there are two directions (output given reference,
        and reference given output), it is the mean of both.
        """
        scores = []
        truncated_count = 0
        for pairs in pairs_by_direction:
            likelihoods = compute_once_for_equal_items(
                shared_cache, (self, "pairs"), pairs, self.compute_conditional_likelihoods
            )
            scores.append([likelihood.log_probability for likelihood in likelihoods])
            truncated_count += sum(likelihood.truncated for likelihood in likelihoods)
        return NetworkScores(np.mean(scores, axis=0), truncated_count, self.tokenizer.limit)

    def compute_conditional_likelihoods(self, text_pairs: Sequence[TextPair]) -> list[Likelihood]:
        """Compute how likely the second text of each pair is, given the first."""
        texts = sorted({text for pair in text_pairs for text in pair})
        tokens = self.tokenizer(texts)
        position_of_text = {text: position for position, text in enumerate(texts)}
        given = [tokens[position_of_text[pair.given]].tolist() for pair in text_pairs]
        predicted = TokenizedTexts.from_token_sequences(
            [tokens[position_of_text[pair.predicted]].tolist() for pair in text_pairs]
        )

        def compute_batch_likelihoods(batch: TokenBatch) -> Tensor:
            labels = self.runner.move_to_device(predicted.pad_texts(batch.texts, self.pad_id))
            # A literal <pad> in a text has no probability but counts as a token, as in the original.
            token_counts = self.runner.move_to_device(predicted.lengths[batch.texts])
            return self._sum_log_probabilities(batch, labels) / token_counts

        rows = self.runner.compute_vector_per_text(
            TokenizedTexts.from_token_sequences(given), compute_batch_likelihoods, pad_id=self.pad_id
        )
        likelihoods = []
        for pair, log_probability in zip(text_pairs, rows.double().cpu().tolist()):
            truncated = any(tokens.truncated[position_of_text[text]] for text in pair)
            likelihoods.append(Likelihood(log_probability, truncated))
        return likelihoods

    def _sum_log_probabilities(self, batch: TokenBatch, predicted_token_ids: Tensor) -> Tensor:
        """Return, for each text of a batch, the sum of the log-probabilities of its tokens, without
        padding.
        """
        import torch

        # The decoder predicts each token from those before it.
        shifted = predicted_token_ids.roll(1, dims=1)
        shifted[:, 0] = self.network.config.decoder_start_token_id
        logits = self.network(
            input_ids=batch.ids, attention_mask=batch.mask, decoder_input_ids=shifted, use_cache=False
        ).logits
        losses = torch.nn.functional.cross_entropy(
            logits.float().transpose(1, 2), predicted_token_ids, reduction="none", ignore_index=self.pad_id
        )
        return -losses.sum(1)


@cache_loaded_models
def load_bart_network(model: str, dtype: str) -> BartNetwork:
    """Load a BART model that was downloaded before."""
    return BartNetwork(model, dtype)


@dataclass(frozen=True)
class BartMetric(NeuralMetric[BartNetwork]):
    """Base class of both versions of BARTScore: with references, and with sources."""

    model: str = "facebook/bart-large-cnn"

    def load_neural_network(self) -> BartNetwork:
        """Load the BART model of this metric."""
        return load_bart_network(self.model, self.dtype)


@dataclass(frozen=True)
class BartScore(BartMetric):
    """BARTScore: mean log-likelihood of the output given the reference, of the reference given the output, or
    the mean of both.

    `direction` is precision (output given reference), recall (reference given output) or f, the mean of both.
    Several references are averaged.
    """

    direction: str = BOTH

    name: ClassVar[str] = "bartscore"
    title: ClassVar[str] = "BARTScore"
    summary: ClassVar[str] = "BARTScore; direction=precision, recall or f (needs a downloaded model)"

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise UnknownName("direction of BARTScore", self.direction, DIRECTIONS)

    def score_inputs(
        self, network: BartNetwork, inputs: Sequence[NetworkInput], shared_cache: SharedCache
    ) -> NetworkScores:
        """Compute the mean log-likelihood of output given reference, of reference given output, or of
        both.
        """
        directions = []
        if self.direction in {PRECISION, BOTH}:
            directions.append(
                [TextPair(network_input.reference or "", network_input.output) for network_input in inputs]
            )
        if self.direction in {RECALL, BOTH}:
            directions.append(
                [TextPair(network_input.output, network_input.reference or "") for network_input in inputs]
            )
        return network.compute_mean_log_likelihoods(directions, shared_cache)


@dataclass(frozen=True)
class BartScoreSource(BartMetric):
    """BARTScore without references: mean log-likelihood of the output given the source."""

    name: ClassVar[str] = "bartscore_src"
    title: ClassVar[str] = "BARTScore (source)"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source"})
    summary: ClassVar[str] = "BARTScore of the output given the source (needs a downloaded model)"

    def score_inputs(
        self, network: BartNetwork, inputs: Sequence[NetworkInput], shared_cache: SharedCache
    ) -> NetworkScores:
        """Compute the mean log-likelihood of each output given its source."""
        pairs = [TextPair(network_input.source or "", network_input.output) for network_input in inputs]
        return network.compute_mean_log_likelihoods([pairs], shared_cache)
