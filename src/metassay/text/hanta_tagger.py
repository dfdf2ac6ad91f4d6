"""Tag words with their parts of speech by the models of HanTa (Wartena 2019), in compiled code.

The tags of a sentence are the best path through a hidden Markov model of second order. A word that the model
does not list is split into morphemes (`hanta_morphemes`). Sums are added, and ties broken, in the order of
HanTa, so that the tags are equal. Tags are CLAWS C5 in English and STTS in German.
"""

from __future__ import annotations

import functools
import gc
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.compilation import ZERO, kernel
from metassay.text.hanta_morphemes import (
    END,
    MINIMUM_LOG_P,
    START,
    UNKNOWN,
    MorphemeSplitter,
    TagReading,
    compute_pruning_threshold,
)

_MODEL_FILES = {"en": "morphmodel_en.pgz", "de": "morphmodel_ger.pgz"}
# Readings of an unlisted word whose log p is this much lower than that of the best are left out.
_MAXIMUM_DIFFERENCE = 5.0
_CONTINUED_STATES = 6
_CACHED_WORDS = 1 << 17


@dataclass(frozen=True, slots=True)
class WordReadings:
    """The part-of-speech tags that a word can have, with their log-probabilities."""

    tag_numbers: bytes
    log_p: bytes
    """Log p of the word given the tag, up to a constant."""
    count: int
    tags: frozenset[str]


@functools.lru_cache(maxsize=4)
def load_pos_tagger(language: str) -> Tagger:
    """Load the part-of-speech tagger for a language."""
    from HanTa.HanoverTagger import HanoverTagger

    tagger = Tagger(HanoverTagger(_MODEL_FILES[language]))
    gc.freeze()  # a million objects that stay: the garbage collector need not look at them again
    return tagger


class Tagger:
    """A part-of-speech tagger with a model of HanTa, which remembers the possible tags of words."""

    def __init__(self, hanta: Any) -> None:
        self._hanta = hanta
        self._splitter = MorphemeSplitter(hanta)
        # All pairs of tags have the same followers, in the order in which HanTa tries them.
        followers = next(iter(hanta.LP_trans_word.values()))
        self._tags = [tag for tag in followers if tag != END]
        self._tag_names = [str(hanta.int2tag[tag]) for tag in self._tags]
        self._number_of = {tag: number for number, tag in enumerate(self._tags)}
        # START comes after all tags, so that it is never chosen for a word.
        self._number_of[START] = len(self._tags)
        self._transitions, self._end_transitions = self._build_tag_transitions()
        self._find_known_tags = functools.lru_cache(maxsize=2 * _CACHED_WORDS)(self._find_likely_pos_tags)

    def tag_parts_of_speech(self, words: Sequence[str]) -> list[str]:
        """Return the part-of-speech tag of each word of a sentence."""
        readings = [self._find_known_tags(words[0], True)]
        readings += [self._find_known_tags(word, False) for word in words[1:]]
        counts = np.array([reading.count for reading in readings])
        path = _find_most_likely_pos_tags(
            # Joining bytes is faster than concatenating many small arrays.
            np.frombuffer(b"".join([reading.tag_numbers for reading in readings]), np.int64),
            np.frombuffer(b"".join([reading.log_p for reading in readings])),
            counts,
            self._transitions,
            self._end_transitions,
            # A state is the pair of tags of two successive words.
            1 + int(counts[0]) + int(counts[1:] @ counts[:-1]),
        )
        return [self._tag_names[number] for number in path.tolist()]

    def list_possible_pos_tags(self, word: str, *, is_first_word: bool = False) -> frozenset[str]:
        """List the tags that `tag_parts_of_speech` can give to a word. They can differ between the first and
        later words of a sentence.
        """
        return self._find_known_tags(word, is_first_word).tags

    def list_dictionary_pos_tags(self, word: str) -> frozenset[str]:
        """Return the tags of a word in the dictionary of the model. The set is empty if the word is not
        there.
        """
        listed = self._hanta.cache.get(self._hanta.normalize(word)) or ()
        return frozenset(str(self._hanta.int2tag[tag]) for tag, _ in listed if tag != UNKNOWN)

    def rank_pos_tags(self, word: str) -> tuple[str, ...]:
        """Rank the tags that a word can have, judged without its sentence, the most likely first."""
        readings, is_listed = self._look_up_pos_tags(word)
        has_capital = word[0].isupper()
        weighed = []
        for tag, log_p in readings:
            case_log_p = 0.0 if tag == UNKNOWN else self._hanta.LP_case_t[tag][has_capital]
            weighed.append((tag, log_p + case_log_p))
        weighed.sort(key=lambda reading: reading[1], reverse=True)
        if not is_listed:
            minimum = weighed[0][1] - _MAXIMUM_DIFFERENCE
            weighed = [reading for reading in weighed if reading[1] >= minimum]
        return tuple(str(self._hanta.int2tag[tag]) for tag, _ in weighed)

    def _look_up_pos_tags(self, word: str) -> tuple[Sequence[TagReading], bool]:
        """Return the possible tags of a word with their log-probabilities, and whether they are from the
        dictionary.
        """
        lower = self._hanta.normalize(word)
        listed = self._hanta.cache.get(lower)
        if listed is None:
            return self._splitter.rank_pos_tags(lower), False
        return listed, True

    def _find_likely_pos_tags(self, word: str, is_first_word: bool) -> WordReadings:
        """Find the likely tags of a word, as the first word of a sentence or as a later one. Returns all tags
        if none is likely.
        """
        readings = self._score_likely_pos_tags(word, is_first_word=is_first_word)
        readings.sort()  # the order in which HanTa finds them, which breaks ties
        if not readings:
            readings = [(number, 0.0) for number in range(len(self._tags))]
        numbers, log_p = zip(*readings)
        names = frozenset(self._tag_names[number] for number in numbers)
        return WordReadings(array("q", numbers).tobytes(), array("d", log_p).tobytes(), len(readings), names)

    def _score_likely_pos_tags(self, word: str, *, is_first_word: bool) -> list[TagReading]:
        """Score the likely tags of a word: each gets the log-probability of the word given this tag."""
        readings, is_listed = self._look_up_pos_tags(word)
        has_capital = word[0].isupper()
        prior = self._hanta.LP_wtag
        weighed = []
        for tag, log_p in readings:
            if tag == UNKNOWN:
                continue
            if is_first_word:  # where every word has a capital, it says nothing
                weighed.append((self._number_of[tag], log_p - prior[tag]))
            else:
                case_log_p = self._hanta.LP_case_t[tag][has_capital]
                weighed.append((self._number_of[tag], log_p + case_log_p - prior[tag]))
        if is_listed or not readings:
            return weighed
        unknown_log_p = [log_p for tag, log_p in readings if tag == UNKNOWN]
        minimum = max([log_p for _, log_p in weighed] + unknown_log_p) - _MAXIMUM_DIFFERENCE
        return [reading for reading in weighed if reading[1] >= minimum]

    def _build_tag_transitions(self) -> tuple[FloatArray, FloatArray]:
        """Compute the log-probabilities of each tag, and of the end of a sentence, after every two tags."""
        tag_count = len(self._tags)
        before_start = tag_count + 1
        transitions = np.full((tag_count + 2, tag_count + 1, tag_count), -np.inf)
        end_transitions = np.full((tag_count + 2, tag_count + 1), -np.inf)
        for (first_tag, second_tag), followers in self._hanta.LP_trans_word.items():
            first = self._number_of.get(first_tag, before_start)
            second = self._number_of.get(second_tag)
            if second is None:
                continue
            for tag, log_p in followers.items():
                if tag == END:
                    end_transitions[first, second] = log_p
                else:
                    transitions[first, second, self._number_of[tag]] = log_p
        return transitions, end_transitions


@kernel
def _find_most_likely_pos_tags(
    reading_tags: LongArray,
    reading_log_p: FloatArray,
    reading_counts: LongArray,
    transitions: FloatArray,
    end_transitions: FloatArray,
    state_limit: int,
) -> LongArray:
    """Find the most likely sequence of part-of-speech tags for the words of a sentence."""
    word_count = len(reading_counts)
    tag_count = end_transitions.shape[1] - 1
    # A state is the pair of tags of two successive words, with a pointer to the best state before it.
    first_tag = np.empty(state_limit, np.int64)
    second_tag = np.empty(state_limit, np.int64)
    previous = np.empty(state_limit, np.int64)
    best = np.empty(state_limit, np.float64)
    highest = np.empty(_CONTINUED_STATES, np.float64)
    first_tag[0] = tag_count + 1
    second_tag[0] = tag_count
    best[0] = 0.0
    low = ZERO  # the states of the word before are those from `low` to `high`
    high = low + 1
    first_reading = 0
    for i in range(word_count):
        bound = compute_pruning_threshold(best[low:high], highest)
        top = high
        for state in range(low, high):
            if best[state] < bound:
                continue
            a = first_tag[state]
            b = second_tag[state]
            for reading in range(first_reading, first_reading + reading_counts[i]):
                c = reading_tags[reading]
                path_log_p = best[state] + transitions[a, b, c] + reading_log_p[reading]
                if path_log_p <= MINIMUM_LOG_P:
                    continue
                target = _find_viterbi_state_with_tags(b, c, high, top, first_tag, second_tag)
                # Strictly greater: of two equal paths, HanTa keeps the first one.
                if target == top or path_log_p > best[target]:
                    first_tag[target] = b
                    second_tag[target] = c
                    previous[target] = state
                    best[target] = path_log_p
                    top = max(top, target + 1)
        low = high
        high = top
        first_reading += reading_counts[i]
    winner = low
    winner_log_p = -np.inf
    for state in range(low, high):
        path_log_p = best[state] + end_transitions[first_tag[state], second_tag[state]]
        if path_log_p > winner_log_p:
            winner = state
            winner_log_p = path_log_p
    path = np.empty(word_count, np.int64)
    for i in range(word_count - 1, -1, -1):
        path[i] = second_tag[winner]
        winner = previous[winner]
    return path


@kernel
def _find_viterbi_state_with_tags(
    first_tag: int,
    second_tag: int,
    first_state: int,
    end_state: int,
    first_tags: LongArray,
    second_tags: LongArray,
) -> int:
    """Find the state between `first_state` and `end_state` that has two given tags. Returns `end_state` if
    none has.
    """
    state = first_state
    while state < end_state and (first_tags[state] != first_tag or second_tags[state] != second_tag):
        state += 1
    return state
