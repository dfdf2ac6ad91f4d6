"""The word edits of `words.py` in compiled code, on many texts at once, with the same random numbers.

Each kernel writes the perturbed texts one after the other into an array and returns the length of each. A
text that the edit does not apply to has length -1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from metassay.perturbations.word_arrays import (
    SPACE,
    CharacterKinds,
    ClassifiedTexts,
    CodePoints,
    classify_characters_of_texts,
    find_maximum_word_count,
    split_code_points_into_texts,
    write_word_boundaries,
)
from metassay.stats.arrays import BoolArray, LongArray
from metassay.stats.compilation import ZERO, kernel
from metassay.stats.stream_kernels import draw_integer_below
from metassay.stats.streams import Keys

_SPACE_CODE_POINT = ord(" ")


def remove_random_words(
    texts: Sequence[str], random_keys: Keys, get_removal_count: Callable[[int], int]
) -> list[str | None]:
    """Remove random words from texts. `get_removal_count` returns how many, given the number of words of a
    text.
    """
    packed = classify_characters_of_texts(texts)
    word_counts = range(int(find_maximum_word_count(packed.offsets)) + 1)
    # A table by number of words, because compiled code cannot call the Python function.
    removed_counts = np.fromiter(map(get_removal_count, word_counts), np.int64)
    output = np.empty(packed.code_points.size, np.uint32)
    lengths = _remove_words_from_texts(packed, random_keys, removed_counts, output)
    return split_code_points_into_texts(output, lengths)


def insert_random_words(
    texts: Sequence[str], random_keys: Keys, vocabulary: Sequence[str], strength: int
) -> list[str | None]:
    """Insert random words of a vocabulary at `strength` random positions in each text."""
    if not vocabulary:
        return [None] * len(texts)
    packed = classify_characters_of_texts(texts)
    packed_vocabulary = classify_characters_of_texts(vocabulary)
    can_append = np.fromiter((text[-1:].isalnum() for text in texts), np.int64, len(texts))
    longest_word = int(np.diff(packed_vocabulary.offsets).max())
    # Room for the longest word and a space at every insertion: the kernel cannot enlarge the array.
    size = packed.code_points.size + len(texts) * strength * (longest_word + 1)
    output = np.empty(size, np.uint32)
    lengths = _insert_words_into_texts(packed, random_keys, packed_vocabulary, can_append, strength, output)
    return split_code_points_into_texts(output, lengths)


def swap_random_words(texts: Sequence[str], random_keys: Keys, strength: int) -> list[str | None]:
    """Swap two random, different words of each text. This is repeated `strength` times."""
    packed = classify_characters_of_texts(texts)
    output = np.empty(packed.code_points.size, np.uint32)
    lengths = _swap_words_in_texts(packed, random_keys, strength, output)
    return split_code_points_into_texts(output, lengths)


@kernel
def _copy_code_points(
    source: CodePoints, source_start: int, source_end: int, target: CodePoints, target_position: int
) -> int:
    """Copy characters from one array to a position in another. Returns the position after the characters."""
    for i in range(source_start, source_end):
        target[target_position] = source[i]
        target_position += 1
    return target_position


@kernel
def _remove_words_from_texts(
    texts: ClassifiedTexts, random_keys: Keys, removed_counts: LongArray, output: CodePoints
) -> LongArray:
    """Remove random words from each text, and write the results to an array. `removed_counts[n]` words are
    removed from a text of n words.
    """
    lengths = np.empty(random_keys.size, np.int64)
    limit = find_maximum_word_count(texts.offsets)
    word_starts = np.empty(limit, np.int64)
    word_ends = np.empty(limit, np.int64)
    order = np.empty(limit, np.int64)
    is_removed = np.zeros(limit, np.bool_)
    position = ZERO
    for row in range(random_keys.size):
        start = texts.offsets[row]
        stop = texts.offsets[row + 1]
        count = write_word_boundaries(texts.code_points, texts.kinds, start, stop, word_starts, word_ends)
        if removed_counts[count] == 0:
            lengths[row] = -1
            continue
        for i in range(count):
            order[i] = i
            is_removed[i] = False
        state = random_keys[row]
        # The first steps of a Fisher-Yates shuffle, as in `Stream.sample`.
        for i in range(removed_counts[count]):
            state, step = draw_integer_below(state, count - i)
            order[i], order[i + step] = order[i + step], order[i]
            is_removed[order[i]] = True
        output_start = position
        position = _copy_text_without_words(
            texts.code_points,
            texts.kinds,
            start,
            stop,
            word_starts[:count],
            word_ends[:count],
            is_removed,
            output,
            position,
        )
        lengths[row] = position - output_start
    return lengths


@kernel
def _copy_text_without_words(
    code_points: CodePoints,
    character_kinds: CharacterKinds,
    text_start: int,
    text_end: int,
    word_starts: LongArray,
    word_ends: LongArray,
    is_removed: BoolArray,
    target: CodePoints,
    target_position: int,
) -> int:
    """Copy a text to an array, but leave out some of its words. Returns the position after the text."""
    output_start = target_position
    end_of_text = text_end
    while end_of_text > text_start and character_kinds[code_points[end_of_text - 1]] == SPACE:
        end_of_text -= 1
    done = text_start
    for i in range(word_starts.size):
        if not is_removed[i]:
            continue
        target_position = _copy_code_points(code_points, done, word_starts[i], target, target_position)
        done = word_ends[i]
        # The last word takes the space before it along, any other word the space after it, as `remove_words`
        # does.
        if done == end_of_text:
            while target_position > output_start and character_kinds[target[target_position - 1]] == SPACE:
                target_position -= 1
        else:
            while done < text_end and character_kinds[code_points[done]] == SPACE:
                done += 1
    return _copy_code_points(code_points, done, text_end, target, target_position)


@kernel
def _insert_words_into_texts(
    texts: ClassifiedTexts,
    random_keys: Keys,
    vocabulary: ClassifiedTexts,
    can_append: LongArray,
    strength: int,
    output: CodePoints,
) -> LongArray:
    """Insert random words of a vocabulary into each text, and write the results to an array."""
    lengths = np.empty(random_keys.size, np.int64)
    limit = find_maximum_word_count(texts.offsets)
    word_starts = np.empty(limit, np.int64)
    word_ends = np.empty(limit, np.int64)
    places = np.empty(strength, np.int64)
    drawn_words = np.empty(strength, np.int64)
    vocabulary_size = vocabulary.offsets.size - 1
    position = ZERO
    for row in range(random_keys.size):
        start = texts.offsets[row]
        stop = texts.offsets[row + 1]
        count = write_word_boundaries(texts.code_points, texts.kinds, start, stop, word_starts, word_ends)
        if count == 0:
            lengths[row] = -1
            continue
        state = random_keys[row]
        for i in range(strength):
            # Place and word are drawn in turn, as in `Insertion.apply`: another order would give other random
            # numbers.
            state, places[i] = draw_integer_below(state, count + can_append[row])
            state, drawn_words[i] = draw_integer_below(state, vocabulary_size)
        output_start = position
        done = start
        # A stable sort: several words at one place stay in the order in which they were drawn.
        for i in np.argsort(places, kind="mergesort"):
            is_appended = places[i] == count
            place = stop if is_appended else word_starts[places[i]]
            position = _copy_code_points(texts.code_points, done, place, output, position)
            done = place
            if is_appended:
                output[position] = _SPACE_CODE_POINT
                position += 1
            word_start = vocabulary.offsets[drawn_words[i]]
            word_end = vocabulary.offsets[drawn_words[i] + 1]
            position = _copy_code_points(vocabulary.code_points, word_start, word_end, output, position)
            if not is_appended:
                output[position] = _SPACE_CODE_POINT
                position += 1
        position = _copy_code_points(texts.code_points, done, stop, output, position)
        lengths[row] = position - output_start
    return lengths


@kernel
def _swap_words_in_texts(
    texts: ClassifiedTexts, random_keys: Keys, strength: int, output: CodePoints
) -> LongArray:
    """Swap random pairs of words in each text, and write the results to an array."""
    lengths = np.empty(random_keys.size, np.int64)
    limit = find_maximum_word_count(texts.offsets)
    word_starts = np.empty(limit, np.int64)
    word_ends = np.empty(limit, np.int64)
    order = np.empty(limit, np.int64)
    free_words = np.empty(limit, np.int64)
    candidates = np.empty(limit, np.int64)
    position = ZERO
    for row in range(random_keys.size):
        start = texts.offsets[row]
        stop = texts.offsets[row + 1]
        count = write_word_boundaries(texts.code_points, texts.kinds, start, stop, word_starts, word_ends)
        is_swapped = _draw_word_order_after_swaps(
            texts.code_points,
            word_starts[:count],
            word_ends[:count],
            order,
            free_words,
            candidates,
            strength,
            random_keys[row],
        )
        if not is_swapped:
            lengths[row] = -1
            continue
        output_start = position
        done = start
        for i in range(count):
            position = _copy_code_points(texts.code_points, done, word_starts[i], output, position)
            word = order[i]
            position = _copy_code_points(
                texts.code_points, word_starts[word], word_ends[word], output, position
            )
            done = word_ends[i]
        position = _copy_code_points(texts.code_points, done, stop, output, position)
        lengths[row] = position - output_start
    return lengths


@kernel
def _draw_word_order_after_swaps(
    code_points: CodePoints,
    word_starts: LongArray,
    word_ends: LongArray,
    order: LongArray,
    free_words: LongArray,
    candidates: LongArray,
    strength: int,
    random_state: np.uint64,
) -> bool:
    """Draw an order of the words of a text in which random pairs are swapped. Returns False if too few words
    differ.

    `free_words` and `candidates` are working memory.
    """
    free_count = word_starts.size
    for i in range(free_count):
        order[i] = i
        free_words[i] = i
    for _ in range(strength):
        if free_count == 0:
            return False
        random_state, drawn = draw_integer_below(random_state, free_count)
        first = free_words[drawn]
        candidate_count = ZERO
        for k in range(free_count):
            i = free_words[k]
            if not _are_words_equal(
                code_points, word_starts[i], word_ends[i], word_starts[first], word_ends[first]
            ):
                candidates[candidate_count] = i
                candidate_count += 1
        if candidate_count == 0:
            return False
        random_state, drawn = draw_integer_below(random_state, candidate_count)
        second = candidates[drawn]
        order[first] = second
        order[second] = first
        # Neither word is moved again.
        remaining = 0
        for k in range(free_count):
            if free_words[k] not in (first, second):
                free_words[remaining] = free_words[k]
                remaining += 1
        free_count = remaining
    return True


@kernel
def _are_words_equal(
    code_points: CodePoints, first_start: int, first_end: int, second_start: int, second_end: int
) -> bool:
    """Return whether two words of a text are equal."""
    if first_end - first_start != second_end - second_start:
        return False
    i = 0
    while first_start + i < first_end and code_points[first_start + i] == code_points[second_start + i]:
        i += 1
    return first_start + i == first_end
