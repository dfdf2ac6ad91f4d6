"""BLEU (Papineni et al., 2002), with sacrebleu's numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metassay.errors import InputError, UnknownName
from metassay.metrics.base import Batch, Scores, StatisticsMetric
from metassay.metrics.kernels.bleu_score import (
    SMOOTH_ADD_K,
    SMOOTH_EXP,
    SMOOTH_FLOOR,
    SMOOTH_NONE,
    bleu_scores,
)

_SMOOTHINGS = {"none": SMOOTH_NONE, "floor": SMOOTH_FLOOR, "add-k": SMOOTH_ADD_K, "exp": SMOOTH_EXP}
_DEFAULT_VALUES = {"none": 0.0, "floor": 0.1, "add-k": 1.0, "exp": 0.0}


@dataclass(frozen=True)
class Bleu(StatisticsMetric):
    """Brevity penalty × geometric mean of the clipped n-gram precisions, in per cent.

    Statistics: output length, reference length (closest to the output's), clipped matches for n = 1 … order,
    n-grams of the output for n = 1 … order. Equals `sacrebleu.corpus_bleu`; single outputs are scored as
    `sacrebleu.sentence_bleu` does, with the effective order.
    """

    tokenizer: str = "13a"
    lowercase: bool = False
    smoothing: str = "exp"
    smooth_value: float | None = None
    order: int = 4
    effective_order: bool = False
    """For corpus scores: leave out orders the outputs are too short for. Single outputs always do."""

    name: ClassVar[str] = "bleu"
    task: ClassVar[str] = "mt"
    oracle: ClassVar[str] = "sacrebleu 2.6.0"
    summary: ClassVar[str] = "n-gram precision with a brevity penalty (sacrebleu)"

    def __post_init__(self) -> None:
        if self.smoothing not in _SMOOTHINGS:
            raise UnknownName("smoothing", self.smoothing, _SMOOTHINGS)
        if self.order < 1:
            raise InputError(f"BLEU of order {self.order} is not defined; the order is at least 1.")

    def statistics(self, batch: Batch) -> Scores:
        """Lengths, matches and totals of each output."""
        from sacrebleu.metrics.bleu import BLEU

        official = BLEU(
            tokenize=self.tokenizer, lowercase=self.lowercase, max_ngram_order=self.order, force=True
        )
        return batch.map_distinct(
            lambda output, references: official._extract_corpus_statistics(  # noqa: SLF001
                [output], [[reference] for reference in references]
            )[0]
        )

    def from_statistics(self, statistics: Scores) -> Scores:
        """Corpus BLEU."""
        return self._scores(statistics, effective_order=self.effective_order)

    def segment_scores(self, statistics: Scores) -> Scores:
        """Sentence BLEU, with the effective order."""
        return self._scores(statistics, effective_order=True)

    def _scores(self, statistics: Scores, *, effective_order: bool) -> Scores:
        rows = np.ascontiguousarray(statistics, dtype=np.float64).reshape(-1, 2 + 2 * self.order)
        value = _DEFAULT_VALUES[self.smoothing] if self.smooth_value is None else float(self.smooth_value)
        scores = bleu_scores(rows, _SMOOTHINGS[self.smoothing], value, effective_order)
        return np.asarray(scores).reshape(np.shape(statistics)[:-1])


METRICS = (Bleu,)
