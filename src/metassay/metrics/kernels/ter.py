"""Translation edit rate: the fewest edits found, where moving a run of words counts as one edit (a shift).

Shifts are searched greedily, as in tercom and with the limits of sacrebleu's version of it: runs of up to 10
words, moved by at most 50 positions, up to 1,000 candidates in all, and edit distances within a beam around
the diagonal of the matrix.

A shift does not change the length of the output, so the beam is the same for all candidates. The matrix of a
candidate differs from that of the unshifted output only from its first changed word on, and often becomes
equal to it again; only the rows in between are computed.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.kernels.text_arrays import Offsets, Positions, TokenIds
from metassay.stats.compilation import ZERO, kernel

Distances = NDArray[np.int32]

# The limits of tercom and sacrebleu: with others, scores would differ from theirs.
_MAX_RUN = 10
_MAX_SHIFT_DISTANCE = 50
_MAX_CANDIDATES = 1000
_BEAM_WIDTH = 25
# Larger than any number of edits, and small enough that adding costs does not overflow.
_INFINITE = 1 << 30
_EQUAL, _SUBSTITUTE, _DELETE, _INSERT = range(4)


class BeamMatrix(NamedTuple):
    """Edit distances between prefixes of the output (rows) and of the reference (columns), within a beam.

    Row i has the columns from `low[i]` up to `high[i]`; column j is stored at j − `low[i]`. Row 0, where all
    reference words are inserted, is not stored.
    """

    low: Positions
    high: Positions
    distances: Distances
    operations: NDArray[np.int8]
    """The last edit on the way to each cell."""


class WordAlignment(NamedTuple):
    """The output position of each reference word, and the numbers of wrong words."""

    output_position: Positions
    """For each reference word, the output word that it is aligned with, or after which it is inserted."""
    reference_errors: Positions
    """Entry k: number of wrong words among the first k of the reference."""
    output_errors: Positions


@kernel
def count_ter_edits(
    ids: TokenIds, offsets: Offsets, outputs: Positions, references: Positions
) -> NDArray[np.int64]:
    """Count the edits, including shifts, that turn each output into its reference: [inputs]."""
    longest = 1
    most_cells = 1
    for k in range(len(outputs)):
        output_length = offsets[outputs[k] + 1] - offsets[outputs[k]]
        reference_length = offsets[references[k] + 1] - offsets[references[k]]
        longest = max(longest, output_length, reference_length)
        most_cells = max(
            most_cells, (output_length + 1) * _compute_matrix_row_width(output_length, reference_length)
        )
    low = np.zeros(longest + 2, np.int64)
    high = np.zeros(longest + 2, np.int64)
    distances = np.zeros(most_cells, np.int32)
    operations = np.zeros(most_cells, np.int8)
    alignment = WordAlignment(
        np.zeros(longest + 1, np.int64), np.zeros(longest + 1, np.int64), np.zeros(longest + 1, np.int64)
    )
    rows = np.zeros((2, longest + 3), np.int32)
    words = np.zeros(longest, np.int32)
    shifted = np.zeros(longest, np.int32)
    best = np.zeros(longest, np.int32)
    edits = np.zeros(len(outputs), np.int64)
    for k in range(len(outputs)):
        reference = ids[offsets[references[k]] : offsets[references[k] + 1]]
        start = offsets[outputs[k]]
        n = offsets[outputs[k] + 1] - start
        if len(reference) == 0 or n == 0:
            edits[k] = max(n, len(reference))
            continue
        for i in range(n):
            words[i] = ids[start + i]
        shape = (n + 1, _compute_matrix_row_width(n, len(reference)))
        cells = shape[0] * shape[1]
        matrix = BeamMatrix(low, high, distances[:cells].reshape(shape), operations[:cells].reshape(shape))
        edits[k] = _count_edits_with_shifts(
            words[:n], reference, matrix, alignment, rows, shifted[:n], best[:n]
        )
    return edits


@kernel
def _count_edits_with_shifts(
    words: TokenIds,
    reference: TokenIds,
    matrix: BeamMatrix,
    alignment: WordAlignment,
    rows: Distances,
    shifted: TokenIds,
    best_shift: TokenIds,
) -> int:
    """Shift words while that reduces the edit distance; return the number of shifts and edits."""
    _set_beam_bounds(len(words), len(reference), matrix)
    shifts = 0
    candidates = ZERO
    first_changed = ZERO
    while True:
        distance = _complete_edit_distance_matrix(words, reference, first_changed, matrix, rows)
        if distance == 0:
            return shifts
        _trace_word_alignment(words, reference, matrix, alignment)
        gain, candidates = _find_best_shift(
            words, reference, distance, candidates, matrix, alignment, rows, shifted, best_shift
        )
        if candidates >= _MAX_CANDIDATES or gain <= 0:
            return shifts + distance
        shifts += 1
        first_changed = ZERO
        while words[first_changed] == best_shift[first_changed]:
            first_changed += 1
        for i in range(len(words)):
            words[i] = best_shift[i]


@kernel
def _compute_beam_width(output_length: int, reference_length: int) -> int:
    """Number of columns on either side of the diagonal of the matrix that are computed."""
    ratio = reference_length / output_length if output_length > 0 else 1.0
    return math.ceil(ratio / 2 + _BEAM_WIDTH) if ratio / 2 > _BEAM_WIDTH else _BEAM_WIDTH


@kernel
def _compute_matrix_row_width(output_length: int, reference_length: int) -> int:
    """Number of columns of a row of the matrix that are stored."""
    return min(reference_length + 1, 2 * _compute_beam_width(output_length, reference_length) + 1)


@kernel
def _set_beam_bounds(output_length: int, reference_length: int, matrix: BeamMatrix) -> None:
    """Write the first and last column of the beam in each row of the matrix."""
    ratio = reference_length / output_length
    width = _compute_beam_width(output_length, reference_length)
    for i in range(1, output_length + 1):
        diagonal = math.floor(i * ratio)
        matrix.low[i] = max(0, diagonal - width)
        matrix.high[i] = min(reference_length + 1, diagonal + width)
    matrix.high[output_length] = reference_length + 1
    matrix.low[0] = 0
    matrix.high[0] = reference_length + 1


@kernel
def _load_matrix_row(row_number: int, matrix: BeamMatrix, row: Distances) -> None:
    """Copy row i of the matrix to a buffer, with infinity on either side of the beam."""
    low = matrix.low[row_number]
    for j in range(low, matrix.high[row_number]):
        row[j + 1] = matrix.distances[row_number, j - low] if row_number > 0 else j
    _fill_cells_outside_beam_with_infinity(row_number, matrix, row)


@kernel
def _fill_cells_outside_beam_with_infinity(
    row_number: int, beam_matrix: BeamMatrix, row_buffer: Distances
) -> None:
    """Write infinity to the cells of a row that are outside of the beam of the matrix."""
    row_buffer[beam_matrix.low[row_number]] = _INFINITE
    for j in range(beam_matrix.high[row_number], beam_matrix.high[row_number + 1]):
        row_buffer[j + 1] = _INFINITE


@kernel
def _complete_edit_distance_matrix(
    output: TokenIds, reference: TokenIds, last_computed_row: int, matrix: BeamMatrix, row_buffers: Distances
) -> int:
    """Compute the rows of the matrix after `last_computed_row`; return the edit distance."""
    previous_row = row_buffers[0]
    row = row_buffers[1]
    _load_matrix_row(last_computed_row, matrix, previous_row)
    for i in range(last_computed_row + 1, len(output) + 1):
        low = matrix.low[i]
        word = output[i - 1]
        row[low] = _INFINITE
        for j in range(low, matrix.high[i]):
            is_equal = j > 0 and word == reference[j - 1]
            cost = previous_row[j] + (0 if is_equal else 1) if j > 0 else _INFINITE
            operation = _EQUAL if is_equal else _SUBSTITUTE
            if previous_row[j + 1] + 1 < cost:
                cost = previous_row[j + 1] + 1
                operation = _DELETE
            if row[j] + 1 < cost:
                cost = row[j] + 1
                operation = _INSERT
            row[j + 1] = cost
            matrix.distances[i, j - low] = cost
            matrix.operations[i, j - low] = operation
        if i < len(output):
            _fill_cells_outside_beam_with_infinity(i, matrix, row)
        previous_row, row = row, previous_row
    return int(previous_row[len(reference) + 1])


@kernel
def _compute_edit_distance_after_shift(
    shifted: TokenIds, reference: TokenIds, start: int, end: int, matrix: BeamMatrix, rows: Distances
) -> int:
    """Edit distance of the shifted words, which differ from those of the matrix from `start` to `end` only.

    Distances only, without operations: this is the innermost loop of the search.
    """
    previous_row = rows[0]
    row = rows[1]
    _load_matrix_row(start, matrix, previous_row)
    last = len(shifted)
    for i in range(start + 1, last + 1):
        low = matrix.low[i]
        word = shifted[i - 1]
        left = np.int32(_INFINITE)
        first_column = low
        if low == 0:
            left = previous_row[1] + np.int32(1)
            row[1] = left
            first_column = 1
        for j in range(first_column, matrix.high[i]):
            cost = previous_row[j] + np.int32(word != reference[j - 1])
            cost = min(cost, min(previous_row[j + 1], left) + np.int32(1))
            row[j + 1] = cost
            left = cost
        if i >= end and _is_equal_to_matrix_row(i, matrix, row):
            return int(matrix.distances[last, len(reference) - matrix.low[last]])
        if i < last:
            _fill_cells_outside_beam_with_infinity(i, matrix, row)
        previous_row, row = row, previous_row
    return int(previous_row[len(reference) + 1])


@kernel
def _is_equal_to_matrix_row(row_number: int, matrix: BeamMatrix, row: Distances) -> bool:
    """Return whether a row buffer equals row i of the matrix."""
    low = matrix.low[row_number]
    j = low
    while j < matrix.high[row_number] and row[j + 1] == matrix.distances[row_number, j - low]:
        j += 1
    return bool(j == matrix.high[row_number])


@kernel
def _trace_word_alignment(
    words: TokenIds, reference: TokenIds, matrix: BeamMatrix, alignment: WordAlignment
) -> None:
    """Follow the edit operations back from the end of the matrix, and write which words are aligned."""
    output_position, reference_errors, output_errors = alignment
    i = len(words)
    j = len(reference)
    reference_errors[0] = 0
    output_errors[0] = 0
    while i > 0 or j > 0:
        operation = matrix.operations[i, j - matrix.low[i]] if i > 0 else _INSERT
        is_wrong = 0 if operation == _EQUAL else 1
        if operation != _INSERT:
            output_errors[i] = is_wrong
            i -= 1
        if operation != _DELETE:
            reference_errors[j] = is_wrong
            j -= 1
            output_position[j] = i if operation != _INSERT else i - 1
    for k in range(len(words)):
        output_errors[k + 1] += output_errors[k]
    for k in range(len(reference)):
        reference_errors[k + 1] += reference_errors[k]


@kernel
def _find_best_shift(
    words: TokenIds,
    reference: TokenIds,
    distance: int,
    candidates: int,
    matrix: BeamMatrix,
    alignment: WordAlignment,
    rows: Distances,
    shifted: TokenIds,
    best_shift: TokenIds,
) -> tuple[int, int]:
    """Find the shift that reduces the edit distance most; of equal ones the longest, then the earliest.

    A run of words can be shifted where it equals a run of the reference, both contain an error, and it does
    not stand in its place already. Returns the gain, 0 where there is no shift, and the number of candidates
    tried so far; writes the shifted words to `best_shift`.
    """
    output_position, reference_errors, output_errors = alignment
    best_gain = -_INFINITE
    best_length = 0
    best_start = 0
    best_target = 0
    for start in range(len(words)):
        first_other = max(0, start - _MAX_SHIFT_DISTANCE)
        last_other = min(len(reference), start + _MAX_SHIFT_DISTANCE + 1)
        for other in range(first_other, last_other):
            max_length = min(_MAX_RUN, len(words) - start, len(reference) - other)
            length = 0
            while length < max_length and words[start + length] == reference[other + length]:
                length += 1
                output_is_correct = output_errors[start + length] == output_errors[start]
                reference_is_correct = reference_errors[other + length] == reference_errors[other]
                is_in_place = start <= output_position[other] < start + length
                if output_is_correct or reference_is_correct or is_in_place:
                    continue
                previous_target = -1
                for offset in range(-1, length):
                    target = output_position[other + offset] + 1 if other + offset >= 0 else 0
                    if target == previous_target:
                        continue
                    previous_target = target
                    first, end = _shift_words(words, start, length, target, shifted)
                    gain = distance - _compute_edit_distance_after_shift(
                        shifted, reference, first, end, matrix, rows
                    )
                    candidates += 1
                    # Conditions instead of tuples, which Numba takes long to compile. Runs that start
                    # earlier are tried earlier.
                    is_longer = length > best_length
                    is_earlier = length == best_length and start == best_start and target < best_target
                    if gain > best_gain or (gain == best_gain and (is_longer or is_earlier)):
                        best_gain = gain
                        best_length = length
                        best_start = start
                        best_target = target
                        for i in range(len(words)):
                            best_shift[i] = shifted[i]
                if candidates >= _MAX_CANDIDATES:
                    return best_gain, candidates
    return (best_gain if best_gain > -_INFINITE else 0), candidates


@kernel
def _shift_words(words: TokenIds, start: int, length: int, target: int, shifted: TokenIds) -> tuple[int, int]:
    """Write the words with `length` words moved to a target; return the first and last changed position.

    Moving a run exchanges two neighbouring blocks of words: `first` to `middle`, and `middle` to `end`.
    """
    if target < start:
        first = target
        middle = start
        end = start + length
    elif target > start + length:
        first = start
        middle = start + length
        end = target
    else:
        first = start
        middle = start + length
        end = min(len(words), target + length)
    for i in range(first):
        shifted[i] = words[i]
    written = first
    for i in range(middle, end):
        shifted[written] = words[i]
        written += 1
    for i in range(first, middle):
        shifted[written] = words[i]
        written += 1
    for i in range(end, len(words)):
        shifted[i] = words[i]
    return first, end
