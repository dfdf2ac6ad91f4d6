"""BLEU as NLTK computes it: unsmoothed, so that an order without matches brings the score close to 0."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metassay.errors import UnknownName
from metassay.metrics.base import Batch, Scores, StatisticsMetric, check_range
from metassay.metrics.bleu import ngram_statistics
from metassay.metrics.texts import SPACES, pairing, tokenized, warn_of_words
from metassay.text.tokenizers import AUTO, WORD_TOKENIZERS, spaceless_tokenizer, split_words


@dataclass(frozen=True)
class NltkBleu(StatisticsMetric):
    """Brevity penalty × geometric mean of the clipped n-gram precisions, between 0 and 1.

    A precision of 0 counts as the smallest positive float, which leaves a score of about 1e-78 (or less), not
    0; without a single matching word it is 0. Equals `nltk.translate.bleu_score.sentence_bleu`, for corpora
    `corpus_bleu`, on the tokens of `nltk.word_tokenize` for one line (`preserve_line`), or on characters for
    data in languages written without spaces.
    """

    tokenizer: str = AUTO
    order: int = 4

    name: ClassVar[str] = "nltk_bleu"
    title: ClassVar[str] = "NLTK BLEU"
    task: ClassVar[str] = "mt"
    oracle: ClassVar[str] = "nltk 3.10.4"
    summary: ClassVar[str] = "unsmoothed sentence BLEU (nltk)"

    def __post_init__(self) -> None:
        if self.tokenizer not in {AUTO, *WORD_TOKENIZERS}:
            raise UnknownName("tokenizer", self.tokenizer, WORD_TOKENIZERS)
        check_range(self.name, "order", self.order, 1, 100)

    def settings(self, language: str | None) -> dict[str, Any]:
        """Characters for a language without spaces, unless a tokeniser was named."""
        chosen = spaceless_tokenizer(language) or "nltk"
        return super().settings(language) | ({"tokenizer": chosen} if self.tokenizer == AUTO else {})

    def statistics(self, batch: Batch) -> Scores:
        """Lengths, matches and totals; a total is at least 1 in every output."""
        pairs = pairing(batch)
        tokenizer = self.used(batch)["tokenizer"]
        if tokenizer in {"nltk", "whitespace"}:
            warn_of_words(self, batch.language)
        tokens = batch.derived(
            ("words", tokenizer, "nltk"), lambda: tokenized(split_words(pairs.texts, tokenizer), SPACES)[0]
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
