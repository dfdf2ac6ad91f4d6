"""BLEU as NLTK computes it: unsmoothed, so that an order without matches brings the score close to 0."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metassay.errors import InputError, UnknownName
from metassay.metrics.base import Batch, Scores, StatisticsMetric
from metassay.metrics.bleu import ngram_statistics
from metassay.metrics.pairing import pairing
from metassay.metrics.tokens import SPACES, tokenized
from metassay.text.tokenizers import WORD_TOKENIZERS, split_words


@dataclass(frozen=True)
class NltkBleu(StatisticsMetric):
    """Brevity penalty × geometric mean of the clipped n-gram precisions, between 0 and 1.

    A precision of 0 counts as the smallest positive float, which leaves a score of about 1e-78 (or less), not
    0; without a single matching word it is 0. Equals `nltk.translate.bleu_score.sentence_bleu`, for corpora
    `corpus_bleu`, on the tokens of `nltk.word_tokenize` for one line (`preserve_line`).
    """

    tokenizer: str = "nltk"
    order: int = 4

    name: ClassVar[str] = "nltk_bleu"
    task: ClassVar[str] = "mt"
    oracle: ClassVar[str] = "nltk 3.10.4"
    summary: ClassVar[str] = "unsmoothed sentence BLEU (nltk)"

    def __post_init__(self) -> None:
        if self.tokenizer not in WORD_TOKENIZERS:
            raise UnknownName("tokenizer", self.tokenizer, WORD_TOKENIZERS)
        if self.order < 1:
            raise InputError(f"BLEU of order {self.order} is not defined; the order is at least 1.")

    def statistics(self, batch: Batch) -> Scores:
        """Lengths, matches and totals; a total is at least 1 in every output."""
        pairs = pairing(batch)
        tokens = batch.derived(
            ("words", self.tokenizer, "nltk"),
            lambda: tokenized(split_words(pairs.texts, self.tokenizer), SPACES)[0],
        )
        statistics = ngram_statistics(tokens, pairs, self.order)
        totals = statistics[:, 2 + self.order :]
        np.maximum(totals, 1, out=totals)
        return statistics[pairs.rows]

    def from_statistics(self, statistics: Scores) -> Scores:
        """BLEU, with the exactly rounded sum of logarithms that NLTK takes."""
        rows = np.asarray(statistics, dtype=np.float64).reshape(-1, 2 + 2 * self.order)
        scores = np.array([self._score(row) for row in rows.tolist()], dtype=np.float64)
        return scores.reshape(np.shape(statistics)[:-1])

    def _score(self, row: list[float]) -> float:
        output, reference = row[:2]
        matches, totals = row[2 : 2 + self.order], row[2 + self.order :]
        if matches[0] == 0:
            return 0.0
        penalty = 1.0 if output > reference else math.exp(1 - reference / output)
        weight = 1 / self.order
        logs = (
            weight * math.log(match / total if match else sys.float_info.min)
            for match, total in zip(matches, totals)
        )
        return penalty * math.exp(math.fsum(logs))


METRICS = (NltkBleu,)
