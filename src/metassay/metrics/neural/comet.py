"""COMET with and without a reference (Rei et al., 2020, 2022)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError
from metassay.metrics.base import Batch
from metassay.metrics.neural.base import (
    NetworkInput,
    NetworkScores,
    NeuralMetric,
    build_inputs_with_first_reference,
)
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
    load_unified_comet_model,
)
from metassay.metrics.shared_cache import SharedCache

if TYPE_CHECKING:
    from torch import Tensor

# Inputs that the estimator scores at a time.
ESTIMATOR_BATCH = 4_096


class SeparateNetwork(CometNetwork):
    """A COMET model that encodes source, output and reference separately. Each text is encoded only once.

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
            self.separator_id = self.tokenizer.find_special_token_id("</s>", "[SEP]")

    def compute_text_vectors(self, texts: Sequence[str]) -> tuple[Tensor, NDArray[np.bool_]]:
        """Compute a vector for each text. Also returns which texts were truncated."""
        return self.runner.tokenize_and_compute_vectors(
            texts, self.tokenizer, self.compute_batch_vectors, pad_id=self.pad_id
        )

    def compute_batch_vectors(self, batch: TokenBatch) -> Tensor:
        """Compute a vector for each text of a batch."""
        collector = self.layer_mix.create_collector(batch, self.pad_id, separator_id=self.separator_id)
        self.run_encoder(batch, collector)
        return collector.get_text_vectors()

    def score(self, inputs: Sequence[NetworkInput], shared_cache: SharedCache) -> NetworkScores:
        """Score inputs from the vectors of their texts."""
        import torch

        columns = [list(map(str, column)) for column in zip(*inputs) if column[0] is not None]
        text_vectors = TextVectors(shared_cache, self, self.compute_text_vectors, self.runner.move_to_device)
        vectors, rows, truncated_count = text_vectors.get_vectors(columns)
        starts = range(0, len(inputs), ESTIMATOR_BATCH)
        scores = [self._score_vectors(vectors, rows[:, start : start + ESTIMATOR_BATCH]) for start in starts]
        # Read back once, at the end: the device computes while the program goes on.
        array = torch.cat(scores).double().cpu().numpy()
        return NetworkScores(array, truncated_count, self.tokenizer.limit)

    def _score_vectors(self, text_vectors: Tensor, positions_by_column: NDArray[np.int64]) -> Tensor:
        """Compute a score for each output from the vectors of output, source and reference.

        `positions_by_column` has the positions of these vectors: [texts of an input, inputs].
        """
        import torch

        with torch.inference_mode():
            texts = [
                text_vectors[self.runner.move_to_device(np.ascontiguousarray(column))]
                for column in positions_by_column
            ]
            if self.estimator is None:
                return score_by_vector_distances(*texts).reshape(-1)
            scores: Tensor = self.estimator(build_estimator_input(*texts)).reshape(-1)
            return scores


def build_estimator_input(
    output_vectors: Tensor, source_vectors: Tensor, reference_vectors: Tensor | None = None
) -> Tensor:
    """Join the vectors of output, source and reference, with their products and differences. The last layers
    of COMET compute the score from this.

    Where there is a reference, the vector of the source itself is left out.
    """
    import torch

    source_features = [output_vectors * source_vectors, (output_vectors - source_vectors).abs()]
    if reference_vectors is None:
        return torch.cat([output_vectors, source_vectors, *source_features], dim=1)
    reference_features = [output_vectors * reference_vectors, (output_vectors - reference_vectors).abs()]
    return torch.cat([output_vectors, reference_vectors, *reference_features, *source_features], dim=1)


def score_by_vector_distances(
    output_vectors: Tensor, source_vectors: Tensor, reference_vectors: Tensor
) -> Tensor:
    """Return 1 / (1 + d), where d is the harmonic mean of the distances from the output to the source and to
    the reference. COMET-rank scores in this way.
    """
    from torch.nn.functional import pairwise_distance

    to_source = pairwise_distance(output_vectors, source_vectors)
    to_reference = pairwise_distance(output_vectors, reference_vectors)
    return 1 / (1 + 2 * to_source * to_reference / (to_source + to_reference))


@cache_loaded_models
def load_comet_network(
    model: str, encoder: str | None, dtype: str, document_context: bool
) -> SeparateNetwork | UnifiedNetwork:
    """Load a COMET model, which encodes texts either separately or, as CometKiwi, joined to one text."""
    files = find_comet_files(model, encoder)
    if files.model_class != UNIFIED:
        return SeparateNetwork(files, dtype, document_context=document_context)
    if document_context:
        raise InputError(
            f"{model} cannot use document context, because it encodes output and source together.",
            remedy="Use a model of the class regression_metric or referenceless_regression_metric.",
        )
    return load_unified_comet_model(model, encoder, dtype, None)


@dataclass(frozen=True)
class CometMetric(NeuralMetric[SeparateNetwork | UnifiedNetwork]):
    """Base class of both versions of COMET: with and without references."""

    encoder: str | None = None
    """The folder or name of the encoder whose tokenizer is used; by default the one the checkpoint names."""
    document_context: bool = False
    """Whether texts begin with preceding sentences, separated by `</s>`, that are read but not scored."""

    oracle: ClassVar[str] = "unbabel-comet 2.2.7"
    model_classes: ClassVar[frozenset[str]] = frozenset()
    """COMET's model classes that the metric can score with."""

    def load_neural_network(self) -> SeparateNetwork | UnifiedNetwork:
        """Load the COMET model; raise an error if this metric cannot use it."""
        network = load_comet_network(self.model, self.encoder, self.dtype, self.document_context)
        if network.model_class not in self.model_classes:
            raise InputError(
                f"{self.name} cannot use {self.model}, which is a {network.model_class}.",
                remedy="Use comet, comet_qe, unite, unite_src, unite_ref, xcomet, xcomet_qe or xcomet_ref.",
            )
        return network

    def hash_model_files(self) -> dict[str, str]:
        """Return hashes of the model file and of the tokenizer, which identify the model."""
        return find_comet_files(self.model, self.encoder).hash_model_files()

    def score_inputs(
        self,
        network: SeparateNetwork | UnifiedNetwork,
        inputs: Sequence[NetworkInput],
        shared_cache: SharedCache,
    ) -> NetworkScores:
        """Score each input with the COMET model."""
        if isinstance(network, UnifiedNetwork):
            return network.average_scores_over_input_kinds(inputs, (SOURCE_INPUT,), shared_cache)
        return network.score(inputs, shared_cache)


@dataclass(frozen=True)
class Comet(CometMetric):
    """COMET: a network predicts a score from the vectors of output, source and reference. Several references
    are averaged.
    """

    model: str = "Unbabel/wmt22-comet-da"

    name: ClassVar[str] = "comet"
    title: ClassVar[str] = "COMET"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source", "references"})
    summary: ClassVar[str] = "COMET with source and reference (needs a downloaded model)"
    model_classes: ClassVar[frozenset[str]] = frozenset({REGRESSION, RANKING})


@dataclass(frozen=True)
class CometQE(CometMetric):
    """COMET without references (quality estimation), for models such as CometKiwi."""

    model: str = "Unbabel/wmt22-cometkiwi-da"

    name: ClassVar[str] = "comet_qe"
    title: ClassVar[str] = "COMET-QE"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source"})
    summary: ClassVar[str] = "COMET without reference, CometKiwi (needs a downloaded model)"
    model_classes: ClassVar[frozenset[str]] = frozenset({REFERENCELESS, UNIFIED})

    def find_error_spans(self, batch: Batch) -> list[list[ErrorSpan]]:
        """Return the errors that the model marks in each output; raise an error if the model cannot mark
        errors.
        """
        require_torch()
        network = self.load_neural_network()
        if not isinstance(network, UnifiedNetwork):
            raise InputError(f"{self.model} predicts scores only: it was not trained to mark errors.")
        return network.find_error_spans(
            build_inputs_with_first_reference(batch, self.needs), (SOURCE_INPUT,), SharedCache()
        )
