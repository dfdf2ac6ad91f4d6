"""ROUGE-1, ROUGE-2 and ROUGE-L (Lin, 2004), with the numbers of rouge-score."""

from __future__ import annotations

import functools
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, UnknownName
from metassay.metrics.base import Batch, Metric, Scores
from metassay.metrics.batch_tokens import (
    SPACES,
    Couples,
    batch_texts,
    mapped,
    pairing,
    tokenized,
    warn_of_words,
)
from metassay.metrics.kernels.edit_counts import lcs_lengths
from metassay.metrics.kernels.ngrams import shared_ngrams
from metassay.metrics.kernels.text_arrays import Packed, Tokens
from metassay.metrics.kernels.tokenization import AT_SPACES, LATIN_ALPHANUMERIC
from metassay.text.tokenizers import AUTO, primary
from metassay.text.tokens import porter_stem
from metassay.text.words import WITHOUT_SPACES

TOKENIZERS = (AUTO, "official", "unicode", "characters")
MEASURES = ("precision", "recall", "fmeasure")

_OTHER_SCRIPTS = frozenset(
    (
        "am",
        "ar",
        "be",
        "bg",
        "bn",
        "el",
        "fa",
        "gu",
        "he",
        "hi",
        "hy",
        "ja",
        "ka",
        "kk",
        "km",
        "kn",
        "ko",
        "lo",
    )
) | frozenset(
    ("mk", "ml", "mn", "mr", "my", "ne", "pa", "ru", "si", "sr", "ta", "te", "th", "uk", "ur", "yi", "zh")
)
"""Languages not written in Latin script, of which the official tokeniser leaves nothing."""

_SPACELESS_SCRIPTS = ("Han", "Hiragana", "Katakana", "Bopomofo", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan")


@dataclass(frozen=True)
class _Compared:
    """Tokenised texts of a batch and what its couples share, counted when first asked for."""

    tokens: Tokens
    couples: Couples

    @functools.cached_property
    def shared_ngrams(self) -> Scores:
        """Unigrams and bigrams in common: [couples, 2]."""
        ids, offsets, _ = self.tokens
        alone = np.arange(len(offsets))
        outputs, references = self.couples.outputs, self.couples.references
        common = shared_ngrams(ids, offsets, outputs, references, alone, alone[:-1].copy(), 2)
        return common.astype(np.float64)

    @functools.cached_property
    def subsequences(self) -> Scores:
        """Lengths of the longest common subsequences: [couples]."""
        return lcs_lengths(*self.tokens, self.couples.outputs, self.couples.references).astype(np.float64)

    def lengths(self, order: int) -> tuple[Scores, Scores]:
        """How many n-grams the output and the reference of each couple have."""
        lengths = np.maximum(np.diff(self.tokens.offsets) - (order - 1), 0).astype(np.float64)
        return lengths[self.couples.outputs], lengths[self.couples.references]


@dataclass(frozen=True)
class _Rouge(Metric):
    """F-measure (or precision, or recall) of what output and reference share; the best reference counts.

    The official tokeniser keeps a–z and 0–9 alone, so on other scripts nothing is left and almost everything
    ties. There `tokenizer=auto` takes runs of Unicode letters, marks and digits instead (`unicode`), and
    warns; for data in languages written without spaces each letter is a word of its own (`characters`).
    """

    stemming: bool = False
    tokenizer: str = AUTO
    measure: str = "fmeasure"

    task: ClassVar[str] = "mt"
    oracle: ClassVar[str] = "rouge-score 0.1.2"

    def __post_init__(self) -> None:
        if self.tokenizer not in TOKENIZERS:
            raise UnknownName("tokenizer", self.tokenizer, TOKENIZERS)
        if self.measure not in MEASURES:
            raise UnknownName("measure", self.measure, MEASURES)

    def settings(self, language: str | None) -> dict[str, Any]:
        """Characters for a language without spaces, unless a tokeniser was named."""
        by_character = self.tokenizer == AUTO and primary(language) in WITHOUT_SPACES
        return super().settings(language) | ({"tokenizer": "characters"} if by_character else {})

    def score(self, batch: Batch) -> Scores:
        """The measure of each output, between 0 and 1."""
        tokenizer = self.used(batch)["tokenizer"]
        if tokenizer != "characters":
            warn_of_words(self, batch.language)
        if tokenizer in {"unicode", "characters"}:
            return self._scores(batch, tokenizer)
        other = batch.compute_once("rouge scripts", lambda: _other_script(batch))
        if not other.any():
            return self._scores(batch, "official")
        if self.tokenizer == "official":
            raise InputError(
                "rouge-score keeps the letters a–z and digits alone: of these references it leaves nothing.",
                remedy=f"Use {self.name}(tokenizer=unicode).",
            )
        warnings.warn(
            f"{self.label} uses Unicode letters here: rouge-score's own tokeniser knows only a–z and digits.",
            stacklevel=2,
        )
        if other.all():
            return self._scores(batch, "unicode")
        return np.where(other, self._scores(batch, "unicode"), self._scores(batch, "official"))

    def _scores(self, batch: Batch, tokenizer: str) -> Scores:
        compared = batch.compute_once(
            ("rouge", tokenizer, self.stemming),
            lambda: _Compared(_tokens(batch, tokenizer, stemming=self.stemming), pairing(batch).couples()),
        )
        common, output, reference = self._counts(compared)
        precision, recall = common / np.maximum(output, 1), common / np.maximum(reference, 1)
        both = precision + recall
        f = 2 * precision * recall / np.where(both > 0, both, 1)
        wanted = {"precision": precision, "recall": recall, "fmeasure": f}[self.measure]
        best = compared.couples.best(wanted[:, None], f)[:, 0]
        return best[pairing(batch).rows]

    @abstractmethod
    def _counts(self, compared: _Compared) -> tuple[Scores, Scores, Scores]:
        """Of each couple: units in common, of the output, of the reference."""


@dataclass(frozen=True)
class _RougeN(_Rouge):
    """Shared n-grams."""

    order: ClassVar[int]

    def _counts(self, compared: _Compared) -> tuple[Scores, Scores, Scores]:
        return compared.shared_ngrams[:, self.order - 1], *compared.lengths(self.order)


@dataclass(frozen=True)
class Rouge1(_RougeN):
    """Words in common."""

    name: ClassVar[str] = "rouge1"
    title: ClassVar[str] = "ROUGE-1"
    order: ClassVar[int] = 1
    summary: ClassVar[str] = "words in common (rouge-score)"


@dataclass(frozen=True)
class Rouge2(_RougeN):
    """Pairs of neighbouring words in common."""

    name: ClassVar[str] = "rouge2"
    title: ClassVar[str] = "ROUGE-2"
    order: ClassVar[int] = 2
    summary: ClassVar[str] = "pairs of neighbouring words in common (rouge-score)"


@dataclass(frozen=True)
class RougeL(_Rouge):
    """Words of the longest common subsequence."""

    name: ClassVar[str] = "rougel"
    title: ClassVar[str] = "ROUGE-L"
    summary: ClassVar[str] = "longest common subsequence of words (rouge-score)"

    def _counts(self, compared: _Compared) -> tuple[Scores, Scores, Scores]:
        return compared.subsequences, *compared.lengths(1)


def _tokens(batch: Batch, tokenizer: str, *, stemming: bool) -> Tokens:
    texts = batch_texts(batch, lowercase=True)
    if tokenizer in {"unicode", "characters"}:
        prepared = _unicode_words(texts)
        prepared = _single_letters(prepared) if tokenizer == "characters" else prepared
        tokens, words = tokenized(prepared, SPACES, AT_SPACES)
    else:
        tokens, words = tokenized(texts, SPACES, LATIN_ALPHANUMERIC)
    return _stemmed(tokens, words) if stemming else tokens


def _stemmed(tokens: Tokens, words: Packed) -> Tokens:
    """Stems in place of words of more than three characters, as rouge-score does."""
    return mapped(tokens, words, lambda word: porter_stem(word) if len(word) > 3 else word)


def _unicode_words(texts: Sequence[str]) -> list[str]:
    """The texts with everything but letters, marks and digits replaced by spaces."""
    separators = _pattern(r"[^\p{L}\p{M}\p{N}]+")
    return [separators.sub(" ", text) for text in texts]


def _single_letters(texts: Sequence[str]) -> list[str]:
    """The texts with spaces around every letter, marks and all, of a script that is written without them."""
    scripts = "".join(rf"\p{{{name}}}" for name in _SPACELESS_SCRIPTS)
    letters = _pattern(rf"([{scripts}]\p{{M}}*)")
    return [letters.sub(r" \1 ", text) for text in texts]


@functools.cache
def _pattern(text: str) -> Any:
    """A pattern with Unicode properties, which only the `regex` package (sacrebleu brings it) knows."""
    import regex  # type: ignore[import-untyped]

    return regex.compile(text)


def _other_script(batch: Batch) -> NDArray[np.bool_]:
    """For each row, whether its references are in a script that the official tokeniser drops."""
    if batch.language is not None:
        return np.full(len(batch), primary(batch.language) in _OTHER_SCRIPTS)
    known: dict[str, bool] = {}
    for own in batch.references:
        if own[0] not in known:
            known[own[0]] = _mostly_not_latin(own[0])
    return np.array([known[own[0]] for own in batch.references], dtype=np.bool_)


def _mostly_not_latin(text: str) -> bool:
    if text.isascii():
        return False
    letters, latin = (len(_pattern(kind).findall(text)) for kind in (r"\p{L}", r"\p{Latin}"))
    return bool(2 * latin < letters)


METRICS = (Rouge1, Rouge2, RougeL)
