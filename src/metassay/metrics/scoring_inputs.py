"""The distinct inputs of a batch: an input is an output with its references.

Data sets repeat texts often (systems agree, references are shared), so lexical metrics score each distinct
input once and copy the score to all rows that have it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from metassay.metrics.base import Batch, Scores
from metassay.metrics.kernels.text_arrays import Offsets, Positions


@dataclass(frozen=True)
class ScoringInputs:
    """The different combinations of an output and its references in a batch. Metrics score each combination
    only once.

    Inputs are sorted by their references, so that a kernel prepares each set of references once.
    """

    texts: Sequence[str]
    """Distinct texts, outputs and references alike."""
    outputs: Positions
    """For each input, the position of its output in `texts`."""
    reference_sets: Positions
    """For each input, the number of its set of references."""
    set_offsets: Offsets
    set_texts: Positions
    """References of set s: `set_texts[set_offsets[s] : set_offsets[s + 1]]`, in the order given."""
    input_of_row: Positions
    """For each row of the batch, its input."""

    def pair_outputs_with_each_reference(self) -> SingleReferenceInputs:
        """Pair each output with each of its references."""
        reference_counts = np.diff(self.set_offsets)[self.reference_sets]
        input_offsets = np.concatenate(([0], np.cumsum(reference_counts)))
        place_in_set = np.arange(input_offsets[-1]) - np.repeat(input_offsets[:-1], reference_counts)
        set_starts = np.repeat(self.set_offsets[self.reference_sets], reference_counts)
        references = self.set_texts[set_starts + place_in_set]
        outputs = np.repeat(self.outputs, reference_counts)
        if len(references) == len(self.outputs):
            return SingleReferenceInputs(outputs, references, input_offsets, None)
        order = np.argsort(references, kind="stable")
        return SingleReferenceInputs(outputs[order], references[order], input_offsets, order)


@dataclass(frozen=True)
class SingleReferenceInputs:
    """Pairs of an output and one reference, for metrics that compare an output with one reference at a
    time.
    """

    outputs: Positions
    references: Positions
    input_offsets: Offsets
    """Where the references of each original input begin, once the original order is restored."""
    order: Positions | None
    """How the inputs were sorted; None where every output has one reference and the order is unchanged."""

    @property
    def has_choice_of_references(self) -> bool:
        """Whether any output has several references."""
        return self.order is not None

    def restore_input_order(self, sorted_values: Scores) -> Scores:
        """Undo the sorting of the pairs: return their values in the order of the outputs and of their
        references.
        """
        if self.order is None:
            return sorted_values
        restored = np.empty_like(sorted_values)
        restored[self.order] = sorted_values
        return restored

    def select_best_reference(self, statistics: Scores, scores: Scores) -> Scores:
        """Return, for each output, the row of `statistics` of its reference with the highest score. Of equal
        scores, the first counts.
        """
        if self.order is None:
            return statistics
        statistics = self.restore_input_order(statistics)
        scores = self.restore_input_order(scores)
        starts = self.input_offsets[:-1]
        highest = np.maximum.reduceat(scores, starts)
        is_highest = scores == np.repeat(highest, np.diff(self.input_offsets))
        # Of references with the same score the first counts, as in a loop over references.
        candidates = np.where(is_highest, np.arange(len(scores)), len(scores))
        first_highest = np.minimum.reduceat(candidates, starts)
        chosen: Scores = statistics[first_highest]
        return chosen


def find_distinct_inputs(batch: Batch) -> ScoringInputs:
    """Return the different combinations of an output and its references in a batch. The first call finds them
    for all metrics.
    """
    return batch.compute_once(
        "scoring inputs", lambda: _number_distinct_inputs(batch.output, batch.references)
    )


def _number_distinct_inputs(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> ScoringInputs:
    """Find the different combinations of an output and its references, and give each one a number."""
    texts: dict[str, int] = {}
    number_text = texts.setdefault
    output_of_row = np.fromiter((number_text(text, len(texts)) for text in outputs), np.int64, len(outputs))
    sets: dict[tuple[str, ...], int] = {}
    number_set = sets.setdefault
    set_of_row = np.fromiter(
        (number_set(tuple(row_references), len(sets)) for row_references in references),
        np.int64,
        len(outputs),
    )
    set_texts: list[int] = []
    for reference_set in sets:
        set_texts.extend(number_text(text, len(texts)) for text in reference_set)
    set_sizes = np.fromiter(map(len, sets), np.int64, len(sets))
    set_offsets = np.concatenate(([0], np.cumsum(set_sizes)))
    # One number per input sorts by set first and output second, and finds equal inputs.
    text_count = max(len(texts), 1)
    keys, input_of_row = np.unique(set_of_row * text_count + output_of_row, return_inverse=True)
    input_sets, input_outputs = np.divmod(keys, text_count)
    return ScoringInputs(
        texts=list(texts),
        outputs=input_outputs,
        reference_sets=input_sets,
        set_offsets=set_offsets,
        set_texts=np.array(set_texts, dtype=np.int64),
        input_of_row=input_of_row.reshape(-1),
    )
