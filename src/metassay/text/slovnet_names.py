"""Find names in Russian texts with the model of slovnet, many texts at a time.

slovnet turns words and their shapes into vectors, passes them through three convolutions of width three, and
weighs the tags of each word. A conditional random field then chooses the best sequence of tags. A convolution
is linear in each of its three places: what a word adds at a place is computed once per distinct vector, in
one matrix product, and each distinct window adds up three. So every word, and every window of 3, 5 and 7
words, is computed once, however many texts contain it. Words further than `REACH` from every word with a
capital are taken to be outside of names, and are not computed.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import re
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.stats.arrays import (
    BoolArray,
    Float32Array,
    LongArray,
    compute_start_of_each_row,
    find_distinct_integers,
)
from metassay.stats.compilation import kernel
from metassay.stats.parallel import map_blocks_in_threads
from metassay.text.razdel_words import KIND_COUNT, get_razdel_character_kind, split_character_run_into_words
from metassay.text.spacy_models import Entity

# How far a name may extend beyond a word with a capital. In WMT22, slovnet's names go further in 66 of
# 10,839 outputs (*Агентство по охране окружающей среды*), in forms that no other name has.
REACH = 1
# Letters of texts that are computed together. More texts share more windows, and need more memory.
_BLOCK_LETTERS = 1 << 20
# Rows of every matrix product, so that a row never depends on how many others there are.
_PRODUCT_ROWS = 256
# Distinct runs of characters whose words are remembered.
_MAXIMUM_RUNS = 1 << 18
_NO_CAPITAL_IN_TEXT = 1 << 30
_NON_SPACE = re.compile(r"\S+")


def find_russian_names(texts: Sequence[str]) -> list[list[Entity]]:
    """Find the names of persons, places and organisations in Russian texts with a model for news."""
    block_of_text = compute_start_of_each_row(texts)[:-1] // _BLOCK_LETTERS
    # A block ends where the number of letters before a text passes a multiple of the block size.
    boundaries = np.flatnonzero(np.diff(block_of_text, prepend=-1, append=-1)).tolist()
    blocks = [texts[start:end] for start, end in itertools.pairwise(boundaries)]
    names: list[list[Entity]] = []
    for names_of_block in map_blocks_in_threads(_load_name_finder().find_names, blocks, workers=1):
        names += names_of_block
    return names


@functools.cache
def load_slovnet() -> Any:
    """Load the model that finds names in Russian news, with the classes of the package slovnet."""
    from navec import Navec
    from slovnet import NER

    # The files are part of natasha, but importing natasha needs an old version of setuptools.
    package = importlib.util.find_spec("natasha")
    assert package is not None
    assert package.origin is not None
    folder = Path(package.origin).parent / "data"
    model = NER.load(str(folder / "model" / "slovnet_ner_news_v1.tar"))
    model.navec(Navec.load(str(folder / "emb" / "navec_news_v1_1B_250K_300d_100q.tar")))
    return model


@functools.cache
def _load_name_finder() -> _NameFinder:
    """Load the model that finds names in Russian texts, arranged to read many texts at once."""
    return _NameFinder(load_slovnet())


def has_capital_letter(word: str) -> bool:
    """Return whether a word has a capital letter."""
    return word != word.lower()


@dataclass(frozen=True)
class _RussianWords:
    """The words near a capital letter in some texts, as numbers. Only these words can be names."""

    numbers: LongArray
    """The number of each word in the vocabulary."""
    starts: LongArray
    ends: LongArray
    """Where each word begins and ends in its text."""
    have_capitals: BoolArray
    offsets: LongArray
    """The words of text k are those from `offsets[k]` to `offsets[k + 1]`."""


@dataclass(frozen=True)
class _NonSpaceRuns:
    """Texts split at spaces. Each part is stored as a number, its position in a list of the distinct parts.

    Part `i` is `vocabulary[numbers[i]]`.
    """

    vocabulary: list[str]
    numbers: LongArray
    offsets: LongArray
    """The parts of text `k` are those from `offsets[k]` to `offsets[k + 1]`."""
    positions: LongArray
    """Where each part begins in its text."""


def _split_texts_at_spaces(texts: Sequence[str]) -> _NonSpaceRuns:
    """Split texts at spaces, and give each distinct part a number."""
    number_of: dict[str, int] = {}
    numbers: list[int] = []
    positions: list[int] = []
    offsets = [0]
    for text in texts:
        for match in _NON_SPACE.finditer(text):
            numbers.append(number_of.setdefault(match[0], len(number_of)))
            positions.append(match.start())
        offsets.append(len(numbers))
    return _NonSpaceRuns(
        vocabulary=list(number_of),
        numbers=np.array(numbers, np.int64),
        offsets=np.array(offsets, np.int64),
        positions=np.array(positions, np.int64),
    )


class _WordNumbering:
    """Splits texts into words as razdel does, and gives a number to each distinct word as the model
    sees it.
    """

    def __init__(self, encoder: Any) -> None:
        from slovnet.shape import word_shape

        self._model_words = encoder.words_vocab
        self._model_shapes = encoder.shapes_vocab
        self._word_shape = word_shape
        # Most words are in lower case and have the same shape, so that it is computed once.
        self._lower_case_shape = self._model_shapes.encode(word_shape("да"))
        self._clear_cache()

    def _clear_cache(self) -> None:
        """Forget all words and their numbers, to free memory."""
        # Only numbers and texts, which the garbage collector does not visit.
        self._number_of_pair: dict[int, int] = {}
        self._number_of_word: dict[str, int] = {}
        self._row_of_run: dict[str, int] = {}
        self._run_words = array("q")
        """For each word of each run: its number, start and end in the run, and whether it has a capital."""
        self._run_offsets = array("q", [0])

    def split_texts_into_words(self, texts: Sequence[str], maximum_distance_to_capital: int) -> _RussianWords:
        """Split texts into words. Words further than `maximum_distance_to_capital` from a capital letter are
        left out.
        """
        if len(self._row_of_run) > _MAXIMUM_RUNS:
            self._clear_cache()
        runs = _split_texts_at_spaces(texts)
        have_capitals = np.array([has_capital_letter(run) for run in runs.vocabulary], np.bool_)[runs.numbers]
        # A run of characters has at least one word, so that no word near a capital is lost by counting runs.
        is_near = (
            _measure_distances_to_capitalised_words(have_capitals, runs.offsets)
            <= maximum_distance_to_capital
        )
        keys = self._compute_cache_keys_of_character_runs(runs.vocabulary, runs.numbers, runs.offsets)[
            is_near
        ]
        distinct_keys, key_indexes = find_distinct_integers(keys)
        rows = np.array(
            [self._find_or_add_character_run(runs.vocabulary, key) for key in distinct_keys.tolist()],
            np.int64,
        )
        rows = rows[key_indexes]
        run_offsets = np.array(self._run_offsets)
        word_counts = np.diff(run_offsets)[rows]
        ends = np.concatenate([[0], np.cumsum(word_counts)])
        word_indexes = np.repeat(run_offsets[rows] - ends[:-1], word_counts) + np.arange(ends[-1])
        words = np.array(self._run_words).reshape(-1, 4)[word_indexes]
        run_positions = np.repeat(runs.positions[is_near], word_counts)
        near_runs_before = np.concatenate([[0], np.cumsum(is_near)])
        return _RussianWords(
            numbers=words[:, 0],
            starts=words[:, 1] + run_positions,
            ends=words[:, 2] + run_positions,
            have_capitals=words[:, 3] > 0,
            offsets=ends[near_runs_before[runs.offsets]],
        )

    def get_model_ids(self, word_numbers: LongArray) -> tuple[LongArray, LongArray]:
        """Convert word numbers to the ids that the model uses for each word and for its shape, such as its
        capitals.
        """
        pairs = np.array(list(self._number_of_pair), np.int64)[word_numbers]
        # A pair is stored as one integer: word × number of shapes + shape.
        return np.divmod(pairs, len(self._model_shapes))

    def _compute_cache_keys_of_character_runs(
        self, distinct_runs: Sequence[str], run_numbers: LongArray, text_offsets: LongArray
    ) -> LongArray:
        """Compute a key for each text part between spaces. Equal parts have equal keys if the characters
        around them are of the same kinds.
        """
        first_kinds = np.array([get_razdel_character_kind(run[0]) for run in distinct_runs], np.int64)[
            run_numbers
        ]
        last_kinds = np.array([get_razdel_character_kind(run[-1]) for run in distinct_runs], np.int64)[
            run_numbers
        ]
        begins_text = np.zeros(len(run_numbers) + 1, np.bool_)
        begins_text[text_offsets] = True
        ignores_before = begins_text[:-1] | (first_kinds < KIND_COUNT)
        ignores_after = begins_text[1:] | (last_kinds < KIND_COUNT)
        kinds_before = np.where(ignores_before, 0, np.roll(last_kinds, 1) % KIND_COUNT)
        kinds_after = np.where(ignores_after, 0, np.roll(first_kinds, -1) % KIND_COUNT)
        return (run_numbers * KIND_COUNT + kinds_before) * KIND_COUNT + kinds_after

    def _find_or_add_character_run(self, distinct_runs: Sequence[str], key: int) -> int:
        """Return the row that holds the words of a text part between spaces. A new part is split into words
        first.
        """
        number, kinds = divmod(key, KIND_COUNT**2)
        run = distinct_runs[number]
        # A run has no space, so that the name is unique.
        name = f"{run} {kinds}" if kinds else run
        row = self._row_of_run.get(name)
        if row is None:
            row = len(self._row_of_run)
            self._row_of_run[name] = row
            start = 0
            for word in split_character_run_into_words(run, *divmod(kinds, KIND_COUNT)):
                end = start + len(word)
                self._run_words.extend(
                    (self._get_or_assign_word_number(word), start, end, has_capital_letter(word))
                )
                start = end
            self._run_offsets.append(len(self._run_words) // 4)
        return row

    def _get_or_assign_word_number(self, word: str) -> int:
        """Return the number of a word. A new word gets the next number."""
        number = self._number_of_word.get(word)
        if number is None:
            is_lower_case = word.islower() and "а" <= word[0] <= "я" and len(word) > 1
            shape = self._lower_case_shape
            if not is_lower_case:
                shape = self._model_shapes.encode(self._word_shape(word))
            pair = self._model_words.encode(word.lower()) * len(self._model_shapes) + shape
            number = self._number_of_pair.setdefault(pair, len(self._number_of_pair))
            self._number_of_word[word] = number
        return number


@dataclass(frozen=True)
class _Convolution:
    """The weights of one convolution layer of the model that finds names."""

    taps: Float32Array
    """What each of the three places of a window adds to each filter."""
    bias: Float32Array
    norm_factor: Float32Array
    norm_shift: Float32Array


class _NameFinder:
    """A neural network of the package slovnet that finds names, arranged to read many texts at once."""

    def __init__(self, slovnet: Any) -> None:
        self._model = slovnet.infer.model
        self._tags: list[str] = slovnet.infer.decoder.tags_vocab.items
        self._vocabulary = _WordNumbering(slovnet.infer.encoder)
        self._layers = [_convert_convolution_layer_to_arrays(layer) for layer in self._model.encoder.layers]

    def find_names(self, texts: Sequence[str]) -> list[list[Entity]]:
        """Find the names of persons, places and organisations in each text."""
        names: list[list[Entity]] = [[] for _ in texts]
        # Each convolution reads one word further to both sides.
        words = self._vocabulary.split_texts_into_words(texts, REACH + len(self._layers))
        if not len(words.numbers):
            return names
        weights, weight_numbers = self._score_name_tags_of_words(words)
        outside = self._tags.index("O")
        transitions = self._model.head.crf.transitions.array
        tags = _find_most_likely_tag_sequence(weights, weight_numbers, words.offsets, transitions, outside)
        text_of_word = np.repeat(np.arange(len(texts)), np.diff(words.offsets))
        for first, last in self._find_names_from_word_tags(tags, text_of_word):
            tag = self._tags[tags[first]]
            name = (int(words.starts[first]), int(words.ends[last]), tag[2:])
            names[text_of_word[first]].append(name)
        return names

    def _find_names_from_word_tags(
        self, tags: NDArray[np.uint8], text_of_word: LongArray
    ) -> list[tuple[int, int]]:
        """Return the positions of the first and last word of each name, given the tag of each word.

        The first word of a name has tag B, the others I.
        """
        names: list[tuple[int, int]] = []
        open_name_end = -1
        outside = self._tags.index("O")
        for i in np.flatnonzero(tags != outside).tolist():
            prefix = self._tags[tags[i]][0]
            if prefix == "B":
                names.append((i, i))
                open_name_end = i
            elif open_name_end == i - 1 and names and text_of_word[i] == text_of_word[i - 1]:
                if prefix != "<":  # a tag for padding
                    names[-1] = (names[-1][0], i)
                open_name_end = i
        return names

    def _score_name_tags_of_words(self, words: _RussianWords) -> tuple[Float32Array, LongArray]:
        """Score all tags for each distinct window of words. Also returns the number of the window of each
        word.

        Words far from capitals have the window -1.
        """
        distances = _measure_distances_to_capitalised_words(words.have_capitals, words.offsets)
        reach = REACH + len(self._layers)
        used_words, numbers = find_distinct_integers(words.numbers)
        vectors = self._embed_words(*self._vocabulary.get_model_ids(used_words))
        for layer in self._layers:
            # After each layer, one word less on both sides of a name is still needed.
            reach -= 1
            numbers, windows = _assign_ids_to_word_windows(numbers, words.offsets, distances <= reach)
            summands = [
                _multiply_word_vectors(vectors, windows[:, place], layer.taps[place]) for place in range(3)
            ]
            vectors = _compute_window_vectors(
                tuple(products for products, _ in summands),
                tuple(indexes for _, indexes in summands),
                layer.bias,
                layer.norm_factor,
                layer.norm_shift,
            )
        projection = self._model.head.proj
        every_row = np.arange(len(vectors))
        return _multiply_vectors_by_matrix(
            vectors, every_row, projection.weight.array
        ) + projection.bias.array, numbers

    def _embed_words(self, words: LongArray, shapes: LongArray) -> Float32Array:
        """Return a vector for each word: the embedding of the word, then the embedding of its shape, such as
        "capitalised".
        """
        embedding = self._model.emb
        pieces, codes, size = embedding.word.codes.array.shape
        # navec stores vectors by product quantisation: each piece of a vector is a number in a table of its
        # own.
        code_numbers = embedding.word.indexes.array[words] + np.arange(0, pieces * codes, codes)
        parts = np.take(embedding.word.codes.array.reshape(-1, size), code_numbers, axis=0)
        return np.hstack([parts.reshape(len(words), -1), embedding.shape.weight.array[shapes]])


def _convert_convolution_layer_to_arrays(layer: Any) -> _Convolution:
    """Convert a convolution layer of slovnet to arrays, with batch normalisation as a factor and a shift."""
    # Batch normalisation of a trained model is a fixed linear function.
    factor = layer.norm.weight.array / layer.norm.std.array
    return _Convolution(
        taps=np.ascontiguousarray(layer.conv.weight.array.transpose(2, 1, 0)),
        bias=layer.conv.bias.array,
        norm_factor=factor,
        norm_shift=layer.norm.bias.array - layer.norm.mean.array * factor,
    )


def _multiply_word_vectors(
    vectors: Float32Array, word_numbers: LongArray, weights: Float32Array
) -> tuple[Float32Array, LongArray]:
    """Multiply the vectors of the words at one position of all windows by weights, each distinct word once.

    Returns the products and the index of the product of each window.
    """
    # Numbers begin at -1, which stands for a place beyond the text.
    used, indexes = find_distinct_integers(word_numbers + 1)
    products = _multiply_vectors_by_matrix(vectors, np.maximum(used - 1, 0), weights)
    products[: len(used)][used == 0] = 0  # beyond the end of a text
    return products, indexes


def _multiply_vectors_by_matrix(
    vectors: Float32Array, row_numbers: LongArray, matrix: Float32Array
) -> Float32Array:
    """Multiply the given rows of a matrix by another matrix, in blocks of fixed size so that results are
    always the same.
    """
    # Matrix products of other sizes may add in another order, and differ in the last digit.
    row_numbers = np.append(row_numbers, np.zeros(-len(row_numbers) % _PRODUCT_ROWS, np.int64))
    products = np.empty((len(row_numbers), matrix.shape[1]), np.float32)
    block = np.empty((_PRODUCT_ROWS, vectors.shape[1]), np.float32)
    for start in range(0, len(row_numbers), _PRODUCT_ROWS):
        np.take(vectors, row_numbers[start : start + _PRODUCT_ROWS], axis=0, out=block, mode="clip")
        np.matmul(block, matrix, out=products[start : start + _PRODUCT_ROWS])
    return products


def _measure_distances_to_capitalised_words(is_capitalised: BoolArray, text_offsets: LongArray) -> LongArray:
    """Return for each word the distance to the nearest capitalised word of the same text."""
    positions = np.arange(len(is_capitalised))
    text_starts = np.repeat(text_offsets[:-1], np.diff(text_offsets))
    text_ends = np.repeat(text_offsets[1:], np.diff(text_offsets))
    previous_capital = np.maximum.accumulate(np.where(is_capitalised, positions, -1))
    next_capital = np.minimum.accumulate(np.where(is_capitalised, positions, len(is_capitalised))[::-1])[::-1]
    left = np.where(previous_capital >= text_starts, positions - previous_capital, _NO_CAPITAL_IN_TEXT)
    right = np.where(next_capital < text_ends, next_capital - positions, _NO_CAPITAL_IN_TEXT)
    return np.minimum(left, right)


def _assign_ids_to_word_windows(
    word_numbers: LongArray, text_offsets: LongArray, is_needed: BoolArray
) -> tuple[LongArray, LongArray]:
    """Give an id to each distinct window of three words around the words that are needed.

    Returns the id of the window of each word, -1 if it is not needed, and the words of each window. A window
    is three numbers: of the word before, the word and the word after; -1 beyond the end of a text.
    """
    text_lengths = np.diff(text_offsets)
    before = np.roll(word_numbers, 1)
    before[text_offsets[:-1][text_lengths > 0]] = -1
    after = np.roll(word_numbers, -1)
    after[text_offsets[1:][text_lengths > 0] - 1] = -1
    needed = np.flatnonzero(is_needed)
    windows = np.stack([before[needed], word_numbers[needed], after[needed]], axis=1)
    base = int(word_numbers.max(initial=0)) + 2
    keys = ((windows[:, 0] + 1) * base + windows[:, 1]) * base + windows[:, 2] + 1
    _, first_positions, window_numbers = np.unique(keys, return_index=True, return_inverse=True)
    numbers_of_words = np.full(len(word_numbers), -1)
    numbers_of_words[needed] = window_numbers
    return numbers_of_words, windows[first_positions]


@kernel
def _compute_window_vectors(
    products: tuple[Float32Array, ...],
    indexes: tuple[LongArray, ...],
    bias: Float32Array,
    factor: Float32Array,
    shift: Float32Array,
) -> Float32Array:
    """Compute the vector of each window: the sum of the products of its three words and the bias, after ReLU
    and batch normalisation.
    """
    size = len(bias)
    vectors = np.empty((len(indexes[0]), size), np.float32)
    for row in range(len(vectors)):
        left = products[0][indexes[0][row]]
        middle = products[1][indexes[1][row]]
        right = products[2][indexes[2][row]]
        for i in range(size):
            total = max(bias[i] + left[i] + middle[i] + right[i], np.float32(0))
            vectors[row, i] = total * factor[i] + shift[i]
    return vectors


@kernel
def _find_most_likely_tag_sequence(
    tag_weights: Float32Array,
    weight_numbers: LongArray,
    text_offsets: LongArray,
    transitions: Float32Array,
    outside: int,
) -> NDArray[np.uint8]:
    """Find the sequence of tags with the highest score for the words of each text."""
    tag_count = len(transitions)
    tags = np.empty(len(weight_numbers), np.uint8)
    best_before = np.empty((len(weight_numbers), tag_count), np.uint8)
    score = np.empty(tag_count, np.float32)
    new_score = np.empty(tag_count, np.float32)
    # Words that were not computed can only have the tag O.
    only_outside = np.full(tag_count, -np.inf, np.float32)
    only_outside[outside] = 0
    for text in range(len(text_offsets) - 1):
        start = text_offsets[text]
        end = text_offsets[text + 1]
        for i in range(start, end):
            word_weights = tag_weights[weight_numbers[i]] if weight_numbers[i] >= 0 else only_outside
            for tag in range(tag_count):
                if i == start:
                    best_before[i, tag] = 0
                    new_score[tag] = word_weights[tag]
                    continue
                best = 0
                for before in range(tag_count):
                    if score[before] + transitions[before, tag] + word_weights[tag] > (
                        score[best] + transitions[best, tag] + word_weights[tag]
                    ):
                        best = before
                best_before[i, tag] = best
                new_score[tag] = score[best] + transitions[best, tag] + word_weights[tag]
            score[:] = new_score
        for i in range(end - 1, start - 1, -1):
            tags[i] = np.argmax(score) if i == end - 1 else best_before[i + 1, tags[i + 1]]
    return tags
