"""What neural metrics share: models by name, distinct inputs, several references, warnings."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.base import Batch, Metric, Scores
from metassay.metrics.neural.checkpoints import (
    find_model_folder,
    find_tokenizer_file,
    find_weight_files,
    hash_file_contents,
    require_torch,
)
from metassay.metrics.neural.loaded_models import MODEL_LOCK
from metassay.metrics.neural.published_models import find_published_model
from metassay.metrics.shared_cache import SharedCache
from metassay.recorded_warnings import CountedWarning
from metassay.text.languages import get_base_language

# The network of a metric.
N = TypeVar("N")
MEAN, MAX = "mean", "max"


class NetworkInput(NamedTuple):
    """What a network scores: an output, with a source and one reference if the metric needs them."""

    output: str
    source: str | None
    reference: str | None


class NetworkScores(NamedTuple):
    """Scores that a network computed for some inputs. There are several columns if several metrics share the
    scores.
    """

    scores: NDArray[np.float64]
    truncated_count: int = 0
    """How many texts were longer than the network reads."""
    token_limit: int = 0
    """How many tokens the network reads."""


class NetworkInputs(NamedTuple):
    """The different inputs of a batch, each of which is scored once, and the rows that get each score."""

    inputs: list[NetworkInput]
    """Distinct inputs, sorted, so that scores do not depend on the order of rows."""
    input_positions: NDArray[np.int64]
    """For each row and each of its references, the position of the input."""
    rows: NDArray[np.int64]
    """For each row and each of its references, the row."""


@dataclass(frozen=True)
class NeuralMetric(Metric, Generic[N]):
    """Base class of metrics that run a neural network on this machine. `model` is a name on Hugging Face or a
    folder.

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
    def load_neural_network(self) -> N:
        """Load the network of this metric. Metrics with the same model share the network in memory."""

    @abstractmethod
    def score_inputs(
        self, network: N, inputs: Sequence[NetworkInput], shared_cache: SharedCache
    ) -> NetworkScores:
        """Compute the score of each input with the neural network. All inputs are different."""

    def hash_model_files(self) -> dict[str, str]:
        """Return hashes of the model's weights and tokenizer, which are part of the signature."""
        folder = find_model_folder(self.model)
        return {
            "weights": hash_file_contents(find_weight_files(folder, model=self.model)),
            "tokenizer": hash_file_contents([find_tokenizer_file(folder, model=self.model)]),
        }

    @property
    def neural_network_cache_key(self) -> Hashable:
        """A key for the cache of network results. Metrics with equal keys share one run of the network."""
        return self

    def extract_metric_scores(self, network_scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Select the scores of this metric from those that the network computed for several metrics at
        once.
        """
        return network_scores

    @property
    def cost_class(self) -> str:
        """`neural GPU` if the model is very large (its name contains XL or XXL), else `neural CPU`."""
        name_parts = set(self.model.lower().replace("_", "-").split("-"))
        return "neural GPU" if {"xl", "xxl"} & name_parts else "neural CPU"

    @property
    def signature(self) -> str:
        """A text with everything that affects the scores, including hashes of the model's weights and
        tokenizer.
        """
        if self.needs_torch:
            require_torch()
        *first_parts, last_part = super().signature.split("|")
        hashes = [f"{name}:{value}" for name, value in self.hash_model_files().items()]
        return "|".join([*first_parts, *hashes, last_part])

    def score(self, batch: Batch) -> Scores:
        """Return the score of each output of a batch. The score is NaN if a needed field, such as the source,
        is missing.
        """
        if self.needs_torch:
            require_torch()
        self._warn_if_language_not_supported(batch.language)
        distinct = collect_network_inputs(batch, self.needs)
        if not distinct.inputs:
            return np.full(len(batch), np.nan)

        def run_network_once() -> NetworkScores:
            with MODEL_LOCK:
                return self.score_inputs(self.load_neural_network(), distinct.inputs, batch.shared_cache)

        result = batch.compute_once(("neural", self.neural_network_cache_key, self.needs), run_network_once)
        self._warn_if_truncated(result)
        scores = self.extract_metric_scores(result.scores)[distinct.input_positions]
        return _aggregate_over_references(scores, distinct.rows, len(batch), self.reference_aggregation)

    def get_parameters_without(self, excluded_names: Collection[str]) -> tuple[Hashable, ...]:
        """Return the values of all parameters of the metric, except those with the given names."""
        return tuple(getattr(self, field.name) for field in fields(self) if field.name not in excluded_names)

    def _warn_if_truncated(self, network_scores: NetworkScores) -> None:
        """Warn if inputs were longer than the network can read, and say how many."""
        if network_scores.truncated_count:
            kind = (
                f"inputs were longer than the limit of {network_scores.token_limit} tokens of the model of "
                f"{self.name}, so they were truncated."
            )
            warnings.warn(CountedWarning(network_scores.truncated_count, kind), stacklevel=3)

    def _warn_if_language_not_supported(self, language: str | None) -> None:
        """Warn if the model was not trained on texts in this language."""
        model = find_published_model(self.model)
        if not language or model is None or model.languages is None:
            return
        code = get_base_language(language)
        if code not in model.languages:
            warnings.warn(
                f"{self.name}: {self.model} was not trained on texts in the language {code!r}.",
                stacklevel=3,
            )


def collect_network_inputs(batch: Batch, needed_fields: frozenset[str]) -> NetworkInputs:
    """Return the different combinations of output, source and reference in a batch. Rows without a needed
    field are left out.
    """
    sources = batch["source"] if "source" in needed_fields else [None] * len(batch)
    references = batch.references if "references" in needed_fields else [(None,)] * len(batch)
    row_inputs: list[NetworkInput] = []
    rows: list[int] = []
    for row, (output, source, row_references) in enumerate(zip(batch.output, sources, references)):
        required_texts = (output, source) if "source" in needed_fields else (output,)
        if None in required_texts:
            continue
        for reference in row_references:
            if reference is not None or "references" not in needed_fields:
                row_inputs.append(NetworkInput(output, source, reference))
                rows.append(row)
    inputs = sorted(set(row_inputs), key=lambda network_input: tuple(text or "" for text in network_input))
    position_of_input = {network_input: position for position, network_input in enumerate(inputs)}
    positions = np.fromiter(
        (position_of_input[network_input] for network_input in row_inputs), np.int64, len(row_inputs)
    )
    return NetworkInputs(inputs, positions, np.array(rows, dtype=np.int64))


def build_inputs_with_first_reference(batch: Batch, needed_fields: frozenset[str]) -> list[NetworkInput]:
    """Return, for each row of a batch, the output with its source and its first reference."""
    sources = batch["source"] if "source" in needed_fields else [None] * len(batch)
    references = batch.references if "references" in needed_fields else [(None,)] * len(batch)
    return [
        NetworkInput(output, source, output_references[0])
        for output, source, output_references in zip(batch.output, sources, references)
    ]


def _aggregate_over_references(
    scores: NDArray[np.float64], row_of_score: NDArray[np.int64], row_count: int, aggregation: str
) -> Scores:
    """Combine the scores of an output with several references by their mean or maximum. Rows without a score
    get NaN.
    """
    counts = np.bincount(row_of_score, minlength=row_count)
    if aggregation == MAX:
        highest = np.full(row_count, -np.inf)
        np.maximum.at(highest, row_of_score, scores)
        return np.where(counts > 0, highest, np.nan)
    sums = np.bincount(row_of_score, weights=scores, minlength=row_count)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
