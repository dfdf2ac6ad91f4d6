"""Count the n-grams that outputs share with their references, for n = 1 … order.

The n-grams of the references form a trie in a hash table: the key of an n-gram is the slot of its first n − 1
tokens together with its last token. Keys are therefore exact for a vocabulary of any size, and an n-gram of
the output is looked up only if its first n − 1 tokens were found.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.kernels.buffer_sizes import find_longest_sequence_length
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
    ids: TokenIds,
    offsets: Offsets,
    outputs: Positions,
    reference_sets: Positions,
    set_offsets: Offsets,
    set_sequences: Positions,
    order: int,
) -> NDArray[np.int64]:
    """Count for each output the n-grams that it shares with its references, separately for n from 1 to
    `order`.

    Returns [inputs, order]. An n-gram counts at most as often as in the reference that has it most often.
    Input k compares the sequence `outputs[k]` with all sequences of the set `reference_sets[k]`; set s has
    the sequences `set_sequences[set_offsets[s] : set_offsets[s + 1]]`. Inputs with the same set should follow
    each other, because the table of a set is built only when it differs from the one before.
    """
    matches = np.zeros((len(outputs), order), np.int64)
    largest_capacity = 1
    for s in range(len(set_offsets) - 1):
        sequences = set_sequences[set_offsets[s] : set_offsets[s + 1]]
        largest_capacity = max(largest_capacity, _choose_hash_table_capacity(offsets, sequences, order))
    longest = find_longest_sequence_length(offsets)
    key_buffer = np.zeros(largest_capacity, np.uint64)
    reference_count_buffer = np.zeros(largest_capacity, np.int32)
    remaining_count_buffer = np.zeros(largest_capacity, np.int32)
    starts = np.zeros(longest, np.uint32)
    prefix_slots = np.zeros(longest, np.uint32)
    keys = key_buffer
    reference_counts = reference_count_buffer
    remaining_counts = remaining_count_buffer
    current_set = np.int64(-1)
    for k in range(len(outputs)):
        if reference_sets[k] != current_set:
            current_set = reference_sets[k]
            sequences = set_sequences[set_offsets[current_set] : set_offsets[current_set + 1]]
            capacity = _choose_hash_table_capacity(offsets, sequences, order)
            keys = key_buffer[:capacity]
            reference_counts = reference_count_buffer[:capacity]
            remaining_counts = remaining_count_buffer[:capacity]
            for slot in range(capacity):
                keys[slot] = _EMPTY_SLOT
                reference_counts[slot] = 0
            for sequence in sequences:
                for slot in range(capacity):
                    remaining_counts[slot] = 0
                reference = ids[offsets[sequence] : offsets[sequence + 1]]
                _add_reference_ngrams_to_hash_table(
                    reference, order, keys, reference_counts, remaining_counts, prefix_slots
                )
        _copy_ngram_counts(reference_counts, remaining_counts)
        output = ids[offsets[outputs[k]] : offsets[outputs[k] + 1]]
        _count_ngram_matches(output, order, keys, remaining_counts, starts, prefix_slots, matches[k])
    return matches


@kernel
def _copy_ngram_counts(source: Counts, target: Counts) -> None:
    """Copy an array of counts. This is a separate function because the compiler then vectorises the loop."""
    for slot in range(len(source)):
        target[slot] = source[slot]


@kernel
def _choose_hash_table_capacity(offsets: Offsets, sequences: Positions, order: int) -> int:
    """Return the size, a power of two, that a hash table for all n-grams of some sequences needs."""
    ngrams = 0
    for sequence in sequences:
        ngrams += order * (offsets[sequence + 1] - offsets[sequence])
    capacity = 64
    while capacity < 2 * ngrams + 2:
        capacity *= 2
    return capacity


@kernel
def _add_reference_ngrams_to_hash_table(
    reference: TokenIds,
    order: int,
    keys: Keys,
    reference_counts: Counts,
    own_counts: Counts,
    prefix_slots: Slots,
) -> None:
    """Count the n-grams of a reference in a hash table, which keeps for each n-gram its highest count in any
    reference.

    `own_counts` must be 0 everywhere. `prefix_slots[i]` is one more than the slot of the n-gram that begins
    at position i, 0 for the empty one.
    """
    slot_mask = np.uint64(len(keys) - 1)
    shift = _compute_bit_shift_for_table_size(len(keys))
    length = len(reference)
    for i in range(length):
        prefix_slots[i] = 0
    for n in range(order):
        for i in range(length - n):
            key = ((np.uint64(prefix_slots[i]) << _PREFIX_SHIFT) | np.uint64(reference[i + n])) + _ONE
            slot = (key * _FIBONACCI_MULTIPLIER) >> shift
            while keys[slot] != key and keys[slot] != _EMPTY_SLOT:
                slot = (slot + _ONE) & slot_mask
            keys[slot] = key
            own_counts[slot] += 1
            reference_counts[slot] = max(reference_counts[slot], own_counts[slot])
            prefix_slots[i] = slot + _ONE


@kernel
def _count_ngram_matches(
    output: TokenIds,
    order: int,
    keys: Keys,
    remaining_counts: Counts,
    starts: Slots,
    prefix_slots: Slots,
    matches: NDArray[np.int64],
) -> None:
    """Count the n-grams of an output that the references contain. An n-gram of the references can be matched
    only once.

    `starts` lists the positions whose n-gram was found in the table; only these are tried for n + 1.
    """
    slot_mask = np.uint64(len(keys) - 1)
    shift = _compute_bit_shift_for_table_size(len(keys))
    length = len(output)
    candidates = length
    for i in range(length):
        starts[i] = i
        prefix_slots[i] = 0
    for n in range(order):
        matched = 0
        survivors = 0
        for i in range(candidates):
            last = np.uint64(starts[i]) + np.uint64(n)
            if last >= np.uint64(length):
                break
            key = ((np.uint64(prefix_slots[i]) << _PREFIX_SHIFT) | np.uint64(output[last])) + _ONE
            slot = (key * _FIBONACCI_MULTIPLIER) >> shift
            while keys[slot] != key and keys[slot] != _EMPTY_SLOT:
                slot = (slot + _ONE) & slot_mask
            # Arithmetic instead of branches: processors predict badly whether an n-gram is found.
            is_found = int(keys[slot] == key)
            is_match = is_found & int(remaining_counts[slot] > 0)
            remaining_counts[slot] -= is_match
            matched += is_match
            starts[survivors] = starts[i]
            prefix_slots[survivors] = slot + _ONE
            survivors += is_found
        candidates = survivors
        matches[n] = matched


@kernel
def _compute_bit_shift_for_table_size(table_size: int) -> np.uint64:
    """Return by how many bits a 64-bit hash must be shifted to be a position in a table of this size."""
    shift = np.uint64(64)
    while table_size > 1:
        table_size >>= 1
        shift -= _ONE
    return shift
