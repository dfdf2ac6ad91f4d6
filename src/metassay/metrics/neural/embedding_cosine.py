"""The cosine of two sentence vectors, from any sentence encoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metassay.metrics.neural.base import MAX, NetworkInput, NetworkScores, NeuralMetric
from metassay.metrics.neural.checkpoints import (
    find_model_folder,
    hash_file_contents,
    require_torch,
)
from metassay.metrics.neural.sentence_encoders import (
    NUMPY_WEIGHTS_FILE,
    SENTENCEPIECE_FILE,
    SentenceEncoder,
    load_sentence_encoder,
)
from metassay.metrics.neural.text_vectors import TextVectors
from metassay.metrics.shared_cache import SharedCache


@dataclass(frozen=True)
class EmbeddingCosine(NeuralMetric[SentenceEncoder]):
    """Cosine similarity of the vectors of output and reference. Of several references, the most similar one
    counts.

    An empty text has a vector, too: the one that the encoder computes for it.
    """

    model: str = "use-multilingual-v3"

    name: ClassVar[str] = "embedding_cosine"
    title: ClassVar[str] = "embedding cosine"
    summary: ClassVar[str] = "cosine of sentence vectors, output and reference (needs a model)"
    reference_aggregation: ClassVar[str] = MAX
    needs_torch: ClassVar[bool] = False

    def load_neural_network(self) -> SentenceEncoder:
        """Load the model that turns sentences into vectors."""
        return load_sentence_encoder(self.model, self.dtype)

    def hash_model_files(self) -> dict[str, str]:
        """Return hashes of the weights and the tokenizer, which identify the model."""
        folder = find_model_folder(self.model)
        if (folder / NUMPY_WEIGHTS_FILE).is_file():
            return {
                "weights": hash_file_contents([folder / NUMPY_WEIGHTS_FILE]),
                "tokenizer": hash_file_contents([folder / SENTENCEPIECE_FILE]),
            }
        require_torch()
        return super().hash_model_files()

    def score_inputs(
        self, network: SentenceEncoder, inputs: Sequence[NetworkInput], shared_cache: SharedCache
    ) -> NetworkScores:
        """Compute the cosine similarity of the two texts of each input."""
        outputs = [network_input.output for network_input in inputs]
        compared_texts = [network_input.reference or "" for network_input in inputs]
        if "references" not in self.needs:
            compared_texts = [network_input.source or "" for network_input in inputs]
        text_vectors = TextVectors(shared_cache, network, network.compute_text_vectors)
        vectors, rows, truncated_count = text_vectors.get_vectors([outputs, compared_texts])
        output_rows, compared_rows = rows
        vectors = vectors.astype(np.float64)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit_vectors = vectors / np.where(norms > 0, norms, 1.0)
        cosines = np.einsum("ij,ij->i", unit_vectors[output_rows], unit_vectors[compared_rows])
        return NetworkScores(cosines, truncated_count, network.limit)


@dataclass(frozen=True)
class EmbeddingCosineSource(EmbeddingCosine):
    """Cosine similarity of the vectors of output and source, for encoders that know both languages."""

    name: ClassVar[str] = "embedding_cosine_src"
    title: ClassVar[str] = "embedding cosine (source)"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source"})
    summary: ClassVar[str] = "cosine of sentence vectors, output and source (needs a model)"
