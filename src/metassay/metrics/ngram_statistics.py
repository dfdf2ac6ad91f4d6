"""The counts from which BLEU is computed."""

from __future__ import annotations

import numpy as np

from metassay.metrics.base import Scores
from metassay.metrics.kernels.text_arrays import Positions, TokenSequences
from metassay.metrics.scoring_inputs import ScoringInputs


def compute_ngram_statistics(tokens: TokenSequences, inputs: ScoringInputs, order: int) -> Scores:
    """Compute lengths, n-gram matches and n-gram totals of each input for BLEU: [inputs, 2 + 2·order].

    Columns: output length, length of the closest reference, clipped matches for n = 1 … order, and n-grams
    of the output for n = 1 … order.
    """
    from metassay.metrics.kernels.ngrams import count_shared_ngrams

    matches = count_shared_ngrams(
        tokens.ids,
        tokens.offsets,
        inputs.outputs,
        inputs.reference_sets,
        inputs.set_offsets,
        inputs.set_texts,
        order,
    )
    lengths = np.diff(tokens.offsets)
    output_lengths = lengths[inputs.outputs]
    reference_lengths = _find_closest_reference_lengths(output_lengths, lengths, inputs)
    totals = np.maximum(output_lengths[:, None] - np.arange(order), 0)
    columns = [output_lengths[:, None], reference_lengths[:, None], matches, totals]
    return np.hstack(columns).astype(np.float64)


def _find_closest_reference_lengths(
    output_lengths: Positions, sequence_lengths: Positions, inputs: ScoringInputs
) -> Positions:
    """Return, for each input, the length of the reference closest to the output's; of two the shorter."""
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
