"""Character error rates: with jiwer's numbers, and with those of sclite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from metassay.metrics.alignment import KINDS, align_characters
from metassay.metrics.base import Batch, Scores, StatisticsMetric
from metassay.metrics.batch_tokens import get_stripped_character_tokens
from metassay.metrics.edit_statistics import (
    check_single_references,
    compute_edit_statistics,
    compute_error_rate,
)


@dataclass(frozen=True)
class CharacterErrorRate(StatisticsMetric):
    """Edits needed per reference character, inner spaces included: (S + D + I) / (H + S + D).

    Equals `jiwer.cer` but for an empty reference: undefined (NaN).
    """

    name: ClassVar[str] = "cer"
    title: ClassVar[str] = "CER"
    task: ClassVar[str] = "asr"
    higher_is_better: ClassVar[bool] = False
    oracle: ClassVar[str] = "jiwer 4.0.0"
    summary: ClassVar[str] = "character error rate (jiwer)"

    def statistics(self, batch: Batch) -> Scores:
        """Count hits, substitutions, deletions and insertions of characters."""
        return compute_edit_statistics(batch, get_stripped_character_tokens(batch))

    def from_statistics(self, statistics: Scores) -> Scores:
        """Compute edits per reference character."""
        return compute_error_rate(statistics)


@dataclass(frozen=True)
class ScliteCharacterErrorRate(CharacterErrorRate):
    """Character error rate of the alignment that sclite finds, which is cheapest but may have more edits.

    Higher than `cer` where three deletions and three insertions (cost 3 each) beat five substitutions
    (cost 4 each).
    """

    name: ClassVar[str] = "sclite_cer"
    title: ClassVar[str] = "sclite CER"
    oracle: ClassVar[str] = "sclite 2.10"
    summary: ClassVar[str] = "character error rate of sclite's alignment"

    def statistics(self, batch: Batch) -> Scores:
        """Count hits, substitutions, deletions and insertions of characters, as sclite aligns them."""
        check_single_references(batch)
        return batch.compute_for_distinct_rows(_count_sclite_edits)


def _count_sclite_edits(output: str, references: tuple[str, ...]) -> list[float]:
    counts = align_characters(references[0].strip(), output.strip()).counts
    return [counts[kind] for kind in KINDS]
