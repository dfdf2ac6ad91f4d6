"""Character error rates: with jiwer's numbers, and with those of sclite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from metassay.metrics.alignment import KINDS, align_characters
from metassay.metrics.base import Batch, Scores, StatisticsMetric
from metassay.metrics.batch_tokens import split_stripped_batch_into_characters
from metassay.metrics.edit_statistics import (
    check_one_reference_per_output,
    compute_error_rates,
    count_edits_by_kind,
)


@dataclass(frozen=True)
class CharacterErrorRate(StatisticsMetric):
    """Character error rate: number of substituted, deleted and inserted characters, divided by the characters
    of the reference with its inner spaces: (S + D + I) / (H + S + D).

    Equals `jiwer.cer` but for an empty reference: undefined (NaN).
    """

    name: ClassVar[str] = "cer"
    title: ClassVar[str] = "CER"
    task: ClassVar[str] = "asr"
    higher_is_better: ClassVar[bool] = False
    oracle: ClassVar[str] = "jiwer 4.0.0"
    summary: ClassVar[str] = "character error rate (jiwer)"

    def statistics(self, batch: Batch) -> Scores:
        """Count the correct, substituted, deleted and inserted characters of each output."""
        return count_edits_by_kind(batch, split_stripped_batch_into_characters(batch))

    def from_statistics(self, statistics: Scores) -> Scores:
        """Compute the number of edits per character of the reference from counts of edits."""
        return compute_error_rates(statistics)


@dataclass(frozen=True)
class ScliteCharacterErrorRate(CharacterErrorRate):
    """Character error rate as the program sclite computes it. The alignment of sclite sometimes has more
    edits than necessary.

    Higher than `cer` where three deletions and three insertions (cost 3 each) beat five substitutions
    (cost 4 each).
    """

    name: ClassVar[str] = "sclite_cer"
    title: ClassVar[str] = "sclite CER"
    oracle: ClassVar[str] = "sclite 2.10"
    summary: ClassVar[str] = "character error rate of sclite's alignment"

    def statistics(self, batch: Batch) -> Scores:
        """Count the correct, substituted, deleted and inserted characters of each output, in the alignment of
        sclite.
        """
        check_one_reference_per_output(batch)
        return batch.apply_to_distinct_rows(_count_sclite_edits)


def _count_sclite_edits(output: str, references: tuple[str, ...]) -> list[float]:
    """Count hits, substitutions, deletions and insertions in the alignment that sclite finds."""
    counts = align_characters(references[0].strip(), output.strip()).step_counts_by_kind
    return [counts[kind] for kind in KINDS]
