"""Metrics of shared n-grams with sacrebleu's numbers: BLEU, chrF and chrF++.

chrF is of Popović (2015), chrF++ of Popović (2017).
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metassay.errors import InputError, UnknownName
from metassay.metrics.base import Batch, Scores, StatisticsMetric, check_range
from metassay.metrics.batch_tokens import (
    Couples,
    Index,
    Pairing,
    batch_characters,
    batch_split,
    batch_words,
    pairing,
    sacrebleu_signature,
)
from metassay.metrics.kernels.ngrams import (
    SMOOTH_ADD_K,
    SMOOTH_EXP,
    SMOOTH_FLOOR,
    SMOOTH_NONE,
    bleu_scores,
    chrf_scores,
    shared_ngrams,
)
from metassay.metrics.kernels.text_arrays import Tokens
from metassay.metrics.kernels.tokenization import CHRF_WORDS
from metassay.specs import format_label
from metassay.text.tokenizers import (
    AUTO,
    BLEU_TOKENIZERS,
    language_tokenizer,
    missing_tokenizer,
    spaceless_tokenizer,
)

_SMOOTHINGS = {"none": SMOOTH_NONE, "floor": SMOOTH_FLOOR, "add-k": SMOOTH_ADD_K, "exp": SMOOTH_EXP}
_TOKENIZER = "13a"
_ORDER = 4
_HIGHEST_ORDER = 100
_DEFAULT_VALUES = {"none": 0.0, "floor": 0.1, "add-k": 1.0, "exp": 0.0}


@dataclass(frozen=True)
class Bleu(StatisticsMetric):
    """Brevity penalty × geometric mean of the clipped n-gram precisions, in per cent.

    Statistics: output length, reference length (closest to the output's), clipped matches for n = 1 … order,
    n-grams of the output for n = 1 … order. Equals `sacrebleu.corpus_bleu`; single outputs are scored as
    `sacrebleu.sentence_bleu` does, with the effective order. Where no tokeniser is named it is 13a; for data
    in Chinese, Japanese and Korean that of the language, as in sacrebleu's command line.
    """

    tokenizer: str = AUTO
    lowercase: bool = False
    smoothing: str = "exp"
    smooth_value: float | None = None
    order: int = _ORDER
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
        check_range(self.name, "order", self.order, 1, _HIGHEST_ORDER)
        if self.smooth_value is not None:
            check_range(self.name, "smooth_value", self.smooth_value, 0)

    def settings(self, language: str | None) -> dict[str, Any]:
        """The tokeniser of the language, unless one was named."""
        chosen = language_tokenizer(language) or _TOKENIZER
        return super().settings(language) | ({"tokenizer": chosen} if self.tokenizer == AUTO else {})

    def statistics(self, batch: Batch) -> Scores:
        """Lengths, matches and totals of each output."""
        tokenizer = self.used(batch)["tokenizer"]
        self._warn(batch.language, tokenizer)
        pairs = pairing(batch)
        tokens = batch_words(batch, tokenizer, lowercase=self.lowercase)
        return ngram_statistics(tokens, pairs, self.order)[pairs.rows]

    def _warn(self, language: str | None, tokenizer: str) -> None:
        """A note where words are not what they should be in the language."""
        missing = missing_tokenizer(language)
        if missing is not None and self.tokenizer == AUTO and self.languages:
            warnings.warn(
                f"{self.label} for {language} is computed on characters (char): {missing}, which sacrebleu "
                "would use, is not installed.",
                stacklevel=3,
            )
        better = language_tokenizer(language) or spaceless_tokenizer(language)
        if better is not None and tokenizer in {"13a", "none", "intl"}:
            warnings.warn(
                f"{self.label} on words split at spaces says little about {language}: consider "
                f"{self.name}(tokenizer={better}).",
                stacklevel=3,
            )

    def from_statistics(self, statistics: Scores) -> Scores:
        """Corpus BLEU."""
        return self._scores(statistics, effective_order=self.effective_order)

    def segment_scores(self, statistics: Scores) -> Scores:
        """Sentence BLEU, with the effective order."""
        return self._scores(statistics, effective_order=True)

    def describe_official_score(self, statistics: Scores, references: int) -> dict[str, Any] | None:
        """Sacrebleu's signature, precisions, brevity penalty and counts."""
        from sacrebleu.metrics.bleu import BLEU

        if self.order != _ORDER:  # which the signature does not name
            return None
        signature = sacrebleu_signature(self, _sacrebleu, references)
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
        return {
            "name": "BLEU",
            "signature": signature,
            "precisions": list(score.precisions),
            "brevity_penalty": score.bp,
            "length_ratio": score.ratio,
            "output_length": score.sys_len,
            "reference_length": score.ref_len,
            "matches": score.counts,
            "ngrams": score.totals,
        }

    def _scores(self, statistics: Scores, *, effective_order: bool) -> Scores:
        rows = np.ascontiguousarray(statistics, dtype=np.float64).reshape(-1, 2 + 2 * self.order)
        value = _DEFAULT_VALUES[self.smoothing] if self.smooth_value is None else float(self.smooth_value)
        scores = bleu_scores(rows, _SMOOTHINGS[self.smoothing], value, effective_order)
        return np.asarray(scores).reshape(np.shape(statistics)[:-1])


def _sacrebleu(*, tokenizer: str, smoothing: str, order: int, **same: Any) -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(tokenize=tokenizer, smooth_method=smoothing, max_ngram_order=order, **same)


def ngram_statistics(tokens: Tokens, pairs: Pairing, order: int) -> Scores:
    """For each pair: lengths of output and closest reference, clipped matches, n-grams of the output."""
    matches = shared_ngrams(
        tokens.ids, tokens.offsets, pairs.outputs, pairs.sets, pairs.set_offsets, pairs.set_members, order
    )
    lengths = np.diff(tokens.offsets)
    output_lengths = lengths[pairs.outputs]
    totals = np.maximum(output_lengths[:, None] - np.arange(order), 0)
    reference_lengths = _closest_lengths(output_lengths, lengths, pairs)
    columns = [output_lengths[:, None], reference_lengths[:, None], matches, totals]
    return np.hstack(columns).astype(np.float64)


def _closest_lengths(output_lengths: Index, lengths: Index, pairs: Pairing) -> Index:
    """For each pair, the length of the reference closest to the output's; of two as close, the shorter."""
    if len(pairs.set_members) == len(pairs.set_offsets) - 1:
        only: Index = lengths[pairs.set_members[pairs.sets]]
        return only
    closest = np.empty(len(output_lengths), dtype=np.int64)
    for pair, (own, k) in enumerate(zip(output_lengths, pairs.sets)):
        of_references = lengths[pairs.set_members[pairs.set_offsets[k] : pairs.set_offsets[k + 1]]]
        closest[pair] = min(of_references, key=lambda length: (abs(own - length), length))
    return closest


_HIGHEST_CHRF_ORDER = 100


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
            check_range(self.name, parameter, getattr(self, parameter), 0, _HIGHEST_CHRF_ORDER)
        check_range(self.name, "beta", self.beta, 0)
        if self.char_order + self.word_order == 0:
            raise InputError("chrF needs a positive char_order or word_order.")

    @property
    def label(self) -> str:
        """`chrF`, with a plus for each order of words up to two."""
        others = {key: value for key, value in self.parameters.items() if key != "word_order"}
        if self.word_order > 2:
            return super().label
        return format_label(self.title + "+" * self.word_order, others)

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

    def describe_official_score(self, statistics: Scores, references: int) -> dict[str, Any] | None:
        """Sacrebleu's name, with β in it, and signature."""
        from sacrebleu.metrics.chrf import CHRF

        del statistics
        signature = sacrebleu_signature(self, CHRF, references)
        name = f"chrF{self.beta:g}" + "+" * self.word_order
        return None if signature is None else {"name": name, "signature": signature}


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


METRICS = (Bleu, Chrf)
