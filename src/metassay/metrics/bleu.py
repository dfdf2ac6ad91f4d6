"""BLEU (Papineni et al., 2002) with sacrebleu's numbers."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from metassay.errors import UnknownName
from metassay.metrics.base import Batch, Parameters, Scores, StatisticsMetric, check_parameter_range
from metassay.metrics.batch_tokens import get_distinct_texts, tokenize_batch_for_bleu
from metassay.metrics.bleu_formula import compute_bleu
from metassay.metrics.kernels.text_arrays import TokenSequences
from metassay.metrics.ngram_statistics import compute_ngram_statistics
from metassay.metrics.sacrebleu_signature import build_sacrebleu_signature
from metassay.metrics.scoring_inputs import find_distinct_inputs
from metassay.results.official_score import OfficialScore
from metassay.text.tokenizers import (
    AUTO,
    BLEU_TOKENIZERS,
    choose_sacrebleu_tokenizer,
    find_missing_sacrebleu_tokenizer,
)

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU

_SMOOTHINGS = ("none", "floor", "add-k", "exp")
_DEFAULT_SMOOTH_VALUES = {"none": 0.0, "floor": 0.1, "add-k": 1.0, "exp": 0.0}
_DEFAULT_TOKENIZER = "13a"
_DEFAULT_ORDER = 4
# Far above any n-gram order in use; it bounds the memory for the statistics.
_MAX_ORDER = 100
_SPLITTING_AT_SPACES = frozenset({"13a", "none", "intl"})
# Up to this many outputs, NumPy counts n-grams in less time than it takes to load Numba.
_FEW_OUTPUTS = 2_000


@dataclass(frozen=True)
class Bleu(StatisticsMetric):
    """BLEU: brevity penalty × geometric mean of the clipped n-gram precisions, in per cent.

    Statistics: output length, reference length (closest to the output's), clipped matches for n = 1 … order,
    n-grams of the output for n = 1 … order. Equals `sacrebleu.corpus_bleu`; single outputs are scored as
    `sacrebleu.sentence_bleu` does, with the effective order.

    The tokeniser is 13a unless one is named; for data in Chinese, Japanese and Korean that of the language,
    as in sacrebleu's command line.
    """

    tokenizer: str = AUTO
    lowercase: bool = False
    smoothing: str = "exp"
    smooth_value: float | None = None
    order: int = _DEFAULT_ORDER
    effective_order: bool = False
    """For corpus scores: leave out orders the outputs are too short for. Single outputs always do."""

    name: ClassVar[str] = "bleu"
    title: ClassVar[str] = "BLEU"
    task: ClassVar[str] = "mt"
    oracle: ClassVar[str] = "sacrebleu 2.6.0"
    summary: ClassVar[str] = "n-gram precision with a brevity penalty (sacrebleu)"

    def __post_init__(self) -> None:
        if self.tokenizer not in {AUTO, *BLEU_TOKENIZERS}:
            raise UnknownName("tokenizer", self.tokenizer, BLEU_TOKENIZERS)
        if self.smoothing not in _SMOOTHINGS:
            raise UnknownName("smoothing", self.smoothing, _SMOOTHINGS)
        check_parameter_range(self.name, "order", self.order, 1, _MAX_ORDER)
        if self.smooth_value is not None:
            check_parameter_range(self.name, "smooth_value", self.smooth_value, 0)

    def get_parameters_for_language(self, language: str | None) -> Parameters:
        """Return the values of all parameters. The tokeniser is the default for the language unless the user
        named one.
        """
        return super().get_parameters_for_language(language) | {"tokenizer": self._choose_tokenizer(language)}

    def _choose_tokenizer(self, language: str | None) -> str:
        """Return the name of the tokeniser that the user chose, or else of the default for the language."""
        if self.tokenizer != AUTO:
            return self.tokenizer
        return choose_sacrebleu_tokenizer(language) or _DEFAULT_TOKENIZER

    def statistics(self, batch: Batch) -> Scores:
        """Count the words of each output and of its closest reference, the n-grams that match, and all
        n-grams of the output.
        """
        tokenizer = self._choose_tokenizer(self.choose_language_for_parameters(batch))
        self._warn_if_tokenizer_is_unsuitable(batch.language, tokenizer)
        inputs = find_distinct_inputs(batch)
        if tokenizer in _SPLITTING_AT_SPACES and _should_avoid_loading_numba(len(batch.output)):
            tokens = self._tokenize_with_sacrebleu(batch, tokenizer)
            statistics = compute_ngram_statistics(tokens, inputs, self.order, use_numba=False)
        else:
            tokens = tokenize_batch_for_bleu(batch, tokenizer, lowercase=self.lowercase)
            statistics = compute_ngram_statistics(tokens, inputs, self.order)
        by_row: Scores = statistics[inputs.input_of_row]
        return by_row

    def _tokenize_with_sacrebleu(self, batch: Batch, tokenizer: str) -> TokenSequences:
        """Tokenize the distinct texts of a batch with sacrebleu's own code, which needs no compilation."""
        from sacrebleu.metrics.bleu import BLEU

        tokenize = BLEU(tokenize=tokenizer).tokenizer
        words: list[str] = []
        offsets = [0]
        for text in get_distinct_texts(batch, lowercase=self.lowercase):
            words += tokenize(text.rstrip()).split()
            offsets.append(len(words))
        id_of_word = {word: number for number, word in enumerate(dict.fromkeys(words))}
        ids = np.fromiter(map(id_of_word.__getitem__, words), np.int32, len(words))
        return TokenSequences(ids, np.array(offsets, dtype=np.int64), len(id_of_word))

    def _warn_if_tokenizer_is_unsuitable(self, language: str | None, tokenizer: str) -> None:
        """Warn if BLEU has to compare characters, or if it splits words at spaces in a language that needs
        another tokeniser.
        """
        if self.tokenizer == AUTO and self.languages and tokenizer == "char":
            missing = find_missing_sacrebleu_tokenizer(language)
            if missing is None:
                reason = "it is written without spaces, and sacrebleu has no tokeniser for it."
            else:
                reason = f"{missing}, which sacrebleu would use, is not installed."
            warnings.warn(
                f"{self.label} for {language} is computed on characters (char): {reason}", stacklevel=3
            )
        better = choose_sacrebleu_tokenizer(language)
        if better is not None and tokenizer in _SPLITTING_AT_SPACES:
            warnings.warn(
                f"{self.label} splits words at spaces, which is not suitable for {language}. Consider "
                f"{self.name}(tokenizer={better}).",
                stacklevel=3,
            )

    def from_statistics(self, statistics: Scores) -> Scores:
        """Compute corpus BLEU from the summed counts of the outputs."""
        return self._compute_bleu_scores(statistics, effective_order=self.effective_order)

    def compute_segment_scores(self, statistics: Scores) -> Scores:
        """Compute sentence BLEU for each output. An output that is too short for the longest n-grams is
        scored by shorter ones.
        """
        return self._compute_bleu_scores(statistics, effective_order=True)

    def describe_score_like_sacrebleu(self, statistics: Scores, reference_count: int) -> OfficialScore | None:
        """Return what sacrebleu prints with a BLEU score: signature, precisions, brevity penalty and counts.
        None if sacrebleu has no such score.
        """
        from sacrebleu.metrics.bleu import BLEU

        if self.order != _DEFAULT_ORDER:  # sacrebleu's signature does not name the order
            return None
        signature = build_sacrebleu_signature(self, _build_sacrebleu_metric, reference_count)
        if signature is None:
            return None
        lengths, matches, totals = np.split(statistics.astype(int), [2, 2 + self.order])
        score = BLEU.compute_bleu(
            matches.tolist(),
            totals.tolist(),
            int(lengths[0]),
            int(lengths[1]),
            self.smoothing,
            self.smooth_value,
            self.effective_order,
        )
        return OfficialScore(
            name="BLEU",
            signature=signature,
            precisions=list(score.precisions),
            brevity_penalty=score.bp,
            length_ratio=score.ratio,
            output_length=score.sys_len,
            reference_length=score.ref_len,
            matches=score.counts,
            ngrams=score.totals,
        )

    def _compute_bleu_scores(self, statistics: Scores, *, effective_order: bool) -> Scores:
        """Compute BLEU for each row of counts, with the smoothing of this metric."""
        rows = np.ascontiguousarray(statistics, dtype=np.float64).reshape(-1, 2 + 2 * self.order)
        smooth_value = self.smooth_value
        if smooth_value is None:
            smooth_value = _DEFAULT_SMOOTH_VALUES[self.smoothing]
        scores = compute_bleu(rows, self.smoothing, float(smooth_value), effective_order=effective_order)
        return scores.reshape(np.shape(statistics)[:-1])


def _should_avoid_loading_numba(output_count: int) -> bool:
    """Return whether there are so few outputs that loading Numba would take longer than computing without
    it.
    """
    return output_count <= _FEW_OUTPUTS and "numba" not in sys.modules


def _build_sacrebleu_metric(*, tokenizer: str, smoothing: str, order: int, **settings: Any) -> BLEU:
    """Create sacrebleu's BLEU object with the same settings. It provides the signature."""
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize=tokenizer, smooth_method=smoothing, max_ngram_order=order, **settings)
