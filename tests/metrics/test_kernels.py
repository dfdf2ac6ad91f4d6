"""Compiled helpers of lexical metrics, against the same computations in plain Python."""

from __future__ import annotations

from collections import Counter

import numpy as np

from metassay.metrics.kernels.meteor import find_unmatched_stems
from metassay.metrics.kernels.sequences import find_maximum_distinct_token_count

VOCABULARY_SIZE = 9


def draw_sequences(seed: int, count: int = 60) -> tuple[list[list[int]], np.ndarray, np.ndarray]:
    """Draw token sequences, also empty ones. Returns them as lists, and as one array with offsets."""
    rng = np.random.default_rng(seed)
    sequences = [rng.integers(0, VOCABULARY_SIZE, rng.integers(0, 12)).tolist() for _ in range(count)]
    token_ids = np.array([token for sequence in sequences for token in sequence], dtype=np.int32)
    offsets = np.concatenate(([0], np.cumsum([len(sequence) for sequence in sequences]))).astype(np.int64)
    return sequences, token_ids, offsets


def test_maximum_number_of_distinct_tokens() -> None:
    sequences, token_ids, offsets = draw_sequences(0)
    rng = np.random.default_rng(1)
    for size in (1, 2, 5):
        chosen = rng.choice(len(sequences), size, replace=False)
        expected = max(len(set(sequences[number])) for number in chosen)
        assert (
            find_maximum_distinct_token_count(token_ids, offsets, VOCABULARY_SIZE, chosen.astype(np.int64))
            == expected
        )


def test_stems_for_which_meteor_needs_synonyms() -> None:
    """A stem of the output that the reference has less often, if the reference has another stem left."""
    sequences, token_ids, offsets = draw_sequences(2, 80)
    stem_of_word = np.array([0, 0, 1, 2, 3, 3, 4, 5, 5], dtype=np.int32)
    stem_count = 6
    for pair in range(40):
        output = Counter(stem_of_word[sequences[pair]].tolist())
        reference = Counter(stem_of_word[sequences[pair + 40]].tolist())
        expected = set(output - reference) if reference - output else set()
        found = find_unmatched_stems(
            token_ids,
            offsets,
            VOCABULARY_SIZE,
            np.array([pair]),
            np.array([pair + 40]),
            stem_of_word,
            stem_count,
        )
        assert set(np.flatnonzero(found).tolist()) == expected
