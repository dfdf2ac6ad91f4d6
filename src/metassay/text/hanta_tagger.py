"""Parts of speech by the models of HanTa (Wartena 2019), in compiled code; tags as the package gives them.

A word that the model does not list is cut into morphemes (`hanta_morphemes`). The tags of a sentence are the
best path through a hidden Markov model of second order of parts of speech. Sums and ties are those of HanTa,
in its order, so that the tags are, too. Russian has pymorphy3's analyser.
"""

from __future__ import annotations

import functools
import gc
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.compilation import kernel
from metassay.text.hanta_morphemes import END, LEAST, START, UNKNOWN, Morphemes, Readings, lower_bound
from metassay.text.tokens import token_spans, word_tokens
from metassay.text.wordnet import known_lemma
from metassay.text.words import Span

_MODELS = {"en": "morphmodel_en.pgz", "de": "morphmodel_ger.pgz"}
_UNSURE = 5.0
"""Readings of a word less likely than its best by this much are left out."""
_Reading = tuple[bytes, bytes, int, frozenset[str]]
"""The classes that a word may have, the log p of each, how many they are, and their tags."""


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
        self._morphemes = Morphemes(model)
        followers = next(iter(model.LP_trans_word.values()))
        self._classes = [tag for tag in followers if tag != END]
        self._number = {tag: i for i, tag in enumerate(self._classes)} | {START: len(self._classes)}
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
                if tag == END:
                    end[i, j] = chance
                else:
                    then[i, j, self._number[tag]] = chance
        return then, end


@kernel
def _best_path(
    classes: LongArray, chances: FloatArray, counts: LongArray, then: FloatArray, end: FloatArray
) -> LongArray:
    """The most likely tags of the words of a sentence, each of which has so many readings."""
    n, size = len(counts), end.shape[1]
    room = _ways(counts)
    before, last, back = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    best, highest = np.empty(room, np.float64), np.empty(6, np.float64)
    before[0], last[0], best[0] = size, size - 1, 0.0
    low, high, first = 0, 0 + 1, 0
    for i in range(n):
        bound, top = lower_bound(best[low:high], highest), high
        for state in range(low, high):
            if best[state] < bound:
                continue
            a, b = before[state], last[state]
            for k in range(first, first + counts[i]):
                c = classes[k]
                chance = best[state] + then[a, b, c] + chances[k]
                if chance <= LEAST:
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
    tags = np.empty(n, np.int64)
    for i in range(n - 1, -1, -1):
        tags[i], winner = last[winner], back[winner]
    return tags


@kernel
def _ways(counts: LongArray) -> int:
    """The most states there can be: two neighbouring words, each with one of its readings."""
    ways: int = 1 + counts[0]
    for i in range(1, len(counts)):
        ways += counts[i] * counts[i - 1]
    return ways


@kernel
def _place(low: int, high: int, a: int, b: int, before: LongArray, last: LongArray) -> int:
    """Where a state stands among those found for a word; after them where it is new."""
    while low < high and (before[low] != a or last[low] != b):
        low += 1
    return low


@functools.lru_cache(maxsize=1 << 16)
def tagged_pairs(
    text: str, language: str, first: frozenset[str], second: frozenset[str], without: frozenset[str]
) -> tuple[tuple[Span, str], ...]:
    """Words of the dictionary with a tag of a set, one space after a word with one of another: place and tag.

    Words whose base form is among those `without` are left out.
    """
    runs = text.split()  # no token goes over a space: each distinct run of letters and signs is cut once
    can_be = _can_be(language, second, without)
    if not any(map(can_be.runs.__getitem__, runs)):
        return ()
    words = [token for run in runs for token in _tokens(run)]
    places = [
        i
        for i, word in enumerate(words)
        if can_be[word] and i > 0 and not first.isdisjoint(_may_be(words[i - 1], language, inside=i > 1))
    ]
    spans = token_spans(text) if places else []
    places = [i for i in places if text[spans[i - 1][1] : spans[i][0]] == " "]
    tags = hanta(language).tags(words) if places else []
    return tuple((spans[i], tags[i]) for i in places if tags[i - 1] in first and tags[i] in second)


@functools.cache
def _tokens(run: str) -> list[str]:
    return word_tokens(run)


class _Asked(dict[str, bool]):
    """What was asked of words, or of runs of letters and signs, each once."""

    def __init__(self, ask: Callable[[str], bool]) -> None:
        super().__init__()
        self._ask = ask

    def __missing__(self, word: str) -> bool:
        self[word] = found = self._ask(word)
        return found


class _CanBe(_Asked):
    """Whether the dictionary has a word, not of these base forms, that can have one of these tags."""

    def __init__(self, language: str, tags: frozenset[str], without: frozenset[str]) -> None:
        super().__init__(self._of_word)
        self._language, self._tags, self._without = language, tags, without
        self.runs = _Asked(lambda run: any(self[token] for token in _tokens(run)))
        """Whether a word of a run can."""

    def _of_word(self, word: str) -> bool:
        listed = _listed(word, self._language)
        if listed and self._tags.isdisjoint(listed):
            return False
        base = known_lemma(word, self._language)
        known = base is not None and base not in self._without
        return known and not self._tags.isdisjoint(listed or _may_be(word, self._language))


_can_be = functools.cache(_CanBe)


@functools.cache
def _listed(word: str, language: str) -> frozenset[str]:
    """The tags that the model lists a word with."""
    model = hanta(language).model
    listed = model.cache.get(model.normalize(word)) or ()
    return frozenset(str(model.int2tag[tag]) for tag, _ in listed if tag != UNKNOWN)


@functools.cache
def _may_be(word: str, language: str, *, inside: bool = True) -> frozenset[str]:
    """The tags that a word can get in a sentence: all that the model lists it with, if it does."""
    return _listed(word, language) or hanta(language).may_be(word, inside=inside)


@functools.cache
def word_tags(word: str, language: str) -> tuple[str, ...]:
    """The tags that a word may have out of context, most likely first."""
    tagger = hanta(language)
    return tuple(str(tagger.model.int2tag[tag]) for tag, _ in tagger.weighed(word, inside=True))


@functools.cache
def russian() -> Any:
    """pymorphy3's analyser."""
    from pymorphy3 import MorphAnalyzer

    return MorphAnalyzer(lang="ru")
