"""How many n-grams two token sequences share, for n = 1 … order, and BLEU and chrF from such counts.

The n-grams of the references form a trie in a hash table: an n-gram is known by its slot, and found from the
slot of its first n − 1 tokens and its last token. So keys are exact for any alphabet, and an n-gram of the
output is looked up only if its beginning was found. Scores are computed in the order of operations of
sacrebleu, so that ties stay ties.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.kernels.text_arrays import Ids, Offsets
from metassay.stats.compilation import kernel

Keys = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_FREE = np.uint64(0)
SMOOTH_NONE, SMOOTH_FLOOR, SMOOTH_ADD_K, SMOOTH_EXP = range(4)

_LOG_OF_ZERO = -9999999999.0
"""sacrebleu's floor for the logarithm of a precision of 0."""
_EPSILON = 1e-16


@kernel
def shared_ngrams(
    ids: Ids,
    offsets: Offsets,
    outputs: Offsets,
    sets: Offsets,
    set_offsets: Offsets,
    set_members: Offsets,
    order: int,
) -> NDArray[np.int64]:
    """Clipped matches [pairs, order]: an n-gram counts as often as in the reference that has it most.

    `outputs` and `set_members` name sequences; `sets` names the set of references of each pair, and equal
    sets should be neighbours, for each is prepared anew.
    """
    matches = np.zeros((len(outputs), order), np.int64)
    capacity, longest = 1, 1
    for k in range(len(set_offsets) - 1):
        capacity = max(capacity, _capacity(offsets, set_members[set_offsets[k] : set_offsets[k + 1]], order))
    for k in range(len(offsets) - 1):
        longest = max(longest, offsets[k + 1] - offsets[k])
    all_keys = np.zeros(capacity, np.uint64)
    all_available, all_left = np.zeros(capacity, np.int32), np.zeros(capacity, np.int32)
    places, prefixes = np.zeros(longest, np.uint32), np.zeros(longest, np.uint32)
    current = np.int64(-1)
    keys, available, left = all_keys, all_available, all_left
    for p in range(len(outputs)):
        if sets[p] != current:
            current = sets[p]
            members = set_members[set_offsets[current] : set_offsets[current + 1]]
            capacity = _capacity(offsets, members, order)
            keys, available, left = all_keys[:capacity], all_available[:capacity], all_left[:capacity]
            for slot in range(capacity):
                keys[slot], available[slot] = _FREE, 0
            for m in range(len(members)):
                for slot in range(capacity):
                    left[slot] = 0
                _enter(
                    ids[offsets[members[m]] : offsets[members[m] + 1]], order, keys, available, left, prefixes
                )
        for slot in range(len(left)):
            left[slot] = available[slot]
        output = ids[offsets[outputs[p]] : offsets[outputs[p] + 1]]
        _match(output, order, keys, left, places, prefixes, matches[p])
    return matches


@kernel
def _capacity(offsets: Offsets, members: Offsets, order: int) -> int:
    """The size of a table, a power of two, that the n-grams of these sequences fill at most by half."""
    entries = 0
    for m in range(len(members)):
        entries += order * (offsets[members[m] + 1] - offsets[members[m]])
    capacity = 64
    while capacity < 2 * entries + 2:
        capacity *= 2
    return capacity


@kernel
def _enter(
    reference: Ids, order: int, keys: Keys, available: Ids, counted: Ids, prefixes: NDArray[np.uint32]
) -> None:
    """Adds a reference to the trie and raises `available` to its counts; `counted` must be 0."""
    mask = np.uint64(len(keys) - 1)
    shift = _shift(len(keys))
    length = len(reference)
    for i in range(length):
        prefixes[i] = 0
    for n in range(order):
        for i in range(length - n):
            key = ((np.uint64(prefixes[i]) << _HALF) | np.uint64(reference[i + n])) + _ONE
            slot = (key * _GOLDEN) >> shift
            while keys[slot] != key and keys[slot] != _FREE:
                slot = (slot + _ONE) & mask
            keys[slot] = key
            counted[slot] += 1
            available[slot] = max(available[slot], counted[slot])
            prefixes[i] = slot + _ONE


@kernel
def _match(
    output: Ids,
    order: int,
    keys: Keys,
    left: Ids,
    places: NDArray[np.uint32],
    prefixes: NDArray[np.uint32],
    matches: NDArray[np.int64],
) -> None:
    """Counts the matches of one output, using up what is `left` of each n-gram."""
    mask = np.uint64(len(keys) - 1)
    shift = _shift(len(keys))
    length = len(output)
    alive = length
    for i in range(length):
        places[i], prefixes[i] = i, 0
    for n in range(order):
        found, kept = 0, 0
        for a in range(alive):
            end = np.uint64(places[a]) + np.uint64(n)
            if end >= np.uint64(length):
                break
            key = ((np.uint64(prefixes[a]) << _HALF) | np.uint64(output[end])) + _ONE
            slot = (key * _GOLDEN) >> shift
            while keys[slot] != key and keys[slot] != _FREE:
                slot = (slot + _ONE) & mask
            # without branches, for whether an n-gram is there is hard to predict
            hit = int(keys[slot] == key)
            taken = hit & int(left[slot] > 0)
            left[slot] -= taken
            found += taken
            places[kept], prefixes[kept] = places[a], slot + _ONE
            kept += hit
        alive = kept
        matches[n] = found


@kernel
def _shift(capacity: int) -> np.uint64:
    """What is left of a 64-bit product after this shift lies below the capacity, a power of two."""
    shift = np.uint64(64)
    while capacity > 1:
        capacity >>= 1
        shift -= _ONE
    return shift


@kernel
def bleu_scores(
    statistics: NDArray[np.float64], smoothing: int, value: float, effective_order: bool
) -> NDArray[np.float64]:
    """BLEU of each row [output length, reference length, matches × order, totals × order]."""
    order = (statistics.shape[1] - 2) // 2
    scores = np.empty(statistics.shape[0], np.float64)
    precisions = np.empty(order, np.float64)
    for row in range(statistics.shape[0]):
        matches = statistics[row, 2 : 2 + order]
        totals = statistics[row, 2 + order :]
        used = _precisions(matches, totals, smoothing, value, effective_order, precisions)
        if used == 0:
            scores[row] = 0.0
            continue
        logs = 0.0
        for n in range(used):
            logs += math.log(precisions[n]) if precisions[n] != 0.0 else _LOG_OF_ZERO
        scores[row] = _brevity_penalty(statistics[row, 0], statistics[row, 1]) * math.exp(logs / used)
    return scores


@kernel
def _brevity_penalty(output_length: float, reference_length: float) -> float:
    if output_length >= reference_length:
        return 1.0
    return math.exp(1 - reference_length / output_length) if output_length > 0 else 0.0


@kernel
def _precisions(
    matches: NDArray[np.float64],
    totals: NDArray[np.float64],
    smoothing: int,
    value: float,
    effective_order: bool,
    precisions: NDArray[np.float64],
) -> int:
    """Fills in the smoothed precisions, in per cent; returns how many count, 0 when nothing matches."""
    order = len(precisions)
    some = False
    for n in range(order):
        precisions[n] = 0.0
        some |= matches[n] > 0
    if not some:
        return 0
    used, halvings = order, 1.0
    for n in range(order):
        added = value if smoothing == SMOOTH_ADD_K and n > 0 else 0.0
        match, total = matches[n] + added, totals[n] + added
        if total == 0:
            break
        if effective_order:
            used = n + 1
        if match != 0:
            precisions[n] = 100.0 * match / total
        elif smoothing == SMOOTH_EXP:
            halvings *= 2
            precisions[n] = 100.0 / (halvings * total)
        elif smoothing == SMOOTH_FLOOR:
            precisions[n] = 100.0 * value / total
    return used


@kernel
def chrf_scores(statistics: NDArray[np.float64], beta: float, smoothed: bool) -> NDArray[np.float64]:
    """F-score of each row of (n-grams of the output, of the reference, in common) × order, in per cent."""
    factor = beta * beta
    scores = np.empty(statistics.shape[0], np.float64)
    for row in range(statistics.shape[0]):
        if smoothed:
            scores[row] = _mean_of_f(statistics[row], factor)
        else:
            scores[row] = _f_of_means(statistics[row], factor)
    return scores


@kernel
def _f_of_means(counts: NDArray[np.float64], factor: float) -> float:
    """F of the mean precision and the mean recall over the orders that both sides reach."""
    precision, recall, orders = 0.0, 0.0, 0
    for i in range(0, len(counts), 3):
        output, reference, common = counts[i], counts[i + 1], counts[i + 2]
        if output > 0 and reference > 0:
            precision += common / output
            recall += common / reference
            orders += 1
    if orders > 0:
        precision /= orders
        recall /= orders
    if precision + recall == 0:
        return 0.0
    score = (1 + factor) * precision * recall
    score /= (factor * precision) + recall
    return 100 * score


@kernel
def _mean_of_f(counts: NDArray[np.float64], factor: float) -> float:
    """Mean over all orders of F, with a small number where a side has no n-gram."""
    total = 0.0
    for i in range(0, len(counts), 3):
        output, reference, common = counts[i], counts[i + 1], counts[i + 2]
        precision = common / output if output > 0 else _EPSILON
        recall = common / reference if reference > 0 else _EPSILON
        denominator = factor * precision + recall
        total += (1 + factor) * precision * recall / denominator if denominator > 0 else _EPSILON
    return 100 * total / (len(counts) // 3)
