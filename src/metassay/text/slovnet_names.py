"""Names in Russian texts, found by slovnet's model in compiled code.

slovnet reads a text as vectors of words and of their shapes, passes them through three convolutions of width
three and weighs the tags of each word, of which a conditional random field takes the best row. A convolution
is linear in each of its three places: what a place adds is computed once for each distinct vector, all in one
matrix product, and each distinct window adds up three. So every word, and every window of 3, 5 and 7 words,
is computed once, however many texts hold it. What lies further than `REACH` from all words with capitals is
taken to be no part of a name, and not computed.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.stats.arrays import Float32Array, LongArray, build_row_offsets, find_distinct
from metassay.stats.compilation import kernel
from metassay.stats.parallel import map_blocks
from metassay.text.segmentation import code_points, coded_runs, hashed_with, slot_of, with_room
from metassay.text.tokens import LEANS, kind_of_piece, razdel_words

Entity = tuple[int, int, str]
"""Start, end and type: PER, LOC, ORG or NAME."""

REACH = 1
"""Words beyond one with a capital that a name may have. slovnet's go further in 66 of WMT22's 10,839 outputs:
*Агентство по охране окружающей среды*, which stands in no form that another name has."""
AT_ONCE = 1 << 20
"""Letters of texts that share what is computed once; more share more, and take more memory."""
_ROWS = 256
"""Rows of every matrix product, so that none of them depends on how many others there are."""


def slovnet_entities(texts: Sequence[str]) -> list[list[Entity]]:
    """Names in Russian texts, by the news model that natasha carries."""
    edges = np.flatnonzero(np.diff(build_row_offsets(texts)[:-1] // AT_ONCE, prepend=-1, append=-1)).tolist()
    blocks = [texts[start:end] for start, end in itertools.pairwise(edges)]
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


def has_capital(word: str) -> bool:
    """Whether some letter is one."""
    return word != word.lower()


class _Words:
    """Words as razdel cuts them, and the number of each pair of a word and a shape that the model knows.

    razdel looks one piece beyond a space where a text has a dash, a point or a stroke beside it, and there at
    the kind of piece alone: so each distinct run of letters and signs is cut once for each such neighbour.
    """

    def __init__(self, encoder: Any) -> None:
        from slovnet.shape import word_shape

        self._words, self._shapes, self._shape = encoder.words_vocab, encoder.shapes_vocab, word_shape
        self._small = self._shapes.encode(word_shape("да"))
        # Nothing here but numbers and texts, which the garbage collector does not visit.
        self._pairs: dict[int, int] = {}
        self._known: dict[str, int] = {}
        self._rows: dict[str, int] = {}
        self._cuts, self._begins = array("q"), array("q", [0])

    def of(self, texts: Sequence[str], reach: int) -> tuple[LongArray, LongArray]:
        """Number, start, end and whether it has a capital of each word, and where each text's words begin.

        Places are those in all texts laid end to end. Runs further than `reach` from capitals are left out.
        """
        runs = coded_runs(texts, lambda letter: not letter.isspace())
        number, near = runs.numbers, _distances(runs.asked(has_capital)[runs.numbers], runs.starts) <= reach
        kinds = [[kind_of_piece(run[i]) for run in runs.vocabulary] for i in (0, -1)]
        first, last = np.array(kinds, np.int64)
        opens = np.zeros(len(number) + 1, np.bool_)
        opens[runs.starts] = True
        before = np.where(opens[:-1] | (first[number] < LEANS), 0, np.roll(last[number], 1) % LEANS)
        after = np.where(opens[1:] | (last[number] < LEANS), 0, np.roll(first[number], -1) % LEANS)
        keys, which = find_distinct(((number * LEANS + before) * LEANS + after)[near])
        rows = np.array([self._row(runs.vocabulary, key) for key in keys.tolist()], np.int64)[which]
        begins = np.array(self._begins)
        sizes = np.diff(begins)[rows]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        cuts = np.repeat(begins[rows] - ends[:-1], sizes) + np.arange(ends[-1])
        words = np.array(self._cuts).reshape(-1, 4)[cuts]
        words[:, 1:3] += np.repeat(runs.places[near], sizes)[:, np.newaxis]
        return words, ends[np.concatenate([[0], np.cumsum(near)])[runs.starts]]

    def pairs(self, numbers: LongArray) -> tuple[LongArray, LongArray]:
        """What the model calls the words and the shapes with these numbers."""
        return np.divmod(np.array(list(self._pairs), np.int64)[numbers], len(self._shapes))

    def _row(self, vocabulary: Sequence[str], key: int) -> int:
        """Where the words of a run between pieces of two kinds are kept."""
        run, beside = vocabulary[key // LEANS**2], key % LEANS**2
        name = f"{run} {beside}" if beside else run
        row = self._rows.get(name)
        if row is None:
            row, place = len(self._rows), 0
            self._rows[name] = row
            for word in razdel_words(run, *divmod(beside, LEANS)):
                end = place + len(word)
                self._cuts.extend((self._number(word), place, end, has_capital(word)))
                place = end
            self._begins.append(len(self._cuts) // 4)
        return row

    def _number(self, word: str) -> int:
        number = self._known.get(word)
        if number is None:
            is_small = word.islower() and "а" <= word[0] <= "я" and len(word) > 1
            shape = self._small if is_small else self._shapes.encode(self._shape(word))
            pair = self._words.encode(word.lower()) * len(self._shapes) + shape
            number = self._known[word] = self._pairs.setdefault(pair, len(self._pairs))
        return number


class _Slovnet:
    """The model, laid out for many texts at once."""

    def __init__(self, finder: Any) -> None:
        self._model = finder.infer.model
        self._tags: list[str] = finder.infer.decoder.tags_vocab.items
        self._words = _Words(finder.infer.encoder)
        self._layers = [_laid_out(layer) for layer in self._model.encoder.layers]

    def find(self, texts: Sequence[str]) -> list[list[Entity]]:
        """The names of each text."""
        words, rows = self._words.of(texts, REACH + len(self._layers))
        found: list[list[Entity]] = [[] for _ in texts]
        if not len(words):
            return found
        weights, number = self._weights(words[:, 0], rows, _distances(words[:, 3] > 0, rows))
        transitions, letters = self._model.head.crf.transitions.array, "".join(tag[0] for tag in self._tags)
        tags = _best_tags(weights, number, rows, transitions, letters.index("O"))
        text, first, last = _named(tags, rows, code_points(letters)).T
        starts, ends = (words[own, 1:3] - build_row_offsets(texts)[text, np.newaxis] for own in (first, last))
        spans = (text.tolist(), starts[:, 0].tolist(), ends[:, 1].tolist(), tags[first].tolist())
        for row, start, end, tag in zip(*spans):
            found[row].append((start, end, self._tags[tag][2:]))
        return found

    def _weights(self, words: LongArray, rows: LongArray, far: LongArray) -> tuple[Float32Array, LongArray]:
        """The weights of the tags of each distinct window, and each word's; −1: far from capitals."""
        reach = REACH + len(self._layers)
        used, number = find_distinct(words)
        vectors = self._embedded(*self._words.pairs(used))
        for taps, bias, norm in self._layers:
            reach -= 1
            number, windows = _windows(number, rows, far <= reach)
            sums = [_summand(vectors, windows[:, place], own) for place, own in enumerate(taps)]
            vectors = _convolved(tuple(own for own, _ in sums), tuple(own for _, own in sums), bias, norm)
        proj = self._model.head.proj
        return _product(vectors, np.arange(len(vectors)), proj.weight.array) + proj.bias.array, number

    def _embedded(self, words: LongArray, shapes: LongArray) -> Float32Array:
        """The vectors of words, put together from pieces that many share, and behind them their shapes'."""
        emb = self._model.emb
        pieces, kinds, size = emb.word.codes.array.shape
        places = emb.word.indexes.array[words] + np.arange(0, pieces * kinds, kinds)
        parts = np.take(emb.word.codes.array.reshape(-1, size), places, axis=0)
        return np.hstack([parts.reshape(len(words), -1), emb.shape.weight.array[shapes]])


def _laid_out(layer: Any) -> tuple[Float32Array, Float32Array, Float32Array]:
    """What each place of a window adds to each filter; the bias; factor and shift of the norm."""
    taps = np.ascontiguousarray(layer.conv.weight.array.transpose(2, 1, 0))
    factor = layer.norm.weight.array / layer.norm.std.array
    norm = np.stack([factor, layer.norm.bias.array - layer.norm.mean.array * factor])
    return taps, layer.conv.bias.array, norm


def _summand(vectors: Float32Array, numbers: LongArray, taps: Float32Array) -> tuple[Float32Array, LongArray]:
    """What the vectors with these numbers add from one place, each distinct one once, and which is whose."""
    used, which = find_distinct(numbers + 1)
    found = _product(vectors, np.maximum(used - 1, 0), taps)
    found[: len(used)][used == 0] = 0  # beyond an end
    return found, which


def _product(vectors: Float32Array, numbers: LongArray, columns: Float32Array) -> Float32Array:
    """A matrix product of the vectors with these numbers, so many at a time; then rows of no meaning."""
    numbers = np.append(numbers, np.zeros(-len(numbers) % _ROWS, np.int64))
    product = np.empty((len(numbers), columns.shape[1]), np.float32)
    rows = np.empty((_ROWS, vectors.shape[1]), np.float32)
    for start in range(0, len(numbers), _ROWS):
        np.take(vectors, numbers[start : start + _ROWS], axis=0, out=rows, mode="clip")
        np.matmul(rows, columns, out=product[start : start + _ROWS])
    return product


@kernel
def _distances(wanted: NDArray[np.bool_], rows: LongArray) -> LongArray:
    """How far each place of a row is from one that is wanted; in a row without one, further than any."""
    far = np.empty(len(wanted), np.int64)
    for row in range(len(rows) - 1):
        last = 1 << 30
        for i in range(rows[row], rows[row + 1]):
            last = 0 if wanted[i] else last + 1
            far[i] = last
        for i in range(rows[row + 1] - 2, rows[row] - 1, -1):
            far[i] = min(far[i], far[i + 1] + 1)
    return far


@kernel
def _windows(numbers: LongArray, rows: LongArray, wanted: NDArray[np.bool_]) -> tuple[LongArray, LongArray]:
    """The number of the window around each place, −1 where none is wanted, and the three of each window.

    Beyond an end is −1, too.
    """
    keys, known = np.zeros(1 << 14, np.uint64), np.zeros(1 << 14, np.int64)
    found, windows, distinct = np.full(len(numbers), -1), np.empty((len(numbers), 3), np.int64), 0
    for row in range(len(rows) - 1):
        for i in range(rows[row], rows[row + 1]):
            if not wanted[i]:
                continue
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


@kernel
def _convolved(
    sums: tuple[Float32Array, ...], which: tuple[LongArray, ...], bias: Float32Array, norm: Float32Array
) -> Float32Array:
    """For each window what its three places add, kept where positive, and normalised."""
    size, factor, shift = len(bias), norm[0], norm[1]
    found = np.empty((len(which[0]), size), np.float32)
    for k in range(len(found)):
        row, left, middle, right = found[k], sums[0][which[0][k]], sums[1][which[1][k]], sums[2][which[2][k]]
        for i in range(size):
            row[i] = max(bias[i] + left[i] + middle[i] + right[i], np.float32(0)) * factor[i] + shift[i]
    return found


@kernel
def _best_tags(
    weights: Float32Array, numbers: LongArray, rows: LongArray, transitions: Float32Array, outside: int
) -> NDArray[np.uint8]:
    """The best row of tags of each text, whose words have the weights that their numbers say; −1: outside."""
    size = len(transitions)
    tags, back = np.empty(len(numbers), np.uint8), np.empty((len(numbers), size), np.uint8)
    score, sums, alone = (
        np.empty(size, np.float32),
        np.empty(size, np.float32),
        np.full(size, -np.inf, np.float32),
    )
    alone[outside] = 0
    for row in range(len(rows) - 1):
        start, stop = rows[row], rows[row + 1]
        for i in range(start, stop):
            own = weights[numbers[i]] if numbers[i] >= 0 else alone
            for tag in range(size):
                best = 0
                for before in range(size) if i > start else range(0):
                    if score[before] + transitions[before, tag] + own[tag] > (
                        score[best] + transitions[best, tag] + own[tag]
                    ):
                        best = before
                back[i, tag], sums[tag] = best, own[tag]
                if i > start:
                    sums[tag] = score[best] + transitions[best, tag] + own[tag]
            score[:] = sums
        for i in range(stop - 1, start - 1, -1):
            tags[i] = np.argmax(score) if i == stop - 1 else back[i + 1, tags[i + 1]]
    return tags


@kernel
def _named(tags: NDArray[np.uint8], rows: LongArray, letters: NDArray[np.uint32]) -> LongArray:
    """Row, first and last word of each name, from tags that begin one (B), go on (I) or do not (O)."""
    found, names = np.empty((len(tags), 3), np.int64), 0
    for row in range(len(rows) - 1):
        is_open = False
        for i in range(rows[row], rows[row + 1]):
            letter = letters[tags[i]]
            if letter == ord("B"):
                found[names, 0], found[names, 1], names = row, i, names + 1
            is_open = letter == ord("B") or (is_open and letter != ord("O"))
            if is_open and letter != ord("<"):
                found[names - 1, 2] = i
    return found[:names].copy()
