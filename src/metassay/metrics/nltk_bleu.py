"""Sentence BLEU without smoothing, with NLTK's numbers."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metassay.errors import UnknownName
from metassay.metrics.base import Batch, Parameters, Scores, StatisticsMetric, check_parameter_range
from metassay.metrics.batch_tokens import tokenize_texts_into_words, warn_if_language_has_no_spaces
from metassay.metrics.kernels.text_arrays import TokenSequences
from metassay.metrics.ngram_statistics import compute_ngram_statistics
from metassay.metrics.scoring_inputs import find_distinct_inputs
from metassay.text.tokenizers import (
    AUTO,
    WORD_TOKENIZERS,
    choose_character_tokenizer,
    put_spaces_between_tokens,
)

_DEFAULT_TOKENIZER = "nltk"
_SPLITTING_AT_SPACES = frozenset({"nltk", "whitespace"})
_MAX_ORDER = 100


@dataclass(frozen=True)
class NltkBleu(StatisticsMetric):
    """BLEU as NLTK computes it: brevity penalty × geometric mean of the n-gram precisions, from 0 to 1.

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
        check_parameter_range(self.name, "order", self.order, 1, _MAX_ORDER)

    def get_parameters_for_language(self, language: str | None) -> Parameters:
        """Return the values of all parameters. The tokeniser is the default for the language unless the user
        named one.
        """
        return super().get_parameters_for_language(language) | {"tokenizer": self._choose_tokenizer(language)}

    def _choose_tokenizer(self, language: str | None) -> str:
        """Return the name of the tokeniser that the user chose, or else of the default for the language."""
        if self.tokenizer != AUTO:
            return self.tokenizer
        return choose_character_tokenizer(language) or _DEFAULT_TOKENIZER

    def statistics(self, batch: Batch) -> Scores:
        """Count the words of each output and of its closest reference, the n-grams that match, and all
        n-grams of the output. As in NLTK, there is at least 1 n-gram of each length.
        """
        tokenizer = self._choose_tokenizer(self.choose_language_for_parameters(batch))
        if tokenizer in _SPLITTING_AT_SPACES:
            warn_if_language_has_no_spaces(self, batch.language)
        inputs = find_distinct_inputs(batch)

        def tokenize() -> TokenSequences:
            tokens, _ = tokenize_texts_into_words(put_spaces_between_tokens(inputs.texts, tokenizer))
            return tokens

        tokens = batch.compute_once(("nltk tokens", tokenizer), tokenize)
        statistics = compute_ngram_statistics(tokens, inputs, self.order)
        totals = statistics[:, 2 + self.order :]
        np.maximum(totals, 1, out=totals)
        return statistics[inputs.input_of_row]

    def from_statistics(self, statistics: Scores) -> Scores:
        """Compute corpus BLEU from the summed counts of the outputs, with the same rounding as NLTK."""
        rows = np.asarray(statistics, dtype=np.float64).reshape(-1, 2 + 2 * self.order)
        scores = np.array([self._compute_bleu_score(row) for row in rows.tolist()], dtype=np.float64)
        return scores.reshape(np.shape(statistics)[:-1])

    def _compute_bleu_score(self, count_row: list[float]) -> float:
        """Compute BLEU from the counts of one output or of a whole corpus."""
        output_length, reference_length = count_row[:2]
        matches = count_row[2 : 2 + self.order]
        totals = count_row[2 + self.order :]
        if matches[0] == 0:
            return 0.0
        penalty = 1.0
        if output_length <= reference_length:
            penalty = math.exp(1 - reference_length / output_length)
        weight = 1 / self.order
        weighted_logs = []
        for match, total in zip(matches, totals):
            precision = match / total if match else sys.float_info.min
            weighted_logs.append(weight * math.log(precision))
        return penalty * math.exp(math.fsum(weighted_logs))
