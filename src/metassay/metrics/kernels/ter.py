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

from metassay.metrics.kernels.sequences import get_sequence
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
    """Edit distances between the starts of the output (rows) and of the reference (columns), near the
    diagonal only.

    Row i has the columns from `low[i]` up to `high[i]`; column j is stored at j − `low[i]`. Row 0, where all
    reference words are inserted, is not stored.
    """

    low: Positions
    high: Positions
    distances: Distances
    operations: NDArray[np.int8]
    """The last edit on the way to each cell."""


class WordAlignment(NamedTuple):
    """The output position of each reference word, and the numbers of wrong words in both texts."""

    output_position: Positions
    """For each reference word, the output word that it is aligned with, or after which it is inserted."""
    reference_errors: Positions
    """Entry k: number of wrong words among the first k of the reference."""
    output_errors: Positions


@kernel
def count_ter_edits(
    token_ids: TokenIds, sequence_offsets: Offsets, output_numbers: Positions, reference_numbers: Positions
) -> NDArray[np.int64]:
    """Count the edits that turn each output into its reference. Moving a run of words counts as one edit."""
    longest = 1
    most_cells = 1
    for k in range(len(output_numbers)):
        output_length = len(get_sequence(token_ids, sequence_offsets, output_numbers[k]))
        reference_length = len(get_sequence(token_ids, sequence_offsets, reference_numbers[k]))
        longest = max(longest, output_length, reference_length)
        most_cells = max(
            most_cells, (output_length + 1) * _count_stored_columns(output_length, reference_length)
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
    edits = np.zeros(len(output_numbers), np.int64)
    for k in range(len(output_numbers)):
        reference = get_sequence(token_ids, sequence_offsets, reference_numbers[k])
        output = get_sequence(token_ids, sequence_offsets, output_numbers[k])
        n = len(output)
        if len(reference) == 0 or n == 0:
            edits[k] = max(n, len(reference))
            continue
        for i in range(n):
            words[i] = output[i]
        shape = (n + 1, _count_stored_columns(n, len(reference)))
        cells = shape[0] * shape[1]
        matrix = BeamMatrix(low, high, distances[:cells].reshape(shape), operations[:cells].reshape(shape))
        edits[k] = _count_word_edits_and_shifts(
            words[:n], reference, matrix, alignment, rows, shifted[:n], best[:n]
        )
    return edits


@kernel
def _count_word_edits_and_shifts(
    output_words: TokenIds,
    reference_words: TokenIds,
    beam_matrix: BeamMatrix,
    word_alignment: WordAlignment,
    row_buffers: Distances,
    shifted_words: TokenIds,
    best_shifted_words: TokenIds,
) -> int:
    """Move runs of words of an output as long as that lowers its edit distance. Returns the number of moves
    plus the edits that are left.
    """
    _set_beam_bounds(len(output_words), len(reference_words), beam_matrix)
    shifts = 0
    candidates = ZERO
    first_changed = ZERO
    while True:
        distance = _complete_edit_distance_matrix(
            output_words, reference_words, first_changed, beam_matrix, row_buffers
        )
        if distance == 0:
            return shifts
        _trace_word_alignment(output_words, reference_words, beam_matrix, word_alignment)
        gain, candidates = _find_best_word_shift(
            output_words,
            reference_words,
            distance,
            candidates,
            beam_matrix,
            word_alignment,
            row_buffers,
            shifted_words,
            best_shifted_words,
        )
        if candidates >= _MAX_CANDIDATES or gain <= 0:
            return shifts + distance
        shifts += 1
        first_changed = ZERO
        while output_words[first_changed] == best_shifted_words[first_changed]:
            first_changed += 1
        for i in range(len(output_words)):
            output_words[i] = best_shifted_words[i]


@kernel
def _compute_ter_beam_width(output_length: int, reference_length: int) -> int:
    """Return how many columns of the edit distance matrix are computed on either side of its diagonal, as in
    the program tercom.
    """
    ratio = reference_length / output_length if output_length > 0 else 1.0
    return math.ceil(ratio / 2 + _BEAM_WIDTH) if ratio / 2 > _BEAM_WIDTH else _BEAM_WIDTH


@kernel
def _count_stored_columns(output_length: int, reference_length: int) -> int:
    """Return how many columns of each row of the edit distance matrix are stored."""
    return min(reference_length + 1, 2 * _compute_ter_beam_width(output_length, reference_length) + 1)


@kernel
def _set_beam_bounds(output_length: int, reference_length: int, beam_matrix: BeamMatrix) -> None:
    """Choose the columns that are computed in each row of the edit distance matrix."""
    ratio = reference_length / output_length
    width = _compute_ter_beam_width(output_length, reference_length)
    for i in range(1, output_length + 1):
        diagonal = math.floor(i * ratio)
        beam_matrix.low[i] = max(0, diagonal - width)
        beam_matrix.high[i] = min(reference_length + 1, diagonal + width)
    beam_matrix.high[output_length] = reference_length + 1
    beam_matrix.low[0] = 0
    beam_matrix.high[0] = reference_length + 1


@kernel
def _copy_matrix_row_to_buffer(row_number: int, beam_matrix: BeamMatrix, row_buffer: Distances) -> None:
    """Copy a row of the edit distance matrix to a buffer. Columns that were not computed are set to
    infinity.
    """
    low = beam_matrix.low[row_number]
    for j in range(low, beam_matrix.high[row_number]):
        row_buffer[j + 1] = beam_matrix.distances[row_number, j - low] if row_number > 0 else j
    _fill_outside_beam(row_number, beam_matrix, row_buffer)


@kernel
def _fill_outside_beam(row_number: int, beam_matrix: BeamMatrix, row_buffer: Distances) -> None:
    """Write infinity to the cells of a buffer that lie beside the computed columns of the row."""
    row_buffer[beam_matrix.low[row_number]] = _INFINITE
    for j in range(beam_matrix.high[row_number], beam_matrix.high[row_number + 1]):
        row_buffer[j + 1] = _INFINITE


@kernel
def _complete_edit_distance_matrix(
    output_words: TokenIds,
    reference_words: TokenIds,
    last_computed_row: int,
    beam_matrix: BeamMatrix,
    row_buffers: Distances,
) -> int:
    """Compute the rows of an edit distance matrix after `last_computed_row`, and return the edit distance."""
    previous_row = row_buffers[0]
    row = row_buffers[1]
    _copy_matrix_row_to_buffer(last_computed_row, beam_matrix, previous_row)
    for i in range(last_computed_row + 1, len(output_words) + 1):
        low = beam_matrix.low[i]
        word = output_words[i - 1]
        row[low] = _INFINITE
        for j in range(low, beam_matrix.high[i]):
            is_equal = j > 0 and word == reference_words[j - 1]
            cost = previous_row[j] + (0 if is_equal else 1) if j > 0 else _INFINITE
            operation = _EQUAL if is_equal else _SUBSTITUTE
            if previous_row[j + 1] + 1 < cost:
                cost = previous_row[j + 1] + 1
                operation = _DELETE
            if row[j] + 1 < cost:
                cost = row[j] + 1
                operation = _INSERT
            row[j + 1] = cost
            beam_matrix.distances[i, j - low] = cost
            beam_matrix.operations[i, j - low] = operation
        if i < len(output_words):
            _fill_outside_beam(i, beam_matrix, row)
        previous_row, row = row, previous_row
    return int(previous_row[len(reference_words) + 1])


@kernel
def _compute_edit_distance_after_shift(
    shifted_words: TokenIds,
    reference_words: TokenIds,
    first_changed: int,
    end_of_changes: int,
    beam_matrix: BeamMatrix,
    row_buffers: Distances,
) -> int:
    """Compute the edit distance after a run of words was moved. Only the matrix rows of changed words are
    computed.

    Distances only, without operations: this is the innermost loop of the search.
    """
    previous_row = row_buffers[0]
    row = row_buffers[1]
    _copy_matrix_row_to_buffer(first_changed, beam_matrix, previous_row)
    last = len(shifted_words)
    for i in range(first_changed + 1, last + 1):
        low = beam_matrix.low[i]
        word = shifted_words[i - 1]
        left = np.int32(_INFINITE)
        first_column = low
        if low == 0:
            left = previous_row[1] + np.int32(1)
            row[1] = left
            first_column = 1
        for j in range(first_column, beam_matrix.high[i]):
            cost = previous_row[j] + np.int32(word != reference_words[j - 1])
            cost = min(cost, min(previous_row[j + 1], left) + np.int32(1))
            row[j + 1] = cost
            left = cost
        if i >= end_of_changes and _equals_matrix_row(i, beam_matrix, row):
            return int(beam_matrix.distances[last, len(reference_words) - beam_matrix.low[last]])
        if i < last:
            _fill_outside_beam(i, beam_matrix, row)
        previous_row, row = row, previous_row
    return int(previous_row[len(reference_words) + 1])


@kernel
def _equals_matrix_row(row_number: int, beam_matrix: BeamMatrix, row_buffer: Distances) -> bool:
    """Return whether a buffer equals a row that is stored in the edit distance matrix."""
    low = beam_matrix.low[row_number]
    j = low
    while (
        j < beam_matrix.high[row_number] and row_buffer[j + 1] == beam_matrix.distances[row_number, j - low]
    ):
        j += 1
    return bool(j == beam_matrix.high[row_number])


@kernel
def _trace_word_alignment(
    output_words: TokenIds, reference_words: TokenIds, beam_matrix: BeamMatrix, word_alignment: WordAlignment
) -> None:
    """Find the aligned words by following the edit operations back from the end of the matrix."""
    output_position, reference_errors, output_errors = word_alignment
    i = len(output_words)
    j = len(reference_words)
    reference_errors[0] = 0
    output_errors[0] = 0
    while i > 0 or j > 0:
        operation = beam_matrix.operations[i, j - beam_matrix.low[i]] if i > 0 else _INSERT
        is_wrong = 0 if operation == _EQUAL else 1
        if operation != _INSERT:
            output_errors[i] = is_wrong
            i -= 1
        if operation != _DELETE:
            reference_errors[j] = is_wrong
            j -= 1
            output_position[j] = i if operation != _INSERT else i - 1
    for k in range(len(output_words)):
        output_errors[k + 1] += output_errors[k]
    for k in range(len(reference_words)):
        reference_errors[k + 1] += reference_errors[k]


@kernel
def _find_best_word_shift(
    output_words: TokenIds,
    reference_words: TokenIds,
    edit_distance: int,
    tried_shift_count: int,
    beam_matrix: BeamMatrix,
    word_alignment: WordAlignment,
    row_buffers: Distances,
    shifted_words: TokenIds,
    best_shifted_words: TokenIds,
) -> tuple[int, int]:
    """Find the move of a run of words that reduces the edit distance most. Of equally good moves, the longest
    run counts, then the earliest.

    A run of words can be shifted where it equals a run of the reference, both contain an error, and it does
    not stand in its place already. Returns the gain, 0 where there is no shift, and the number of candidates
    tried so far; writes the shifted words to `best_shifted_words`.
    """
    output_position, reference_errors, output_errors = word_alignment
    best_gain = -_INFINITE
    best_length = 0
    best_start = 0
    best_target = 0
    for start in range(len(output_words)):
        first_other = max(0, start - _MAX_SHIFT_DISTANCE)
        last_other = min(len(reference_words), start + _MAX_SHIFT_DISTANCE + 1)
        for other in range(first_other, last_other):
            max_length = min(_MAX_RUN, len(output_words) - start, len(reference_words) - other)
            length = 0
            while length < max_length and output_words[start + length] == reference_words[other + length]:
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
                    first, end = _move_word_run(output_words, start, length, target, shifted_words)
                    gain = edit_distance - _compute_edit_distance_after_shift(
                        shifted_words, reference_words, first, end, beam_matrix, row_buffers
                    )
                    tried_shift_count += 1
                    # Conditions instead of tuples, which Numba takes long to compile. Runs that start
                    # earlier are tried earlier.
                    is_longer = length > best_length
                    is_earlier = length == best_length and start == best_start and target < best_target
                    if gain > best_gain or (gain == best_gain and (is_longer or is_earlier)):
                        best_gain = gain
                        best_length = length
                        best_start = start
                        best_target = target
                        for i in range(len(output_words)):
                            best_shifted_words[i] = shifted_words[i]
                if tried_shift_count >= _MAX_CANDIDATES:
                    return best_gain, tried_shift_count
    return (best_gain if best_gain > -_INFINITE else 0), tried_shift_count


@kernel
def _move_word_run(
    output_words: TokenIds, first_word: int, word_count: int, target_position: int, shifted_words: TokenIds
) -> tuple[int, int]:
    """Copy the words of an output with one run of words moved. Returns the positions between which words have
    changed.

    Moving a run exchanges two neighbouring blocks of words: `first` to `middle`, and `middle` to `end`.
    """
    if target_position < first_word:
        first = target_position
        middle = first_word
        end = first_word + word_count
    elif target_position > first_word + word_count:
        first = first_word
        middle = first_word + word_count
        end = target_position
    else:
        first = first_word
        middle = first_word + word_count
        end = min(len(output_words), target_position + word_count)
    for i in range(first):
        shifted_words[i] = output_words[i]
    written = first
    for i in range(middle, end):
        shifted_words[written] = output_words[i]
        written += 1
    for i in range(first, middle):
        shifted_words[written] = output_words[i]
        written += 1
    for i in range(end, len(output_words)):
        shifted_words[i] = output_words[i]
    return first, end
