"""Names in texts, found by models: spaCy's where one is installed; for Russian slovnet's, in compiled code.

slovnet reads a text as vectors of words and of their shapes, passes them through three convolutions of width
three and weighs the tags of each word, of which a conditional random field takes the best row. A convolution
is linear in each of its three places: what a place adds is computed once for each distinct vector, all in one
matrix product, and each distinct window adds up three. So every word, and every window of 3, 5 and 7 words,
is computed once, however many texts hold it.
"""

from __future__ import annotations

import functools
import importlib.util
import logging
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from metassay.stats.arrays import LongArray, SingleArray, map_blocks
from metassay.text.resources import spacy_model
from metassay.text.segmentation import coded_runs, hashed_with, row_starts, slot_of, with_room

Entity = tuple[int, int, str]
"""Start, end and type: PER, LOC, ORG or NAME."""

AT_ONCE = 2048
"""So many texts share what is computed once; more share more, and take more memory, which takes time."""
_ROWS = 1024
"""Rows of every matrix product, so that none of them depends on how many others there are."""


def spacy_entities(texts: Sequence[str], language: str) -> list[list[Entity]]:
    """Names by an installed spaCy model; other types than persons, places and organisations are left out."""
    types = {"PERSON": "PER", "PER": "PER", "GPE": "LOC", "LOC": "LOC", "FAC": "LOC", "ORG": "ORG"}
    documents = _spacy(language).pipe(texts)
    return [
        [(e.start_char, e.end_char, types[e.label_]) for e in document.ents if e.label_ in types]
        for document in documents
    ]


@functools.cache
def _spacy(language: str) -> Any:
    import spacy

    logging.getLogger("spacy").setLevel(logging.ERROR)
    return spacy.load(spacy_model(language) or "")


def slovnet_entities(texts: Sequence[str]) -> list[list[Entity]]:
    """Names in Russian texts, by the news model that natasha carries."""
    blocks = [texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE)]
    return [found for block in map_blocks(_finder().find, blocks, workers=1) for found in block]


@functools.cache
def slovnet() -> Any:
    """The finder of names as its makers run it."""
    from navec import Navec
    from slovnet import NER

    # The models lie inside natasha, which itself would import what newer setuptools lack.
    package = importlib.util.find_spec("natasha")
    assert package is not None
    assert package.origin is not None
    data = Path(package.origin).parent / "data"
    finder = NER.load(str(data / "model" / "slovnet_ner_news_v1.tar"))
    finder.navec(Navec.load(str(data / "emb" / "navec_news_v1_1B_250K_300d_100q.tar")))
    return finder


@functools.cache
def _finder() -> _Slovnet:
    return _Slovnet(slovnet())


class _Words:
    """Words as razdel cuts them, and the number of each pair of a word and a shape that the model knows.

    razdel looks one piece beyond a space where a text has a dash, a point or a stroke beside it, and there at
    the kind of piece alone: so each distinct run of letters and signs is cut once for each such neighbour.
    """

    def __init__(self, encoder: Any) -> None:
        from slovnet.shape import word_shape

        self._encoder, self._shape = encoder, word_shape
        self.pairs: dict[tuple[int, int], int] = {}
        self._known: dict[str, int] = {}
        self._cuts: dict[tuple[str, int, int], list[tuple[int, int, int]]] = {}

    def of(self, texts: Sequence[str]) -> tuple[LongArray, LongArray]:
        """Number, start and end (in all texts laid end to end) of each word, and where each text's begin."""
        runs = coded_runs(texts, lambda letter: not letter.isspace())
        number = runs.numbers
        first, last = (np.array([_kind_of(run[i]) for run in runs.vocabulary], np.int64) for i in (0, -1))
        opens = np.zeros(len(number) + 1, np.bool_)
        opens[runs.starts] = True
        before = np.where(opens[:-1] | (first[number] < _LEANS), 0, np.roll(last[number], 1) % _LEANS)
        after = np.where(opens[1:] | (last[number] < _LEANS), 0, np.roll(first[number], -1) % _LEANS)
        keys, which = np.unique((number * _LEANS + before) * _LEANS + after, return_inverse=True)
        cuts = [
            self._cut(runs.vocabulary[key // _LEANS**2], key // _LEANS % _LEANS, key % _LEANS)
            for key in keys.tolist()
        ]
        flat = np.array([word for cut in cuts for word in cut], np.int64).reshape(-1, 3)
        starts, sizes = row_starts(cuts), np.diff(row_starts(cuts))[which]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        words = flat[np.repeat(starts[which] - ends[:-1], sizes) + np.arange(ends[-1])]
        words[:, 1:] += np.repeat(runs.places, sizes)[:, np.newaxis]
        return words, ends[runs.starts]

    def _cut(self, run: str, before: int, after: int) -> list[tuple[int, int, int]]:
        """The words of a run between pieces of two kinds: number, start and end of each."""
        key = run, before, after
        found = self._cuts.get(key)
        if found is None:
            found, place = [], 0
            for word in _cut(run, before, after):
                end = place + len(word)
                found.append((self._number(word), place, end))
                place = end
            self._cuts[key] = found
        return found

    def _number(self, word: str) -> int:
        number = self._known.get(word)
        if number is None:
            own = self._encoder
            pair = own.words_vocab.encode(word.lower()), own.shapes_vocab.encode(self._shape(word))
            number = self._known[word] = self.pairs.setdefault(pair, len(self.pairs))
        return number


_LIKE = ("", "а", "a", "1", "!", "Δ")
"""Pieces of each kind that razdel knows, and none."""
_LEANS = 8
"""More than the kinds; added to the kind of a sign that razdel may join with what stands beyond it."""
_PLAIN = re.compile(
    '([«“"„(]?)(?:([а-яё]+(?:-[а-яё]+)*)|([a-z]+)(?!!)|([0-9]+)(?![»”")]?[.,]))([»”")]?)([.,:;!?…]?)',
    re.IGNORECASE,
)
"""A word with signs before and after it, which are words of their own; numbers may be joined with theirs."""


@functools.cache
def _kind_of(letter: str) -> int:
    from razdel.segmenters.tokenize import ATOM, DASHES, INT, LAT, OTHER, PUNCT, RU

    kind = (None, RU, LAT, INT, PUNCT, OTHER).index(ATOM.match(letter).lastgroup)
    return kind + _LEANS * (letter in f"{DASHES}_.,/\\")


def _cut(run: str, before: int, after: int) -> list[str]:
    plain = _PLAIN.fullmatch(run)
    if plain is not None:
        return [part for part in plain.groups() if part]
    from razdel import tokenize

    words = [word.text for word in tokenize(f"{_LIKE[before]} {run} {_LIKE[after]}")]
    return words[before > 0 : len(words) - (after > 0)]


class _Slovnet:
    """The model, laid out for many texts at once."""

    def __init__(self, finder: Any) -> None:
        self._model = finder.infer.model
        self._tags: list[str] = finder.infer.decoder.tags_vocab.items
        self._words = _Words(finder.infer.encoder)

    def find(self, texts: Sequence[str]) -> list[list[Entity]]:
        """The names of each text."""
        words, rows = self._words.of(texts)
        if not len(words):
            return [[] for _ in texts]
        head, begins = self._model.head, np.array([tag.startswith("B-") for tag in self._tags])
        weights, number = self._weights(words[:, 0], rows)
        tags = _best_tags(weights, number, rows, head.crf.transitions.array)
        named = np.concatenate([[0], np.cumsum(begins[tags])])[rows]
        places = row_starts(texts)
        found: list[list[Entity]] = [[] for _ in texts]
        for row in np.flatnonzero(named[1:] > named[:-1]).tolist():
            own = slice(rows[row], rows[row + 1])
            spans = (words[own, 1:] - places[row]).tolist()
            found[row] = list(_entities(spans, [self._tags[tag] for tag in tags[own].tolist()]))
        return found

    def _weights(self, words: LongArray, rows: LongArray) -> tuple[SingleArray, LongArray]:
        """The weights of the tags of each distinct window of seven words, and the window of each word."""
        used, number = np.unique(words, return_inverse=True)
        pairs = np.array(list(self._words.pairs), np.int64)[
            np.append(used, used[:1].repeat(-len(used) % _ROWS))
        ]
        vectors: SingleArray = self._model.emb(pairs[:, 0], pairs[:, 1])
        for layer in self._model.encoder.layers:
            number, windows = _windows(number, rows)
            filters, size, width = layer.conv.weight.shape
            taps = layer.conv.weight.array.transpose(1, 2, 0).reshape(size, width * filters)
            norm = np.stack([getattr(layer.norm, name).array for name in ("mean", "std", "weight", "bias")])
            vectors = _convolved(_product(vectors, taps), windows, layer.conv.bias.array, norm)
        proj = self._model.head.proj
        return _product(vectors, proj.weight.array) + proj.bias.array, number


def _entities(spans: Sequence[tuple[int, int]], tags: Sequence[str]) -> Iterator[Entity]:
    """Names from tags that begin one, go on with it or lie outside of any."""
    kind, start, stop = "", 0, 0
    for (begin, end), tag in zip(spans, tags):
        if kind and tag[:1] in {"B", "O"}:
            yield start, stop, kind
            kind = ""
        if tag[:1] == "B":
            kind, start = tag[2:], begin
        if tag[:1] in {"B", "I"}:
            stop = end
    if kind:
        yield start, stop, kind


def _product(rows: SingleArray, columns: SingleArray) -> SingleArray:
    """A matrix product, so many rows at a time, of which there are multiples."""
    product = np.empty((len(rows), columns.shape[1]), np.float32)
    for start in range(0, len(rows), _ROWS):
        np.matmul(rows[start : start + _ROWS], columns, out=product[start : start + _ROWS])
    return product


@njit(cache=True, nogil=True)
def _windows(numbers: LongArray, rows: LongArray) -> tuple[LongArray, LongArray]:
    """The number of the window of three around each place, and the three of each; −1 beyond an end."""
    keys, known = np.zeros(1 << 14, np.uint64), np.zeros(1 << 14, np.int64)
    found, windows, distinct = np.empty(len(numbers), np.int64), np.empty((len(numbers), 3), np.int64), 0
    for row in range(len(rows) - 1):
        for i in range(rows[row], rows[row + 1]):
            left = numbers[i - 1] if i > rows[row] else -1
            right = numbers[i + 1] if i + 1 < rows[row + 1] else -1
            key = hashed_with(hashed_with(np.uint64(1), np.uint32(left + 1)), np.uint32(numbers[i]))
            key = hashed_with(key, np.uint32(right + 1))
            slot = slot_of(key, keys, known)
            found[i] = known[slot] - 1
            if known[slot] == 0:
                windows[distinct, 0], windows[distinct, 1], windows[distinct, 2] = left, numbers[i], right
                found[i], distinct = distinct, distinct + 1
                keys[slot], known[slot] = key, distinct
                keys, known = with_room(keys, known, distinct)
    return found, windows[:distinct].copy()


@njit(cache=True, nogil=True)
def _convolved(taps: SingleArray, windows: LongArray, bias: SingleArray, norm: SingleArray) -> SingleArray:
    """For each window what its three places add, kept where positive, and normalised; then rows of zeros."""
    size = len(bias)
    mean, std, weight, shift = norm[0], norm[1], norm[2], norm[3]
    nothing = np.zeros(size, np.float32)
    found = np.zeros((-(-len(windows) // _ROWS) * _ROWS, size), np.float32)
    for k in range(len(windows)):
        row, middle = found[k], taps[windows[k, 1], size : 2 * size]
        left = taps[windows[k, 0], :size] if windows[k, 0] >= 0 else nothing
        right = taps[windows[k, 2], 2 * size :] if windows[k, 2] >= 0 else nothing
        for i in range(size):
            total = max(bias[i] + left[i] + middle[i] + right[i], np.float32(0))
            row[i] = (total - mean[i]) / std[i] * weight[i] + shift[i]
    return found


@njit(cache=True, nogil=True)
def _best_tags(
    weights: SingleArray, numbers: LongArray, rows: LongArray, transitions: SingleArray
) -> NDArray[np.uint8]:
    """The best row of tags of each text, whose words have the weights that their numbers say."""
    size = len(transitions)
    tags, back = np.empty(len(numbers), np.uint8), np.empty((len(numbers), size), np.uint8)
    score, sums = np.empty(size, np.float32), np.empty(size, np.float32)
    for row in range(len(rows) - 1):
        start, stop = rows[row], rows[row + 1]
        for i in range(start, stop):
            for tag in range(size):
                best = 0
                for before in range(size) if i > start else range(0):
                    if score[before] + transitions[before, tag] + weights[numbers[i], tag] > (
                        score[best] + transitions[best, tag] + weights[numbers[i], tag]
                    ):
                        best = before
                back[i, tag], sums[tag] = best, weights[numbers[i], tag]
                if i > start:
                    sums[tag] = score[best] + transitions[best, tag] + weights[numbers[i], tag]
            score[:] = sums
        for i in range(stop - 1, start - 1, -1):
            tags[i] = np.argmax(score) if i == stop - 1 else back[i + 1, tags[i + 1]]
    return tags
