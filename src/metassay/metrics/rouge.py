"""ROUGE-1, ROUGE-2 and ROUGE-L (Lin, 2004) with the numbers of rouge-score."""

from __future__ import annotations

import functools
import warnings
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, UnknownName
from metassay.metrics.base import Batch, Metric, Parameters, Scores
from metassay.metrics.batch_tokens import (
    get_distinct_texts,
    replace_distinct_words,
    tokenize_texts_into_words,
    warn_if_language_has_no_spaces,
)
from metassay.metrics.kernels.common_subsequence import compute_longest_common_subsequence_lengths
from metassay.metrics.kernels.text_arrays import TokenSequences
from metassay.metrics.ngram_statistics import count_ngrams_shared_with_reference
from metassay.metrics.scoring_inputs import SingleReferenceInputs, find_distinct_inputs
from metassay.text.languages import get_base_language
from metassay.text.porter_stemmer import stem_word
from metassay.text.tokenizers import AUTO, SPLIT_AS_ROUGE
from metassay.text.words import WITHOUT_SPACES

if TYPE_CHECKING:
    import regex  # type: ignore[import-untyped]

OFFICIAL, UNICODE, CHARACTERS = "official", "unicode", "characters"
TOKENIZERS = (AUTO, OFFICIAL, UNICODE, CHARACTERS)
MEASURES = ("precision", "recall", "fmeasure")
# rouge-score stems words of more than three characters only.
_SHORTEST_STEMMED = 4

# fmt: off
# Languages not written in Latin script, of which the official tokeniser leaves nothing.
_NON_LATIN_LANGUAGES = frozenset({
    "am", "ar", "be", "bg", "bn", "el", "fa", "gu", "he", "hi", "hy", "ja",
    "ka", "kk", "km", "kn", "ko", "lo", "mk", "ml", "mn", "mr", "my", "ne",
    "pa", "ru", "si", "sr", "ta", "te", "th", "uk", "ur", "yi", "zh",
})
# fmt: on
_SPACELESS_SCRIPTS = ("Han", "Hiragana", "Katakana", "Bopomofo", "Thai", "Lao", "Khmer", "Myanmar", "Tibetan")


class OverlapCounts(NamedTuple):
    """What ROUGE counts in each pair of output and reference: the words or word sequences that both share,
    those of the output, and those of the reference.
    """

    shared: Scores
    output: Scores
    reference: Scores


@dataclass(frozen=True)
class TokenizedInputs:
    """The tokens of outputs and references, and the numbers of words that they share, for use by ROUGE-1,
    ROUGE-2 and ROUGE-L.

    What outputs and references have in common is counted when a metric first needs it.
    """

    tokens: TokenSequences
    inputs: SingleReferenceInputs

    @functools.cached_property
    def shared_ngram_counts(self) -> Scores:
        """Numbers of words (first column) and word pairs (second column) that each output shares with its
        reference.
        """
        return count_ngrams_shared_with_reference(self.tokens, self.inputs, 2).astype(np.float64)

    @functools.cached_property
    def longest_common_subsequence_lengths(self) -> Scores:
        """Number of words in the longest common subsequence of each output and its reference."""
        lengths = compute_longest_common_subsequence_lengths(
            *self.tokens, self.inputs.outputs, self.inputs.references
        )
        return lengths.astype(np.float64)

    def count_ngrams(self, order: int) -> tuple[Scores, Scores]:
        """Count the n-grams (n = `order`) of each output and of its reference."""
        counts = np.maximum(np.diff(self.tokens.offsets) - (order - 1), 0).astype(np.float64)
        return counts[self.inputs.outputs], counts[self.inputs.references]


@dataclass(frozen=True)
class RougeMetric(Metric):
    """Base class of ROUGE-1, ROUGE-2 and ROUGE-L, which measure what an output shares with its reference. Of
    several references, the best one counts.

    The official tokeniser keeps a–z and 0–9 only, so that nothing is left of other scripts and almost
    everything ties. There `tokenizer=auto` takes runs of Unicode letters, marks and digits instead
    (`unicode`), and warns; for data in languages written without spaces each letter is a word of its own
    (`characters`).
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

    @abstractmethod
    def _count_overlap_with_references(self, tokenized_inputs: TokenizedInputs) -> OverlapCounts:
        """Count what this kind of ROUGE compares (words, word pairs or common subsequences) in each output,
        in its reference, and in both.
        """

    def get_parameters_for_language(self, language: str | None) -> Parameters:
        """Return the values of all parameters. The tokeniser is the default for the language unless the user
        named one.
        """
        return super().get_parameters_for_language(language) | {"tokenizer": self._choose_tokenizer(language)}

    def _choose_tokenizer(self, language: str | None) -> str:
        """Return the name of the tokeniser that the user chose, or else of the default for the language."""
        if self.tokenizer == AUTO and get_base_language(language) in WITHOUT_SPACES:
            return CHARACTERS
        return self.tokenizer

    def score(self, batch: Batch) -> Scores:
        """Compute the F-measure, precision or recall of each output, between 0 and 1."""
        tokenizer = self._choose_tokenizer(self.choose_language_for_parameters(batch))
        if tokenizer != CHARACTERS:
            warn_if_language_has_no_spaces(self, batch.language)
        if tokenizer in {UNICODE, CHARACTERS}:
            return self._score_with_tokenizer(tokenizer, batch)
        is_non_latin = batch.compute_once("non-Latin references", lambda: _find_non_latin_references(batch))
        if not is_non_latin.any():
            return self._score_with_tokenizer(OFFICIAL, batch)
        if self.tokenizer == OFFICIAL:
            raise InputError(
                "rouge-score keeps only the letters a–z and digits, so nothing is left of these references.",
                remedy=f"Use {self.name}(tokenizer=unicode).",
            )
        warnings.warn(
            f"{self.label} is computed on Unicode letters, because the tokeniser of rouge-score keeps only "
            "a–z and digits.",
            stacklevel=2,
        )
        if is_non_latin.all():
            return self._score_with_tokenizer(UNICODE, batch)
        return np.where(
            is_non_latin,
            self._score_with_tokenizer(UNICODE, batch),
            self._score_with_tokenizer(OFFICIAL, batch),
        )

    def _score_with_tokenizer(self, tokenizer: str, batch: Batch) -> Scores:
        """Score the outputs of a batch, with texts that are split by the named tokeniser."""
        inputs = find_distinct_inputs(batch)

        def tokenize() -> TokenizedInputs:
            tokens = _tokenize_for_rouge(batch, tokenizer, stemming=self.stemming)
            return TokenizedInputs(tokens, inputs.pair_outputs_with_each_reference())

        tokenized = batch.compute_once(("rouge tokens", tokenizer, self.stemming), tokenize)
        counts = self._count_overlap_with_references(tokenized)
        precision = counts.shared / np.maximum(counts.output, 1)
        recall = counts.shared / np.maximum(counts.reference, 1)
        total = precision + recall
        f_measure = 2 * precision * recall / np.where(total > 0, total, 1)
        values = {"precision": precision, "recall": recall, "fmeasure": f_measure}[self.measure]
        best = tokenized.inputs.select_best_reference(values[:, None], f_measure)[:, 0]
        return best[inputs.input_of_row]


@dataclass(frozen=True)
class Rouge1(RougeMetric):
    """ROUGE-1: F-measure of shared words."""

    name: ClassVar[str] = "rouge1"
    title: ClassVar[str] = "ROUGE-1"
    summary: ClassVar[str] = "words in common (rouge-score)"

    def _count_overlap_with_references(self, tokenized_inputs: TokenizedInputs) -> OverlapCounts:
        return OverlapCounts(tokenized_inputs.shared_ngram_counts[:, 0], *tokenized_inputs.count_ngrams(1))


@dataclass(frozen=True)
class Rouge2(RougeMetric):
    """ROUGE-2: F-measure of shared word pairs (bigrams)."""

    name: ClassVar[str] = "rouge2"
    title: ClassVar[str] = "ROUGE-2"
    summary: ClassVar[str] = "pairs of neighbouring words in common (rouge-score)"

    def _count_overlap_with_references(self, tokenized_inputs: TokenizedInputs) -> OverlapCounts:
        return OverlapCounts(tokenized_inputs.shared_ngram_counts[:, 1], *tokenized_inputs.count_ngrams(2))


@dataclass(frozen=True)
class RougeL(RougeMetric):
    """ROUGE-L: F-measure of the longest common subsequence of words."""

    name: ClassVar[str] = "rougel"
    title: ClassVar[str] = "ROUGE-L"
    summary: ClassVar[str] = "longest common subsequence of words (rouge-score)"

    def _count_overlap_with_references(self, tokenized_inputs: TokenizedInputs) -> OverlapCounts:
        return OverlapCounts(
            tokenized_inputs.longest_common_subsequence_lengths, *tokenized_inputs.count_ngrams(1)
        )


def _tokenize_for_rouge(batch: Batch, tokenizer: str, *, stemming: bool) -> TokenSequences:
    """Split the distinct texts of a batch into words, in lower case, and stem them if requested."""
    texts = get_distinct_texts(batch, lowercase=True)
    if tokenizer == UNICODE:
        tokens, words = tokenize_texts_into_words(_replace_non_word_characters_by_spaces(texts))
    elif tokenizer == CHARACTERS:
        tokens, words = tokenize_texts_into_words(
            _add_spaces_around_letters(_replace_non_word_characters_by_spaces(texts))
        )
    else:
        tokens, words = tokenize_texts_into_words(texts, SPLIT_AS_ROUGE)
    return replace_distinct_words(tokens, words, _stem_word) if stemming else tokens


def _stem_word(word: str) -> str:
    """Return the Porter stem of a word. Words of up to three characters stay unchanged."""
    return stem_word(word) if len(word) >= _SHORTEST_STEMMED else word


def _replace_non_word_characters_by_spaces(texts: Sequence[str]) -> list[str]:
    """Replace every run of characters that are not letters, marks or digits by a space."""
    separators = _compile_unicode_pattern(r"[^\p{L}\p{M}\p{N}]+")
    return [separators.sub(" ", text) for text in texts]


def _add_spaces_around_letters(texts: Sequence[str]) -> list[str]:
    """Put spaces around every letter of scripts that are written without spaces, such as Chinese or Thai."""
    scripts = "".join(rf"\p{{{name}}}" for name in _SPACELESS_SCRIPTS)
    letters = _compile_unicode_pattern(rf"([{scripts}]\p{{M}}*)")
    return [letters.sub(r" \1 ", text) for text in texts]


@functools.lru_cache(maxsize=8)
def _compile_unicode_pattern(pattern: str) -> regex.Pattern[str]:
    """Compile a regular expression with Unicode properties, which the standard library does not support."""
    import regex

    return regex.compile(pattern)


def _find_non_latin_references(batch: Batch) -> NDArray[np.bool_]:
    """Return, for each output, whether its reference is in a script that rouge-score removes, such as
    Chinese.
    """
    if batch.language is not None:
        return np.full(len(batch), get_base_language(batch.language) in _NON_LATIN_LANGUAGES)
    first_references = [references[0] for references in batch.references]
    is_non_latin = {text: _has_mostly_non_latin_letters(text) for text in set(first_references)}
    return np.array([is_non_latin[text] for text in first_references], dtype=np.bool_)


def _has_mostly_non_latin_letters(text: str) -> bool:
    """Return whether more than half of the letters of a text are not Latin."""
    if text.isascii():
        return False
    letters = len(_compile_unicode_pattern(r"\p{L}").findall(text))
    latin_letters = len(_compile_unicode_pattern(r"\p{Latin}").findall(text))
    return 2 * latin_letters < letters
