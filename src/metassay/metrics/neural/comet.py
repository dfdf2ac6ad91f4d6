"""COMET with and without a reference (Rei et al., 2020, 2022)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError
from metassay.metrics.base import Batch
from metassay.metrics.neural.base import NetworkScores, NeuralMetric, ScoringInput, build_first_inputs
from metassay.metrics.neural.checkpoints import require_torch
from metassay.metrics.neural.comet_checkpoint import (
    RANKING,
    REFERENCELESS,
    REGRESSION,
    UNIFIED,
    CometFiles,
    find_comet_files,
)
from metassay.metrics.neural.comet_network import CometNetwork
from metassay.metrics.neural.layer_mix import AVERAGE_POOL
from metassay.metrics.neural.loaded_models import cache_loaded_models
from metassay.metrics.neural.text_vectors import TextVectors
from metassay.metrics.neural.token_batches import TokenBatch
from metassay.metrics.neural.unified_network import (
    SOURCE_INPUT,
    ErrorSpan,
    UnifiedNetwork,
    load_unified_network,
)
from metassay.metrics.shared_work import SharedWork

if TYPE_CHECKING:
    from torch import Tensor

# Inputs that the estimator scores at a time.
ESTIMATOR_BATCH = 4_096


class SeparateNetwork(CometNetwork):
    """A COMET model that encodes source, output and reference separately, each distinct text once.

    With `document_context` the mean over the tokens of a text leaves out preceding sentences
    (Vernikos et al., 2022).
    """

    def __init__(self, files: CometFiles, dtype: str = "float32", *, document_context: bool = False) -> None:
        super().__init__(files, dtype)
        self.separator_id: int | None = None
        """The token after which the scored sentence begins; None if texts have no context."""
        if document_context:
            if self.settings.pool != AVERAGE_POOL:
                raise InputError(
                    f"{files.hparams_file.parent.name} cannot use document context, because it does not "
                    f"average over tokens (pool is {self.settings.pool})."
                )
            self.separator_id = self.tokenizer.find_token_id("</s>", "[SEP]")

    def encode(self, texts: Sequence[str]) -> tuple[Tensor, NDArray[np.bool_]]:
        """Encode texts: one vector each, float32 on the device, and which texts were truncated."""
        return self.runner.tokenize_and_compute_rows(
            texts, self.tokenizer, self.encode_batch, pad_id=self.pad_id
        )

    def encode_batch(self, batch: TokenBatch) -> Tensor:
        """Compute the pooled layer mixture of each text of a batch."""
        collector = self.layer_mix.create_layer_collector(batch, self.pad_id, separator_id=self.separator_id)
        self.run_encoder(batch, collector)
        return collector.get_pooled_mixture()

    def score(self, inputs: Sequence[ScoringInput], shared_work: SharedWork) -> NetworkScores:
        """Score inputs from the vectors of their texts."""
        import torch

        columns = [list(map(str, column)) for column in zip(*inputs) if column[0] is not None]
        text_vectors = TextVectors(shared_work, self, self.encode, self.runner.move_to_device)
        vectors, rows, truncated_count = text_vectors.get_or_encode_vectors(columns)
        starts = range(0, len(inputs), ESTIMATOR_BATCH)
        scores = [
            self._estimate_scores(vectors, rows[:, start : start + ESTIMATOR_BATCH]) for start in starts
        ]
        # Read back once, at the end: the device computes while the program goes on.
        array = torch.cat(scores).double().cpu().numpy()
        return NetworkScores(array, truncated_count, self.tokenizer.limit)

    def _estimate_scores(self, vectors: Tensor, rows: NDArray[np.int64]) -> Tensor:
        """Run the estimator on the vectors of the texts of each row."""
        import torch

        with torch.inference_mode():
            texts = [vectors[self.runner.move_to_device(np.ascontiguousarray(column))] for column in rows]
            if self.estimator is None:
                return score_by_vector_distance(*texts).reshape(-1)
            scores: Tensor = self.estimator(build_estimator_input(*texts)).reshape(-1)
            return scores


def build_estimator_input(output: Tensor, source: Tensor, reference: Tensor | None = None) -> Tensor:
    """Build the input of COMET's estimator from the vectors of texts: vectors, products and differences.

    Where there is a reference, the vector of the source itself is left out.
    """
    import torch

    source_features = [output * source, (output - source).abs()]
    if reference is None:
        return torch.cat([output, source, *source_features], dim=1)
    reference_features = [output * reference, (output - reference).abs()]
    return torch.cat([output, reference, *reference_features, *source_features], dim=1)


def score_by_vector_distance(output: Tensor, source: Tensor, reference: Tensor) -> Tensor:
    """Score as ranking models do: 1 / (1 + harmonic mean of the distances to source and reference)."""
    from torch.nn.functional import pairwise_distance

    to_source = pairwise_distance(output, source)
    to_reference = pairwise_distance(output, reference)
    return 1 / (1 + 2 * to_source * to_reference / (to_source + to_reference))


@cache_loaded_models
def load_comet_network(
    model: str, encoder: str | None, dtype: str, document_context: bool
) -> SeparateNetwork | UnifiedNetwork:
    """Load a COMET model; a unified model such as CometKiwi joins the texts instead of encoding each."""
    files = find_comet_files(model, encoder)
    if files.model_class != UNIFIED:
        return SeparateNetwork(files, dtype, document_context=document_context)
    if document_context:
        raise InputError(
            f"{model} cannot use document context, because it encodes output and source together.",
            remedy="Use a model of the class regression_metric or referenceless_regression_metric.",
        )
    return load_unified_network(model, encoder, dtype, None)


@dataclass(frozen=True)
class CometMetric(NeuralMetric[SeparateNetwork | UnifiedNetwork]):
    """Base class of COMET with and without references."""

    encoder: str | None = None
    """The folder or name of the encoder whose tokenizer is used; by default the one the checkpoint names."""
    document_context: bool = False
    """Whether texts begin with preceding sentences, separated by `</s>`, that are read but not scored."""

    oracle: ClassVar[str] = "unbabel-comet 2.2.7"
    model_classes: ClassVar[frozenset[str]] = frozenset()
    """COMET's model classes that the metric can score with."""

    def load_network(self) -> SeparateNetwork | UnifiedNetwork:
        """Load the COMET model of this metric; raise an error if the model is for another metric."""
        network = load_comet_network(self.model, self.encoder, self.dtype, self.document_context)
        if network.model_class not in self.model_classes:
            raise InputError(
                f"{self.name} cannot use {self.model}, which is a {network.model_class}.",
                remedy="Use comet, comet_qe, unite, unite_src, unite_ref, xcomet, xcomet_qe or xcomet_ref.",
            )
        return network

    def hash_model_files(self) -> Mapping[str, str]:
        """Compute the hashes of the checkpoint and of the encoder's tokenizer."""
        return find_comet_files(self.model, self.encoder).hash_model_files()

    def score_inputs(
        self,
        network: SeparateNetwork | UnifiedNetwork,
        inputs: Sequence[ScoringInput],
        shared_work: SharedWork,
    ) -> NetworkScores:
        """Score inputs with the COMET model."""
        if isinstance(network, UnifiedNetwork):
            return network.score_mean(inputs, (SOURCE_INPUT,), shared_work)
        return network.score(inputs, shared_work)


@dataclass(frozen=True)
class Comet(CometMetric):
    """COMET: a regression on the vectors of output, source and reference; the mean over references."""

    model: str = "Unbabel/wmt22-comet-da"

    name: ClassVar[str] = "comet"
    title: ClassVar[str] = "COMET"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source", "references"})
    summary: ClassVar[str] = "COMET with source and reference (needs a downloaded model)"
    model_classes: ClassVar[frozenset[str]] = frozenset({REGRESSION, RANKING})


@dataclass(frozen=True)
class CometQE(CometMetric):
    """COMET without references (quality estimation), such as CometKiwi."""

    model: str = "Unbabel/wmt22-cometkiwi-da"

    name: ClassVar[str] = "comet_qe"
    title: ClassVar[str] = "COMET-QE"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source"})
    summary: ClassVar[str] = "COMET without reference, CometKiwi (needs a downloaded model)"
    model_classes: ClassVar[frozenset[str]] = frozenset({REFERENCELESS, UNIFIED})

    def find_error_spans(self, batch: Batch) -> list[list[ErrorSpan]]:
        """Find the errors that the model marks in each output; an error if it predicts scores only."""
        require_torch()
        network = self.load_network()
        if not isinstance(network, UnifiedNetwork):
            raise InputError(f"{self.model} predicts scores only: it was not trained to mark errors.")
        return network.find_error_spans(build_first_inputs(batch, self.needs), (SOURCE_INPUT,), SharedWork())
