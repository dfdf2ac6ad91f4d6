"""Parts of speech by the models of HanTa (Wartena 2019), in compiled code; tags as the package gives them.

A word that the model does not list is cut into morphemes: of all cuts the best for each part of speech, by a
hidden Markov model of second order whose states are pairs of morphemes' classes, the best four of them (and
what comes near) carried on from each letter. The tags of a sentence are the best path through such a model
of parts of speech. Sums and ties are those of HanTa, in its order, so that the tags are, too.
"""

from __future__ import annotations

import functools
import gc
from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.stats import ZERO, empty, kernel, kernel_part, zeros
from metassay.stats.arrays import FloatArray, LongArray
from metassay.text.segmentation import code_points, hashed_with, number_of, row_starts, text_table

_MODELS = {"en": "morphmodel_en.pgz", "de": "morphmodel_ger.pgz"}
_START, _END, UNKNOWN = 1, 2, 3
_LEAST = -1e6  # what is less likely is left out
_UNSURE = 5.0
"""Readings of a word less likely than its best by this much are left out."""
_Reading = tuple[bytes, bytes, int, frozenset[str]]
"""The classes that a word may have, the log p of each, how many they are, and their tags."""
Readings = list[tuple[int, float]]
_New = tuple[LongArray, FloatArray, FloatArray]
_Tables = tuple[NDArray[np.uint64], LongArray, NDArray[np.uint64], LongArray]
_Order = tuple[LongArray, LongArray, LongArray, FloatArray]


@functools.cache
def hanta(language: str) -> Tagger:
    """The tagger of a language, loaded when first needed (English: CLAWS C5; German: STTS)."""
    from HanTa.HanoverTagger import HanoverTagger

    tagger = Tagger(HanoverTagger(_MODELS[language]))
    gc.freeze()  # a million objects that stay: no round of the collector has to look at them
    return tagger


class Tagger:
    """A model of HanTa, laid out in arrays; what was found of a word is remembered."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._morphemes = _Morphemes(model)
        followers = next(iter(model.LP_trans_word.values()))
        self._classes = [tag for tag in followers if tag != _END]
        self._number = {tag: i for i, tag in enumerate(self._classes)} | {_START: len(self._classes)}
        self._path = self._chances_of_paths()
        self._first: dict[str, _Reading] = {}
        self._inside: dict[str, _Reading] = {}
        self._names = [str(model.int2tag[tag]) for tag in self._classes]

    def tags(self, words: Sequence[str]) -> list[str]:
        """The tags of the words of a sentence."""
        first, inside = self._first, self._inside
        own = [first.get(words[0]) or self._read(words[0], inside=False)]
        own += [inside.get(word) or self._read(word, inside=True) for word in words[1:]]
        tags, weights, counts, _ = zip(*own)
        classes, chances = np.frombuffer(b"".join(tags), np.int64), np.frombuffer(b"".join(weights))
        return [
            self._names[tag] for tag in _best_path(classes, chances, np.array(counts), *self._path).tolist()
        ]

    def may_be(self, word: str, *, inside: bool = True) -> frozenset[str]:
        """The tags that `tags` can give a word, inside a sentence or at its start."""
        known = self._inside if inside else self._first
        return (known.get(word) or self._read(word, inside=inside))[3]

    def _read(self, word: str, *, inside: bool) -> _Reading:
        """What a word may be inside a sentence or at its start, with log p(word | tag) but for a constant."""
        known = self._given_tag(word, inside=inside)
        known.sort()  # as its own search finds them
        known = known or [(number, 0.0) for number in range(len(self._classes))]
        classes, chances = zip(*known)
        names = frozenset(self._names[number] for number in classes)
        found = array("q", classes).tobytes(), array("d", chances).tobytes(), len(known), names
        (self._inside if inside else self._first)[word] = found
        return found

    def _given_tag(self, word: str, *, inside: bool) -> list[tuple[int, float]]:
        """Log p(word | tag) by the number of the tag, of tags that are not too unlikely."""
        model, number = self.model, self._number
        lower, capital = model.normalize(word), inside and word[0].isupper()
        listed = model.cache.get(lower)
        case, prior = model.LP_case_t, model.LP_wtag
        found = self._morphemes.readings(lower) if listed is None else listed
        if inside:
            own = [(number[t], p + case[t][capital] - prior[t]) for t, p in found if t != UNKNOWN]
        else:
            own = [(number[t], p - prior[t]) for t, p in found if t != UNKNOWN]
        if listed is not None or not found:
            return own
        unknown = [p for t, p in found if t == UNKNOWN]
        least = max([p for _, p in own] + unknown) - _UNSURE
        return [reading for reading in own if reading[1] >= least]

    def weighed(self, word: str, *, inside: bool) -> Readings:
        """The readings of a word by their chance, its capital counted where it stands inside a sentence."""
        model = self.model
        lower, capital = model.normalize(word), inside and word[0].isupper()
        listed = model.cache.get(lower)
        found = self._morphemes.readings(lower) if listed is None else list(listed)
        if inside:
            found = [(tag, p if tag == UNKNOWN else p + model.LP_case_t[tag][capital]) for tag, p in found]
        found.sort(key=lambda reading: reading[1], reverse=True)
        if listed is not None or not found:
            return found
        return [reading for reading in found if reading[1] >= found[0][1] - _UNSURE]

    def _chances_of_paths(self) -> tuple[FloatArray, FloatArray]:
        """Log p of a tag after two others, and of the end."""
        size = len(self._classes)
        then = np.full((size + 2, size + 1, size), -np.inf)
        end = np.full((size + 2, size + 1), -np.inf)
        for (before, last), followers in self.model.LP_trans_word.items():
            i, j = self._number.get(before, size + 1), self._number.get(last)
            if j is None:
                continue
            for tag, chance in followers.items():
                if tag == _END:
                    end[i, j] = chance
                else:
                    then[i, j, self._number[tag]] = chance
        return then, end


class _Morphemes:
    """The chances of morphemes and of their order."""

    def __init__(self, model: Any) -> None:
        states, pairs = {(0, _START): 0}, dict[tuple[int, int], int]()
        for (_, last), followers in model.LP_trans.items():
            for tag in followers:
                (states if tag > 0 else pairs).setdefault((last, tag), len(states if tag > 0 else pairs))
        every = [
            [(states[s[1], tag], tag, chance) for tag, chance in model.LP_trans_nonfinal.get(s, ())]
            for s in states
        ]
        ends = [
            [(pairs[s[1], tag], -tag, chance) for tag, chance in model.LP_trans_final.get(s, ())]
            for s in states
        ]
        after_new = [[step for step in row if step[1] in model.LP_hapax_t] for row in every]
        self._orders = _laid_out([*every, *after_new]), _laid_out(ends)
        known: dict[str, list[tuple[int, int, float]]] = {}
        for tag, morphemes in model.LP_m_t.items():
            for morpheme, chance in morphemes.items():
                known.setdefault(morpheme, []).append((0, tag, chance))
        self._known = _laid_out(list(known.values()))
        self._endings = ["", *sorted({ending for own in model.LP_s_t.values() for ending in own} - {""})]
        self._tables = (*text_table(list(known)), *text_table([ending[::-1] for ending in self._endings]))
        self._new = self._chances_of_new_ones(model)

    def _chances_of_new_ones(self, model: Any) -> _New:
        """By class, the log p of a morpheme that the model has not: for its length, for its ending."""
        tags = [tag for tag in model.LP_s_t if tag in model.LP_hapax_t]
        chances = [[model.Int_t + model.LP_hapax_t[t] + p for p in model.LP_len_t[t]] for t in tags]
        endings = [[model.LP_s_t[tag].get(ending, np.nan) for tag in tags] for ending in self._endings]
        return np.array(tags), np.array(chances), np.array(endings)

    def readings(self, word: str) -> Readings:
        """The parts of speech of a word with the log p of its best morphemes, most likely first."""
        tags, chances = _best_cuts(code_points(word), self._tables, self._orders, self._known, self._new)
        found = sorted(zip(tags.tolist(), chances.tolist()), key=lambda reading: reading[1], reverse=True)
        return found or [(UNKNOWN, 0.0)]


def _laid_out(rows: Sequence[Sequence[tuple[int, int, float]]]) -> _Order:
    """What can follow each state: the state after it, the class and its log p."""
    flat = [step for row in rows for step in row]
    targets, tags = (np.array([step[i] for step in flat], np.int64) for i in (0, 1))
    return row_starts(rows), targets, tags, np.array([step[2] for step in flat])


@kernel_part
def _by_ending(codes: NDArray[np.uint32], tables: _Tables, chances: FloatArray) -> FloatArray:
    """Log p of the longest known ending among the last 0 to 4 letters up to each place, by class."""
    found = empty((len(codes) + 1, 5, chances.shape[1]), np.float64)
    for i in range(len(codes)):
        key = np.uint64(1)
        for column in range(chances.shape[1]):
            found[i + 1, 0, column] = chances[0, column]
        for k in range(1, 5):
            for column in range(chances.shape[1]):
                found[i + 1, k, column] = found[i + 1, k - 1, column]
            if k <= i + 1:
                key = hashed_with(key, codes[i + 1 - k])
                ending = number_of(key, tables[2], tables[3])
                for column in range(chances.shape[1]) if ending >= 0 else range(0):
                    if not np.isnan(chances[ending, column]):
                        found[i + 1, k, column] = chances[ending, column]
    return found


@kernel_part
def _weigh_piece(
    length: int,
    size: int,
    piece: np.int64,
    endings: FloatArray,
    known: _Order,
    new: _New,
    chances: FloatArray,
) -> None:
    """Log p of a morpheme by class: known, or new and judged by its length and ending."""
    for tag in range(len(chances)):
        chances[tag] = -np.inf
    for column in range(len(new[0])) if size < 4 or length > 2 else range(0):
        chance = new[1][column, min(length, 24)] + endings[min(4, length - 1), column]
        chances[new[0][column]] = chance - 4.6 if length == size else chance
    for k in range(known[0][piece], known[0][piece + 1]) if piece >= 0 else range(0):
        chances[known[2][k]] = known[3][k]


@kernel_part
def _carry_on(found: LongArray, best: FloatArray) -> LongArray:
    """Of the states found, in their order, the best four and what comes near; overwrites what was found."""
    chances, count = empty(len(found), np.float64), 0
    for place in range(len(found)):
        chances[place] = best[found[place]]
    bound = _bound(chances, empty(4, np.float64))
    for place in range(len(found)):
        if chances[place] >= bound:
            found[count], count = found[place], count + 1
    return found[:count]


@kernel_part
def _bound(chances: FloatArray, top: FloatArray) -> float:
    """What comes near the highest, as many as `top` has room for: the least of them, less 1."""
    for k in range(len(top)):
        top[k] = -np.inf
    for place in range(len(chances)):
        chance = chances[place]
        for k in range(len(top)):
            if chance > top[k]:
                chance, top[k] = top[k], chance
    bound: float = max(top[-1] - 1, _LEAST)
    return bound


@kernel
def _best_cuts(
    codes: NDArray[np.uint32], tables: _Tables, orders: tuple[_Order, _Order], known: _Order, new: _New
) -> tuple[LongArray, FloatArray]:
    """The parts of speech of a word, as found, each with the log p of the best ways to it."""
    starts, targets, tags, steps = orders[0]
    size, n_states = len(codes), len(orders[1][0]) - 1
    best, chances = empty((size + 1, n_states), np.float64), empty(_above(tags), np.float64)
    for i in range(size + 1):
        for state in range(n_states):
            best[i, state] = -np.inf
    found, count = empty((size + 1, n_states), np.int64), zeros(size + 1, np.int64)
    best[0, 0], found[0, 0], count[0] = 0.0, 0, 1
    endings = _by_ending(codes, tables, new[2])
    for i in range(size):
        going_on = _carry_on(found[i, : count[i]], best[i])
        key = np.uint64(1)
        for j in range(i + 1, size + 1):
            key = hashed_with(key, codes[j - 1])
            piece = number_of(key, tables[0], tables[1])
            if piece < 0 and size >= 4 and j - i <= 2:
                continue
            _weigh_piece(j - i, size, piece, endings[j], known, new, chances)
            for state in going_on:
                after = state if piece >= 0 else state + n_states  # what can follow as a new one is fewer
                for k in range(starts[after], starts[after + 1]):
                    chance, target = best[i, state] + steps[k] + chances[tags[k]], targets[k]
                    if chance > _LEAST and chance > best[j, target]:
                        if best[j, target] == -np.inf:
                            found[j, count[j]] = target
                            count[j] += 1
                        best[j, target] = chance
    return _ended(found[size, : count[size]], best[size], orders[1])


@kernel_part
def _ended(last: LongArray, best: FloatArray, ends: _Order) -> tuple[LongArray, FloatArray]:
    """The parts of speech that states can end with: the best state of each pair of classes, pairs summed."""
    starts, pairs, tags, steps = ends
    of_pair, of_tag = empty(_above(pairs), np.float64), empty(_above(tags), np.float64)
    for pair in range(len(of_pair)):
        of_pair[pair] = -np.inf
    for tag in range(len(of_tag)):
        of_tag[tag] = -np.inf
    order, known = empty((len(of_pair), 2), np.int64), 0
    for place in range(len(last)):
        state = last[place]
        for k in range(starts[state], starts[state + 1]):
            chance = best[state] + steps[k]
            if chance > _LEAST and chance > of_pair[pairs[k]]:
                if of_pair[pairs[k]] == -np.inf:
                    order[known, 0], order[known, 1], known = pairs[k], tags[k], known + 1
                of_pair[pairs[k]] = chance
    found, count = empty(known, np.int64), 0
    for place in range(known):
        pair, tag = order[place, 0], order[place, 1]
        if of_tag[tag] == -np.inf:
            found[count], count, of_tag[tag] = tag, count + 1, of_pair[pair]
        else:
            of_tag[tag] = np.logaddexp(of_tag[tag], of_pair[pair])
    chances = empty(count, np.float64)
    for place in range(count):
        chances[place] = of_tag[found[place]]
    return found[:count], chances


@kernel_part
def _above(numbers: LongArray) -> int:
    """One more than the largest of numbers from 0 on."""
    above = 0
    for place in range(len(numbers)):
        above = max(above, numbers[place] + 1)
    return above


@kernel
def _best_path(
    classes: LongArray, chances: FloatArray, counts: LongArray, then: FloatArray, end: FloatArray
) -> LongArray:
    """The most likely tags of the words of a sentence, each of which has so many readings."""
    n, size = len(counts), end.shape[1]
    room = _ways(counts)
    before, last, back = empty(room, np.int64), empty(room, np.int64), empty(room, np.int64)
    best, highest = empty(room, np.float64), empty(6, np.float64)
    before[0], last[0], best[0] = size, size - 1, 0.0
    low, high, first = ZERO, ZERO + 1, 0
    for i in range(n):
        bound, top = _bound(best[low:high], highest), high
        for state in range(low, high):
            if best[state] < bound:
                continue
            a, b = before[state], last[state]
            for k in range(first, first + counts[i]):
                c = classes[k]
                chance = best[state] + then[a, b, c] + chances[k]
                if chance <= _LEAST:
                    continue
                place = _place(high, top, b, c, before, last)
                if place == top or chance > best[place]:
                    before[place], last[place], back[place], best[place] = b, c, state, chance
                    top = max(top, place + 1)
        low, high, first = high, top, first + counts[i]
    winner, most = low, -np.inf
    for state in range(low, high):
        chance = best[state] + end[before[state], last[state]]
        if chance > most:
            winner, most = state, chance
    tags = empty(n, np.int64)
    for i in range(n - 1, -1, -1):
        tags[i], winner = last[winner], back[winner]
    return tags


@kernel_part
def _ways(counts: LongArray) -> int:
    """The most states there can be: two neighbouring words, each with one of its readings."""
    ways: int = 1 + counts[0]
    for i in range(1, len(counts)):
        ways += counts[i] * counts[i - 1]
    return ways


@kernel_part
def _place(low: int, high: int, a: int, b: int, before: LongArray, last: LongArray) -> int:
    """Where a state stands among those found for a word; after them where it is new."""
    while low < high and (before[low] != a or last[low] != b):
        low += 1
    return low
