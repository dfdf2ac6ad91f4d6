"""XCOMET (Guerreiro et al., 2024): a score that also counts the errors that the network marks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.base import Batch
from metassay.metrics.neural.base import NetworkScores, ScoringInput
from metassay.metrics.neural.checkpoints import require_torch
from metassay.metrics.neural.text_vectors import compute_once_for_equal_items
from metassay.metrics.neural.unified_network import (
    FULL_INPUT,
    REFERENCE_INPUT,
    SOURCE_INPUT,
    TAGS,
    Predictions,
    UnifiedNetwork,
    count_truncated_inputs,
)
from metassay.metrics.neural.unite import UnifiedMetric
from metassay.metrics.shared_work import SharedWork

# Weights of the regression scores, by kind of input.
SCORE_WEIGHTS = {SOURCE_INPUT: 0.12, REFERENCE_INPUT: 0.33, FULL_INPUT: 0.33}
# Weight of the score that the marked errors give.
MQM_WEIGHT = 0.22
# Weights of the tag probabilities, by kind of input.
TAG_WEIGHTS = {SOURCE_INPUT: 0.1667, REFERENCE_INPUT: 0.3333, FULL_INPUT: 0.5}
PENALTIES = {"minor": 1, "major": 5, "critical": 10}
# The largest MQM penalty of a segment, which gives a score of 0.
MAX_PENALTY = 25


@dataclass(frozen=True)
class ErrorSpan:
    """An error that XCOMET marks in an output, from character `start` to `end`."""

    start: int
    end: int
    severity: str


@dataclass(frozen=True)
class XComet(UnifiedMetric):
    """XCOMET: 0.12 source + 0.33 reference + 0.33 joint score + 0.22 MQM score of the marked errors."""

    model: str = "Unbabel/XCOMET-XL"

    name: ClassVar[str] = "xcomet"
    title: ClassVar[str] = "XCOMET"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source", "references"})
    summary: ClassVar[str] = "XCOMET, which also marks errors (needs a downloaded model)"

    def score_inputs(
        self, network: UnifiedNetwork, inputs: Sequence[ScoringInput], shared_work: SharedWork
    ) -> NetworkScores:
        """Return the weighted sum of the regression scores and the MQM score of the marked errors."""
        predictions = network.predict_inputs(inputs, self.input_kinds, shared_work)
        weights = SCORE_WEIGHTS
        if len(self.input_kinds) == 1:
            weights = {self.input_kinds[0]: sum(SCORE_WEIGHTS.values())}
        total = np.zeros(len(inputs))
        for kind in self.input_kinds:
            scores = np.array([prediction.score for prediction in predictions[kind]])
            total += weights[kind] * np.minimum(scores, 1.0)
        spans = find_marked_errors(network, inputs, predictions, shared_work)
        mqm_scores = np.array([compute_mqm_score(output_spans) for output_spans in spans])
        total += MQM_WEIGHT * mqm_scores
        return NetworkScores(total, count_truncated_inputs(predictions), network.max_positions)

    def find_error_spans(self, batch: Batch) -> list[list[ErrorSpan]]:
        """Find the errors that XCOMET marks in each output, compared with its first reference."""
        require_torch()
        references = batch.references if "references" in self.needs else [(None,)] * len(batch)
        inputs = []
        for output, source, output_references in zip(batch.output, batch["source"], references):
            inputs.append(ScoringInput(output, source, output_references[0]))
        network = self.load_network()
        shared_work = SharedWork()
        predictions = network.predict_inputs(inputs, self.input_kinds, shared_work)
        return find_marked_errors(network, inputs, predictions, shared_work)


@dataclass(frozen=True)
class XCometQE(XComet):
    """XCOMET without references: 0.78 source score + 0.22 MQM score of the marked errors."""

    name: ClassVar[str] = "xcomet_qe"
    title: ClassVar[str] = "XCOMET-QE"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source"})
    summary: ClassVar[str] = "XCOMET without reference (needs a downloaded model)"
    input_kinds: ClassVar[tuple[str, ...]] = (SOURCE_INPUT,)


def find_marked_errors(
    network: UnifiedNetwork, inputs: Sequence[ScoringInput], predictions: Predictions, shared_work: SharedWork
) -> list[list[ErrorSpan]]:
    """Return the error spans of each output, from tag probabilities averaged over the kinds of input."""
    outputs = compute_once_for_equal_items(
        shared_work,
        (network, "offsets"),
        [scoring_input.output for scoring_input in inputs],
        network.tokenizer.tokenize_with_offsets,
    )
    probabilities = [np.zeros((len(output.ids), len(TAGS))) for output in outputs]
    for kind, kind_predictions in predictions.items():
        weight = np.float32(TAG_WEIGHTS[kind] if len(predictions) > 1 else 1.0)
        for output_probabilities, prediction in zip(probabilities, kind_predictions):
            token_count = len(output_probabilities)
            output_probabilities[:] += (weight * prediction.tag_probabilities[:token_count]).astype(
                np.float32
            )
    return [
        join_tagged_tokens(output_probabilities.argmax(1), output.character_spans)
        for output_probabilities, output in zip(probabilities, outputs)
    ]


def join_tagged_tokens(
    tags: NDArray[np.int64], character_spans: Sequence[tuple[int, int]]
) -> list[ErrorSpan]:
    """Join adjacent tokens that are tagged as errors to spans, with the severity of the first token.

    A span that is still open at the end is dropped, as in unbabel-comet.
    """
    spans: list[ErrorSpan] = []
    open_span: ErrorSpan | None = None
    for tag, (start, end) in zip(tags.tolist(), character_spans):
        if tag and open_span is None:
            open_span = ErrorSpan(start, end, TAGS[tag])
        elif tag and open_span is not None:
            open_span = ErrorSpan(open_span.start, end, open_span.severity)
        elif open_span is not None:
            spans.append(open_span)
            open_span = None
    return spans


def compute_mqm_score(spans: Sequence[ErrorSpan]) -> float:
    """Compute the MQM score of errors: (25 − Σ penalties) / 25, at least 0; penalties are 1, 5 and 10."""
    penalty = sum(PENALTIES[span.severity] for span in spans)
    return (MAX_PENALTY - min(MAX_PENALTY, penalty)) / MAX_PENALTY
