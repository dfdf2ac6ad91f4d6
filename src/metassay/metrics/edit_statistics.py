"""Hits, substitutions, deletions and insertions of outputs: what error rates are computed from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from metassay.errors import InputError
from metassay.metrics.base import Batch, Scores
from metassay.metrics.kernels.edit_counts import (
    DELETIONS,
    HITS,
    INSERTIONS,
    SUBSTITUTIONS,
    count_token_edits_by_kind,
)
from metassay.metrics.kernels.sequences import get_sequence
from metassay.metrics.kernels.text_arrays import TokenIds, TokenSequences
from metassay.metrics.scoring_inputs import find_distinct_inputs

# The name that rapidfuzz gives to each kind of edit.
_EDIT_TAGS = {"replace": SUBSTITUTIONS, "delete": DELETIONS, "insert": INSERTIONS}


def count_edits_by_kind(batch: Batch, tokens: TokenSequences) -> Scores:
    """Count the hits, substitutions, deletions and insertions of each output, as the library jiwer does."""
    check_one_reference_per_output(batch)
    inputs = find_distinct_inputs(batch)
    single_inputs = inputs.pair_outputs_with_each_reference()
    counts = count_token_edits_by_kind(*tokens, single_inputs.outputs, single_inputs.references)
    for k in np.flatnonzero(counts[:, HITS] < 0):
        # Both sequences are too long for the compiled function.
        reference = get_sequence(tokens.ids, tokens.offsets, int(single_inputs.references[k]))
        output = get_sequence(tokens.ids, tokens.offsets, int(single_inputs.outputs[k]))
        counts[k] = _count_edits_of_long_sequences(reference, output)
    return counts.astype(np.float64)[inputs.input_of_row]


def compute_error_rates(edit_counts: Scores) -> Scores:
    """Compute the number of edits per token of the reference from numbers of hits, substitutions, deletions
    and insertions.
    """
    hits, substitutions, deletions, insertions = np.moveaxis(edit_counts, -1, 0)
    reference_length = hits + substitutions + deletions
    edits = substitutions + deletions + insertions
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(reference_length > 0, edits / reference_length, np.nan)


def check_one_reference_per_output(batch: Batch) -> None:
    """Raise an error unless every output has exactly one reference."""
    if any(len(references) != 1 for references in batch.references):
        raise InputError(
            "error rates are defined for one reference, but some outputs have several.",
            remedy="Keep one reference for each output.",
        )


def _count_edits_of_long_sequences(reference: TokenIds, output: TokenIds) -> NDArray[np.int64]:
    """Count hits, substitutions, deletions and insertions with the library rapidfuzz, for texts that are too
    long for the compiled function.
    """
    counts = np.zeros(4, dtype=np.int64)
    for edit in Levenshtein.editops(reference.tolist(), output.tolist()):
        counts[_EDIT_TAGS[edit.tag]] += 1
    counts[HITS] = len(reference) - counts[SUBSTITUTIONS] - counts[DELETIONS]
    return counts
