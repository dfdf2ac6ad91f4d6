"""Networks that read output, source and reference joined into one sequence.

UniTE (Wan et al., 2022), CometKiwi (Rei et al., 2022) and XCOMET (Guerreiro et al., 2024). One network scores
an output with three kinds of input: joined with the source, with the reference, or with both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError
from metassay.metrics.neural.base import NetworkInput, NetworkScores
from metassay.metrics.neural.comet_checkpoint import (
    UNIFIED,
    XCOMET,
    CometFiles,
    find_comet_files,
    was_trained_with_references,
)
from metassay.metrics.neural.comet_network import CometNetwork
from metassay.metrics.neural.loaded_models import cache_loaded_models
from metassay.metrics.neural.text_vectors import compute_once_for_equal_items
from metassay.metrics.neural.token_batches import TokenBatch
from metassay.metrics.neural.tokenizer import TokenizedTexts
from metassay.metrics.shared_cache import SharedCache

if TYPE_CHECKING:
    from torch import Tensor

# The kinds of input: the output joined with the source, with the reference, with both.
SOURCE_INPUT, REFERENCE_INPUT, FULL_INPUT = "src", "ref", "all"
FIELDS_OF_INPUT = {
    SOURCE_INPUT: ("output", "source"),
    REFERENCE_INPUT: ("output", "reference"),
    FULL_INPUT: ("output", "source", "reference"),
}
SUPPORTED_ENCODERS = {"xlm-roberta", "xlm-roberta-xl"}
# Weights of the tag probabilities, by kind of input.
TAG_WEIGHTS = {SOURCE_INPUT: 0.1667, REFERENCE_INPUT: 0.3333, FULL_INPUT: 0.5}
_NO_TAGS = np.empty((0, 0), np.float32)


@dataclass(frozen=True)
class ErrorSpan:
    """An error in an output that a network found, from character `start` to `end`, with its severity."""

    start: int
    end: int
    severity: str


class Prediction(NamedTuple):
    """What a network predicts for one input: a score and, for each token of the output, how probable an error
    is.
    """

    score: float
    truncated: bool
    tag_probabilities: NDArray[np.float32]
    """For each token of the output, the probability of no error and of each severity.

    Empty for networks that do not tag tokens.
    """


class Segment(NamedTuple):
    """The token ids of one text that is to be joined with others, and whether the text was truncated."""

    ids: list[int]
    truncated: bool


# The predictions for all inputs, by kind of input.
Predictions = Mapping[str, Sequence[Prediction]]


def count_truncated_predictions(predictions_by_input_kind: Predictions) -> int:
    """Count the inputs that were truncated. An input counts once for each kind: with source, with reference,
    or with both.
    """
    return sum(prediction.truncated for kind in predictions_by_input_kind.values() for prediction in kind)


class UnifiedNetwork(CometNetwork):
    """A COMET model that reads output, source and reference joined to one text, such as UniTE, CometKiwi or
    XCOMET.
    """

    def __init__(self, files: CometFiles, dtype: str = "float32", *, sparsemax: bool | None = None) -> None:
        super().__init__(files, dtype, sparsemax=sparsemax)
        if self.config["model_type"] not in SUPPORTED_ENCODERS:
            raise InputError(f"a unified model on {self.config['model_type']} is not supported.")
        self.was_trained_with_references = was_trained_with_references(files.hparams)
        self.start_id = self.tokenizer.find_special_token_id("<s>")
        self.end_id = self.tokenizer.find_special_token_id("</s>")
        self.tag_weight: Tensor | None = None
        self.tag_bias: Tensor | None = None
        self.severities = ("", *self.settings.error_labels)
        """What each tag means; the first is no error."""
        if self.settings.error_labels:
            self.tag_weight = self.state["hidden2tag.weight"].float().to(self.runner.device)
            self.tag_bias = self.state["hidden2tag.bias"].float().to(self.runner.device)

    def predict_scores_and_error_tags(
        self, inputs: Sequence[NetworkInput], input_kinds: Sequence[str], shared_cache: SharedCache
    ) -> dict[str, list[Prediction]]:
        """Predict a score and error tags for each input. There is one prediction for each kind of input:
        output with source, with reference, or with both.
        """
        predictions = {}
        for kind in input_kinds:
            texts_to_join = []
            for network_input in inputs:
                texts_to_join.append(
                    tuple(str(getattr(network_input, field)) for field in FIELDS_OF_INPUT[kind])
                )
            predictions[kind] = compute_once_for_equal_items(
                shared_cache,
                (self, kind),
                texts_to_join,
                lambda new_texts: self._predict_joined_texts(
                    *self.tokenize_and_join_texts(new_texts, shared_cache)
                ),
            )
        return predictions

    def average_scores_over_input_kinds(
        self, inputs: Sequence[NetworkInput], input_kinds: Sequence[str], shared_cache: SharedCache
    ) -> NetworkScores:
        """Predict several scores for each output (with source, with reference, or with both), and return
        their mean.
        """
        predictions = self.predict_scores_and_error_tags(inputs, input_kinds, shared_cache)
        scores = np.mean(
            [[prediction.score for prediction in predictions[kind]] for kind in input_kinds], axis=0
        )
        return NetworkScores(scores, count_truncated_predictions(predictions), self.max_positions)

    def find_error_spans(
        self, inputs: Sequence[NetworkInput], input_kinds: Sequence[str], shared_cache: SharedCache
    ) -> list[list[ErrorSpan]]:
        """Return the errors that the network finds in each output; raise an error if the network was not
        trained to find errors.
        """
        if not self.settings.error_labels:
            raise InputError(
                "this model predicts scores only: it was not trained to mark errors.",
                remedy="Use XCOMET, or a CometKiwi model that was trained with word_level_training.",
            )
        predictions = self.predict_scores_and_error_tags(inputs, input_kinds, shared_cache)
        return self.convert_tags_to_error_spans(inputs, predictions, shared_cache)

    def convert_tags_to_error_spans(
        self, inputs: Sequence[NetworkInput], predictions: Predictions, shared_cache: SharedCache
    ) -> list[list[ErrorSpan]]:
        """Return the errors in each output, given how probable an error is at each token.

        If there are several kinds of input, their probabilities are averaged.
        """
        outputs = compute_once_for_equal_items(
            shared_cache,
            (self, "offsets"),
            [network_input.output for network_input in inputs],
            self.tokenizer.tokenize_with_offsets,
        )
        probabilities = [np.zeros((len(output.ids), len(self.severities))) for output in outputs]
        for kind, kind_predictions in predictions.items():
            weight = np.float32(TAG_WEIGHTS[kind] if len(predictions) > 1 else 1.0)
            for output_probabilities, prediction in zip(probabilities, kind_predictions):
                token_count = len(output_probabilities)
                weighted = weight * prediction.tag_probabilities[:token_count]
                output_probabilities[:] += weighted.astype(np.float32)
        return [
            join_tagged_tokens_to_errors(
                output_probabilities.argmax(1), output.character_spans, self.severities
            )
            for output_probabilities, output in zip(probabilities, outputs)
        ]

    def tokenize_and_join_texts(
        self, text_groups: Sequence[tuple[str, ...]], shared_cache: SharedCache
    ) -> tuple[TokenizedTexts, list[int]]:
        """Tokenize the texts of each group and join them to one sequence. Also returns the number of tokens
        of each output.
        """
        distinct_texts = sorted({text for texts in text_groups for text in texts})
        segments = compute_once_for_equal_items(
            shared_cache, (self, "segments"), distinct_texts, self._tokenize_segments
        )
        segment_of_text = dict(zip(distinct_texts, segments))
        sequences = []
        truncated = []
        output_lengths = []
        for texts in text_groups:
            text_segments = [segment_of_text[text] for text in texts]
            sequence = concatenate_texts_with_separators(
                [segment.ids for segment in text_segments],
                pad_id=self.pad_id,
                limit=self.max_positions,
                start_id=self.start_id,
                end_id=self.end_id,
            )
            total_length = sum(len(segment.ids) for segment in text_segments)
            was_cut = len(sequence) == self.max_positions and total_length > self.max_positions
            sequences.append(sequence)
            truncated.append(was_cut or any(segment.truncated for segment in text_segments))
            output_lengths.append(len(text_segments[0].ids))
        tokens = TokenizedTexts.from_token_sequences(sequences, np.array(truncated, dtype=np.bool_))
        return tokens, output_lengths

    def _tokenize_segments(self, texts: Sequence[str]) -> list[Segment]:
        """Return the token ids of each text, and whether the text was truncated."""
        tokens = self.tokenizer(texts)
        return [Segment(tokens[i].tolist(), bool(tokens.truncated[i])) for i in range(len(tokens))]

    def _predict_joined_texts(
        self, tokenized_texts: TokenizedTexts, output_lengths: Sequence[int]
    ) -> list[Prediction]:
        """Predict a score for each joined text and, if the network was trained to find errors, error tags for
        the tokens of the output.
        """
        truncated = tokenized_texts.truncated.tolist()
        if self.tag_weight is None:
            rows = self.runner.compute_vector_per_text(tokenized_texts, self._score_batch, pad_id=self.pad_id)
            scores = rows.double().cpu().tolist()
            return [Prediction(score, cut, _NO_TAGS) for score, cut in zip(scores, truncated)]
        predictions: dict[int, Prediction] = {}
        batches = self.runner.run_network_in_batches(
            tokenized_texts, self._score_and_tag_batch, pad_id=self.pad_id
        )
        for texts, (batch_scores, batch_probabilities) in batches:
            scores = batch_scores.double().cpu().tolist()
            probabilities = batch_probabilities.cpu().numpy()
            for text, score, text_probabilities in zip(texts.tolist(), scores, probabilities):
                output_probabilities = text_probabilities[: output_lengths[text]].copy()
                predictions[text] = Prediction(score, truncated[text], output_probabilities)
        return [predictions[text] for text in range(len(tokenized_texts))]

    def _score_batch(self, batch: TokenBatch) -> Tensor:
        """Run the network on a batch and return a score for each text."""
        assert self.estimator is not None
        collector = self.layer_mix.create_collector(batch, self.pad_id, first_token=True)
        self.run_encoder(batch, collector)
        scores: Tensor = self.estimator(collector.get_text_vectors())[:, 0]
        return scores

    def _score_and_tag_batch(self, batch: TokenBatch) -> tuple[Tensor, Tensor]:
        """Run the network on a batch. Returns a score for each text and the probabilities of error tags for
        each token.
        """
        from torch.nn.functional import linear, softmax

        assert self.estimator is not None
        assert self.tag_weight is not None
        collector = self.layer_mix.create_collector(batch, self.pad_id, first_token=True)
        tag_logits: list[Tensor] = []

        def collect_layer_and_tag_logits(layer_number: int, hidden_states: Tensor) -> None:
            collector(layer_number, hidden_states)
            if layer_number == self.settings.word_layer:
                tag_logits.append(linear(hidden_states.float(), self.tag_weight, self.tag_bias))

        self.run_encoder(batch, collect_layer_and_tag_logits)
        return self.estimator(collector.get_text_vectors())[:, 0], softmax(tag_logits[0], dim=2)


def concatenate_texts_with_separators(
    token_ids_of_texts: Sequence[Sequence[int]], *, pad_id: int, limit: int, start_id: int, end_id: int
) -> list[int]:
    """Join the token ids of several texts to one list of at most `limit` ids, in the format `<s> a </s></s> b
    </s>`.

    Each text comes with its own special tokens, which are replaced; padding ids inside are dropped. COMET
    cuts only where the texts leave no room for 1 + 2·texts special tokens; the final `</s>` is lost then.
    """
    texts = [[token for token in segment if token != pad_id][1:-1] for segment in token_ids_of_texts]
    sequence = [start_id, *texts[0]]
    for text in texts[1:]:
        sequence += [end_id, end_id, *text]
    sequence.append(end_id)
    special_tokens = 1 + 2 * len(texts)
    is_too_long = sum(map(len, texts)) > limit - special_tokens
    return sequence[:limit] if is_too_long else sequence


def join_tagged_tokens_to_errors(
    tags: NDArray[np.int64], character_spans: Sequence[tuple[int, int]], severities: Sequence[str]
) -> list[ErrorSpan]:
    """Join neighbouring tokens that are tagged as errors to one error. It has the severity of its first
    token.

    A span that is still open at the end is dropped, as in unbabel-comet.
    """
    spans: list[ErrorSpan] = []
    open_span: ErrorSpan | None = None
    for tag, (start, end) in zip(tags.tolist(), character_spans):
        if tag and open_span is None:
            open_span = ErrorSpan(start, end, severities[tag])
        elif tag and open_span is not None:
            open_span = ErrorSpan(open_span.start, end, open_span.severity)
        elif open_span is not None:
            spans.append(open_span)
            open_span = None
    return spans


@cache_loaded_models
def load_unified_comet_model(
    model: str, encoder: str | None, dtype: str, sparsemax: bool | None
) -> UnifiedNetwork:
    """Load a UniTE, CometKiwi or XCOMET model; raise an error for other COMET models."""
    files = find_comet_files(model, encoder)
    if files.model_class not in {UNIFIED, XCOMET}:
        raise InputError(
            f"{model} is a {files.model_class}, not a unified model.", remedy="Use comet or comet_qe."
        )
    return UnifiedNetwork(files, dtype, sparsemax=sparsemax)
