"""BLEURT (Sellam et al., 2020; Pu et al., 2021): reference and output read together by an encoder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from metassay.errors import InputError, InputLocation
from metassay.metrics.neural.base import NetworkInput, NetworkScores, NeuralMetric
from metassay.metrics.neural.batch_runner import BatchRunner
from metassay.metrics.neural.checkpoints import (
    ModelConfig,
    find_model_file,
    find_model_folder,
    find_weight_files,
    hash_file_contents,
    load_sentencepiece,
    read_model_config,
    read_model_weights,
)
from metassay.metrics.neural.encoder import load_encoder
from metassay.metrics.neural.loaded_models import cache_loaded_models
from metassay.metrics.neural.packed_encoder import PackedEncoder, get_first_token_states
from metassay.metrics.neural.token_batches import TokenBatch
from metassay.metrics.neural.tokenizer import TokenizedTexts, Tokenizer
from metassay.metrics.shared_cache import SharedCache

if TYPE_CHECKING:
    from torch import Tensor

VOCABULARY_FILES = ("tokenizer.json", "spm.model", "sent_piece.model", "vocab.txt")
# Settings that have the same name in BLEURT and in transformers.
SHARED_SETTINGS = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "max_position_embeddings",
    "type_vocab_size",
    "layer_norm_eps",
)
# [CLS] and two [SEP] in `[CLS] reference [SEP] output [SEP]`.
SPECIAL_TOKENS = 3
# Both texts are truncated together afterwards, the longer one first.
NO_LIMIT = 10**6
_SPECIAL_TOKEN = re.compile(r"(\[(?:CLS|SEP|PAD|MASK|UNK)\])")


class SubwordVocabulary(Protocol):
    """Interface of classes that convert texts to token ids, without special tokens at start and end."""

    start_id: int
    """The id of [CLS]."""
    end_id: int
    """The id of [SEP]."""

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text."""
        ...


class SentencepieceVocabulary:
    """Converts texts to token ids with sentencepiece, for BLEURT-20."""

    def __init__(self, file: Path) -> None:
        self.processor = load_sentencepiece(file)
        self.start_id = self.processor.piece_to_id("[CLS]")
        self.end_id = self.processor.piece_to_id("[SEP]")
        if self.start_id == self.processor.unk_id():
            raise InputError("this vocabulary has no [CLS].", location=InputLocation(file=str(file)))

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, according to sentencepiece."""
        return [self._tokenize_text(text) for text in texts]

    def _tokenize_text(self, text: str) -> list[int]:
        """Return the token ids of a text. The name of a special token in the text, such as [SEP], becomes
        this token, as in bleurt-pytorch.
        """
        ids: list[int] = []
        for part in _SPECIAL_TOKEN.split(text):
            if _SPECIAL_TOKEN.fullmatch(part):
                ids.append(self.processor.piece_to_id(part))
            else:
                ids += self.processor.encode(part)
        return ids


class TokenizerVocabulary:
    """Converts texts to token ids with WordPiece, for models before BLEURT-20."""

    def __init__(self, file: Path) -> None:
        self.tokenizer = Tokenizer(file, NO_LIMIT)
        self.start_id = self.tokenizer.find_special_token_id("[CLS]")
        self.end_id = self.tokenizer.find_special_token_id("[SEP]")

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, according to WordPiece."""
        tokens = self.tokenizer(texts, add_special_tokens=False)
        return [tokens[i].tolist() for i in range(len(tokens))]


class BleurtNetwork:
    """A BLEURT model: an encoder that reads reference and output together, and a last layer that computes the
    score.
    """

    def __init__(self, folder: Path, model: str, dtype: str, activation: str | None) -> None:
        config = read_model_config(folder, model=model)
        self.limit = int(config["max_position_embeddings"])
        self.runner = BatchRunner()
        self.vocabulary = _load_vocabulary(find_model_file(folder, *VOCABULARY_FILES, model=model))
        state = read_model_weights(find_weight_files(folder, model=model))
        encoder_state = {
            _convert_weight_name(name): tensor for name, tensor in state.items() if name.startswith("bleurt.")
        }
        self.encoder = load_encoder(
            _convert_config(config, activation),
            encoder_state,
            dtype=dtype,
            device=self.runner.device,
            keep_pooler=True,
        )
        self.packed_encoder = PackedEncoder.create_for_supported_model(self.encoder)
        if self.packed_encoder is not None:
            self.runner.enable_packed_batches()
        self.head_weight = state["classifier.weight"].float().to(self.runner.device)
        self.head_bias = state["classifier.bias"].float().to(self.runner.device)

    def score(self, reference_output_pairs: Sequence[tuple[str, str]]) -> NetworkScores:
        """Score pairs of a reference and an output."""
        texts = sorted({text for pair in reference_output_pairs for text in pair})
        ids_of_text = dict(zip(texts, self.vocabulary.tokenize(texts)))
        max_tokens = self.limit - SPECIAL_TOKENS
        start_id = self.vocabulary.start_id
        end_id = self.vocabulary.end_id
        sequences = []
        first_segment_lengths = []
        truncated_count = 0
        for reference, output in reference_output_pairs:
            reference_ids = ids_of_text[reference]
            output_ids = ids_of_text[output]
            truncated_count += len(reference_ids) + len(output_ids) > max_tokens
            reference_ids, output_ids = truncate_token_pair(reference_ids, output_ids, max_tokens)
            sequences.append([start_id, *reference_ids, end_id, *output_ids, end_id])
            first_segment_lengths.append(len(reference_ids) + 2)
        tokens = TokenizedTexts.from_token_sequences(sequences)
        segment_ids = _make_token_type_ids(tokens, np.array(first_segment_lengths))

        def score_batch(batch: TokenBatch) -> Tensor:
            return self._score_batch(batch, segment_ids)

        rows = self.runner.compute_vector_per_text(tokens, score_batch, pad_id=0, segment_ids=segment_ids)
        return NetworkScores(rows.double().cpu().numpy(), truncated_count, self.limit)

    def _score_batch(self, batch: TokenBatch, segment_ids: TokenizedTexts) -> Tensor:
        """Run the network on a batch of references joined with outputs, and return a score for each."""
        import torch

        if batch.packing is not None and self.packed_encoder is not None:
            first_states = get_first_token_states(self.packed_encoder(batch), batch)
            pooled = self.encoder.pooler(first_states[:, None])
        else:
            padded_segment_ids = self.runner.move_to_device(segment_ids.pad_texts(batch.texts, 0))
            pooled = self.encoder(
                input_ids=batch.ids, attention_mask=batch.mask, token_type_ids=padded_segment_ids
            ).pooler_output
        return torch.nn.functional.linear(pooled.float(), self.head_weight, self.head_bias)[:, 0]


def truncate_token_pair(
    reference_ids: list[int], output_ids: list[int], max_tokens: int
) -> tuple[list[int], list[int]]:
    """Shorten two lists of token ids until they have at most `max_tokens` ids together. The longer list is
    shortened first.
    """
    excess = len(reference_ids) + len(output_ids) - max_tokens
    if excess <= 0:
        return reference_ids, output_ids
    reference_length = len(reference_ids)
    output_length = len(output_ids)
    # First the longer one is cut to the length of the other, then both in turn.
    difference = min(excess, abs(reference_length - output_length))
    if reference_length > output_length:
        reference_length -= difference
    else:
        output_length -= difference
    remaining = excess - difference
    reference_length -= remaining // 2
    output_length -= (remaining + 1) // 2
    return reference_ids[:reference_length], output_ids[:output_length]


def _make_token_type_ids(
    tokens: TokenizedTexts, reference_lengths: np.ndarray[Any, np.dtype[np.int64]]
) -> TokenizedTexts:
    """Return, for each token, 0 if it belongs to the reference and 1 if it belongs to the output."""
    positions = np.arange(len(tokens.ids)) - np.repeat(tokens.offsets[:-1], tokens.lengths)
    is_second = positions >= np.repeat(reference_lengths, tokens.lengths)
    return tokens.copy_with_token_ids(is_second.astype(np.int64))


def _load_vocabulary(file: Path) -> SubwordVocabulary:
    """Load a vocabulary file: of sentencepiece if its name ends in `.model`, otherwise of WordPiece."""
    return SentencepieceVocabulary(file) if file.suffix == ".model" else TokenizerVocabulary(file)


def _convert_config(config: ModelConfig, activation: str | None) -> ModelConfig:
    """Convert the configuration of a BLEURT model to the names that the transformers library uses."""
    is_rembert = bool(config.get("embedding_size"))
    translated: dict[str, Any] = {"model_type": "rembert" if is_rembert else "bert", "pad_token_id": 0}
    translated |= {name: config[name] for name in SHARED_SETTINGS if name in config}
    if is_rembert:
        translated["input_embedding_size"] = config["embedding_size"]
    if activation is not None:
        translated["hidden_act"] = activation
    return translated


def _convert_weight_name(bleurt_name: str) -> str:
    """Convert the name of a weight in a BLEURT model to its name in the transformers library."""
    bare_name = bleurt_name.removeprefix("bleurt.")
    return bare_name.replace("encoder.embedding_projection", "encoder.embedding_hidden_mapping_in")


@cache_loaded_models
def load_bleurt_network(model: str, dtype: str, activation: str | None) -> BleurtNetwork:
    """Load a BLEURT model for PyTorch; raise an error if it is for TensorFlow."""
    folder = find_model_folder(model)
    if (folder / "saved_model.pb").is_file():
        raise InputError(
            f"{model} is a TensorFlow model, which is not supported.",
            remedy="Use the same weights for PyTorch: hf download lucadiliello/BLEURT-20",
        )
    return BleurtNetwork(folder, model, dtype, activation)


@dataclass(frozen=True)
class Bleurt(NeuralMetric[BleurtNetwork]):
    """BLEURT: a network reads reference and output together and predicts a score. Several references are
    averaged.

    `activation` overrides the encoder's; the first TensorFlow models computed gelu by tanh (`gelu_new`).
    """

    model: str = "lucadiliello/BLEURT-20"
    activation: str | None = None

    name: ClassVar[str] = "bleurt"
    title: ClassVar[str] = "BLEURT"
    summary: ClassVar[str] = "BLEURT, 20 and earlier (needs a downloaded model)"
    oracle: ClassVar[str] = "bleurt-pytorch 0.0.1"

    def load_neural_network(self) -> BleurtNetwork:
        """Load the BLEURT model of this metric."""
        return load_bleurt_network(self.model, self.dtype, self.activation)

    def hash_model_files(self) -> dict[str, str]:
        """Return hashes of the weights and the vocabulary, which identify the model."""
        folder = find_model_folder(self.model)
        return {
            "weights": hash_file_contents(find_weight_files(folder, model=self.model)),
            "tokenizer": hash_file_contents([find_model_file(folder, *VOCABULARY_FILES, model=self.model)]),
        }

    def score_inputs(
        self, network: BleurtNetwork, inputs: Sequence[NetworkInput], shared_cache: SharedCache
    ) -> NetworkScores:
        """Score each output together with its reference."""
        del shared_cache
        return network.score(
            [(network_input.reference or "", network_input.output) for network_input in inputs]
        )
