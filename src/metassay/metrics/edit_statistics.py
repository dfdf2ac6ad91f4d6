"""Hits, substitutions, deletions and insertions of outputs: what error rates are computed from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from metassay.errors import InputError
from metassay.metrics.base import Batch, Scores
from metassay.metrics.kernels.edit_counts import DELETIONS, HITS, INSERTIONS, SUBSTITUTIONS, count_edits
from metassay.metrics.kernels.text_arrays import TokenIds, TokenSequences
from metassay.metrics.scoring_inputs import find_scoring_inputs

# The name that rapidfuzz gives to each kind of edit.
_EDIT_TAGS = {"replace": SUBSTITUTIONS, "delete": DELETIONS, "insert": INSERTIONS}


def compute_edit_statistics(batch: Batch, tokens: TokenSequences) -> Scores:
    """Count hits, substitutions, deletions and insertions of each output: [n, 4], aligned as jiwer does."""
    check_single_references(batch)
    inputs = find_scoring_inputs(batch)
    single_inputs = inputs.split_by_reference()
    counts = count_edits(*tokens, single_inputs.outputs, single_inputs.references)
    for k in np.flatnonzero(counts[:, HITS] < 0):
        reference = _get_token_sequence(tokens, int(single_inputs.references[k]))
        output = _get_token_sequence(tokens, int(single_inputs.outputs[k]))
        counts[k] = _count_edits_with_rapidfuzz(reference, output)
    return counts.astype(np.float64)[inputs.input_of_row]


def compute_error_rate(statistics: Scores) -> Scores:
    """Compute the error rate: edits per reference token, (S + D + I) / (H + S + D)."""
    hits, substitutions, deletions, insertions = np.moveaxis(statistics, -1, 0)
    reference_length = hits + substitutions + deletions
    edits = substitutions + deletions + insertions
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(reference_length > 0, edits / reference_length, np.nan)


def check_single_references(batch: Batch) -> None:
    """Raise an error where an output has several references."""
    if any(len(references) != 1 for references in batch.references):
        raise InputError(
            "error rates are defined for one reference, but some outputs have several.",
            remedy="Keep one reference for each output.",
        )


def _get_token_sequence(tokens: TokenSequences, number: int) -> TokenIds:
    """Return the token ids of the sequence with this number."""
    return tokens.ids[tokens.offsets[number] : tokens.offsets[number + 1]]


def _count_edits_with_rapidfuzz(reference: TokenIds, output: TokenIds) -> NDArray[np.int64]:
    """Count the edits between two very long sequences with rapidfuzz."""
    counts = np.zeros(4, dtype=np.int64)
    for edit in Levenshtein.editops(reference.tolist(), output.tolist()):
        counts[_EDIT_TAGS[edit.tag]] += 1
    counts[HITS] = len(reference) - counts[SUBSTITUTIONS] - counts[DELETIONS]
    return counts
