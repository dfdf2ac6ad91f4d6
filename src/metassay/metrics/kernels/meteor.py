"""METEOR's alignment, as NLTK finds it: equal words, then equal stems, then synonyms.

On each level the output is read from its end, and a word takes the last free place in the reference where its
like stands. Words, stems and synonyms are integers; `stems[word]` is the stem of a word, and the synonyms of
stem s are `synonyms[synonym_offsets[s] : synonym_offsets[s + 1]]`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from metassay.metrics.kernels.text_arrays import Ids, Offsets
from metassay.stats.compilation import kernel

_NONE = -1


@kernel
def unmatched_words(
    ids: Ids, offsets: Offsets, size: int, outputs: Offsets, references: Offsets
) -> NDArray[np.bool_]:
    """The words that some output or reference has left over after equal words: only these need stems."""
    needed = np.zeros(size, np.bool_)
    surplus = np.zeros(size, np.int64)
    for c in range(len(outputs)):
        output = ids[offsets[outputs[c]] : offsets[outputs[c] + 1]]
        reference = ids[offsets[references[c]] : offsets[references[c] + 1]]
        for word in output:
            surplus[word] += 1
        for word in reference:
            surplus[word] -= 1
        for word in output:
            needed[word] |= surplus[word] != 0
        for word in reference:
            needed[word] |= surplus[word] != 0
            surplus[word] = 0
        for word in output:
            surplus[word] = 0
    return needed


@kernel
def unmatched_stems(
    ids: Ids,
    offsets: Offsets,
    size: int,
    outputs: Offsets,
    references: Offsets,
    stems: Ids,
    stem_count: int,
) -> NDArray[np.bool_]:
    """The stems that some output has left over after equal stems: only these need synonyms."""
    needed = np.zeros(stem_count, np.bool_)
    surplus, stem_surplus = np.zeros(size, np.int64), np.zeros(stem_count, np.int64)
    for c in range(len(outputs)):
        output = ids[offsets[outputs[c]] : offsets[outputs[c] + 1]]
        reference = ids[offsets[references[c]] : offsets[references[c] + 1]]
        for word in output:
            surplus[word] += 1
        for word in reference:
            surplus[word] -= 1
        for words in (output, reference):
            for word in words:
                if surplus[word] != 0:
                    stem_surplus[stems[word]] += surplus[word]
                    surplus[word] = 0
        short = False
        for word in reference:
            short |= stem_surplus[stems[word]] < 0
        for word in output:
            needed[stems[word]] |= short and stem_surplus[stems[word]] > 0
        for words in (output, reference):
            for word in words:
                stem_surplus[stems[word]] = 0
    return needed


@kernel
def meteor_scores(
    ids: Ids,
    offsets: Offsets,
    size: int,
    outputs: Offsets,
    references: Offsets,
    stems: Ids,
    stem_count: int,
    synonym_offsets: Offsets,
    synonyms: Ids,
    alpha: float,
    beta: float,
    gamma: float,
) -> NDArray[np.float64]:
    """The score of each couple; 0 where nothing matches."""
    longest = 1
    for k in range(len(offsets) - 1):
        longest = max(longest, offsets[k + 1] - offsets[k])
    last = np.full(max(size, stem_count, 1), _NONE, np.int32)
    before = np.zeros(longest, np.int32)
    place = np.zeros(longest, np.int32)
    free = np.zeros(longest, np.bool_)
    scores = np.zeros(len(outputs), np.float64)
    for c in range(len(outputs)):
        output = ids[offsets[outputs[c]] : offsets[outputs[c] + 1]]
        reference = ids[offsets[references[c]] : offsets[references[c] + 1]]
        place[: len(output)] = _NONE
        free[: len(reference)] = True
        matches = _match_words(output, reference, last, before, place, free)
        if matches < min(len(output), len(reference)):
            matches += _match_stems(
                output, reference, stems, synonym_offsets, synonyms, last, before, place, free
            )
        if matches > 0:
            chunks = _chunks(place[: len(output)])
            scores[c] = _score(matches, chunks, len(output), len(reference), alpha, beta, gamma)
    return scores


@kernel
def _match_words(
    output: Ids, reference: Ids, last: Ids, before: Ids, place: Ids, free: NDArray[np.bool_]
) -> int:
    """Pairs equal words; `last` and `before` chain the free places of each word, last first."""
    matches = 0
    for j in range(len(reference)):
        before[j] = last[reference[j]]
        last[reference[j]] = j
    for i in range(len(output) - 1, -1, -1):
        j = last[output[i]]
        if j != _NONE:
            place[i], free[j] = j, False
            last[output[i]] = before[j]
            matches += 1
    for word in reference:
        last[word] = _NONE
    return matches


@kernel
def _match_stems(
    output: Ids,
    reference: Ids,
    stems: Ids,
    synonym_offsets: Offsets,
    synonyms: Ids,
    last: Ids,
    before: Ids,
    place: Ids,
    free: NDArray[np.bool_],
) -> int:
    """Pairs equal stems among the words left over, then stems with synonyms of theirs."""
    matches = 0
    for j in range(len(reference)):
        if free[j]:
            before[j] = last[stems[reference[j]]]
            last[stems[reference[j]]] = j
    for i in range(len(output) - 1, -1, -1):
        if place[i] == _NONE and last[stems[output[i]]] != _NONE:
            stem = stems[output[i]]
            place[i] = last[stem]
            last[stem] = before[place[i]]
            matches += 1
    for i in range(len(output) - 1, -1, -1):
        if place[i] == _NONE:
            stem = stems[output[i]]
            chosen = stem
            for s in range(synonym_offsets[stem], synonym_offsets[stem + 1]):
                if last[synonyms[s]] > last[chosen]:
                    chosen = synonyms[s]
            if last[chosen] != _NONE:
                place[i] = last[chosen]
                last[chosen] = before[place[i]]
                matches += 1
    for j in range(len(reference)):
        if free[j]:
            last[stems[reference[j]]] = _NONE
    return matches


@kernel
def _chunks(place: Ids) -> int:
    """Runs of matches that are adjacent on both sides."""
    chunks, expected = 0, _NONE
    for i in range(len(place)):
        if place[i] == _NONE:
            expected = _NONE
        else:
            chunks += place[i] != expected
            expected = place[i] + 1
    return chunks


@kernel
def _score(
    matches: int, chunks: int, output: int, reference: int, alpha: float, beta: float, gamma: float
) -> float:
    precision, recall = matches / output, matches / reference
    mean = (precision * recall) / (alpha * precision + (1 - alpha) * recall)
    penalty: float = gamma * (chunks / matches) ** beta
    return (1 - penalty) * mean
