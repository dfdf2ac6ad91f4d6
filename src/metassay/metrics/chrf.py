"""chrF and chrF++ (Popović, 2015 and 2017), with sacrebleu's numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metassay.errors import InputError
from metassay.metrics.base import Batch, Scores, StatisticsMetric, check_range, labelled
from metassay.metrics.kernels.ngrams import chrf_scores, shared_ngrams
from metassay.metrics.kernels.packing import Tokens
from metassay.metrics.kernels.tokenize import CHRF_WORDS
from metassay.metrics.texts import Couples, batch_characters, batch_split, pairing

_HIGHEST_ORDER = 100


@dataclass(frozen=True)
class Chrf(StatisticsMetric):
    """F-score of character n-grams, and of word n-grams where `word_order` > 0 (chrF++ has 2), in per cent.

    F_β = (1 + β²)·P·R / (β²·P + R), where P and R are means over the orders that both sides reach.
    Statistics, for each order: n-grams of the output, of the reference, in common. Of several references the
    one with the highest score counts.
    """

    char_order: int = 6
    word_order: int = 0
    beta: float = 2.0
    lowercase: bool = False
    whitespace: bool = False
    eps_smoothing: bool = False

    name: ClassVar[str] = "chrf"
    title: ClassVar[str] = "chrF"
    task: ClassVar[str] = "mt"
    oracle: ClassVar[str] = "sacrebleu 2.6.0"
    summary: ClassVar[str] = "F-score of character n-grams; chrf++ adds words (sacrebleu)"

    def __post_init__(self) -> None:
        for parameter in ("char_order", "word_order"):
            check_range(self.name, parameter, getattr(self, parameter), 0, _HIGHEST_ORDER)
        check_range(self.name, "beta", self.beta, 0)
        if self.char_order + self.word_order == 0:
            raise InputError("chrF needs a positive char_order or word_order.")

    @property
    def label(self) -> str:
        """`chrF`, with a plus for each order of words up to two."""
        others = {key: value for key, value in self.parameters.items() if key != "word_order"}
        if self.word_order > 2:
            return super().label
        return labelled(self.title + "+" * self.word_order, others)

    def statistics(self, batch: Batch) -> Scores:
        """Counts of each output, order by order."""
        couples = pairing(batch).couples()
        characters = batch_characters(
            batch, lowercase=self.lowercase, with_spaces=self.whitespace, stripped=False
        )
        counts = [_counts(characters, couples, self.char_order)]
        if self.word_order > 0:
            words = batch_split(batch, CHRF_WORDS, lowercase=self.lowercase)
            counts.append(_counts(words, couples, self.word_order))
        width = 3 * (self.char_order + self.word_order)
        statistics = np.concatenate(counts, axis=1).reshape(-1, width)
        best = couples.best(statistics, self.from_statistics(statistics))
        return best[pairing(batch).rows]

    def from_statistics(self, statistics: Scores) -> Scores:
        """F-score of the counts."""
        width = 3 * (self.char_order + self.word_order)
        rows = np.ascontiguousarray(statistics, dtype=np.float64).reshape(-1, width)
        scores = chrf_scores(rows, float(self.beta), self.eps_smoothing)
        return np.asarray(scores).reshape(np.shape(statistics)[:-1])


def _counts(tokens: Tokens, couples: Couples, order: int) -> Scores:
    """n-grams of the output, of the reference, in common: [couples, order, 3]."""
    alone = np.arange(len(tokens.offsets))
    common = shared_ngrams(
        tokens.ids, tokens.offsets, couples.outputs, couples.references, alone, alone[:-1].copy(), order
    )
    lengths = np.diff(tokens.offsets)
    reference = np.maximum(lengths[couples.references][:, None] - np.arange(order), 0)
    output = np.maximum(lengths[couples.outputs][:, None] - np.arange(order), 0)
    # where the reference is too short for an order, the official leaves the output out of it, too
    return np.stack([np.where(reference > 0, output, 0), reference, common], axis=2).astype(np.float64)


METRICS = (Chrf,)
