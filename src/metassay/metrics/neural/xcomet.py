"""XCOMET (Guerreiro et al., 2024): a score that also counts the errors that the network marks."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from metassay.errors import UnknownName
from metassay.metrics.neural.base import NetworkInput, NetworkScores
from metassay.metrics.neural.unified_network import (
    FULL_INPUT,
    REFERENCE_INPUT,
    SOURCE_INPUT,
    ErrorSpan,
    UnifiedNetwork,
    count_truncated_predictions,
)
from metassay.metrics.neural.unite import UnifiedMetric
from metassay.metrics.shared_cache import SharedCache

# Weights of the regression scores, by kind of input.
SCORE_WEIGHTS = {SOURCE_INPUT: 0.12, REFERENCE_INPUT: 0.33, FULL_INPUT: 0.33}
# Weight of the score that the marked errors give.
MQM_WEIGHT = 0.22
PENALTIES = {"minor": 1, "major": 5, "critical": 10}
# The largest MQM penalty of a segment, which gives a score of 0.
MAX_PENALTY = 25
FINAL_PART, MQM_PART = "final", "mqm"
# The name of the regression score of each kind of input, as in unbabel-comet's metadata.
PART_OF_INPUT = {SOURCE_INPUT: "src", REFERENCE_INPUT: "ref", FULL_INPUT: "unified"}


@dataclass(frozen=True)
class XComet(UnifiedMetric):
    """XCOMET: weighted sum of the scores against the source (0.12), the reference (0.33) and both (0.33), and
    of a score (0.22) for the errors that the network marks.

    `part_of` chooses a part of the score instead: `src`, `ref` or `unified` for the regression score of one
    kind of input, `mqm` for the score of the marked errors.
    """

    model: str = "Unbabel/XCOMET-XL"
    part_of: str = FINAL_PART

    name: ClassVar[str] = "xcomet"
    title: ClassVar[str] = "XCOMET"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source", "references"})
    summary: ClassVar[str] = "XCOMET, which also marks errors (needs a downloaded model)"

    def __post_init__(self) -> None:
        if self.part_of not in self.score_names:
            raise UnknownName(f"part of {self.name}", self.part_of, self.score_names)

    @property
    def score_names(self) -> tuple[str, ...]:
        """The names of the scores that the network computes together, in the order of their columns."""
        return (FINAL_PART, *(PART_OF_INPUT[kind] for kind in self.input_kinds), MQM_PART)

    @property
    def neural_network_cache_key(self) -> Hashable:
        """A key for the cache of network results. It is equal for all parts of the score of the same
        model.
        """
        return (self.name, *self.get_parameters_without({"part_of"}))

    def extract_metric_scores(self, network_scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Select the part of the score that the user chose with `part_of`."""
        return network_scores[:, self.score_names.index(self.part_of)]

    def score_inputs(
        self, network: UnifiedNetwork, inputs: Sequence[NetworkInput], shared_cache: SharedCache
    ) -> NetworkScores:
        """Compute all parts of the score of each input, one column per part."""
        predictions = network.predict_scores_and_error_tags(inputs, self.input_kinds, shared_cache)
        has_one_kind = len(self.input_kinds) == 1
        final_scores = np.zeros(len(inputs))
        regression_scores = []
        for kind in self.input_kinds:
            scores = np.array([prediction.score for prediction in predictions[kind]])
            capped_scores = np.minimum(scores, 1.0)
            weight = sum(SCORE_WEIGHTS.values()) if has_one_kind else SCORE_WEIGHTS[kind]
            final_scores += weight * capped_scores
            # unbabel-comet reports the part itself as capped only where there is no other kind of input.
            regression_scores.append(capped_scores if has_one_kind else scores)
        spans = network.convert_tags_to_error_spans(inputs, predictions, shared_cache)
        mqm_scores = np.array([compute_mqm_score(output_spans) for output_spans in spans])
        final_scores += MQM_WEIGHT * mqm_scores
        parts = np.column_stack([final_scores, *regression_scores, mqm_scores])
        return NetworkScores(parts, count_truncated_predictions(predictions), network.max_positions)


@dataclass(frozen=True)
class XCometQE(XComet):
    """XCOMET without references: weighted sum of the score against the source (0.78) and a score (0.22) for
    the errors that the network marks.
    """

    name: ClassVar[str] = "xcomet_qe"
    title: ClassVar[str] = "XCOMET-QE"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source"})
    summary: ClassVar[str] = "XCOMET without reference (needs a downloaded model)"
    input_kinds: ClassVar[tuple[str, ...]] = (SOURCE_INPUT,)


@dataclass(frozen=True)
class XCometReference(XComet):
    """XCOMET without sources: weighted sum of the score against the reference (0.78) and a score (0.22) for
    the errors that the network marks.
    """

    name: ClassVar[str] = "xcomet_ref"
    title: ClassVar[str] = "XCOMET-REF"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "references"})
    summary: ClassVar[str] = "XCOMET without source (needs a downloaded model)"
    input_kinds: ClassVar[tuple[str, ...]] = (REFERENCE_INPUT,)


def compute_mqm_score(error_spans: Sequence[ErrorSpan]) -> float:
    """Compute the MQM score of an output from its errors: (25 − penalties) / 25, at least 0. The penalty is 1
    for a minor error, 5 for a major and 10 for a critical one.
    """
    penalty = sum(PENALTIES[span.severity] for span in error_spans)
    return (MAX_PENALTY - min(MAX_PENALTY, penalty)) / MAX_PENALTY
