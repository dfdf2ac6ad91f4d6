"""chrF and chrF++ (Popović, 2015 and 2017), with sacrebleu's numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metassay.errors import InputError
from metassay.metrics.base import Batch, Scores, StatisticsMetric
from metassay.metrics.kernels.chrf_score import chrf_scores


@dataclass(frozen=True)
class Chrf(StatisticsMetric):
    """F-score of character n-grams, and of word n-grams where `word_order` > 0 (chrF++ has 2), in per cent.

    F_β = (1 + β²)·P·R / (β²·P + R), where P and R are means over the orders that both sides reach.
    Statistics, for each order: n-grams of the output, of the reference, in common. Of several references the
    one with the highest score counts.
    """

    char_order: int = 6
    word_order: int = 0
    beta: float = 2
    lowercase: bool = False
    whitespace: bool = False
    eps_smoothing: bool = False

    name: ClassVar[str] = "chrf"
    task: ClassVar[str] = "mt"
    oracle: ClassVar[str] = "sacrebleu 2.6.0"
    summary: ClassVar[str] = "F-score of character n-grams; chrf++ adds words (sacrebleu)"

    def __post_init__(self) -> None:
        if self.char_order < 0 or self.word_order < 0 or self.char_order + self.word_order == 0:
            raise InputError("chrF needs a positive char_order or word_order.")

    def statistics(self, batch: Batch) -> Scores:
        """Counts of each output, order by order."""
        from sacrebleu.metrics.chrf import CHRF

        official = CHRF(
            char_order=self.char_order,
            word_order=self.word_order,
            beta=self.beta,  # type: ignore[arg-type]
            lowercase=self.lowercase,
            whitespace=self.whitespace,
            eps_smoothing=self.eps_smoothing,
        )
        return batch.map_distinct(
            lambda output, references: official._extract_corpus_statistics(  # noqa: SLF001
                [output], [[reference] for reference in references]
            )[0]
        )

    def from_statistics(self, statistics: Scores) -> Scores:
        """F-score of the counts."""
        width = 3 * (self.char_order + self.word_order)
        rows = np.ascontiguousarray(statistics, dtype=np.float64).reshape(-1, width)
        scores = chrf_scores(rows, float(self.beta), self.eps_smoothing)
        return np.asarray(scores).reshape(np.shape(statistics)[:-1])


METRICS = (Chrf,)
