"""Metrics of edits: word error rate and its relatives, from one alignment of output and reference, and
translation edit rate (Snover et al., 2006), with sacrebleu's numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError
from metassay.metrics.alignment import align_characters
from metassay.metrics.base import Batch, Scores, StatisticsMetric
from metassay.metrics.batch_tokens import (
    SPACES,
    Couples,
    batch_characters,
    batch_split,
    batch_texts,
    pairing,
    sacrebleu_signature,
    tokenized,
    warn_of_words,
)
from metassay.metrics.kernels.edit_counts import DELETIONS, HITS, INSERTIONS, SUBSTITUTIONS, edit_counts
from metassay.metrics.kernels.ter import ter_edits
from metassay.metrics.kernels.text_arrays import Tokens
from metassay.metrics.kernels.tokenization import JIWER_WORDS
from metassay.text.tokenizers import primary


@dataclass(frozen=True)
class _ErrorRate(StatisticsMetric):
    """A rate computed from hits H, substitutions S, deletions D and insertions I of words."""

    task: ClassVar[str] = "asr"
    higher_is_better: ClassVar[bool] = False
    oracle: ClassVar[str] = "jiwer 4.0.0"

    def statistics(self, batch: Batch) -> Scores:
        """Hits, substitutions, deletions and insertions of each output."""
        warn_of_words(self, batch.language)
        return batch.compute_once("word edits", lambda: _edits(batch, batch_split(batch, JIWER_WORDS)))


@dataclass(frozen=True)
class WordErrorRate(_ErrorRate):
    """Edits needed per reference word: (S + D + I) / (H + S + D).

    Equals `jiwer.wer` but for an empty reference, where jiwer returns the number of insertions and there is
    no rate: undefined (NaN).
    """

    name: ClassVar[str] = "wer"
    title: ClassVar[str] = "WER"
    summary: ClassVar[str] = "word error rate (jiwer)"

    def from_statistics(self, statistics: Scores) -> Scores:
        """Edits per reference word."""
        return _edit_rate(statistics)


@dataclass(frozen=True)
class MatchErrorRate(_ErrorRate):
    """Share of matches that are wrong: (S + D + I) / (H + S + D + I); 0 for nothing against nothing."""

    name: ClassVar[str] = "mer"
    title: ClassVar[str] = "MER"
    summary: ClassVar[str] = "match error rate (jiwer)"

    def from_statistics(self, statistics: Scores) -> Scores:
        """Edits per match."""
        hits, substitutions, deletions, insertions = np.moveaxis(statistics, -1, 0)
        edits = substitutions + deletions + insertions
        rate: Scores = edits / np.maximum(hits + edits, 1)
        return rate


@dataclass(frozen=True)
class WordInformationPreserved(_ErrorRate):
    """Hits per reference word × hits per output word; 1 for nothing against nothing."""

    name: ClassVar[str] = "wip"
    title: ClassVar[str] = "WIP"
    higher_is_better: ClassVar[bool] = True
    summary: ClassVar[str] = "word information preserved (jiwer)"

    def from_statistics(self, statistics: Scores) -> Scores:
        """H / (H + S + D) · H / (H + S + I)."""
        return _preserved(statistics)


@dataclass(frozen=True)
class WordInformationLost(_ErrorRate):
    """1 − word information preserved."""

    name: ClassVar[str] = "wil"
    title: ClassVar[str] = "WIL"
    summary: ClassVar[str] = "word information lost (jiwer)"

    def from_statistics(self, statistics: Scores) -> Scores:
        """1 − WIP."""
        lost: Scores = 1 - _preserved(statistics)
        return lost


@dataclass(frozen=True)
class CharacterErrorRate(_ErrorRate):
    """Edits needed per reference character, inner spaces included: (S + D + I) / (H + S + D).

    Equals `jiwer.cer` but for an empty reference: undefined (NaN).
    """

    name: ClassVar[str] = "cer"
    title: ClassVar[str] = "CER"
    summary: ClassVar[str] = "character error rate (jiwer)"

    def statistics(self, batch: Batch) -> Scores:
        """Hits, substitutions, deletions and insertions of characters."""
        characters = batch_characters(batch, lowercase=False, with_spaces=True, stripped=True)
        return _edits(batch, characters)

    def from_statistics(self, statistics: Scores) -> Scores:
        """Edits per reference character."""
        return _edit_rate(statistics)


@dataclass(frozen=True)
class ScliteCharacterErrorRate(CharacterErrorRate):
    """The character error rate of sclite, whose cheapest alignment is not always that with the fewest edits.

    Higher than `cer` where three deletions and three insertions (3 each) beat five substitutions (4 each).
    """

    name: ClassVar[str] = "sclite_cer"
    title: ClassVar[str] = "sclite CER"
    oracle: ClassVar[str] = "sclite 2.10"
    summary: ClassVar[str] = "character error rate of sclite's alignment"

    def statistics(self, batch: Batch) -> Scores:
        """Hits, substitutions, deletions and insertions of characters, as sclite aligns them."""
        _check_single(batch)
        return batch.map_distinct(
            lambda output, references: list(
                align_characters(references[0].strip(), output.strip()).counts.values()
            )
        )


def _check_single(batch: Batch) -> None:
    if any(len(references) != 1 for references in batch.references):
        raise InputError(
            "error rates are defined for one reference; some outputs have several.",
            remedy="Keep one reference for each output.",
        )


def _edits(batch: Batch, tokens: Tokens) -> Scores:
    _check_single(batch)
    pairs = pairing(batch)
    couples = pairs.couples()
    counts = edit_counts(tokens.ids, tokens.offsets, tokens.size, couples.outputs, couples.references)
    for couple in np.flatnonzero(counts[:, HITS] < 0):
        counts[couple] = _divided_counts(tokens, couples, int(couple))
    return counts.astype(np.float64)[pairs.rows]


def _divided_counts(tokens: Tokens, couples: Couples, couple: int) -> NDArray[np.int64]:
    """The counts of two very long sequences, whose alignment rapidfuzz finds in parts."""
    from rapidfuzz.distance import Levenshtein

    reference, output = (
        tokens.ids[tokens.offsets[k] : tokens.offsets[k + 1]].tolist()
        for k in (couples.references[couple], couples.outputs[couple])
    )
    counts = np.zeros(4, dtype=np.int64)
    kinds = {"replace": SUBSTITUTIONS, "delete": DELETIONS, "insert": INSERTIONS}
    for edit in Levenshtein.editops(reference, output):
        counts[kinds[edit.tag]] += 1
    counts[HITS] = len(reference) - counts[SUBSTITUTIONS] - counts[DELETIONS]
    return counts


def _edit_rate(statistics: Scores) -> Scores:
    hits, substitutions, deletions, insertions = np.moveaxis(statistics, -1, 0)
    length = hits + substitutions + deletions
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(length > 0, (substitutions + deletions + insertions) / length, np.nan)


def _preserved(statistics: Scores) -> Scores:
    hits, substitutions, deletions, insertions = np.moveaxis(statistics, -1, 0)
    reference, output = hits + substitutions + deletions, hits + substitutions + insertions
    share = (hits / np.maximum(reference, 1)) * (hits / np.maximum(output, 1))
    return np.where((reference == 0) & (output == 0), 1.0, share)


_CHARACTERS = frozenset({"zh", "yue", "ja"})
"""Languages that sacrebleu's tokeniser for TER can split into characters."""


@dataclass(frozen=True)
class Ter(StatisticsMetric):
    """Edits and shifts of word runs per reference word, in per cent.

    Statistics: the fewest edits over the references, and their mean length. With an empty reference, 100 for
    any output that is not empty. Unless they are set, `normalized` and `asian_support` are off, but on for
    data in Chinese and Japanese, which they split into characters.
    """

    normalized: bool | None = None
    no_punct: bool = False
    asian_support: bool | None = None
    case_sensitive: bool = False

    name: ClassVar[str] = "ter"
    title: ClassVar[str] = "TER"
    task: ClassVar[str] = "mt"
    higher_is_better: ClassVar[bool] = False
    oracle: ClassVar[str] = "sacrebleu 2.6.0"
    summary: ClassVar[str] = "edits and shifts per reference word (sacrebleu)"

    def settings(self, language: str | None) -> dict[str, Any]:
        """Both settings for Asian text, on or off by language where they were left open."""
        settings, asian = super().settings(language), primary(language) in _CHARACTERS
        open_ones = [name for name in ("normalized", "asian_support") if settings[name] is None]
        return settings | dict.fromkeys(open_ones, asian)

    def statistics(self, batch: Batch) -> Scores:
        """Edits and reference length of each output."""
        pairs = pairing(batch)
        settings = self.used(batch)
        if not settings["asian_support"]:
            warn_of_words(self, batch.language)
        tokens = batch.compute_once(("ter", *settings.values()), lambda: _tokens(batch, settings))
        couples = pairs.couples()
        edits = ter_edits(tokens.ids, tokens.offsets, couples.outputs, couples.references)
        lengths = np.diff(tokens.offsets)[couples.references]
        columns = couples.restored(np.column_stack([edits, lengths]).astype(np.float64))
        starts = couples.pair_offsets[:-1]
        fewest = np.minimum.reduceat(columns[:, 0], starts)
        mean = np.add.reduceat(columns[:, 1], starts) / np.diff(couples.pair_offsets)
        return np.column_stack([fewest, mean])[pairs.rows]

    def from_statistics(self, statistics: Scores) -> Scores:
        """Edits per reference word, in per cent."""
        edits, length = np.moveaxis(statistics, -1, 0)
        rate = np.where(length > 0, edits / np.where(length > 0, length, 1), edits > 0)
        score: Scores = 100 * rate
        return score

    def describe_official_score(self, statistics: Scores, references: int) -> dict[str, Any] | None:
        """Sacrebleu's signature, and what is divided by what."""
        from sacrebleu.metrics.ter import TER

        signature = sacrebleu_signature(self, TER, references)
        edits, length = statistics.tolist()
        counts = {"edits": edits, "reference_length": length}
        return None if signature is None else {"name": "TER", "signature": signature} | counts


def _tokens(batch: Batch, settings: dict[str, Any]) -> Tokens:
    if not (settings["normalized"] or settings["no_punct"]):
        return tokenized(batch_texts(batch, lowercase=not settings["case_sensitive"]), SPACES)[0]
    from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

    official = TercomTokenizer(**settings)
    texts = [official(text.rstrip()) for text in pairing(batch).texts]
    return tokenized(texts, SPACES)[0]


METRICS = (
    WordErrorRate,
    MatchErrorRate,
    WordInformationLost,
    WordInformationPreserved,
    CharacterErrorRate,
    ScliteCharacterErrorRate,
    Ter,
)
