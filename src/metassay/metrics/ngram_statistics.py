"""Numbers of n-grams, from which BLEU, chrF and ROUGE are computed."""

from __future__ import annotations

import numpy as np

from metassay.metrics.base import Scores
from metassay.metrics.kernels.text_arrays import Positions, TokenSequences
from metassay.metrics.scoring_inputs import ScoringInputs, SingleReferenceInputs


def compute_ngram_statistics(
    tokens: TokenSequences, inputs: ScoringInputs, max_order: int, *, use_numba: bool = True
) -> Scores:
    """Count what BLEU is computed from: the lengths of each output and of its closest reference, matching
    n-grams, and all n-grams of the output.

    Columns: output length, length of the closest reference, clipped matches for n = 1 … order, and n-grams
    of the output for n = 1 … order. Without Numba, counting takes longer but starts at once.
    """
    if use_numba:
        from metassay.metrics.kernels.ngrams import count_shared_ngrams

        matches = count_shared_ngrams(
            tokens.ids,
            tokens.offsets,
            inputs.outputs,
            inputs.reference_sets,
            inputs.set_offsets,
            inputs.set_texts,
            max_order,
        )
    else:
        matches = _count_shared_ngrams_by_sorting(tokens, inputs, max_order)
    lengths = np.diff(tokens.offsets)
    output_lengths = lengths[inputs.outputs]
    reference_lengths = _find_closest_lengths(output_lengths, lengths, inputs)
    totals = np.maximum(output_lengths[:, None] - np.arange(max_order), 0)
    columns = [output_lengths[:, None], reference_lengths[:, None], matches, totals]
    return np.hstack(columns).astype(np.float64)


def count_ngrams_shared_with_reference(
    tokens: TokenSequences, pairs: SingleReferenceInputs, max_order: int
) -> Positions:
    """Count the n-grams that each output shares with a single reference, for each n up to `max_order`.

    Returns an array [pairs, max_order].
    """
    from metassay.metrics.kernels.ngrams import count_shared_ngrams

    # The compiled function takes sets of references: each text is a set of its own.
    set_offsets = np.arange(len(tokens.offsets))
    return count_shared_ngrams(
        tokens.ids,
        tokens.offsets,
        pairs.outputs,
        pairs.references,
        set_offsets,
        set_offsets[:-1].copy(),
        max_order,
    )


def _count_shared_ngrams_by_sorting(
    tokens: TokenSequences, inputs: ScoringInputs, max_order: int
) -> Positions:
    """Count the n-grams that each output shares with its references, for each n up to `max_order`. Uses NumPy
    only.

    Every n-gram gets a number that it shares with equal n-grams of the same input. The number of an n-gram
    follows from the number of its first n − 1 tokens and its last token.
    """
    input_count = len(inputs.outputs)
    reference_counts = np.diff(inputs.set_offsets)[inputs.reference_sets]
    # Role 0 is the output of an input, role r its r-th reference.
    role_count = 1 + int(reference_counts.max(initial=0))
    inputs_by_role = [np.arange(input_count)]
    sequences_by_role = [inputs.outputs]
    for place in range(role_count - 1):
        with_reference = np.flatnonzero(reference_counts > place)
        first_references = inputs.set_offsets[inputs.reference_sets[with_reference]]
        inputs_by_role.append(with_reference)
        sequences_by_role.append(inputs.set_texts[first_references + place])
    sequences = np.concatenate(sequences_by_role)
    roles = np.repeat(np.arange(role_count), [len(numbers) for numbers in inputs_by_role])
    lengths = np.diff(tokens.offsets)[sequences]
    ends = np.cumsum(lengths)
    token_places = np.arange(ends[-1] if input_count else 0)
    ids = tokens.ids[token_places + np.repeat(tokens.offsets[sequences] - (ends - lengths), lengths)]
    tokens_left = np.repeat(ends, lengths) - token_places
    role_of_token = np.repeat(roles, lengths)
    input_of_token = np.repeat(np.concatenate(inputs_by_role), lengths)

    matches = np.zeros((input_count, max_order), dtype=np.int64)
    ngram_numbers = input_of_token.copy()
    for n in range(max_order):
        starts = np.flatnonzero(tokens_left > n)
        keys = ngram_numbers[starts] * tokens.vocabulary_size + ids[starts + n]
        distinct_keys, numbers = np.unique(keys, return_inverse=True)
        ngram_numbers[starts] = numbers
        ngram_count = len(distinct_keys)
        counts = np.bincount(
            role_of_token[starts] * ngram_count + numbers, minlength=role_count * ngram_count
        )
        counts_by_role = counts.reshape(role_count, ngram_count)
        clipped_counts = np.minimum(counts_by_role[0], counts_by_role[1:].max(axis=0, initial=0))
        input_of_ngram = np.zeros(ngram_count, dtype=np.int64)
        input_of_ngram[numbers] = input_of_token[starts]
        matches[:, n] = np.bincount(input_of_ngram, weights=clipped_counts, minlength=input_count)
    return matches


def _find_closest_lengths(
    output_lengths: Positions, sequence_lengths: Positions, inputs: ScoringInputs
) -> Positions:
    """Return, for each output, the length of the reference that is closest in length. Of two equally close
    references, the shorter one counts.
    """
    has_single_references = len(inputs.set_texts) == len(inputs.set_offsets) - 1
    if has_single_references:
        only_lengths: Positions = sequence_lengths[inputs.set_texts[inputs.reference_sets]]
        return only_lengths
    closest = np.empty(len(output_lengths), dtype=np.int64)
    for k, (output_length, reference_set) in enumerate(zip(output_lengths, inputs.reference_sets)):
        start = inputs.set_offsets[reference_set]
        end = inputs.set_offsets[reference_set + 1]
        reference_lengths = np.sort(sequence_lengths[inputs.set_texts[start:end]])
        # argmin takes the first, hence the shorter, of two equally close ones
        closest[k] = reference_lengths[np.abs(reference_lengths - output_length).argmin()]
    return closest
