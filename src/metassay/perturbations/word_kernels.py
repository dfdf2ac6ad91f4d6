"""The word edits of `words.py` in compiled code, on all outputs at once: the same draws, the same texts.

Texts travel as one array of code points. Each kernel writes the worse texts one after the other and notes
where each ends; an output to which the edit does not apply gets length −1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from metassay.perturbations.word_arrays import (
    LETTER,
    SPACE,
    Codes,
    Kinds,
    find_words,
    kind_of,
    pack,
    room,
    unpack,
)
from metassay.stats.arrays import LongArray
from metassay.stats.compilation import kernel
from metassay.stats.streams import Keys, draw_below


def remove(
    texts: Sequence[str], keys: Keys, words_to_drop: Callable[[int], int], *, spaced: bool = True
) -> list[str | None]:
    """`Removal.apply` on every text."""
    codes, offsets, kinds = pack(texts, spaced=spaced)
    most = int(room(offsets, spaced))
    drops = np.fromiter((words_to_drop(n) for n in range(most + 1)), np.int64)
    out, lengths = np.empty(codes.size, np.uint32), np.empty(len(texts), np.int64)
    _remove_all(codes, offsets, kinds, keys, drops, out, lengths, spaced)
    return unpack(out, lengths)


def insert(
    texts: Sequence[str], keys: Keys, words: Sequence[str], strength: int, *, spaced: bool = True
) -> list[str | None]:
    """`Insertion.apply` on every text, with one word list."""
    if not words:
        return [None] * len(texts)
    codes, offsets, kinds = pack(texts, spaced=spaced)
    word_codes, word_offsets, _ = pack(words, spaced=spaced)
    # A word is set off by a space where letters of a script with spaces would else meet.
    edges = np.array([[kind_of(word[i], spaced=spaced) for i in (0, -1)] for word in words], np.uint8)
    ends = np.fromiter((text[-1:].isalnum() for text in texts), np.int64, len(texts))
    size = codes.size + len(texts) * strength * (int(np.diff(word_offsets).max()) + 2)
    out, lengths = np.empty(size, np.uint32), np.empty(len(texts), np.int64)
    _insert_all(
        codes, offsets, kinds, keys, word_codes, word_offsets, edges, ends, strength, out, lengths, spaced
    )
    return unpack(out, lengths)


def swap(texts: Sequence[str], keys: Keys, strength: int, *, spaced: bool = True) -> list[str | None]:
    """`Swapping.apply` on every text."""
    codes, offsets, kinds = pack(texts, spaced=spaced)
    out, lengths = np.empty(codes.size, np.uint32), np.empty(len(texts), np.int64)
    _swap_all(codes, offsets, kinds, keys, strength, out, lengths, spaced)
    return unpack(out, lengths)


@kernel
def _copy(source: Codes, start: int, stop: int, out: Codes, at: int) -> int:
    """Copies a stretch and returns the place after it."""
    for i in range(start, stop):
        out[at] = source[i]
        at += 1
    return at


@kernel
def _remove_all(
    codes: Codes,
    offsets: LongArray,
    kinds: Kinds,
    keys: Keys,
    drops: LongArray,
    out: Codes,
    lengths: LongArray,
    spaced: bool,
) -> None:
    most = room(offsets, spaced)
    starts, ends, order = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    dropped = np.zeros(most, np.bool_)
    at = 0
    for row in range(keys.size):
        start, stop = offsets[row], offsets[row + 1]
        count = find_words(codes, kinds, start, stop, starts, ends, spaced)
        if drops[count] == 0:
            lengths[row] = -1
            continue
        for i in range(count):
            order[i], dropped[i] = i, False
        state = keys[row]
        for i in range(drops[count]):
            state, step = draw_below(state, count - i)
            order[i], order[i + step] = order[i + step], order[i]
            dropped[order[i]] = True
        begin = at
        at = _drop_words(codes, kinds, start, stop, starts, ends, dropped, count, out, at, spaced)
        lengths[row] = at - begin


@kernel
def _drop_words(
    codes: Codes,
    kinds: Kinds,
    start: int,
    stop: int,
    starts: LongArray,
    ends: LongArray,
    dropped: NDArray[np.bool_],
    count: int,
    out: Codes,
    at: int,
    spaced: bool,
) -> int:
    """`without` or `cut_out` on one text: copies what stays and returns the place after it."""
    begin, done, last = at, start, stop
    while last > start and kinds[codes[last - 1]] == SPACE:
        last -= 1
    for i in range(count):
        if not dropped[i]:
            continue
        at = _copy(codes, done, starts[i], out, at)
        done = ends[i]
        if done == last and spaced:
            while at > begin and kinds[out[at - 1]] == SPACE:
                at -= 1
        elif spaced or at == begin or kinds[out[at - 1]] == SPACE:
            while done < stop and kinds[codes[done]] == SPACE:
                done += 1
    if done == stop and not spaced:
        while at > begin and kinds[out[at - 1]] == SPACE:
            at -= 1
    return _copy(codes, done, stop, out, at)


@kernel
def _insert_all(
    codes: Codes,
    offsets: LongArray,
    kinds: Kinds,
    keys: Keys,
    word_codes: Codes,
    word_offsets: LongArray,
    edges: Kinds,
    open_ends: LongArray,
    strength: int,
    out: Codes,
    lengths: LongArray,
    spaced: bool,
) -> None:
    most, vocabulary = room(offsets, spaced), word_offsets.size - 1
    starts, ends = np.empty(most, np.int64), np.empty(most, np.int64)
    places, drawn = np.empty(strength, np.int64), np.empty(strength, np.int64)
    order = np.empty(strength, np.int64)
    at = 0
    for row in range(keys.size):
        start, stop = offsets[row], offsets[row + 1]
        count = find_words(codes, kinds, start, stop, starts, ends, spaced)
        if count == 0:
            lengths[row] = -1
            continue
        state, begin, done = keys[row], at, start
        for i in range(strength):
            state, places[i] = draw_below(state, count + open_ends[row])
            state, drawn[i] = draw_below(state, vocabulary)
        for i in range(strength):  # in order of place, equal ones as they were drawn
            k = i
            while k > 0 and places[order[k - 1]] > places[i]:
                order[k] = order[k - 1]
                k -= 1
            order[k] = i
        for k in range(strength):
            i = order[k]
            inside = places[i] < count
            place = starts[places[i]] if inside else stop
            at = _copy(codes, done, place, out, at)
            done = place
            word = drawn[i]
            if spaced:
                before, after = not inside, inside
            else:
                before = place > start and kinds[codes[place - 1]] == LETTER and edges[word, 0] == LETTER
                after = place < stop and kinds[codes[place]] == LETTER and edges[word, 1] == LETTER
            at = _put_word(word_codes, word_offsets[word], word_offsets[word + 1], before, after, out, at)
        at = _copy(codes, done, stop, out, at)
        lengths[row] = at - begin


@kernel
def _put_word(codes: Codes, start: int, stop: int, before: bool, after: bool, out: Codes, at: int) -> int:
    """Writes a word and the spaces that set it off from the one before and the next."""
    if before:
        out[at] = 32
        at += 1
    at = _copy(codes, start, stop, out, at)
    if after:
        out[at] = 32
        at += 1
    return at


@kernel
def _same(codes: Codes, start: int, stop: int, other_start: int, other_stop: int) -> bool:
    if stop - start != other_stop - other_start:
        return False
    length = stop - start
    i = 0
    while i < length and codes[start + i] == codes[other_start + i]:
        i += 1
    return i == length


@kernel
def _pick_pair(
    codes: Codes,
    starts: LongArray,
    ends: LongArray,
    free: LongArray,
    others: LongArray,
    size: int,
    state: np.uint64,
) -> tuple[np.uint64, int, int]:
    """Two free words that differ, or −1 for the second where there are none."""
    state, pick = draw_below(state, size)
    first, found = free[pick], 0
    for k in range(size):
        i = free[k]
        if not _same(codes, starts[i], ends[i], starts[first], ends[first]):
            others[found] = i
            found += 1
    if found == 0:
        return state, first, -1
    state, pick = draw_below(state, found)
    return state, first, others[pick]


@kernel
def _pick_pairs(
    codes: Codes,
    starts: LongArray,
    ends: LongArray,
    order: LongArray,
    free: LongArray,
    others: LongArray,
    count: int,
    strength: int,
    state: np.uint64,
) -> bool:
    """Exchanges words in `order`, `strength` times; False where that cannot be done."""
    size = count
    for i in range(count):
        order[i], free[i] = i, i
    for _ in range(strength):
        if size == 0:
            return False
        state, first, second = _pick_pair(codes, starts, ends, free, others, size, state)
        if second < 0:
            return False
        order[first], order[second] = second, first
        kept = 0
        for k in range(size):
            if free[k] not in (first, second):
                free[kept] = free[k]
                kept += 1
        size = kept
    return True


@kernel
def _swap_all(
    codes: Codes,
    offsets: LongArray,
    kinds: Kinds,
    keys: Keys,
    strength: int,
    out: Codes,
    lengths: LongArray,
    spaced: bool,
) -> None:
    most = room(offsets, spaced)
    starts, ends, order = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most, np.int64)
    free, others = np.empty(most, np.int64), np.empty(most, np.int64)
    at = 0
    for row in range(keys.size):
        start, stop = offsets[row], offsets[row + 1]
        count = find_words(codes, kinds, start, stop, starts, ends, spaced)
        if not _pick_pairs(codes, starts, ends, order, free, others, count, strength, keys[row]):
            lengths[row] = -1
            continue
        begin, done = at, start
        for i in range(count):
            at = _copy(codes, done, starts[i], out, at)
            at = _copy(codes, starts[order[i]], ends[order[i]], out, at)
            done = ends[i]
        at = _copy(codes, done, stop, out, at)
        lengths[row] = at - begin
