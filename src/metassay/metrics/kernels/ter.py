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


class BeamMatrix(NamedTuple):
    """Edit distances between the beginnings of an output (rows) and of its reference (columns), near the
    diagonal only.

    Row i has the columns from `low[i]` to before `high[i]`; the distance in column j is
    `distances[starts[i] + j]`.
    """

    low: Positions
    high: Positions
    starts: Positions
    distances: Distances


class WordAlignment(NamedTuple):
    """Which output word each reference word is aligned with, and how many words before each position are
    wrong.
    """

    output_position: Positions
    """For each reference word, the output word that it is aligned with, or after which it is inserted."""
    reference_errors: Positions
    """Entry k: number of wrong words among the first k of the reference."""
    output_errors: Positions


@kernel
def count_ter_edits(
    ids: TokenIds, offsets: Offsets, outputs: Positions, references: Positions
) -> NDArray[np.int64]:
    """Count for each output the edits that turn it into its reference, where moving a run of words is one
    edit.

    Returns [inputs].
    """
    longest = 1
    most_cells = 1
    for k in range(len(outputs)):
        output_length = offsets[outputs[k] + 1] - offsets[outputs[k]]
        reference_length = offsets[references[k] + 1] - offsets[references[k]]
        longest = max(longest, output_length, reference_length)
        most_cells = max(most_cells, (output_length + 1) * _matrix_row_width(output_length, reference_length))
    matrix = BeamMatrix(
        np.zeros(longest + 2, np.int64),
        np.zeros(longest + 2, np.int64),
        np.zeros(longest + 2, np.int64),
        np.zeros(most_cells, np.int32),
    )
    alignment = WordAlignment(
        np.zeros(longest + 1, np.int64), np.zeros(longest + 1, np.int64), np.zeros(longest + 1, np.int64)
    )
    row = np.zeros(longest + 3, np.int32)
    next_row = np.zeros(longest + 3, np.int32)
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
        edits[k] = _count_edits_with_shifts(
            words[:n], reference, matrix, alignment, row, next_row, shifted[:n], best[:n]
        )
    return edits


@kernel
def _count_edits_with_shifts(
    words: TokenIds,
    reference: TokenIds,
    matrix: BeamMatrix,
    alignment: WordAlignment,
    row: Distances,
    next_row: Distances,
    shifted: TokenIds,
    best_shift: TokenIds,
) -> int:
    """Move runs of words while that reduces the edit distance, and return the number of moves and remaining
    edits.
    """
    _write_beam_bounds(len(words), len(reference), matrix)
    shifts = 0
    candidates = ZERO
    first_changed = ZERO
    while True:
        distance = _write_matrix_after_row(words, reference, first_changed, matrix, row, next_row)
        if distance == 0:
            return shifts
        _write_word_alignment(words, reference, matrix, alignment)
        gain, candidates = _find_best_shift(
            words, reference, distance, candidates, matrix, alignment, row, next_row, shifted, best_shift
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
def _beam_width(output_length: int, reference_length: int) -> int:
    """Return how many columns on either side of the diagonal of the matrix are computed."""
    ratio = reference_length / output_length if output_length > 0 else 1.0
    return math.ceil(ratio / 2 + _BEAM_WIDTH) if ratio / 2 > _BEAM_WIDTH else _BEAM_WIDTH


@kernel
def _matrix_row_width(output_length: int, reference_length: int) -> int:
    """Return how many columns of each row of the matrix are stored."""
    return min(reference_length + 1, 2 * _beam_width(output_length, reference_length) + 1)


@kernel
def _write_beam_bounds(output_length: int, reference_length: int, matrix: BeamMatrix) -> None:
    """Write which columns, near the diagonal, are computed in each row of the matrix."""
    ratio = reference_length / output_length
    width = _beam_width(output_length, reference_length)
    row_width = _matrix_row_width(output_length, reference_length)
    for i in range(output_length + 1):
        diagonal = math.floor(i * ratio)
        matrix.low[i] = max(0, diagonal - width)
        matrix.high[i] = min(reference_length + 1, diagonal + width)
        matrix.starts[i] = i * row_width - matrix.low[i]
    matrix.high[0] = reference_length + 1
    matrix.high[output_length] = reference_length + 1
    matrix.high[output_length + 1] = 0  # no row follows


@kernel
def _write_matrix_after_row(
    words: TokenIds,
    reference: TokenIds,
    first_row: int,
    matrix: BeamMatrix,
    row: Distances,
    next_row: Distances,
) -> int:
    """Compute the rows of the matrix of edit distances after `first_row`, and return the distance of the
    whole sequences.
    """
    _load_matrix_row(first_row, matrix, row)
    for i in range(first_row + 1, len(words) + 1):
        _compute_next_row(i, words[i - 1], reference, matrix, row, next_row)
        row, next_row = next_row, row
        for j in range(matrix.low[i], matrix.high[i]):
            matrix.distances[matrix.starts[i] + j] = row[j + 1]
    return int(row[len(reference) + 1])


@kernel
def _compute_edit_distance_after_shift(
    shifted: TokenIds,
    reference: TokenIds,
    start: int,
    end: int,
    matrix: BeamMatrix,
    row: Distances,
    next_row: Distances,
) -> int:
    """Compute the edit distance after a run of words was moved, which changes only the words from `start` to
    `end`.
    """
    _load_matrix_row(start, matrix, row)
    last = len(shifted)
    for i in range(start + 1, last + 1):
        _compute_next_row(i, shifted[i - 1], reference, matrix, row, next_row)
        row, next_row = next_row, row
        if i >= end and _equals_matrix_row(i, matrix, row):
            return int(matrix.distances[matrix.starts[last] + len(reference)])
    return int(row[len(reference) + 1])


@kernel
def _load_matrix_row(row_number: int, matrix: BeamMatrix, row: Distances) -> None:
    """Copy a row of the matrix of edit distances to a buffer, with infinity on either side of the computed
    columns.

    Row 0, where all reference words are inserted, is not stored.
    """
    low = matrix.low[row_number]
    high = matrix.high[row_number]
    row[low] = _INFINITE
    for j in range(low, high):
        row[j + 1] = matrix.distances[matrix.starts[row_number] + j] if row_number > 0 else j
    for j in range(high, matrix.high[row_number + 1]):
        row[j + 1] = _INFINITE


@kernel
def _compute_next_row(
    row_number: int, word: int, reference: TokenIds, matrix: BeamMatrix, row: Distances, next_row: Distances
) -> None:
    """Compute one row of the matrix of edit distances from the row before and one word of the output.

    This is the innermost loop of the search: distances only, without the last edit on the way to each cell.
    """
    low = matrix.low[row_number]
    high = matrix.high[row_number]
    left = np.int32(_INFINITE)
    next_row[low] = left
    first_column = low
    if low == 0:
        left = row[1] + np.int32(1)
        next_row[1] = left
        first_column = 1
    for j in range(first_column, high):
        cost = row[j] + np.int32(word != reference[j - 1])
        cost = min(cost, min(row[j + 1], left) + np.int32(1))
        next_row[j + 1] = cost
        left = cost
    for j in range(high, matrix.high[row_number + 1]):
        next_row[j + 1] = _INFINITE


@kernel
def _equals_matrix_row(row_number: int, matrix: BeamMatrix, row: Distances) -> bool:
    """Return whether a buffer holds the same edit distances as a row of the matrix."""
    j = matrix.low[row_number]
    while j < matrix.high[row_number] and row[j + 1] == matrix.distances[matrix.starts[row_number] + j]:
        j += 1
    return bool(j == matrix.high[row_number])


@kernel
def _distance_in_beam(row_number: int, column_number: int, matrix: BeamMatrix) -> int:
    """Return the edit distance in a row and column of the matrix, or infinity if it was not computed."""
    if column_number < matrix.low[row_number] or column_number >= matrix.high[row_number]:
        return _INFINITE
    return (
        int(matrix.distances[matrix.starts[row_number] + column_number]) if row_number > 0 else column_number
    )


@kernel
def _write_word_alignment(
    words: TokenIds, reference: TokenIds, matrix: BeamMatrix, alignment: WordAlignment
) -> None:
    """Follow the edits from the end of the matrix back to its start, and write which words are aligned.

    Of edits with the same distance, a substitution comes first, then a deletion, then an insertion.
    """
    output_position, reference_errors, output_errors = alignment
    i = len(words)
    j = len(reference)
    reference_errors[0] = 0
    output_errors[0] = 0
    while i > 0 or j > 0:
        distance = _distance_in_beam(i, j, matrix)
        is_wrong = int(i == 0 or j == 0 or words[i - 1] != reference[j - 1])
        if i > 0 and j > 0 and distance == _distance_in_beam(i - 1, j - 1, matrix) + is_wrong:
            i -= 1
            j -= 1
            output_errors[i + 1] = is_wrong
            reference_errors[j + 1] = is_wrong
            output_position[j] = i
        elif i > 0 and distance == _distance_in_beam(i - 1, j, matrix) + 1:
            output_errors[i] = 1
            i -= 1
        else:
            reference_errors[j] = 1
            j -= 1
            output_position[j] = i - 1
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
    row: Distances,
    next_row: Distances,
    shifted: TokenIds,
    best_shift: TokenIds,
) -> tuple[int, int]:
    """Find the run of words whose move reduces the edit distance most. Of equal moves, the longest and then
    the earliest is used.

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
                        shifted, reference, first, end, matrix, row, next_row
                    )
                    candidates += 1
                    # Runs that start earlier are tried earlier.
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
    """Write the words with `length` of them moved to another position, and return the first and last changed
    position.

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
