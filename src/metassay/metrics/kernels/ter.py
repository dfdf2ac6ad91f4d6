"""Translation edit rate: the fewest edits found, where moving a run of words counts as one.

Shifts are searched greedily, as in tercom and with the limits of sacrebleu's version of it: runs of up to 10
words, moved over at most 50, up to 1,000 candidates in all, and edit distances within a beam around the
diagonal. Sequences of one pair keep their length under shifts, so the beam is the same for all of them, and a
candidate needs new rows of the matrix only from its first changed word on, until its rows are those of the
unshifted output again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.kernels.text_arrays import Ids, Offsets
from metassay.stats.compilation import kernel

_MOST_WORDS, _MOST_DISTANCE, _MOST_CANDIDATES, _BEAM = 10, 50, 1000, 25
_INFINITE = 1 << 30
_EQUAL, _SUBSTITUTE, _DELETE, _INSERT = range(4)


class Beam(NamedTuple):
    """Row i of the matrix reaches from column `low[i]` up to `high[i]`; row 0, of insertions, is not kept."""

    low: Offsets
    high: Offsets
    distances: Ids
    """Distances of row i, from its column `low[i]` on."""
    operations: NDArray[np.int8]


class Alignment(NamedTuple):
    """Which word of the output each reference word stands at or after, and which words are wrong."""

    target: Offsets
    reference_errors: Offsets
    """Errors among the first k reference words, at k."""
    output_errors: Offsets


@kernel
def ter_edits(ids: Ids, offsets: Offsets, outputs: Offsets, references: Offsets) -> NDArray[np.int64]:
    """Edits, shifts included, from each output to its reference."""
    longest, cells = 1, 1
    for c in range(len(outputs)):
        output = offsets[outputs[c] + 1] - offsets[outputs[c]]
        reference = offsets[references[c] + 1] - offsets[references[c]]
        longest = max(longest, output, reference)
        cells = max(cells, (output + 1) * _row_width(output, reference))
    low, high = np.zeros(longest + 2, np.int64), np.zeros(longest + 2, np.int64)
    distances, operations = np.zeros(cells, np.int32), np.zeros(cells, np.int8)
    alignment = Alignment(
        np.zeros(longest + 1, np.int64), np.zeros(longest + 1, np.int64), np.zeros(longest + 1, np.int64)
    )
    rows = np.zeros((2, longest + 3), np.int32)
    words, shifted, best = (
        np.zeros(longest, np.int32),
        np.zeros(longest, np.int32),
        np.zeros(longest, np.int32),
    )
    edits = np.zeros(len(outputs), np.int64)
    for c in range(len(outputs)):
        reference_words = ids[offsets[references[c]] : offsets[references[c] + 1]]
        n = offsets[outputs[c] + 1] - offsets[outputs[c]]
        if len(reference_words) == 0 or n == 0:
            edits[c] = max(n, len(reference_words))
            continue
        start = offsets[outputs[c]]
        for i in range(n):
            words[i] = ids[start + i]
        width = _row_width(n, len(reference_words))
        kept = (n + 1) * width
        shape = (n + 1, width)
        beam = Beam(low, high, distances[:kept].reshape(shape), operations[:kept].reshape(shape))
        edits[c] = _edits(words[:n], reference_words, beam, alignment, rows, shifted[:n], best[:n])
    return edits


@kernel
def _edits(
    words: Ids, reference: Ids, beam: Beam, alignment: Alignment, rows: Ids, shifted: Ids, best: Ids
) -> int:
    """Shifts while that reduces the edit distance; returns shifts plus distance."""
    _set_beam(len(words), len(reference), beam)
    shifts = 0
    candidates = changed = 0
    while True:
        distance = _fill(words, reference, changed, beam, rows)
        if distance == 0:
            return shifts
        _align(words, reference, beam, alignment)
        gain, candidates = _best_shift(
            words, reference, distance, candidates, beam, alignment, rows, shifted, best
        )
        if candidates >= _MOST_CANDIDATES or gain <= 0:
            return shifts + distance
        shifts += 1
        changed = 0
        while words[changed] == best[changed]:
            changed += 1
        for i in range(len(words)):
            words[i] = best[i]


@kernel
def _beam_width(output: int, reference: int) -> int:
    ratio = reference / output if output > 0 else 1.0
    return math.ceil(ratio / 2 + _BEAM) if ratio / 2 > _BEAM else _BEAM


@kernel
def _row_width(output: int, reference: int) -> int:
    return min(reference + 1, 2 * _beam_width(output, reference) + 1)


@kernel
def _set_beam(output: int, reference: int, beam: Beam) -> None:
    ratio, width = reference / output, _beam_width(output, reference)
    for i in range(1, output + 1):
        diagonal = math.floor(i * ratio)
        beam.low[i] = max(0, diagonal - width)
        beam.high[i] = min(reference + 1, diagonal + width)
    beam.high[output] = reference + 1
    beam.low[0], beam.high[0] = 0, reference + 1


@kernel
def _load(i: int, beam: Beam, row: Ids) -> None:
    """Row i of the matrix into a row buffer, where column j is at j + 1 and infinity on either side."""
    low, high = beam.low[i], beam.high[i]
    for j in range(low, high):
        row[j + 1] = beam.distances[i, j - low] if i > 0 else j
    _guard(i, beam, row)


@kernel
def _guard(i: int, beam: Beam, row: Ids) -> None:
    """Infinity where the next row looks beyond this one."""
    row[beam.low[i]] = _INFINITE
    for j in range(beam.high[i], beam.high[i + 1]):
        row[j + 1] = _INFINITE


@kernel
def _fill(words: Ids, reference: Ids, start: int, beam: Beam, rows: Ids) -> int:
    """The matrix after row `start`, with the operation that led to each cell; returns the distance."""
    before, row = rows[0], rows[1]
    _load(start, beam, before)
    for i in range(start + 1, len(words) + 1):
        low, high, word = beam.low[i], beam.high[i], words[i - 1]
        row[low] = _INFINITE
        for j in range(low, high):
            equal = j > 0 and word == reference[j - 1]
            cost = before[j] + (0 if equal else 1) if j > 0 else _INFINITE
            operation = _EQUAL if equal else _SUBSTITUTE
            if before[j + 1] + 1 < cost:
                cost, operation = before[j + 1] + 1, _DELETE
            if row[j] + 1 < cost:
                cost, operation = row[j] + 1, _INSERT
            row[j + 1] = cost
            beam.distances[i, j - low] = cost
            beam.operations[i, j - low] = operation
        if i < len(words):
            _guard(i, beam, row)
        before, row = row, before
    return int(before[len(reference) + 1])


@kernel
def _distance_after_shift(shifted: Ids, reference: Ids, start: int, end: int, beam: Beam, rows: Ids) -> int:
    """The distance of words that differ from those in the matrix only from `start` up to `end`."""
    before, row = rows[0], rows[1]
    _load(start, beam, before)
    last = len(shifted)
    for i in range(start + 1, last + 1):
        low, high, word = beam.low[i], beam.high[i], shifted[i - 1]
        left = np.int32(_INFINITE)
        first = low
        if low == 0:
            left = before[1] + np.int32(1)
            row[1] = left
            first = 1
        for j in range(first, high):
            cost = before[j] + np.int32(word != reference[j - 1])
            cost = min(cost, min(before[j + 1], left) + np.int32(1))
            row[j + 1] = cost
            left = cost
        if i >= end and _equals_row(i, beam, row):
            return int(beam.distances[last, len(reference) - beam.low[last]])
        if i < last:
            _guard(i, beam, row)
        before, row = row, before
    return int(before[len(reference) + 1])


@kernel
def _equals_row(i: int, beam: Beam, row: Ids) -> bool:
    low = beam.low[i]
    j = low
    while j < beam.high[i] and row[j + 1] == beam.distances[i, j - low]:
        j += 1
    return bool(j == beam.high[i])


@kernel
def _align(words: Ids, reference: Ids, beam: Beam, alignment: Alignment) -> None:
    """Reads the alignment off the matrix, then sums the errors up."""
    target, reference_errors, output_errors = alignment
    i, j = len(words), len(reference)
    reference_errors[0] = output_errors[0] = 0
    while i > 0 or j > 0:
        operation = beam.operations[i, j - beam.low[i]] if i > 0 else _INSERT
        wrong = 0 if operation == _EQUAL else 1
        if operation != _INSERT:
            output_errors[i] = wrong
            i -= 1
        if operation != _DELETE:
            reference_errors[j] = wrong
            j -= 1
            target[j] = i if operation != _INSERT else i - 1
    for k in range(len(words)):
        output_errors[k + 1] += output_errors[k]
    for k in range(len(reference)):
        reference_errors[k + 1] += reference_errors[k]


@kernel
def _best_shift(
    words: Ids,
    reference: Ids,
    distance: int,
    candidates: int,
    beam: Beam,
    alignment: Alignment,
    rows: Ids,
    shifted: Ids,
    best: Ids,
) -> tuple[int, int]:
    """Finds the shift with the greatest gain; ties go to the longer run, then the earlier one, then target.

    Returns its gain, 0 where there is none, and the number of candidates so far; `best` gets the words.
    """
    target, reference_errors, output_errors = alignment
    most, most_length, most_start, most_place = -_INFINITE, 0, 0, 0
    for start in range(len(words)):
        for other in range(max(0, start - _MOST_DISTANCE), min(len(reference), start + _MOST_DISTANCE + 1)):
            room = min(_MOST_WORDS, len(words) - start, len(reference) - other)
            length = 0
            while length < room and words[start + length] == reference[other + length]:
                length += 1
                if (
                    output_errors[start + length] == output_errors[start]
                    or reference_errors[other + length] == reference_errors[other]
                    or start <= target[other] < start + length
                ):
                    continue
                previous = -1
                for offset in range(-1, length):
                    place = target[other + offset] + 1 if other + offset >= 0 else 0
                    if place == previous:
                        continue
                    previous = place
                    first, end = _shift(words, start, length, place, shifted)
                    gain = distance - _distance_after_shift(shifted, reference, first, end, beam, rows)
                    candidates += 1
                    if (gain, length, -start, -place) > (most, most_length, -most_start, -most_place):
                        most, most_length, most_start, most_place = gain, length, start, place
                        for i in range(len(words)):
                            best[i] = shifted[i]
                if candidates >= _MOST_CANDIDATES:
                    return most, candidates
    return (most if most > -_INFINITE else 0), candidates


@kernel
def _shift(words: Ids, start: int, length: int, place: int, shifted: Ids) -> tuple[int, int]:
    """Moves a run of words to a place; returns where the words begin and cease to differ."""
    if place < start:
        first, end, cut = place, start + length, start
    elif place > start + length:
        first, end, cut = start, place, start + length
    else:
        first, end, cut = start, min(len(words), place + length), start + length
    for i in range(first):
        shifted[i] = words[i]
    n = first
    for i in range(cut, end):
        shifted[n] = words[i]
        n += 1
    for i in range(first, cut):
        shifted[n] = words[i]
        n += 1
    for i in range(end, len(words)):
        shifted[i] = words[i]
    return first, end
