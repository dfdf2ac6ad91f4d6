"""BERTScore (Zhang et al., 2020): each token's best match on the other side, by contextual embeddings."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, InputLocation, UnknownName
from metassay.metrics.neural.base import MAX, NetworkInput, NetworkScores, NeuralMetric
from metassay.metrics.neural.batch_runner import BatchRunner, get_device_kind
from metassay.metrics.neural.bertscore_baselines import BEST_LAYERS, read_bertscore_baseline
from metassay.metrics.neural.checkpoints import (
    ModelConfig,
    find_model_folder,
    find_tokenizer_file,
    find_weight_files,
    read_json_object,
    read_model_config,
    read_model_weights,
)
from metassay.metrics.neural.encoder import load_encoder
from metassay.metrics.neural.loaded_models import cache_loaded_models
from metassay.metrics.neural.packed_encoder import PackedEncoder
from metassay.metrics.neural.sentencepiece_tokenizer import SentencepieceTokenizer
from metassay.metrics.neural.seq2seq import BART, copy_shared_embedding
from metassay.metrics.neural.text_vectors import TextGroups
from metassay.metrics.neural.token_batches import TokenBatch
from metassay.metrics.neural.tokenizer import TokenizedTexts, Tokenizer
from metassay.metrics.shared_cache import SharedCache

if TYPE_CHECKING:
    from torch import Tensor

# The three scores of an input, in the order of the columns that are computed.
PARTS = ("precision", "recall", "f1")
SUPPORTED_ENCODERS = {"bart", "bert", "deberta", "deberta-v2", "roberta", "xlm-roberta"}
# Architectures whose attention we can compute for texts of unequal length without padding.
PACKED_ENCODERS = {"bert", "roberta", "xlm-roberta"}
# Architectures whose byte-level tokenizer gets a space before the text.
SPACE_PREFIXED_ENCODERS = {"roberta"}
# Tokens of a text where the tokenizer does not say.
DEFAULT_LIMIT = 512
# The tokens that open and close a text; a text that has no others is empty.
SPECIAL_TOKENS = 2
# Memory for token vectors at a time, by kind of device.
MAX_VECTOR_BYTES = {"cpu": 2**30, "cuda": 2**33}
# Similarities of tokens computed at a time, by kind of device.
MAX_SIMILARITIES = {"cpu": 2**18, "cuda": 2**22}
# Padding must never be the best match, and a cosine is at least −1.
_BELOW_ANY_COSINE = -2.0


class TokenWeights(NamedTuple):
    """Weights of tokens in BERTScore. Rare tokens weigh more (inverse document frequency)."""

    weight_of_token: Mapping[int, float]
    weight_of_unseen: float


class StoredVectors(NamedTuple):
    """The tokens of some texts and, if computed already, a vector for each token."""

    tokens: TokenizedTexts
    vectors: NDArray[np.float32] | None


class EncodedTokens(NamedTuple):
    """Some texts, their tokens, and a vector of length 1 for each token."""

    texts: list[str]
    tokens: TokenizedTexts
    unit_vectors: Tensor


class TokenEncoder:
    """Turns each token of a text into a vector, by the layers of an encoder up to a chosen layer."""

    def __init__(self, folder: Path, model: str, layer: int, dtype: str) -> None:
        self.config = read_model_config(folder, model=model)
        architecture = self.config.get("model_type")
        if architecture not in SUPPORTED_ENCODERS:
            raise InputError(
                f"BERTScore does not support models of type {architecture}. Supported types: "
                f"{sorted(SUPPORTED_ENCODERS)}."
            )
        layer_count = self.config["encoder_layers" if architecture == BART else "num_hidden_layers"]
        if not 0 <= layer <= layer_count:
            raise InputError(f"{model} has {layer_count} layers; there is no layer {layer}.")
        self.runner = BatchRunner()
        self.hidden_size = int(self.config["d_model" if architecture == BART else "hidden_size"])
        self.tokenizer = _load_tokenizer(folder, model, self.config)
        self.pad_id = self.tokenizer.find_special_token_id("<pad>", "[PAD]")
        start_id = self.tokenizer.find_special_token_id("<s>", "[CLS]")
        end_id = self.tokenizer.find_special_token_id("</s>", "[SEP]")
        self.unweighted_ids = [start_id, end_id]
        self.packed_encoder: PackedEncoder | None = None
        state = read_model_weights(find_weight_files(folder, model=model))
        if architecture == BART:
            state = copy_shared_embedding(state)
        self.encoder = load_encoder(self.config, state, dtype=dtype, device=self.runner.device)
        if architecture == BART:
            # BERTScore compares the states of the encoder; the decoder is not needed.
            self.encoder = self.encoder.encoder
            self.encoder.layers = self.encoder.layers[:layer]
            return
        self.encoder.encoder.layer = self.encoder.encoder.layer[:layer]
        if architecture in PACKED_ENCODERS:
            self.packed_encoder = PackedEncoder.create_for_supported_model(self.encoder)
        if self.packed_encoder is not None:
            self.runner.enable_packed_batches()

    def tokenize(self, texts: Sequence[str]) -> TokenizedTexts:
        """Tokenize texts after removing the white space at both ends of each text."""
        prefix = " " if self.config["model_type"] in SPACE_PREFIXED_ENCODERS else ""
        stripped = [text.strip() for text in texts]
        return self.tokenizer([prefix + text if text else text for text in stripped])

    def compute_token_vectors(
        self, texts: list[str], shared_text_groups: Sequence[TextGroups]
    ) -> EncodedTokens:
        """Compute a vector for each token of the texts. The vectors of a text that is in a group of shared
        texts are computed only once.

        The result has all texts of these groups, also those that were not asked for.
        """
        parts: list[tuple[list[str], StoredVectors]] = []
        for groups in shared_text_groups:
            text_groups, texts = groups.find_shared_text_groups(texts)
            encode_group = partial(self._encode_shared_texts, groups)
            parts += [groups.compute_group_once(self, group, encode_group) for group in text_groups]
        parts.append((texts, StoredVectors(self.tokenize(texts), None)))
        all_texts: list[str] = []
        for part_texts, _ in parts:
            all_texts += part_texts
        tokens = TokenizedTexts.concatenate([stored.tokens for _, stored in parts])
        unit_vectors = self._allocate_token_vectors(tokens)
        start = 0
        for _, stored in parts:
            part_vectors = unit_vectors[start : start + len(stored.tokens.ids)]
            if stored.vectors is None:
                self._write_token_vectors(stored.tokens, part_vectors)
            else:
                part_vectors.copy_(self.runner.move_to_device(stored.vectors))
            start += len(part_vectors)
        return EncodedTokens(all_texts, tokens, unit_vectors)

    def _encode_shared_texts(self, groups: TextGroups, texts: list[str]) -> StoredVectors:
        """Compute the token vectors of texts that several batches contain, and keep them until the run
        ends.
        """
        tokens = self.tokenize(texts)
        vectors = self._allocate_token_vectors(tokens)
        self._write_token_vectors(tokens, vectors)
        return StoredVectors(tokens, groups.keep_array_until_run_ends(vectors))

    def _allocate_token_vectors(self, tokens: TokenizedTexts) -> Tensor:
        """Allocate memory for a vector of each token."""
        import torch

        return torch.empty((len(tokens.ids), self.hidden_size), device=self.runner.device)

    def _write_token_vectors(self, tokens: TokenizedTexts, target_vectors: Tensor) -> None:
        """Compute a vector of length 1 for each token, and write it into `target_vectors`."""

        def compute_token_vectors_of_batch(batch: TokenBatch) -> Tensor:
            if batch.packing is not None and self.packed_encoder is not None:
                hidden_states = self.packed_encoder(batch).float()
            else:
                output = self.encoder(input_ids=batch.ids, attention_mask=batch.mask)
                hidden_states = output.last_hidden_state.float()
            return hidden_states / hidden_states.norm(dim=-1, keepdim=True)

        for texts, vectors in self.runner.run_network_in_batches(
            tokens, compute_token_vectors_of_batch, pad_id=self.pad_id
        ):
            positions, is_token = tokens.build_token_position_matrix(texts)
            target_rows = self.runner.move_to_device(positions[is_token])
            is_packed = vectors.ndim == 2
            target_vectors[target_rows] = (
                vectors if is_packed else vectors[self.runner.move_to_device(is_token)]
            )

    def compute_token_weights(self, tokens: TokenizedTexts, idf: TokenWeights | None) -> NDArray[np.float32]:
        """Return the weight of each token: its inverse document frequency if `idf` is given, otherwise 1, but
        0 for special tokens.
        """
        if idf is None:
            return (~np.isin(tokens.ids, self.unweighted_ids)).astype(np.float32)
        weight_of_token, weight_of_unseen = idf
        weights = [weight_of_token.get(token, weight_of_unseen) for token in tokens.ids.tolist()]
        return np.array(weights, dtype=np.float32)


def _load_tokenizer(folder: Path, model: str, config: ModelConfig) -> Tokenizer | SentencepieceTokenizer:
    """Load the tokenizer of a model from `tokenizer.json` or an older kind of vocabulary file."""
    file = find_tokenizer_file(folder, model=model)
    limit = _find_token_limit(folder, config)
    if file.suffix == ".model":
        return SentencepieceTokenizer(file, limit, config["model_type"])
    return Tokenizer(file, limit)


def _find_token_limit(model_folder: Path, config: ModelConfig) -> int:
    """Return how many tokens of a text a model reads, from the settings of its tokenizer or encoder."""
    tokenizer_config = model_folder / "tokenizer_config.json"
    limit = read_json_object(tokenizer_config).get("model_max_length", 0) if tokenizer_config.is_file() else 0
    # RoBERTa reserves two positions.
    reserved_positions = 2 if config["model_type"] in {"roberta", "xlm-roberta"} else 0
    max_positions = int(config["max_position_embeddings"]) - reserved_positions
    return int(limit) if 0 < limit <= max_positions else min(DEFAULT_LIMIT, max_positions)


def score_text_pairs(
    encoder: TokenEncoder,
    text_pairs: Sequence[tuple[str, str]],
    token_weights: TokenWeights | None,
    shared_cache: SharedCache,
) -> NetworkScores:
    """Compute BERTScore precision, recall and F1 for each pair of output and reference, in three columns.

    Pairs are sorted by reference and scored in chunks whose vectors fit into memory. Texts that other batches
    of the run or other chunks have, too, are encoded once and stored.
    """
    order = sorted(range(len(text_pairs)), key=lambda i: (text_pairs[i][1], text_pairs[i][0]))
    chunks = [order[span] for span in _split_pairs_into_chunks(encoder, [text_pairs[i] for i in order])]
    chunk_texts = [sorted({text for i in chunk for text in text_pairs[i]}) for chunk in chunks]
    chunks_of_text = Counter(text for texts in chunk_texts for text in texts)
    repeated_texts = {text: (0, 0) for text, count in chunks_of_text.items() if count > 1}
    shared_text_groups = (TextGroups(shared_cache), TextGroups(SharedCache(lambda: repeated_texts)))
    scores = np.empty((len(text_pairs), len(PARTS)))
    truncated_texts: set[str] = set()
    for chunk, texts in zip(chunks, chunk_texts):
        encoded = encoder.compute_token_vectors(texts, shared_text_groups)
        position_of_text = {text: position for position, text in enumerate(encoded.texts)}
        truncated = encoded.tokens.truncated
        truncated_texts.update(text for text in texts if truncated[position_of_text[text]])
        pair_positions = np.array([[position_of_text[text] for text in text_pairs[i]] for i in chunk])
        weights = encoder.compute_token_weights(encoded.tokens, token_weights)
        scores[chunk] = _score_encoded_pairs(encoder.runner, encoded, pair_positions, weights)
    return NetworkScores(scores, len(truncated_texts), encoder.tokenizer.limit)


def _split_pairs_into_chunks(
    encoder: TokenEncoder, sorted_pairs: Sequence[tuple[str, str]]
) -> Iterator[slice]:
    """Split pairs of texts into chunks whose token vectors fit into memory. Pairs with the same reference
    stay together.

    The number of tokens is estimated generously, by the number of characters.
    """
    vector_bytes = MAX_VECTOR_BYTES.get(get_device_kind(encoder.runner.device), MAX_VECTOR_BYTES["cpu"])
    max_tokens = vector_bytes // (4 * encoder.hidden_size)
    start = 0
    token_estimate = 0
    chunk_texts: set[str] = set()
    for i, pair in enumerate(sorted_pairs):
        new_texts = [text for text in dict.fromkeys(pair) if text not in chunk_texts]
        new_tokens = sum(len(text) + SPECIAL_TOKENS for text in new_texts)
        has_new_reference = i > 0 and pair[1] != sorted_pairs[i - 1][1]
        if chunk_texts and token_estimate + new_tokens > max_tokens and has_new_reference:
            yield slice(start, i)
            start = i
            token_estimate = 0
            chunk_texts = set()
        token_estimate += new_tokens
        chunk_texts.update(new_texts)
    yield slice(start, len(sorted_pairs))


def _score_encoded_pairs(
    runner: BatchRunner,
    encoded_texts: EncodedTokens,
    pair_positions: NDArray[np.int64],
    token_weights: NDArray[np.float32],
) -> NDArray[np.float64]:
    """Compute precision, recall and F1 for pairs of encoded texts, in batches of similar length."""
    import torch

    device_weights = runner.move_to_device(token_weights)
    lengths = encoded_texts.tokens.lengths[pair_positions]
    order = np.lexsort((lengths[:, 0], lengths[:, 1]))[::-1]
    max_similarities = MAX_SIMILARITIES.get(get_device_kind(runner.device), MAX_SIMILARITIES["cpu"])
    scores = torch.empty((len(pair_positions), len(PARTS)), device=runner.device)
    start = 0
    while start < len(order):
        longest_output, longest_reference = lengths[order[start:]].max(0)
        count = max(1, max_similarities // int(longest_output * longest_reference))
        chosen = order[start : start + count]
        with torch.inference_mode():
            batch_scores = _score_pairs_by_greedy_matching(
                runner, encoded_texts, pair_positions[chosen], device_weights
            )
            scores[runner.move_to_device(chosen.copy())] = batch_scores
        start += count
    has_empty_text = (lengths <= SPECIAL_TOKENS).any(1)
    scores[runner.move_to_device(np.flatnonzero(has_empty_text))] = 0.0
    return scores.double().cpu().numpy()  # type: ignore[no-any-return]


def _score_pairs_by_greedy_matching(
    runner: BatchRunner,
    encoded_texts: EncodedTokens,
    pair_positions: NDArray[np.int64],
    token_weights: Tensor,
) -> Tensor:
    """Match each token with the most similar token of the other text, and compute precision, recall and F1 of
    each pair.
    """
    import torch

    sides = []
    for texts in pair_positions.T:
        positions, is_token = encoded_texts.tokens.build_token_position_matrix(texts)
        device_positions = runner.move_to_device(positions)
        mask = runner.move_to_device(is_token)
        sides.append(
            (encoded_texts.unit_vectors[device_positions], token_weights[device_positions] * mask, mask)
        )
    (output, output_weights, output_mask), (reference, reference_weights, reference_mask) = sides
    cosines = torch.bmm(output, reference.transpose(1, 2))
    best_of_output = cosines.masked_fill(~reference_mask[:, None, :], _BELOW_ANY_COSINE).max(2).values
    best_of_reference = cosines.masked_fill(~output_mask[:, :, None], _BELOW_ANY_COSINE).max(1).values
    precision = (best_of_output * (output_weights / output_weights.sum(1, keepdim=True))).sum(1)
    recall = (best_of_reference * (reference_weights / reference_weights.sum(1, keepdim=True))).sum(1)
    f1 = 2 * precision * recall / (precision + recall)
    return torch.stack([precision, recall, f1], 1).nan_to_num(0.0)


def compute_idf(encoder: TokenEncoder, texts: Sequence[str]) -> TokenWeights:
    """Compute how rare each token is in N texts (inverse document frequency): log((N + 1) / (texts with the
    token + 1)).
    """
    tokens = encoder.tokenize(texts)
    text_counts: Counter[int] = Counter()
    for i in range(len(tokens)):
        text_counts.update(set(tokens[i].tolist()))
    weights = {token: log((len(texts) + 1) / (count + 1)) for token, count in text_counts.items()}
    return TokenWeights(weights, log(len(texts) + 1))


@cache_loaded_models
def load_token_encoder(model: str, layer: int, dtype: str) -> TokenEncoder:
    """Load an encoder model, without the layers above `layer`."""
    return TokenEncoder(find_model_folder(model), model, layer, dtype)


@dataclass(frozen=True)
class BertScore(NeuralMetric[TokenEncoder]):
    """BERTScore: each token is matched with the most similar token of the other text. `part_of` chooses
    precision, recall or F1 of the similarities.

    The default of `layer` is the choice of bert-score. `idf` names a file with one text per line; tokens that
    are rare in these texts weigh more. `rescale` names a language, or a file, of baselines. Of several
    references the best counts. A pair with an empty text scores 0. In bert-score padding can hide negative
    similarities, so that scores depend on the other texts in the batch; here they do not.
    """

    model: str = "FacebookAI/roberta-large"
    part_of: str = "f1"
    layer: int | None = None
    idf: str | None = None
    rescale: str | None = None

    name: ClassVar[str] = "bertscore"
    title: ClassVar[str] = "BERTScore"
    summary: ClassVar[str] = "BERTScore F1, or part_of=precision, recall (needs a downloaded model)"
    oracle: ClassVar[str] = "bert-score 0.3.13"
    reference_aggregation: ClassVar[str] = MAX

    def __post_init__(self) -> None:
        if self.part_of not in PARTS:
            raise UnknownName("part of BERTScore", self.part_of, PARTS)

    @property
    def encoder_layer(self) -> int:
        """The layer of the encoder whose vectors are compared: the user's choice, or else the layer that
        bert-score recommends.
        """
        if self.layer is not None:
            return self.layer
        short_name = Path(self.model).name
        if short_name not in BEST_LAYERS:
            raise InputError(
                f"bert-score names no layer for {self.model}.",
                remedy=f"Choose one: bertscore(model={self.model},layer=NUMBER)",
            )
        return BEST_LAYERS[short_name]

    @property
    def neural_network_cache_key(self) -> Hashable:
        """A key for the cache of network results. It is equal for precision, recall and F1 of the same
        model.
        """
        return ("bertscore", *self.get_parameters_without({"part_of", "rescale"}))

    def extract_metric_scores(self, network_scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Select precision, recall or F1, as the user chose, and rescale the scores if the user asked for
        it.
        """
        column = PARTS.index(self.part_of)
        selected = network_scores[:, column]
        if self.rescale is None:
            return selected
        baseline = read_bertscore_baseline(self.model, self.encoder_layer, self.rescale)[column]
        return (selected - baseline) / (1 - baseline)

    def load_neural_network(self) -> TokenEncoder:
        """Load the encoder of this metric."""
        return load_token_encoder(self.model, self.encoder_layer, self.dtype)

    def hash_model_files(self) -> dict[str, str]:
        """Return hashes of the weights, the tokenizer, and the texts from which token weights are
        computed.
        """
        hashes = super().hash_model_files() | {"used_layer": str(self.encoder_layer)}
        if self.idf is not None:
            content = "\n".join(_read_lines(self.idf)).encode("utf-8", "surrogatepass")
            hashes["idf_texts"] = hashlib.sha256(content).hexdigest()[:16]
        return hashes

    def score_inputs(
        self, network: TokenEncoder, inputs: Sequence[NetworkInput], shared_cache: SharedCache
    ) -> NetworkScores:
        """Compute precision, recall and F1 of each input, in three columns."""
        idf = None if self.idf is None else compute_idf(network, _read_lines(self.idf))
        pairs = [(network_input.output, network_input.reference or "") for network_input in inputs]
        return score_text_pairs(network, pairs, idf, shared_cache)


def _read_lines(file_path: str) -> list[str]:
    """Return the lines of a text file."""
    file = Path(file_path)
    if not file.is_file():
        raise InputError("there is no such file of texts for idf.", location=InputLocation(file=str(file)))
    return file.read_text(encoding="utf-8").splitlines()
