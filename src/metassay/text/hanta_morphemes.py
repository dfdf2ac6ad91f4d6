"""Split words into morphemes with the models of HanTa (Wartena 2019), in compiled code.

For each part of speech, HanTa finds the best way to split a word by a hidden Markov model of second order.
Its states are pairs of morpheme classes. From each letter, only the four best states and those that come near
are continued. Sums are added, and ties broken, in the order of HanTa, so that the results are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from metassay.stats.arrays import FloatArray, LongArray, compute_row_offsets
from metassay.stats.compilation import kernel
from metassay.text.hash_table import (
    CodePoints,
    HashTable,
    build_hash_table,
    extend_hash,
    get_code_points,
    look_up_hash,
)

# Classes with a special meaning in HanTa.
START, END, UNKNOWN = 1, 2, 3
# What is less likely is left out.
MINIMUM_LOG_P = -1e6
# The limits of HanTa: the same ones give the same results.
_CONTINUED_STATES = 4
_LONGEST_ENDING = 4
_LONGEST_NEW_MORPHEME = 24
# Log p that HanTa subtracts if a new morpheme is a whole word.
_WHOLE_WORD_PENALTY = 4.6
# A part of speech, as HanTa numbers them, and a log p.
TagReading = tuple[int, float]


class Transitions(NamedTuple):
    """The possible steps of a tagging model from each state; those of state i begin at `offsets[i]`."""

    offsets: LongArray
    targets: LongArray
    """The state that a step leads to."""
    tags: LongArray
    """The morpheme class or part of speech of a step."""
    log_p: FloatArray


class NewMorphemes(NamedTuple):
    """Log-probabilities of morphemes that the model does not contain."""

    tags: LongArray
    """Their possible classes; the columns of the others."""
    by_length: FloatArray
    by_ending: FloatArray
    """One row per ending; NaN if the class does not have it."""


class MorphemeModel(NamedTuple):
    """A morpheme model of HanTa as arrays, for the search of the best split of a word."""

    morphemes: HashTable
    endings: HashTable
    """Endings of new morphemes, spelt backwards."""
    classes: Transitions
    """The classes of each known morpheme."""
    inner: Transitions
    """Steps inside a word: first from all states, then again, only those to new morphemes."""
    final: Transitions
    """Steps to the end of a word. Targets are pairs of classes."""
    new_morphemes: NewMorphemes
    class_count: int
    pair_count: int
    tag_count: int


class MorphemeSplitter:
    """Finds the parts of speech of words that the dictionary of HanTa does not contain."""

    def __init__(self, hanta: Any) -> None:
        self._model = _build_morpheme_model(hanta)

    def rank_tags(self, word: str) -> list[TagReading]:
        """Return the parts of speech of a word with log-probabilities, most likely first."""
        tags, log_p = _find_best_splits(get_code_points(word), self._model)
        readings = list(zip(tags.tolist(), log_p.tolist()))
        # A stable sort keeps readings with equal log p in the order in which HanTa finds them.
        readings.sort(key=lambda reading: reading[1], reverse=True)
        return readings or [(UNKNOWN, 0.0)]


def _build_morpheme_model(hanta: Any) -> MorphemeModel:
    """Convert a model of HanTa to arrays."""
    states = {(0, START): 0}
    pairs: dict[tuple[int, int], int] = {}
    for (_, last), followers in hanta.LP_trans.items():
        for tag in followers:
            # In HanTa, a negative number stands for the end of a word and its part of speech.
            numbers = states if tag > 0 else pairs
            numbers.setdefault((last, tag), len(numbers))
    inner_steps = []
    final_steps = []
    for state in states:
        followers = hanta.LP_trans_nonfinal.get(state, ())
        inner_steps.append([(states[state[1], tag], tag, log_p) for tag, log_p in followers])
        endings = hanta.LP_trans_final.get(state, ())
        final_steps.append([(pairs[state[1], tag], -tag, log_p) for tag, log_p in endings])
    # Only open classes, which have morphemes that occur once in the training data, can have new morphemes.
    new_steps = [[step for step in steps if step[1] in hanta.LP_hapax_t] for steps in inner_steps]
    classes_of: dict[str, list[tuple[int, int, float]]] = {}
    for tag, morphemes in hanta.LP_m_t.items():
        for morpheme, log_p in morphemes.items():
            classes_of.setdefault(morpheme, []).append((0, tag, log_p))
    ending_texts = sorted({ending for endings in hanta.LP_s_t.values() for ending in endings} - {""})
    # The empty ending has row 0, which `_score_endings` starts from.
    ending_texts.insert(0, "")
    inner = _build_transitions([*inner_steps, *new_steps])
    final = _build_transitions(final_steps)
    return MorphemeModel(
        morphemes=build_hash_table(list(classes_of)),
        endings=build_hash_table([ending[::-1] for ending in ending_texts]),
        classes=_build_transitions(list(classes_of.values())),
        inner=inner,
        final=final,
        new_morphemes=_build_new_morphemes(hanta, ending_texts),
        class_count=int(inner.tags.max()) + 1,
        pair_count=int(final.targets.max()) + 1,
        tag_count=int(final.tags.max()) + 1,
    )


def _build_new_morphemes(hanta: Any, endings: Sequence[str]) -> NewMorphemes:
    """Convert the probabilities of unknown morphemes to arrays."""
    tags = [tag for tag in hanta.LP_s_t if tag in hanta.LP_hapax_t]
    by_length = [
        [hanta.Int_t + hanta.LP_hapax_t[tag] + log_p for log_p in hanta.LP_len_t[tag]] for tag in tags
    ]
    by_ending = [[hanta.LP_s_t[tag].get(ending, np.nan) for tag in tags] for ending in endings]
    return NewMorphemes(np.array(tags), np.array(by_length), np.array(by_ending))


def _build_transitions(rows: Sequence[Sequence[tuple[int, int, float]]]) -> Transitions:
    """Convert lists of steps (target, tag, log p), one list per row, to arrays."""
    steps = [step for row in rows for step in row]
    return Transitions(
        offsets=compute_row_offsets(rows),
        targets=np.array([target for target, _, _ in steps], np.int64),
        tags=np.array([tag for _, tag, _ in steps], np.int64),
        log_p=np.array([log_p for _, _, log_p in steps]),
    )


@kernel
def _find_best_splits(word: CodePoints, model: MorphemeModel) -> tuple[LongArray, FloatArray]:
    """Find the best split of a word into morphemes for each part of speech, with its log-probability."""
    size = len(word)
    state_count = len(model.final.offsets) - 1
    best = np.full((size + 1, state_count), -np.inf)  # log p of the best way to a state at a letter
    states = np.empty(
        (size + 1, state_count), np.int64
    )  # the states at a letter, in the order they are found
    counts = np.zeros(size + 1, np.int64)
    log_p_of_class = np.empty(model.class_count, np.float64)
    best[0, 0] = 0.0
    states[0, 0] = 0
    counts[0] = 1
    endings = _score_endings(word, model.endings, model.new_morphemes.by_ending)
    inner = model.inner
    for start in range(size):
        continued = _choose_best_states(states[start, : counts[start]], best[start])
        text_hash = np.uint64(1)
        for end in range(start + 1, size + 1):
            text_hash = extend_hash(text_hash, word[end - 1])
            morpheme = look_up_hash(text_hash, model.morphemes)
            is_new = morpheme < 0
            # HanTa gives new morphemes of one or two letters no probability, except in short words.
            if is_new and size >= 4 and end - start <= 2:
                continue
            _score_morpheme(end - start, size, morpheme, endings[end], model, log_p_of_class)
            for state in continued:
                # The second half of the rows has only the steps to classes of new morphemes.
                row = state + state_count if is_new else state
                for step in range(inner.offsets[row], inner.offsets[row + 1]):
                    log_p = best[start, state] + inner.log_p[step] + log_p_of_class[inner.tags[step]]
                    target = inner.targets[step]
                    if log_p > MINIMUM_LOG_P and log_p > best[end, target]:
                        if best[end, target] == -np.inf:
                            states[end, counts[end]] = target
                            counts[end] += 1
                        best[end, target] = log_p
    return _sum_states_by_tag(states[size, : counts[size]], best[size], model)


@kernel
def _score_endings(word: CodePoints, endings: HashTable, ending_log_p: FloatArray) -> FloatArray:
    """Compute the log-probability of the longest known ending at each letter of a word, by class."""
    class_count = ending_log_p.shape[1]
    weights = np.empty((len(word) + 1, _LONGEST_ENDING + 1, class_count), np.float64)
    for end in range(1, len(word) + 1):
        text_hash = np.uint64(1)
        # Loops over columns compile much faster than assignments of rows.
        for column in range(class_count):
            weights[end, 0, column] = ending_log_p[0, column]
        for length in range(1, _LONGEST_ENDING + 1):
            for column in range(class_count):
                weights[end, length, column] = weights[end, length - 1, column]
            if length > end:
                continue
            text_hash = extend_hash(text_hash, word[end - length])
            ending = look_up_hash(text_hash, endings)
            if ending < 0:
                continue
            for column in range(class_count):
                if not np.isnan(ending_log_p[ending, column]):
                    weights[end, length, column] = ending_log_p[ending, column]
    return weights


@kernel
def _score_morpheme(
    length: int,
    word_length: int,
    morpheme: np.int64,
    ending_log_p: FloatArray,
    model: MorphemeModel,
    log_p_of_class: FloatArray,
) -> None:
    """Write the log-probability of a morpheme for each class to an array."""
    log_p_of_class[:] = -np.inf
    new_morphemes = model.new_morphemes
    if word_length < 4 or length > 2:
        length_column = min(length, _LONGEST_NEW_MORPHEME)
        # An ending is shorter than its morpheme.
        ending_row = min(_LONGEST_ENDING, length - 1)
        for column in range(len(new_morphemes.tags)):
            log_p = new_morphemes.by_length[column, length_column] + ending_log_p[ending_row, column]
            if length == word_length:
                log_p -= _WHOLE_WORD_PENALTY
            log_p_of_class[new_morphemes.tags[column]] = log_p
    if morpheme >= 0:
        classes = model.classes
        for step in range(classes.offsets[morpheme], classes.offsets[morpheme + 1]):
            log_p_of_class[classes.tags[step]] = classes.log_p[step]


@kernel
def _choose_best_states(states: LongArray, best: FloatArray) -> LongArray:
    """Return the most likely states and those of almost the same probability."""
    log_p = best[states]
    bound = compute_pruning_bound(log_p, np.empty(_CONTINUED_STATES, np.float64))
    count = 0
    for position in range(len(states)):
        if log_p[position] >= bound:
            states[count] = states[position]
            count += 1
    return states[:count]


@kernel
def compute_pruning_bound(log_probabilities: FloatArray, highest_values: FloatArray) -> float:
    """Compute the log-probability below which states are not continued: 1 less than the n-th highest."""
    highest_values[:] = -np.inf
    for value in log_probabilities:
        smaller = value
        for rank in range(len(highest_values)):
            if smaller > highest_values[rank]:
                smaller, highest_values[rank] = highest_values[rank], smaller
    bound: float = max(highest_values[-1] - 1, MINIMUM_LOG_P)
    return bound


@kernel
def _sum_states_by_tag(
    states: LongArray, best: FloatArray, model: MorphemeModel
) -> tuple[LongArray, FloatArray]:
    """Sum the probabilities of the best splits by part of speech.

    Returns the parts of speech and their log-probabilities.
    """
    final = model.final
    log_p_of_pair = np.full(model.pair_count, -np.inf)
    log_p_of_tag = np.full(model.tag_count, -np.inf)
    pairs = np.empty((model.pair_count, 2), np.int64)  # pair and part of speech, in the order they are found
    pair_count = 0
    for state in states:
        for step in range(final.offsets[state], final.offsets[state + 1]):
            pair = final.targets[step]
            log_p = best[state] + final.log_p[step]
            if log_p > MINIMUM_LOG_P and log_p > log_p_of_pair[pair]:
                if log_p_of_pair[pair] == -np.inf:
                    pairs[pair_count, 0] = pair
                    pairs[pair_count, 1] = final.tags[step]
                    pair_count += 1
                log_p_of_pair[pair] = log_p
    tags = np.empty(pair_count, np.int64)
    tag_count = 0
    for position in range(pair_count):
        log_p = log_p_of_pair[pairs[position, 0]]
        tag = pairs[position, 1]
        if log_p_of_tag[tag] == -np.inf:
            tags[tag_count] = tag
            tag_count += 1
            log_p_of_tag[tag] = log_p
        else:
            log_p_of_tag[tag] = np.logaddexp(log_p_of_tag[tag], log_p)
    return tags[:tag_count], log_p_of_tag[tags[:tag_count]]
