"""METEOR's word alignment as NLTK computes it: equal words, then equal stems, then synonyms.

In each stage the output is read from its end, and a word is aligned with the last position of the reference
that is still free and matches. Words, stems and synonyms are integers: `stems[word]` is the stem of a word,
and the synonyms of stem s are `synonyms[synonym_offsets[s] : synonym_offsets[s + 1]]`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.kernels.buffer_sizes import find_longest_sequence_length
from metassay.metrics.kernels.text_arrays import Offsets, Positions, TokenIds
from metassay.stats.compilation import kernel

# Stands for no position.
_NONE = -1


@kernel
def find_unmatched_words(
    ids: TokenIds, offsets: Offsets, vocabulary_size: int, outputs: Positions, references: Positions
) -> NDArray[np.bool_]:
    """Find the words that occur in some output and its reference with different frequency, so that METEOR
    needs their stems.

    The others always find an equal word, so that METEOR never needs their stems.
    """
    is_unmatched = np.zeros(vocabulary_size, np.bool_)
    surplus = np.zeros(vocabulary_size, np.int64)
    for k in range(len(outputs)):
        output = ids[offsets[outputs[k]] : offsets[outputs[k] + 1]]
        reference = ids[offsets[references[k]] : offsets[references[k] + 1]]
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
    ids: TokenIds,
    offsets: Offsets,
    vocabulary_size: int,
    outputs: Positions,
    references: Positions,
    stems: TokenIds,
    stem_count: int,
) -> NDArray[np.bool_]:
    """Find the stems for which METEOR needs synonyms: some output and its reference both have words without
    an equal stem.

    METEOR needs synonyms of these stems only.
    """
    is_unmatched = np.zeros(stem_count, np.bool_)
    surplus = np.zeros(vocabulary_size, np.int64)
    stem_surplus = np.zeros(stem_count, np.int64)
    for k in range(len(outputs)):
        output = ids[offsets[outputs[k]] : offsets[outputs[k] + 1]]
        reference = ids[offsets[references[k]] : offsets[references[k] + 1]]
        for word in output:
            surplus[word] += 1
        for word in reference:
            surplus[word] -= 1
        for words in (output, reference):
            for word in words:
                if surplus[word] != 0:
                    stem_surplus[stems[word]] += surplus[word]
                    surplus[word] = 0
        reference_has_surplus = False
        for word in reference:
            reference_has_surplus |= stem_surplus[stems[word]] < 0
        for word in output:
            is_unmatched[stems[word]] |= reference_has_surplus and stem_surplus[stems[word]] > 0
        for words in (output, reference):
            for word in words:
                stem_surplus[stems[word]] = 0
    return is_unmatched


@kernel
def compute_meteor(
    ids: TokenIds,
    offsets: Offsets,
    vocabulary_size: int,
    outputs: Positions,
    references: Positions,
    stems: TokenIds,
    stem_count: int,
    synonym_offsets: Offsets,
    synonyms: TokenIds,
    alpha: float,
    beta: float,
    gamma: float,
) -> NDArray[np.float64]:
    """Compute the METEOR score of each output against its reference. It is 0 if no word matches.

    Returns [inputs].
    """
    longest = find_longest_sequence_length(offsets)
    last_unaligned = np.full(max(vocabulary_size, stem_count, 1), _NONE, np.int32)
    previous_unaligned = np.zeros(longest, np.int32)
    aligned_to = np.zeros(longest, np.int32)
    is_unaligned = np.zeros(longest, np.bool_)
    scores = np.zeros(len(outputs), np.float64)
    for k in range(len(outputs)):
        output = ids[offsets[outputs[k]] : offsets[outputs[k] + 1]]
        reference = ids[offsets[references[k]] : offsets[references[k] + 1]]
        aligned_to[: len(output)] = _NONE
        is_unaligned[: len(reference)] = True
        matches = _align_identical_words(
            output, reference, last_unaligned, previous_unaligned, aligned_to, is_unaligned
        )
        if matches < min(len(output), len(reference)):
            matches += _align_words_by_stem_or_synonym(
                output,
                reference,
                stems,
                synonym_offsets,
                synonyms,
                last_unaligned,
                previous_unaligned,
                aligned_to,
                is_unaligned,
            )
        if matches > 0:
            chunks = _count_meteor_chunks(aligned_to[: len(output)])
            scores[k] = _compute_meteor_score_of_alignment(
                matches, chunks, len(output), len(reference), alpha, beta, gamma
            )
    return scores


@kernel
def _align_identical_words(
    output: TokenIds,
    reference: TokenIds,
    last_unaligned: TokenIds,
    previous_unaligned: TokenIds,
    aligned_to: TokenIds,
    is_unaligned: NDArray[np.bool_],
) -> int:
    """Match equal words of an output and its reference, and return the number of matches.

    The free positions of each word form a linked list: `last_unaligned[word]` is the last one, and
    `previous_unaligned[position]` the one before it.
    """
    matches = 0
    for j in range(len(reference)):
        previous_unaligned[j] = last_unaligned[reference[j]]
        last_unaligned[reference[j]] = j
    for i in range(len(output) - 1, -1, -1):
        j = last_unaligned[output[i]]
        if j != _NONE:
            aligned_to[i] = j
            is_unaligned[j] = False
            last_unaligned[output[i]] = previous_unaligned[j]
            matches += 1
    for word in reference:
        last_unaligned[word] = _NONE
    return matches


@kernel
def _align_words_by_stem_or_synonym(
    output: TokenIds,
    reference: TokenIds,
    stems: TokenIds,
    synonym_offsets: Offsets,
    synonyms: TokenIds,
    last_unaligned: TokenIds,
    previous_unaligned: TokenIds,
    aligned_to: TokenIds,
    is_unaligned: NDArray[np.bool_],
) -> int:
    """Match the remaining words of an output and its reference by equal stems, then by synonyms, and return
    the number of matches.
    """
    matches = 0
    for j in range(len(reference)):
        if is_unaligned[j]:
            previous_unaligned[j] = last_unaligned[stems[reference[j]]]
            last_unaligned[stems[reference[j]]] = j
    for i in range(len(output) - 1, -1, -1):
        stem = stems[output[i]]
        if aligned_to[i] == _NONE and last_unaligned[stem] != _NONE:
            aligned_to[i] = last_unaligned[stem]
            last_unaligned[stem] = previous_unaligned[aligned_to[i]]
            matches += 1
    for i in range(len(output) - 1, -1, -1):
        if aligned_to[i] == _NONE:
            stem = stems[output[i]]
            # The synonym whose free position comes last, or the stem itself.
            chosen = stem
            for s in range(synonym_offsets[stem], synonym_offsets[stem + 1]):
                if last_unaligned[synonyms[s]] > last_unaligned[chosen]:
                    chosen = synonyms[s]
            if last_unaligned[chosen] != _NONE:
                aligned_to[i] = last_unaligned[chosen]
                last_unaligned[chosen] = previous_unaligned[aligned_to[i]]
                matches += 1
    for j in range(len(reference)):
        if is_unaligned[j]:
            last_unaligned[stems[reference[j]]] = _NONE
    return matches


@kernel
def _count_meteor_chunks(aligned_positions: TokenIds) -> int:
    """Count the groups of neighbouring matched words that have the same order in output and reference."""
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
def _compute_meteor_score_of_alignment(
    matches: int,
    chunks: int,
    output_length: int,
    reference_length: int,
    alpha: float,
    beta: float,
    gamma: float,
) -> float:
    precision = matches / output_length
    recall = matches / reference_length
    mean = (precision * recall) / (alpha * precision + (1 - alpha) * recall)
    penalty: float = gamma * (chunks / matches) ** beta
    return (1 - penalty) * mean
