"""What neural metrics share: models by name, distinct inputs, several references, warnings."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.base import Batch, Metric, Scores
from metassay.metrics.neural.checkpoints import require_torch
from metassay.metrics.neural.loaded_models import MODEL_LOCK
from metassay.metrics.neural.published_models import find_published_model
from metassay.metrics.shared_work import SharedWork
from metassay.recorded_warnings import CountedWarning
from metassay.text.languages import get_base_language

# The network of a metric.
N = TypeVar("N")
MEAN, MAX = "mean", "max"


class ScoringInput(NamedTuple):
    """The texts that a network scores together: output, source and one reference; None if not needed."""

    output: str
    source: str | None
    reference: str | None


class NetworkScores(NamedTuple):
    """Scores of inputs by a network: [inputs], or [inputs, k] if one pass computes k metrics."""

    scores: NDArray[np.float64]
    truncated_count: int = 0
    """How many texts were longer than the network reads."""
    token_limit: int = 0
    """How many tokens the network reads."""


class InputsOfBatch(NamedTuple):
    """The distinct inputs of a batch, and the row of the batch that each belongs to."""

    inputs: list[ScoringInput]
    """Distinct inputs, sorted, so that scores do not depend on the order of rows."""
    input_positions: NDArray[np.int64]
    """For each row and each of its references, the position of the input."""
    rows: NDArray[np.int64]
    """For each row and each of its references, the row."""


@dataclass(frozen=True)
class NeuralMetric(Metric, Generic[N]):
    """A metric computed by a neural model on this machine; `model` is a Hugging Face name or a folder.

    `dtype` is the precision of the encoder (float32, bfloat16, float16); float32 on the CPU is the reference.
    Scores are the same whatever the order of rows and the number of threads.
    """

    model: str = ""
    dtype: str = "float32"

    task: ClassVar[str] = "mt"
    reference_aggregation: ClassVar[str] = MEAN
    """How the scores against several references become one: mean or max."""
    needs_torch: ClassVar[bool] = True

    @abstractmethod
    def load_network(self) -> N:
        """Load the network; metrics that use the same model share it."""

    @abstractmethod
    def score_inputs(
        self, network: N, inputs: Sequence[ScoringInput], shared_work: SharedWork
    ) -> NetworkScores:
        """Score distinct inputs with the network."""

    @abstractmethod
    def hash_model_files(self) -> Mapping[str, str]:
        """Compute the hashes of the model's weights and tokenizer, which are part of the signature."""

    @property
    def shared_pass_key(self) -> Hashable:
        """A key that is equal for metrics which one pass of the network computes together."""
        return self

    def select_scores_of_metric(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Select the scores of this metric from a pass that several metrics share."""
        return scores

    @property
    def cost_class(self) -> str:
        """`neural GPU` for models of three billion parameters and more (XL, XXL), else `neural CPU`."""
        name_parts = set(self.model.lower().replace("_", "-").split("-"))
        return "neural GPU" if {"xl", "xxl"} & name_parts else "neural CPU"

    @property
    def signature(self) -> str:
        """The signature, with the hashes of the model's weights and tokenizer."""
        if self.needs_torch:
            require_torch()
        *first_parts, last_part = super().signature.split("|")
        hashes = [f"{name}:{value}" for name, value in self.hash_model_files().items()]
        return "|".join([*first_parts, *hashes, last_part])

    def score(self, batch: Batch) -> Scores:
        """Score each output of a batch; NaN if a field that the metric needs is missing."""
        if self.needs_torch:
            require_torch()
        self._warn_if_language_not_supported(batch.language)
        found = find_distinct_scoring_inputs(batch, self.needs)
        if not found.inputs:
            return np.full(len(batch), np.nan)

        def run_pass() -> NetworkScores:
            with MODEL_LOCK:
                return self.score_inputs(self.load_network(), found.inputs, batch.shared_work)

        result = batch.compute_once(("neural", self.shared_pass_key, self.needs), run_pass)
        self._warn_if_truncated(result)
        scores = self.select_scores_of_metric(result.scores)[found.input_positions]
        return _aggregate_over_references(scores, found.rows, len(batch), self.reference_aggregation)

    def get_parameters_except(self, *names: str) -> tuple[Hashable, ...]:
        """Return the values of all parameters except the named ones, for use in `shared_pass_key`."""
        return tuple(getattr(self, field.name) for field in fields(self) if field.name not in names)

    def _warn_if_truncated(self, result: NetworkScores) -> None:
        """Warn if inputs were truncated."""
        if result.truncated_count:
            kind = (
                f"inputs were longer than the limit of {result.token_limit} tokens of the model of "
                f"{self.name}, so they were truncated."
            )
            warnings.warn(CountedWarning(result.truncated_count, kind), stacklevel=3)

    def _warn_if_language_not_supported(self, language: str | None) -> None:
        """Warn if the model was not trained on a language."""
        model = find_published_model(self.model)
        if not language or model is None or model.languages is None:
            return
        code = get_base_language(language)
        if code not in model.languages:
            warnings.warn(
                f"{self.name}: {self.model} was not trained on texts in the language {code!r}.",
                stacklevel=3,
            )


def find_distinct_scoring_inputs(batch: Batch, needs: frozenset[str]) -> InputsOfBatch:
    """Find the distinct inputs of a batch; rows with a missing field have none."""
    sources = batch["source"] if "source" in needs else [None] * len(batch)
    references = batch.references if "references" in needs else [(None,)] * len(batch)
    row_inputs: list[ScoringInput] = []
    rows: list[int] = []
    for row, (output, source, row_references) in enumerate(zip(batch.output, sources, references)):
        required_texts = (output, source) if "source" in needs else (output,)
        if None in required_texts:
            continue
        for reference in row_references:
            if reference is not None or "references" not in needs:
                row_inputs.append(ScoringInput(output, source, reference))
                rows.append(row)
    inputs = sorted(set(row_inputs), key=lambda scoring_input: tuple(text or "" for text in scoring_input))
    position_of_input = {scoring_input: position for position, scoring_input in enumerate(inputs)}
    positions = np.fromiter(
        (position_of_input[scoring_input] for scoring_input in row_inputs), np.int64, len(row_inputs)
    )
    return InputsOfBatch(inputs, positions, np.array(rows, dtype=np.int64))


def build_first_inputs(batch: Batch, needs: frozenset[str]) -> list[ScoringInput]:
    """Build one input for each row of a batch: the output with its source and its first reference."""
    sources = batch["source"] if "source" in needs else [None] * len(batch)
    references = batch.references if "references" in needs else [(None,)] * len(batch)
    return [
        ScoringInput(output, source, output_references[0])
        for output, source, output_references in zip(batch.output, sources, references)
    ]


def _aggregate_over_references(
    scores: NDArray[np.float64], rows: NDArray[np.int64], row_count: int, aggregation: str
) -> Scores:
    """Aggregate the scores of each row over its references; NaN for rows without a score."""
    counts = np.bincount(rows, minlength=row_count)
    if aggregation == MAX:
        highest = np.full(row_count, -np.inf)
        np.maximum.at(highest, rows, scores)
        return np.where(counts > 0, highest, np.nan)
    sums = np.bincount(rows, weights=scores, minlength=row_count)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
