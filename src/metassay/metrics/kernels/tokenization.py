"""Split texts into tokens and give every distinct token an integer.

A text goes through the passes of a tokeniser (`metassay.text.tokenizers`), which put spaces around some
characters, and is then split in one of four ways.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.kernels.sequences import find_length_of_longest_sequence
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
    """Split texts into tokens: insert blanks around punctuation by the rules of a tokeniser, then split at
    blanks.

    `split_mode` chooses another way to split.

    Returns the token ids, where the tokens of each text begin, and the words that the ids stand for, packed
    like texts.
    """
    text_count = len(text_offsets) - 1
    longest = find_length_of_longest_sequence(text_offsets)
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
                length = _insert_blanks(blank_insertion_rules[p], text, length, character_classes, next_text)
                text, next_text = next_text, text
        count = _split_text_into_tokens(text, length, character_classes, split_mode, starts, ends)
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
    code_points: CodePoints,
    text_start: int,
    text_end: int,
    character_classes: CharacterClasses,
    strip_left: bool,
) -> tuple[int, int]:
    """Return where a text begins and ends without the spaces at its end and, if requested, at its start."""
    while text_end > text_start and character_classes[code_points[text_end - 1]] & SPACE:
        text_end -= 1
    while strip_left and text_start < text_end and character_classes[code_points[text_start]] & SPACE:
        text_start += 1
    return text_start, text_end


@kernel
def _copy_text_into_buffer(
    code_points: CodePoints,
    text_start: int,
    text_end: int,
    character_classes: CharacterClasses,
    pad_with_blanks: bool,
    text_buffer: CodePoints,
) -> tuple[int, int]:
    """Copy a text to a buffer, with a blank on both sides if requested. Returns the length and the character
    classes of the text.
    """
    length = 0
    present_classes = 0
    if pad_with_blanks:
        text_buffer[0] = _BLANK
        length = 1
        present_classes = int(character_classes[_BLANK])
    for i in range(text_start, text_end):
        text_buffer[length] = code_points[i]
        present_classes |= character_classes[code_points[i]]
        length += 1
    if pad_with_blanks:
        text_buffer[length] = _BLANK
        length += 1
    return length, present_classes


@kernel
def _insert_blanks(
    tokenization_rule: Passes,
    source_text: CodePoints,
    source_length: int,
    character_classes: CharacterClasses,
    target_text: CodePoints,
) -> int:
    """Copy a text and insert blanks where a tokeniser's rule requires them. Returns the new length.

    Scans from left to right, and what was matched is not matched again, as in `re.sub`.
    """
    kind, first_class, second_class = tokenization_rule[0], tokenization_rule[1], tokenization_rule[2]
    written = 0
    i = 0
    while i < source_length:
        code_point = source_text[i]
        if not character_classes[code_point] & first_class:
            target_text[written] = code_point
            written += 1
            i += 1
        elif kind == ISOLATE:
            target_text[written] = _BLANK
            target_text[written + 1] = code_point
            target_text[written + 2] = _BLANK
            written += 3
            i += 1
        elif i + 1 < source_length and character_classes[source_text[i + 1]] & second_class:
            if kind == SPLIT_SECOND:
                target_text[written] = code_point
                target_text[written + 1] = _BLANK
                target_text[written + 2] = source_text[i + 1]
                target_text[written + 3] = _BLANK
            else:
                target_text[written] = _BLANK
                target_text[written + 1] = code_point
                target_text[written + 2] = _BLANK
                target_text[written + 3] = source_text[i + 1]
            written += 4
            i += 2
        else:
            target_text[written] = code_point
            written += 1
            i += 1
    return written


@kernel
def _split_text_into_tokens(
    text: CodePoints,
    text_length: int,
    character_classes: CharacterClasses,
    split_mode: int,
    token_starts: Offsets,
    token_ends: Offsets,
) -> int:
    """Find the start and end of each token of a text, and return the number of tokens."""
    if split_mode == SPLIT_AS_JIWER:
        return _split_text_like_jiwer(text, text_length, character_classes, token_starts, token_ends)
    if split_mode == SPLIT_AS_ROUGE:
        return _split_text_like_rouge(text, text_length, token_starts, token_ends)
    count = _split_at_spaces(text, text_length, character_classes, token_starts, token_ends)
    if split_mode == SPLIT_AS_CHRF:
        return _separate_punctuation_from_words(text, count, token_starts, token_ends)
    return count


@kernel
def _split_at_spaces(
    text: CodePoints,
    text_length: int,
    character_classes: CharacterClasses,
    word_starts: Offsets,
    word_ends: Offsets,
) -> int:
    """Find the start and end of each word between spaces, and return the number of words."""
    count = 0
    i = 0
    while i < text_length:
        if character_classes[text[i]] & SPACE:
            i += 1
            continue
        word_starts[count] = i
        while i < text_length and not character_classes[text[i]] & SPACE:
            i += 1
        word_ends[count] = i
        count += 1
    return count


@kernel
def _separate_punctuation_from_words(
    text: CodePoints, word_count: int, token_starts: Offsets, token_ends: Offsets
) -> int:
    """Separate a punctuation mark at the end of a word, or else at its start, from the word. Returns the
    number of tokens.

    Works in place and from the last word to the first, so that no word is overwritten before it was read.
    """
    separated = 0
    for i in range(word_count):
        if _find_punctuation_boundary(text, token_starts[i], token_ends[i]) < token_ends[i]:
            separated += 1
    target = word_count + separated
    for i in range(word_count - 1, -1, -1):
        start = token_starts[i]
        end = token_ends[i]
        boundary = _find_punctuation_boundary(text, start, end)
        if boundary < end:
            target -= 1
            token_starts[target] = boundary
            token_ends[target] = end
        target -= 1
        token_starts[target] = start
        token_ends[target] = boundary
    return word_count + separated


@kernel
def _find_punctuation_boundary(text: CodePoints, word_start: int, word_end: int) -> int:
    """Return the position between a word and the punctuation mark at its end or start. Without such a mark,
    it is the end of the word.
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
def _split_text_like_jiwer(
    text: CodePoints,
    text_length: int,
    character_classes: CharacterClasses,
    word_starts: Offsets,
    word_ends: Offsets,
) -> int:
    """Split a text at spaces like the package jiwer. Returns the number of words.

    A single white space character other than a blank (a tab, say) stays inside its word, as in jiwer.
    """
    count = 0
    i = 0
    while i < text_length and character_classes[text[i]] & SPACE:
        i += 1
    word_start = i
    while i < text_length:
        space_end = i
        while space_end < text_length and character_classes[text[space_end]] & SPACE:
            space_end += 1
        is_single_tab = space_end == i + 1 and text[i] != _BLANK
        if space_end == i or is_single_tab:
            i += 1
        else:
            word_starts[count] = word_start
            word_ends[count] = i
            count += 1
            i = word_start = space_end
    if word_start < text_length:
        word_starts[count] = word_start
        word_ends[count] = text_length
        count += 1
    return count


@kernel
def _split_text_like_rouge(
    text: CodePoints, text_length: int, word_starts: Offsets, word_ends: Offsets
) -> int:
    """Split a text into runs of the characters a–z and 0–9, like the package rouge-score. Returns the number
    of words.
    """
    count = 0
    i = 0
    while i < text_length:
        if not _is_latin_alphanumeric(text[i]):
            i += 1
            continue
        word_starts[count] = i
        while i < text_length and _is_latin_alphanumeric(text[i]):
            i += 1
        word_ends[count] = i
        count += 1
    return count


@kernel
def _is_latin_alphanumeric(code_point: int) -> bool:
    """Return whether a character is one of a–z and 0–9."""
    return (97 <= code_point <= 122) or (48 <= code_point <= 57)
