"""Split words into morphemes with the models of HanTa (Wartena 2019), in compiled code.

For each part of speech, HanTa finds the best way to split a word by a hidden Markov model of second order.
Its states are pairs of morpheme classes. From each letter, only the four best states and those that come near
are continued. Sums are added, and ties broken, in the order of HanTa, so that the results are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from metassay.stats.arrays import FloatArray, LongArray, compute_start_of_each_row
from metassay.stats.compilation import kernel

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
# The state that a step leads to, the class or part of speech of the step, and its log p.
Step = tuple[int, int, float]


class Transitions(NamedTuple):
    """The transitions between the states of a tagging model, stored as arrays.

    Those of state i begin at `offsets[i]`.
    """

    offsets: LongArray
    targets: LongArray
    """The state that a step leads to."""
    tags: LongArray
    """The morpheme class of a step."""
    log_p: FloatArray


class NewMorphemes(NamedTuple):
    """Log-probabilities with which the model accepts parts of words that it has never seen."""

    tags: LongArray
    """Their possible classes; the columns of the others."""
    by_length: FloatArray
    by_ending: FloatArray
    """One row per ending, in the order of `MorphemeModel.endings`."""


class MorphemeModel(NamedTuple):
    """A model of HanTa that splits words into morphemes, the smallest parts with a meaning, stored as arrays
    for compiled code.
    """

    morphemes: dict[str, int]
    """Known morphemes with their numbers."""
    longest_morpheme: int
    endings: dict[str, int]
    """Endings of new morphemes with their numbers."""
    classes: Transitions
    """The classes of each known morpheme."""
    inner: Transitions
    """Steps inside a word: first from all states, then again, only those to new morphemes."""
    final: list[list[Step]]
    """Steps from each state to the end of a word. Targets are pairs of classes."""
    new_morphemes: NewMorphemes
    class_count: int


class MorphemeSplitter:
    """Guesses the parts of speech of words that the dictionary of HanTa does not contain, from the parts of
    the word.
    """

    def __init__(self, hanta: Any) -> None:
        self._model = _convert_hanta_model_to_arrays(hanta)

    def rank_pos_tags(self, word: str) -> list[TagReading]:
        """Rank the parts of speech that a word can have, the most likely first. Returns them with their
        log-probabilities.
        """
        model = self._model
        states, log_p = _find_final_states_of_word(
            _find_ids_of_known_morphemes(word, model),
            _find_ids_of_known_endings(word, model.endings),
            len(model.final),
            model.inner.offsets,
            model.inner.targets,
            model.inner.tags,
            model.inner.log_p,
            model.classes.offsets,
            model.classes.tags,
            model.classes.log_p,
            model.new_morphemes.tags,
            model.new_morphemes.by_length,
            model.new_morphemes.by_ending,
            np.empty(model.class_count),
        )
        readings = _sum_probabilities_by_pos_tag(states.tolist(), log_p.tolist(), model.final)
        # A stable sort keeps readings with equal log p in the order in which HanTa finds them.
        readings.sort(key=lambda reading: reading[1], reverse=True)
        return readings or [(UNKNOWN, 0.0)]


def _convert_hanta_model_to_arrays(hanta_model: Any) -> MorphemeModel:
    """Convert a model of HanTa to arrays that compiled code can read."""
    states = {(0, START): 0}
    pairs: dict[tuple[int, int], int] = {}
    for (_, last), followers in hanta_model.LP_trans.items():
        for tag in followers:
            # In HanTa, a negative number stands for the end of a word and its part of speech.
            numbers = states if tag > 0 else pairs
            numbers.setdefault((last, tag), len(numbers))
    inner_steps = []
    final_steps = []
    for state in states:
        followers = hanta_model.LP_trans_nonfinal.get(state, ())
        inner_steps.append([(states[state[1], tag], tag, log_p) for tag, log_p in followers])
        endings = hanta_model.LP_trans_final.get(state, ())
        final_steps.append([(pairs[state[1], tag], -tag, log_p) for tag, log_p in endings])
    # Only open classes, which have morphemes that occur once in the training data, can have new morphemes.
    new_steps = [[step for step in steps if step[1] in hanta_model.LP_hapax_t] for steps in inner_steps]
    classes_of: dict[str, list[Step]] = {}
    for tag, morphemes in hanta_model.LP_m_t.items():
        for morpheme, log_p in morphemes.items():
            classes_of.setdefault(morpheme, []).append((0, tag, log_p))
    inner = _convert_state_transitions_to_arrays([*inner_steps, *new_steps])
    new_morphemes, endings = _convert_unknown_morpheme_probabilities(hanta_model)
    return MorphemeModel(
        morphemes={morpheme: number for number, morpheme in enumerate(classes_of)},
        longest_morpheme=max(map(len, classes_of)),
        endings=endings,
        classes=_convert_state_transitions_to_arrays(list(classes_of.values())),
        inner=inner,
        final=final_steps,
        new_morphemes=new_morphemes,
        class_count=int(inner.tags.max()) + 1,
    )


def _convert_unknown_morpheme_probabilities(hanta_model: Any) -> tuple[NewMorphemes, dict[str, int]]:
    """Convert the probabilities of unknown word parts to arrays. Also returns the number of each ending in
    these arrays.
    """
    tags = [tag for tag in hanta_model.LP_s_t if tag in hanta_model.LP_hapax_t]
    by_length = [
        [hanta_model.Int_t + hanta_model.LP_hapax_t[tag] + log_p for log_p in hanta_model.LP_len_t[tag]]
        for tag in tags
    ]
    # Short endings come first; the empty one has number 0.
    texts = sorted({ending for endings in hanta_model.LP_s_t.values() for ending in endings} | {""}, key=len)
    number_of = {text: number for number, text in enumerate(texts)}
    by_ending = np.array([[hanta_model.LP_s_t[tag].get(text, np.nan) for tag in tags] for text in texts])
    for number, text in enumerate(texts[1:], start=1):
        # A class without this ending has the log p of the longest shorter ending that it has.
        shorter = next(
            number_of[text[start:]] for start in range(1, len(text) + 1) if text[start:] in number_of
        )
        by_ending[number] = np.where(np.isnan(by_ending[number]), by_ending[shorter], by_ending[number])
    return NewMorphemes(np.array(tags), np.array(by_length), by_ending), number_of


def _convert_state_transitions_to_arrays(steps_by_state: Sequence[Sequence[Step]]) -> Transitions:
    """Convert one list of steps for each state to arrays."""
    steps = [step for row in steps_by_state for step in row]
    return Transitions(
        offsets=compute_start_of_each_row(steps_by_state),
        targets=np.array([target for target, _, _ in steps], np.int64),
        tags=np.array([tag for _, tag, _ in steps], np.int64),
        log_p=np.array([log_p for _, _, log_p in steps]),
    )


def _find_ids_of_known_morphemes(word: str, model: MorphemeModel) -> LongArray:
    """Return the id of the known morpheme at each start and of each length in a word, or -1 where there
    is none.
    """
    lengths = range(min(len(word), model.longest_morpheme) + 1)
    numbers = []
    for start in range(len(word)):
        numbers.append([model.morphemes.get(word[start : start + length], -1) for length in lengths])
    return np.array(numbers, np.int64)


def _find_ids_of_known_endings(word: str, endings: dict[str, int]) -> LongArray:
    """Return the id of the longest known ending before each position of a word, among endings of at most
    0, 1, 2 … letters.
    """
    numbers = []
    for end in range(len(word) + 1):
        ending = 0
        row = [ending]
        for length in range(1, _LONGEST_ENDING + 1):
            ending = endings.get(word[max(end - length, 0) : end], ending)
            row.append(ending)
        numbers.append(row)
    return np.array(numbers, np.int64)


@kernel
def _find_final_states_of_word(  # noqa: C901 - helpers take Numba longer to compile than loops
    morphemes: LongArray,
    endings: LongArray,
    state_count: int,
    inner_offsets: LongArray,
    inner_targets: LongArray,
    inner_tags: LongArray,
    inner_log_p: FloatArray,
    class_offsets: LongArray,
    class_tags: LongArray,
    class_log_p: FloatArray,
    new_tags: LongArray,
    log_p_by_length: FloatArray,
    log_p_by_ending: FloatArray,
    log_p_of_class: FloatArray,
) -> tuple[LongArray, FloatArray]:
    """Find the states that a model can reach at the end of a word, each with the log-probability of the best
    way there.

    `log_p_of_class` is a buffer.
    """
    size = len(morphemes)
    # Log p of the best way to a state at a letter.
    best = np.full((size + 1) * state_count, -np.inf).reshape((size + 1, state_count))
    # The states at a letter, in the order in which they are found.
    states = np.zeros((size + 1) * state_count, np.int64).reshape((size + 1, state_count))
    counts = np.zeros(size + 1, np.int64)
    highest = np.zeros(_CONTINUED_STATES)
    best[0, 0] = 0.0
    counts[0] = 1
    for start in range(size):
        bound = compute_pruning_threshold(best[start], highest)
        for length in range(1, size - start + 1):
            morpheme = morphemes[start, length] if length < morphemes.shape[1] else -1
            is_new = morpheme < 0
            # HanTa gives new morphemes of one or two letters no probability, except in short words.
            can_be_new = size < 4 or length > 2
            if is_new and not can_be_new:
                continue
            log_p_of_class[:] = -np.inf
            if can_be_new:
                # An ending is shorter than its morpheme.
                ending = endings[start + length, min(_LONGEST_ENDING, length - 1)]
                penalty = _WHOLE_WORD_PENALTY if length == size else 0.0
                length_column = min(length, _LONGEST_NEW_MORPHEME)
                _write_log_probability_of_unknown_morpheme(
                    length_column, ending, penalty, new_tags, log_p_by_length, log_p_by_ending, log_p_of_class
                )
            if not is_new:
                for i in range(class_offsets[morpheme], class_offsets[morpheme + 1]):
                    log_p_of_class[class_tags[i]] = class_log_p[i]
            end = start + length
            for position in range(counts[start]):
                state = states[start, position]
                if best[start, state] < bound:
                    continue
                # The second half of the rows has only the steps to classes of new morphemes.
                row = state + state_count if is_new else state
                for step in range(inner_offsets[row], inner_offsets[row + 1]):
                    log_p = best[start, state] + inner_log_p[step] + log_p_of_class[inner_tags[step]]
                    target = inner_targets[step]
                    if log_p > MINIMUM_LOG_P and log_p > best[end, target]:
                        if best[end, target] == -np.inf:
                            states[end, counts[end]] = target
                            counts[end] += 1
                        best[end, target] = log_p
    last_states = states[size, : counts[size]]
    return last_states, best[size][last_states]


@kernel
def _write_log_probability_of_unknown_morpheme(
    length: int,
    ending: int,
    penalty: float,
    tags: LongArray,
    log_p_by_length: FloatArray,
    log_p_by_ending: FloatArray,
    log_p_of_class: FloatArray,
) -> None:
    """Write the log-probability of an unknown word part to `log_p_of_class`, for each class that the part can
    have.
    """
    for column in range(len(tags)):
        log_p = log_p_by_length[column, length] + log_p_by_ending[ending, column]
        log_p_of_class[tags[column]] = log_p - penalty


@kernel
def compute_pruning_threshold(log_probabilities: FloatArray, highest_values: FloatArray) -> float:
    """Return the log-probability below which a search gives up a state: 1 less than the lowest of the n
    highest values.
    """
    highest_values[:] = -np.inf
    for value in log_probabilities:
        smaller = value
        for rank in range(len(highest_values)):
            if smaller > highest_values[rank]:
                smaller, highest_values[rank] = highest_values[rank], smaller
    bound: float = max(highest_values[-1] - 1, MINIMUM_LOG_P)
    return bound


def _sum_probabilities_by_pos_tag(
    states: Sequence[int], best_log_p: Sequence[float], final_steps: Sequence[Sequence[Step]]
) -> list[TagReading]:
    """Sum the probabilities of the best splits of a word for each part of speech."""
    # The part of speech and the highest log p of each pair of classes.
    readings: dict[int, TagReading] = {}
    for state, state_log_p in zip(states, best_log_p):
        for pair, tag, step_log_p in final_steps[state]:
            log_p = state_log_p + step_log_p
            if log_p > MINIMUM_LOG_P and (pair not in readings or log_p > readings[pair][1]):
                readings[pair] = (tag, log_p)
    log_p_of_tag: dict[int, float] = {}
    for tag, log_p in readings.values():
        known_log_p = log_p_of_tag.get(tag)
        log_p_of_tag[tag] = log_p if known_log_p is None else float(np.logaddexp(known_log_p, log_p))
    return list(log_p_of_tag.items())
