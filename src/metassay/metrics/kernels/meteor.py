"""METEOR's word alignment as NLTK computes it: equal words, then equal stems, then synonyms.

In each stage the output is read from its end, and a word is aligned with the last position of the reference
that is still free and matches. Words, stems and synonyms are integers: `stem_of_word[word]` is the stem of
a word, and the synonyms of stem s are `synonym_stems[synonym_offsets[s] : synonym_offsets[s + 1]]`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.kernels.sequences import find_length_of_longest_sequence, get_sequence
from metassay.metrics.kernels.text_arrays import Offsets, Positions, TokenIds
from metassay.stats.compilation import kernel

# Stands for no position.
_NONE = -1


@kernel
def find_unmatched_words(
    token_ids: TokenIds,
    sequence_offsets: Offsets,
    vocabulary_size: int,
    output_numbers: Positions,
    reference_numbers: Positions,
) -> NDArray[np.bool_]:
    """Find the words that an output contains more often or less often than its reference. METEOR needs the
    stems of only these words.

    Every other word finds an equal word in the other text.
    """
    is_unmatched = np.zeros(vocabulary_size, np.bool_)
    surplus = np.zeros(vocabulary_size, np.int64)
    for k in range(len(output_numbers)):
        output = get_sequence(token_ids, sequence_offsets, output_numbers[k])
        reference = get_sequence(token_ids, sequence_offsets, reference_numbers[k])
        for word in output:
            surplus[word] += 1
        for word in reference:
            surplus[word] -= 1
        for word in output:
            is_unmatched[word] |= surplus[word] != 0
        for word in reference:
            is_unmatched[word] |= surplus[word] != 0
            surplus[word] = 0
        for word in output:
            surplus[word] = 0
    return is_unmatched


@kernel
def find_unmatched_stems(
    token_ids: TokenIds,
    sequence_offsets: Offsets,
    vocabulary_size: int,
    output_numbers: Positions,
    reference_numbers: Positions,
    stem_of_word: TokenIds,
    stem_count: int,
) -> NDArray[np.bool_]:
    """Find the stems for which METEOR needs synonyms: an output contains the stem more often than its
    reference, and that reference has other words left.
    """
    is_unmatched = np.zeros(stem_count, np.bool_)
    surplus = np.zeros(vocabulary_size, np.int64)
    stem_surplus = np.zeros(stem_count, np.int64)
    for k in range(len(output_numbers)):
        output = get_sequence(token_ids, sequence_offsets, output_numbers[k])
        reference = get_sequence(token_ids, sequence_offsets, reference_numbers[k])
        for word in output:
            surplus[word] += 1
        for word in reference:
            surplus[word] -= 1
        for words in (output, reference):
            for word in words:
                if surplus[word] != 0:
                    stem_surplus[stem_of_word[word]] += surplus[word]
                    surplus[word] = 0
        reference_has_surplus = False
        for word in reference:
            reference_has_surplus |= stem_surplus[stem_of_word[word]] < 0
        for word in output:
            is_unmatched[stem_of_word[word]] |= reference_has_surplus and stem_surplus[stem_of_word[word]] > 0
        for words in (output, reference):
            for word in words:
                stem_surplus[stem_of_word[word]] = 0
    return is_unmatched


@kernel
def compute_meteor_scores(
    token_ids: TokenIds,
    sequence_offsets: Offsets,
    vocabulary_size: int,
    output_numbers: Positions,
    reference_numbers: Positions,
    stem_of_word: TokenIds,
    stem_count: int,
    synonym_offsets: Offsets,
    synonym_stems: TokenIds,
    alpha: float,
    beta: float,
    gamma: float,
) -> NDArray[np.float64]:
    """Compute the METEOR score of each output against its reference. It is 0 if no word matches.

    Returns [inputs].
    """
    longest = find_length_of_longest_sequence(sequence_offsets)
    last_unaligned_position = np.full(max(vocabulary_size, stem_count, 1), _NONE, np.int32)
    previous_unaligned_position = np.zeros(longest, np.int32)
    reference_position_of_output = np.zeros(longest, np.int32)
    is_reference_word_unaligned = np.zeros(longest, np.bool_)
    scores = np.zeros(len(output_numbers), np.float64)
    for k in range(len(output_numbers)):
        output = get_sequence(token_ids, sequence_offsets, output_numbers[k])
        reference = get_sequence(token_ids, sequence_offsets, reference_numbers[k])
        reference_position_of_output[: len(output)] = _NONE
        is_reference_word_unaligned[: len(reference)] = True
        matches = _align_identical_words(
            output,
            reference,
            last_unaligned_position,
            previous_unaligned_position,
            reference_position_of_output,
            is_reference_word_unaligned,
        )
        if matches < min(len(output), len(reference)):
            matches += _align_words_by_stem_or_synonym(
                output,
                reference,
                stem_of_word,
                synonym_offsets,
                synonym_stems,
                last_unaligned_position,
                previous_unaligned_position,
                reference_position_of_output,
                is_reference_word_unaligned,
            )
        if matches > 0:
            chunks = _count_meteor_chunks(reference_position_of_output[: len(output)])
            scores[k] = _compute_meteor_score(
                matches, chunks, len(output), len(reference), alpha, beta, gamma
            )
    return scores


@kernel
def _align_identical_words(
    output: TokenIds,
    reference: TokenIds,
    last_unaligned_position: TokenIds,
    previous_unaligned_position: TokenIds,
    reference_position_of_output: TokenIds,
    is_reference_word_unaligned: NDArray[np.bool_],
) -> int:
    """Align the words of an output with equal words of its reference. Returns the number of aligned words.

    The free positions of each word form a linked list: `last_unaligned_position[word]` is the last
    one, and `previous_unaligned_position[position]` the one before it.
    """
    matches = 0
    for j in range(len(reference)):
        previous_unaligned_position[j] = last_unaligned_position[reference[j]]
        last_unaligned_position[reference[j]] = j
    for i in range(len(output) - 1, -1, -1):
        j = last_unaligned_position[output[i]]
        if j != _NONE:
            reference_position_of_output[i] = j
            is_reference_word_unaligned[j] = False
            last_unaligned_position[output[i]] = previous_unaligned_position[j]
            matches += 1
    for word in reference:
        last_unaligned_position[word] = _NONE
    return matches


@kernel
def _align_words_by_stem_or_synonym(
    output: TokenIds,
    reference: TokenIds,
    stem_of_word: TokenIds,
    synonym_offsets: Offsets,
    synonym_stems: TokenIds,
    last_unaligned_position: TokenIds,
    previous_unaligned_position: TokenIds,
    reference_position_of_output: TokenIds,
    is_reference_word_unaligned: NDArray[np.bool_],
) -> int:
    """Align the remaining words of an output and its reference by equal stems, and then by synonyms. Returns
    the number of words that are aligned here.
    """
    matches = 0
    for j in range(len(reference)):
        if is_reference_word_unaligned[j]:
            previous_unaligned_position[j] = last_unaligned_position[stem_of_word[reference[j]]]
            last_unaligned_position[stem_of_word[reference[j]]] = j
    for i in range(len(output) - 1, -1, -1):
        stem = stem_of_word[output[i]]
        if reference_position_of_output[i] == _NONE and last_unaligned_position[stem] != _NONE:
            reference_position_of_output[i] = last_unaligned_position[stem]
            last_unaligned_position[stem] = previous_unaligned_position[reference_position_of_output[i]]
            matches += 1
    for i in range(len(output) - 1, -1, -1):
        if reference_position_of_output[i] == _NONE:
            stem = stem_of_word[output[i]]
            # The synonym whose free position comes last, or the stem itself.
            chosen = stem
            for s in range(synonym_offsets[stem], synonym_offsets[stem + 1]):
                if last_unaligned_position[synonym_stems[s]] > last_unaligned_position[chosen]:
                    chosen = synonym_stems[s]
            if last_unaligned_position[chosen] != _NONE:
                reference_position_of_output[i] = last_unaligned_position[chosen]
                last_unaligned_position[chosen] = previous_unaligned_position[reference_position_of_output[i]]
                matches += 1
    for j in range(len(reference)):
        if is_reference_word_unaligned[j]:
            last_unaligned_position[stem_of_word[reference[j]]] = _NONE
    return matches


@kernel
def _count_meteor_chunks(aligned_positions: TokenIds) -> int:
    """Count the groups of neighbouring aligned words that are in the same order in output and reference."""
    chunks = 0
    expected = _NONE
    for i in range(len(aligned_positions)):
        if aligned_positions[i] == _NONE:
            expected = _NONE
        else:
            chunks += aligned_positions[i] != expected
            expected = aligned_positions[i] + 1
    return chunks


@kernel
def _compute_meteor_score(
    match_count: int,
    chunk_count: int,
    output_length: int,
    reference_length: int,
    alpha: float,
    beta: float,
    gamma: float,
) -> float:
    """Compute the METEOR score of one output from the number of aligned words and the number of groups
    (chunks) of neighbouring aligned words.
    """
    precision = match_count / output_length
    recall = match_count / reference_length
    mean = (precision * recall) / (alpha * precision + (1 - alpha) * recall)
    penalty: float = gamma * (chunk_count / match_count) ** beta
    return (1 - penalty) * mean
