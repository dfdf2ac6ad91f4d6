"""Count the n-grams that outputs share with their references, for n = 1 … order.

The n-grams of the references form a trie in a hash table: the key of an n-gram is the slot of its first n − 1
tokens together with its last token. Keys are therefore exact for a vocabulary of any size, and an n-gram of
the output is looked up only if its first n − 1 tokens were found.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.kernels.sequences import find_length_of_longest_sequence, get_sequence
from metassay.metrics.kernels.text_arrays import Offsets, Positions, TokenIds
from metassay.stats.compilation import kernel

Keys = NDArray[np.uint64]
Counts = NDArray[np.int32]
Slots = NDArray[np.uint32]

# 2^64 divided by the golden ratio: multiplying by it spreads keys evenly over the table (Knuth).
_FIBONACCI_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_PREFIX_SHIFT = np.uint64(32)
_ONE = np.uint64(1)
_EMPTY_SLOT = np.uint64(0)


@kernel
def count_shared_ngrams(
    token_ids: TokenIds,
    sequence_offsets: Offsets,
    output_numbers: Positions,
    reference_set_of_output: Positions,
    reference_set_offsets: Offsets,
    reference_numbers: Positions,
    max_ngram_length: int,
) -> NDArray[np.int64]:
    """Count the n-grams that each output shares with its references, for each n up to `max_ngram_length`.

    Returns [inputs, max_ngram_length]. An n-gram counts at most as often as in the reference that has it most
    often. Input k compares the sequence `output_numbers[k]` with all sequences of the set
    `reference_set_of_output[k]`; set s has the sequences `reference_numbers[reference_set_offsets[s] :
    reference_set_offsets[s + 1]]`. Inputs with the same set should follow each other, because the table of a
    set is built only when it differs from the one before.
    """
    matches = np.zeros((len(output_numbers), max_ngram_length), np.int64)
    largest_capacity = 1
    for s in range(len(reference_set_offsets) - 1):
        sequences = reference_numbers[reference_set_offsets[s] : reference_set_offsets[s + 1]]
        largest_capacity = max(
            largest_capacity, _choose_ngram_table_size(sequence_offsets, sequences, max_ngram_length)
        )
    longest = find_length_of_longest_sequence(sequence_offsets)
    key_buffer = np.zeros(largest_capacity, np.uint64)
    reference_count_buffer = np.zeros(largest_capacity, np.int32)
    remaining_count_buffer = np.zeros(largest_capacity, np.int32)
    starts = np.zeros(longest, np.uint32)
    prefix_slots = np.zeros(longest, np.uint32)
    keys = key_buffer
    reference_counts = reference_count_buffer
    remaining_counts = remaining_count_buffer
    current_set = np.int64(-1)
    for k in range(len(output_numbers)):
        if reference_set_of_output[k] != current_set:
            current_set = reference_set_of_output[k]
            sequences = reference_numbers[
                reference_set_offsets[current_set] : reference_set_offsets[current_set + 1]
            ]
            capacity = _choose_ngram_table_size(sequence_offsets, sequences, max_ngram_length)
            keys = key_buffer[:capacity]
            reference_counts = reference_count_buffer[:capacity]
            remaining_counts = remaining_count_buffer[:capacity]
            for slot in range(capacity):
                keys[slot] = _EMPTY_SLOT
                reference_counts[slot] = 0
            for sequence in sequences:
                for slot in range(capacity):
                    remaining_counts[slot] = 0
                reference = get_sequence(token_ids, sequence_offsets, sequence)
                _count_reference_ngrams(
                    reference, max_ngram_length, keys, reference_counts, remaining_counts, prefix_slots
                )
        _copy_ngram_counts(reference_counts, remaining_counts)
        output = get_sequence(token_ids, sequence_offsets, output_numbers[k])
        _count_ngram_matches(
            output, max_ngram_length, keys, remaining_counts, starts, prefix_slots, matches[k]
        )
    return matches


@kernel
def _copy_ngram_counts(source_counts: Counts, target_counts: Counts) -> None:
    """Copy an array of counts. The compiler vectorises this loop only in a function of its own."""
    for slot in range(len(source_counts)):
        target_counts[slot] = source_counts[slot]


@kernel
def _choose_ngram_table_size(
    sequence_offsets: Offsets, sequence_numbers: Positions, max_ngram_length: int
) -> int:
    """Return the size of a hash table that has room for all n-grams of some sequences. The size is a power of
    two.
    """
    ngrams = 0
    for sequence in sequence_numbers:
        ngrams += max_ngram_length * (sequence_offsets[sequence + 1] - sequence_offsets[sequence])
    capacity = 64
    while capacity < 2 * ngrams + 2:
        capacity *= 2
    return capacity


@kernel
def _count_reference_ngrams(
    reference_token_ids: TokenIds,
    max_ngram_length: int,
    ngram_keys: Keys,
    highest_counts: Counts,
    counts_in_this_reference: Counts,
    slots_of_prefixes: Slots,
) -> None:
    """Add the n-grams of a reference to a hash table. The table has the highest count of each n-gram in any
    reference.

    `counts_in_this_reference` must be 0 everywhere. `slots_of_prefixes[i]` is one more than the slot of the
    n-gram that begins at position i, 0 for the empty one.
    """
    slot_mask = np.uint64(len(ngram_keys) - 1)
    shift = _compute_bit_shift(len(ngram_keys))
    length = len(reference_token_ids)
    for i in range(length):
        slots_of_prefixes[i] = 0
    for n in range(max_ngram_length):
        for i in range(length - n):
            key = (
                (np.uint64(slots_of_prefixes[i]) << _PREFIX_SHIFT) | np.uint64(reference_token_ids[i + n])
            ) + _ONE
            slot = (key * _FIBONACCI_MULTIPLIER) >> shift
            while ngram_keys[slot] != key and ngram_keys[slot] != _EMPTY_SLOT:
                slot = (slot + _ONE) & slot_mask
            ngram_keys[slot] = key
            counts_in_this_reference[slot] += 1
            highest_counts[slot] = max(highest_counts[slot], counts_in_this_reference[slot])
            slots_of_prefixes[i] = slot + _ONE


@kernel
def _count_ngram_matches(
    output_token_ids: TokenIds,
    max_ngram_length: int,
    ngram_keys: Keys,
    remaining_reference_counts: Counts,
    ngram_starts: Slots,
    slots_of_prefixes: Slots,
    match_counts: NDArray[np.int64],
) -> None:
    """Count the n-grams of an output that occur in its references. Each counts at most as often as it occurs
    in a single reference.

    `ngram_starts` lists the positions whose n-gram was found in the table; only these are tried for n + 1.
    """
    slot_mask = np.uint64(len(ngram_keys) - 1)
    shift = _compute_bit_shift(len(ngram_keys))
    length = len(output_token_ids)
    candidates = length
    for i in range(length):
        ngram_starts[i] = i
        slots_of_prefixes[i] = 0
    for n in range(max_ngram_length):
        matched = 0
        survivors = 0
        for i in range(candidates):
            last = np.uint64(ngram_starts[i]) + np.uint64(n)
            if last >= np.uint64(length):
                break
            key = (
                (np.uint64(slots_of_prefixes[i]) << _PREFIX_SHIFT) | np.uint64(output_token_ids[last])
            ) + _ONE
            slot = (key * _FIBONACCI_MULTIPLIER) >> shift
            while ngram_keys[slot] != key and ngram_keys[slot] != _EMPTY_SLOT:
                slot = (slot + _ONE) & slot_mask
            # Arithmetic instead of branches: processors predict badly whether an n-gram is found.
            is_found = int(ngram_keys[slot] == key)
            is_match = is_found & int(remaining_reference_counts[slot] > 0)
            remaining_reference_counts[slot] -= is_match
            matched += is_match
            ngram_starts[survivors] = ngram_starts[i]
            slots_of_prefixes[survivors] = slot + _ONE
            survivors += is_found
        candidates = survivors
        match_counts[n] = matched


@kernel
def _compute_bit_shift(table_size: int) -> np.uint64:
    """Return the number of bits by which a 64-bit hash is shifted to get a position in a hash table."""
    shift = np.uint64(64)
    while table_size > 1:
        table_size >>= 1
        shift -= _ONE
    return shift
