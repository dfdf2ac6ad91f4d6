"""From texts to token sequences: passes that set spaces, ways to split, and an exact vocabulary."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.kernels.text_arrays import Codes, Ids, Offsets, enlarged, new_vocabulary, number_words
from metassay.stats.compilation import kernel
from metassay.text.tokenizers import ISOLATE, PART_SECOND, SPACE

Classes = NDArray[np.uint8]
Passes = NDArray[np.int64]

AT_SPACES, CHRF_WORDS, JIWER_WORDS, LATIN_ALPHANUMERIC = range(4)
"""Ways to split: at white space; so, and then one mark off the end or else the beginning of each word; at
blanks and runs of white space, as jiwer; into runs of a–z and 0–9, as rouge-score."""

_BLANK = np.uint32(32)
_MARKS = np.zeros(128, dtype=np.bool_)
_MARKS[[ord(mark) for mark in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"]] = True


@kernel
def token_ids(
    codes: Codes,
    offsets: Offsets,
    classes: Classes,
    passes: Passes,
    padded: bool,
    stripped_left: bool,
    splitting: int,
) -> tuple[Ids, Offsets, Codes, Offsets]:
    """The tokens of each text as integers, and the words these stand for (as packed code points)."""
    texts = len(offsets) - 1
    longest = 0
    for k in range(texts):
        longest = max(longest, offsets[k + 1] - offsets[k])
    room = (1 + 2 * len(passes)) * longest + 2
    source, target = np.empty(room, np.uint32), np.empty(room, np.uint32)
    starts, ends = np.empty(longest + 1, np.int64), np.empty(longest + 1, np.int64)
    ids = np.empty(len(codes) + 1, np.int32)
    bounds = np.zeros(texts + 1, np.int64)
    table, size, total = new_vocabulary(), 0, 0
    for k in range(texts):
        start, end = _trimmed(codes, offsets[k], offsets[k + 1], classes, stripped_left)
        length, present = _copied(codes, start, end, classes, padded, source)
        for p in range(len(passes)):
            if passes[p, 1] & present and (passes[p, 0] == ISOLATE or passes[p, 2] & present):
                length = _apply(passes[p], source, length, classes, target)
                source, target = target, source
        count = _split(source, length, classes, splitting, starts, ends)
        done = 0
        while done < count:
            done, size = number_words(source, starts, ends, done, count, table, size, ids[total:])
            if done < count:
                table = enlarged(table, size, ends[done] - starts[done])
        total += count
        bounds[k + 1] = total
    return ids[:total], bounds, table.pool, table.starts[: size + 1]


@kernel
def _trimmed(codes: Codes, start: int, end: int, classes: Classes, stripped_left: bool) -> tuple[int, int]:
    while end > start and classes[codes[end - 1]] & SPACE:
        end -= 1
    while stripped_left and start < end and classes[codes[start]] & SPACE:
        start += 1
    return start, end


@kernel
def _copied(
    codes: Codes, start: int, end: int, classes: Classes, padded: bool, target: Codes
) -> tuple[int, int]:
    """Copies a text, between spaces if `padded`; returns its length and the classes that occur."""
    n, present = 0, 0
    if padded:
        target[0] = _BLANK
        n, present = 1, int(classes[_BLANK])
    for i in range(start, end):
        target[n] = codes[i]
        present |= classes[codes[i]]
        n += 1
    if padded:
        target[n] = _BLANK
        n += 1
    return n, present


@kernel
def _apply(one_pass: Passes, source: Codes, length: int, classes: Classes, target: Codes) -> int:
    """One pass from left to right; returns the new length."""
    kind, first, second = one_pass[0], one_pass[1], one_pass[2]
    n, i = 0, 0
    while i < length:
        code = source[i]
        if not classes[code] & first:
            target[n] = code
            n += 1
            i += 1
        elif kind == ISOLATE:
            target[n], target[n + 1], target[n + 2] = _BLANK, code, _BLANK
            n += 3
            i += 1
        elif i + 1 < length and classes[source[i + 1]] & second:
            if kind == PART_SECOND:
                target[n], target[n + 1], target[n + 2], target[n + 3] = code, _BLANK, source[i + 1], _BLANK
            else:
                target[n], target[n + 1], target[n + 2], target[n + 3] = _BLANK, code, _BLANK, source[i + 1]
            n += 4
            i += 2
        else:
            target[n] = code
            n += 1
            i += 1
    return n


@kernel
def _split(text: Codes, length: int, classes: Classes, splitting: int, starts: Offsets, ends: Offsets) -> int:
    """Where the tokens of a text start and end; returns how many there are."""
    if splitting == JIWER_WORDS:
        return _split_as_jiwer(text, length, classes, starts, ends)
    if splitting == LATIN_ALPHANUMERIC:
        return _split_latin(text, length, starts, ends)
    count = _split_at_spaces(text, length, classes, starts, ends)
    if splitting == CHRF_WORDS:
        return _part_marks(text, count, starts, ends)
    return count


@kernel
def _split_at_spaces(text: Codes, length: int, classes: Classes, starts: Offsets, ends: Offsets) -> int:
    count, i = 0, 0
    while i < length:
        if classes[text[i]] & SPACE:
            i += 1
            continue
        starts[count] = i
        while i < length and not classes[text[i]] & SPACE:
            i += 1
        ends[count] = i
        count += 1
    return count


@kernel
def _part_marks(text: Codes, count: int, starts: Offsets, ends: Offsets) -> int:
    """Parts an ASCII mark from the end of each longer word, else from its beginning."""
    parted = 0
    for i in range(count):
        if ends[i] - starts[i] > 1:
            last, first = text[ends[i] - 1], text[starts[i]]
            parted += (last < 128 and _MARKS[last]) or (first < 128 and _MARKS[first])
    place = count + parted
    for i in range(count - 1, -1, -1):  # from the back, so that nothing unread is overwritten
        start, end = starts[i], ends[i]
        middle = end
        if end - start > 1:
            if text[end - 1] < 128 and _MARKS[text[end - 1]]:
                middle = end - 1
            elif text[start] < 128 and _MARKS[text[start]]:
                middle = start + 1
        if middle < end:
            place -= 1
            starts[place], ends[place] = middle, end
        place -= 1
        starts[place], ends[place] = start, middle
    return count + parted


@kernel
def _split_as_jiwer(text: Codes, length: int, classes: Classes, starts: Offsets, ends: Offsets) -> int:
    """A single white space character other than a blank stays inside its word, unless at the edges."""
    count, i = 0, 0
    while i < length and classes[text[i]] & SPACE:
        i += 1
    start = i
    while i < length:
        run = i
        while run < length and classes[text[run]] & SPACE:
            run += 1
        if run == i or (run == i + 1 and text[i] != _BLANK):
            i += 1
        else:
            starts[count], ends[count] = start, i
            count += 1
            i = start = run
    if start < length:
        starts[count], ends[count] = start, length
        count += 1
    return count


@kernel
def _split_latin(text: Codes, length: int, starts: Offsets, ends: Offsets) -> int:
    count, i = 0, 0
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
def _is_latin_alphanumeric(code: int) -> bool:
    return (97 <= code <= 122) or (48 <= code <= 57)


@kernel
def character_ids(
    codes: Codes, offsets: Offsets, classes: Classes, with_spaces: bool, stripped: bool
) -> tuple[Ids, Offsets]:
    """Each character a token: all of them, or those that are not white space; edges stripped on request."""
    ids = np.empty(len(codes), np.int32)
    bounds = np.zeros(len(offsets), np.int64)
    total = 0
    for k in range(len(offsets) - 1):
        start, end = offsets[k], offsets[k + 1]
        if stripped:
            start, end = _trimmed(codes, start, end, classes, stripped)
        for i in range(start, end):
            if with_spaces or not classes[codes[i]] & SPACE:
                ids[total] = codes[i]
                total += 1
        bounds[k + 1] = total
    return ids[:total], bounds
