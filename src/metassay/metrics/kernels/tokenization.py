"""Split texts into tokens and give every distinct token an integer.

A text goes through the passes of a tokeniser (`metassay.text.tokenizers`), which put spaces around some
characters, and is then split in one of four ways.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.kernels.buffer_sizes import find_longest_sequence_length
from metassay.metrics.kernels.text_arrays import CodePoints, Offsets, TokenIds
from metassay.metrics.kernels.vocabulary import copy_to_larger_vocabulary, create_vocabulary, look_up_word_ids
from metassay.stats.compilation import ZERO, kernel
from metassay.text.tokenizers import (
    ISOLATE,
    SPACE,
    SPLIT_AS_CHRF,
    SPLIT_AS_JIWER,
    SPLIT_AS_ROUGE,
    SPLIT_SECOND,
)

# For every code point, the classes that it belongs to, as bits.
CharacterClasses = NDArray[np.uint8]
# One row per pass: its kind, the class of the first character, the class of the second.
Passes = NDArray[np.int64]

_BLANK = np.uint32(32)
_IS_ASCII_PUNCTUATION = np.zeros(128, dtype=np.bool_)
_IS_ASCII_PUNCTUATION[[ord(mark) for mark in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"]] = True


@kernel
def tokenize_texts(
    code_points: CodePoints,
    text_offsets: Offsets,
    character_classes: CharacterClasses,
    blank_insertion_rules: Passes,
    pad_with_blanks: bool,
    strip_left: bool,
    split_mode: int,
) -> tuple[TokenIds, Offsets, CodePoints, Offsets]:
    """Split texts in one array of code points into tokens, after inserting blanks around punctuation by
    rules.

    Returns the token ids, where the tokens of each text begin, and the words that the ids stand for, packed
    like texts.
    """
    text_count = len(text_offsets) - 1
    longest = find_longest_sequence_length(text_offsets)
    # A pass turns one character into three at most.
    buffer_size = (1 + 2 * len(blank_insertion_rules)) * longest + 2
    text = np.empty(buffer_size, np.uint32)
    next_text = np.empty(buffer_size, np.uint32)
    starts = np.empty(longest + 1, np.int64)
    ends = np.empty(longest + 1, np.int64)
    ids = np.empty(len(code_points) + 1, np.int32)
    token_offsets = np.zeros(text_count + 1, np.int64)
    vocabulary = create_vocabulary()
    vocabulary_size = ZERO
    total = 0
    for k in range(text_count):
        start, end = _strip_spaces(
            code_points, text_offsets[k], text_offsets[k + 1], character_classes, strip_left
        )
        length, present_classes = _copy_text_into_buffer(
            code_points, start, end, character_classes, pad_with_blanks, text
        )
        for p in range(len(blank_insertion_rules)):
            # Most passes have nothing to do in most texts.
            second_is_present = (
                blank_insertion_rules[p, 0] == ISOLATE or blank_insertion_rules[p, 2] & present_classes
            )
            if blank_insertion_rules[p, 1] & present_classes and second_is_present:
                length = _insert_blanks_of_tokenization_rule(
                    blank_insertion_rules[p], text, length, character_classes, next_text
                )
                text, next_text = next_text, text
        count = _split_into_tokens(text, length, character_classes, split_mode, starts, ends)
        numbered = ZERO
        while numbered < count:
            numbered, vocabulary_size = look_up_word_ids(
                text, starts, ends, numbered, count, vocabulary, vocabulary_size, ids[total:]
            )
            if numbered < count:
                next_length = ends[numbered] - starts[numbered]
                vocabulary = copy_to_larger_vocabulary(vocabulary, vocabulary_size, next_length)
        total += count
        token_offsets[k + 1] = total
    return ids[:total], token_offsets, vocabulary.code_points, vocabulary.word_offsets[: vocabulary_size + 1]


@kernel
def _strip_spaces(
    code_points: CodePoints, start: int, end: int, character_classes: CharacterClasses, strip_left: bool
) -> tuple[int, int]:
    """Return the start and end of a text without spaces at its end and, if `strip_left`, without those at its
    start.
    """
    while end > start and character_classes[code_points[end - 1]] & SPACE:
        end -= 1
    while strip_left and start < end and character_classes[code_points[start]] & SPACE:
        start += 1
    return start, end


@kernel
def _copy_text_into_buffer(
    code_points: CodePoints,
    start: int,
    end: int,
    character_classes: CharacterClasses,
    pad_with_blanks: bool,
    buffer: CodePoints,
) -> tuple[int, int]:
    """Copy a text to a buffer, between blanks if `pad_with_blanks`, and return its length and the class of
    each character.
    """
    length = 0
    present_classes = 0
    if pad_with_blanks:
        buffer[0] = _BLANK
        length = 1
        present_classes = int(character_classes[_BLANK])
    for i in range(start, end):
        buffer[length] = code_points[i]
        present_classes |= character_classes[code_points[i]]
        length += 1
    if pad_with_blanks:
        buffer[length] = _BLANK
        length += 1
    return length, present_classes


@kernel
def _insert_blanks_of_tokenization_rule(
    rule: Passes, source: CodePoints, length: int, character_classes: CharacterClasses, target: CodePoints
) -> int:
    """Copy a text and insert the blanks that a tokenisation rule asks for, and return the new length.

    Scans from left to right, and what was matched is not matched again, as in `re.sub`.
    """
    kind, first_class, second_class = rule[0], rule[1], rule[2]
    written = 0
    i = 0
    while i < length:
        code_point = source[i]
        if not character_classes[code_point] & first_class:
            target[written] = code_point
            written += 1
            i += 1
        elif kind == ISOLATE:
            target[written] = _BLANK
            target[written + 1] = code_point
            target[written + 2] = _BLANK
            written += 3
            i += 1
        elif i + 1 < length and character_classes[source[i + 1]] & second_class:
            if kind == SPLIT_SECOND:
                target[written] = code_point
                target[written + 1] = _BLANK
                target[written + 2] = source[i + 1]
                target[written + 3] = _BLANK
            else:
                target[written] = _BLANK
                target[written + 1] = code_point
                target[written + 2] = _BLANK
                target[written + 3] = source[i + 1]
            written += 4
            i += 2
        else:
            target[written] = code_point
            written += 1
            i += 1
    return written


@kernel
def _split_into_tokens(
    text: CodePoints,
    length: int,
    character_classes: CharacterClasses,
    split_mode: int,
    starts: Offsets,
    ends: Offsets,
) -> int:
    """Write the start and end of each token of a text to arrays, and return the number of tokens."""
    if split_mode == SPLIT_AS_JIWER:
        return _split_like_jiwer(text, length, character_classes, starts, ends)
    if split_mode == SPLIT_AS_ROUGE:
        return _split_like_rouge(text, length, starts, ends)
    count = _split_at_spaces(text, length, character_classes, starts, ends)
    if split_mode == SPLIT_AS_CHRF:
        return _separate_punctuation_from_words(text, count, starts, ends)
    return count


@kernel
def _split_at_spaces(
    text: CodePoints, length: int, character_classes: CharacterClasses, starts: Offsets, ends: Offsets
) -> int:
    """Write the start and end of each part of a text between spaces to arrays, and return the number of
    parts.
    """
    count = 0
    i = 0
    while i < length:
        if character_classes[text[i]] & SPACE:
            i += 1
            continue
        starts[count] = i
        while i < length and not character_classes[text[i]] & SPACE:
            i += 1
        ends[count] = i
        count += 1
    return count


@kernel
def _separate_punctuation_from_words(
    text: CodePoints, word_count: int, starts: Offsets, ends: Offsets
) -> int:
    """Separate a punctuation mark at the end of each word, or else at its start, and return the number of
    tokens.

    Works in place and from the last word to the first, so that no word is overwritten before it was read.
    """
    separated = 0
    for i in range(word_count):
        if _find_where_to_split_punctuation(text, starts[i], ends[i]) < ends[i]:
            separated += 1
    target = word_count + separated
    for i in range(word_count - 1, -1, -1):
        start = starts[i]
        end = ends[i]
        boundary = _find_where_to_split_punctuation(text, start, end)
        if boundary < end:
            target -= 1
            starts[target] = boundary
            ends[target] = end
        target -= 1
        starts[target] = start
        ends[target] = boundary
    return word_count + separated


@kernel
def _find_where_to_split_punctuation(text: CodePoints, word_start: int, word_end: int) -> int:
    """Return the position between a word and the punctuation mark at its end or start, or the end of the word
    if it has none.
    """
    if word_end - word_start > 1:
        last = text[word_end - 1]
        first = text[word_start]
        if last < 128 and _IS_ASCII_PUNCTUATION[last]:
            return word_end - 1
        if first < 128 and _IS_ASCII_PUNCTUATION[first]:
            return word_start + 1
    return word_end


@kernel
def _split_like_jiwer(
    text: CodePoints, length: int, character_classes: CharacterClasses, starts: Offsets, ends: Offsets
) -> int:
    """Split a text at spaces in the way of the package jiwer, and return the number of tokens.

    A single white space character other than a blank (a tab, say) stays inside its word, as in jiwer.
    """
    count = 0
    i = 0
    while i < length and character_classes[text[i]] & SPACE:
        i += 1
    word_start = i
    while i < length:
        space_end = i
        while space_end < length and character_classes[text[space_end]] & SPACE:
            space_end += 1
        is_single_tab = space_end == i + 1 and text[i] != _BLANK
        if space_end == i or is_single_tab:
            i += 1
        else:
            starts[count] = word_start
            ends[count] = i
            count += 1
            i = word_start = space_end
    if word_start < length:
        starts[count] = word_start
        ends[count] = length
        count += 1
    return count


@kernel
def _split_like_rouge(text: CodePoints, length: int, starts: Offsets, ends: Offsets) -> int:
    """Split a text into sequences of Latin letters and digits, as the package rouge-score does."""
    count = 0
    i = 0
    while i < length:
        if not _is_latin_alphanumeric(text[i]):
            i += 1
            continue
        starts[count] = i
        while i < length and _is_latin_alphanumeric(text[i]):
            i += 1
        ends[count] = i
        count += 1
    return count


@kernel
def _is_latin_alphanumeric(code_point: int) -> bool:
    """Return whether a character is one of a–z and 0–9."""
    return (97 <= code_point <= 122) or (48 <= code_point <= 57)
