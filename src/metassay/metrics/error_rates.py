"""Word error rate and its relatives, from one alignment of output and reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from rapidfuzz.distance import Levenshtein

from metassay.metrics.base import Batch, Scores, StatisticsMetric


def _word_edits(output: str, references: tuple[str, ...]) -> Sequence[float]:
    """Hits, substitutions, deletions, insertions."""
    reference, words = references[0].split(), output.split()
    counts = {"replace": 0, "delete": 0, "insert": 0}
    for edit in Levenshtein.editops(reference, words):
        counts[edit.tag] += 1
    hits = len(reference) - counts["replace"] - counts["delete"]
    return (hits, counts["replace"], counts["delete"], counts["insert"])


@dataclass(frozen=True)
class WordErrorRate(StatisticsMetric):
    """Edits needed per reference word: (S + D + I) / (H + S + D).

    Equals `jiwer.wer` but for an empty reference, where jiwer returns the number of insertions and there is
    no rate: undefined (NaN).
    """

    name: ClassVar[str] = "wer"
    task: ClassVar[str] = "asr"
    higher_is_better: ClassVar[bool] = False
    oracle: ClassVar[str] = "jiwer 4.0.0"
    summary: ClassVar[str] = "word error rate (jiwer)"

    def statistics(self, batch: Batch) -> Scores:
        """Hits, substitutions, deletions and insertions of each output."""
        return batch.map_distinct(_word_edits)

    def from_statistics(self, statistics: Scores) -> Scores:
        """Edits per reference word."""
        hits, substitutions, deletions, insertions = np.moveaxis(statistics, -1, 0)
        words = hits + substitutions + deletions
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(words > 0, (substitutions + deletions + insertions) / words, np.nan)


METRICS = (WordErrorRate,)
