"""Word error rate and its relatives, from one alignment per output, with jiwer's numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metassay.metrics.base import Batch, Scores, StatisticsMetric
from metassay.metrics.batch_tokens import split_batch_into_words, warn_if_language_has_no_spaces
from metassay.metrics.edit_statistics import compute_error_rates, count_edits_by_kind
from metassay.text.tokenizers import SPLIT_AS_JIWER


@dataclass(frozen=True)
class WordEditMetric(StatisticsMetric):
    """Base class of metrics computed from numbers of correct words (hits, H), substitutions (S), deletions
    (D) and insertions (I).
    """

    task: ClassVar[str] = "asr"
    higher_is_better: ClassVar[bool] = False
    oracle: ClassVar[str] = "jiwer 4.0.0"

    def statistics(self, batch: Batch) -> Scores:
        """Count the correct, substituted, deleted and inserted words of each output."""
        warn_if_language_has_no_spaces(self, batch.language)
        words = split_batch_into_words(batch, SPLIT_AS_JIWER)
        return batch.compute_once("word edits", lambda: count_edits_by_kind(batch, words))


@dataclass(frozen=True)
class WordErrorRate(WordEditMetric):
    """Word error rate: number of substituted, deleted and inserted words, divided by the words of the
    reference: (S + D + I) / (H + S + D).

    Equals `jiwer.wer`, but for an empty reference, where jiwer returns the number of insertions and we have
    no rate: undefined (NaN).
    """

    name: ClassVar[str] = "wer"
    title: ClassVar[str] = "WER"
    summary: ClassVar[str] = "word error rate (jiwer)"

    def from_statistics(self, statistics: Scores) -> Scores:
        """Compute the number of edits per word of the reference from numbers of hits and edits."""
        return compute_error_rates(statistics)


@dataclass(frozen=True)
class MatchErrorRate(WordEditMetric):
    """Match error rate: share of edits among all steps of the word alignment: (S + D + I) / (H + S + D + I).

    It is 0 if output and reference are empty.
    """

    name: ClassVar[str] = "mer"
    title: ClassVar[str] = "MER"
    summary: ClassVar[str] = "match error rate (jiwer)"

    def from_statistics(self, statistics: Scores) -> Scores:
        """Compute the share of edits among all steps of the word alignment."""
        hits, substitutions, deletions, insertions = np.moveaxis(statistics, -1, 0)
        edits = substitutions + deletions + insertions
        rate: Scores = edits / np.maximum(hits + edits, 1)
        return rate


@dataclass(frozen=True)
class WordInformationPreserved(WordEditMetric):
    """Word information preserved: share of reference words that are correct, multiplied by the share of
    output words that are correct.

    This is H / (H + S + D) · H / (H + S + I), and 1 if output and reference are empty.
    """

    name: ClassVar[str] = "wip"
    title: ClassVar[str] = "WIP"
    higher_is_better: ClassVar[bool] = True
    summary: ClassVar[str] = "word information preserved (jiwer)"

    def from_statistics(self, statistics: Scores) -> Scores:
        """Compute the share of correct reference words times the share of correct output words."""
        return _compute_word_information_preserved(statistics)


@dataclass(frozen=True)
class WordInformationLost(WordEditMetric):
    """Word information lost: 1 minus word information preserved."""

    name: ClassVar[str] = "wil"
    title: ClassVar[str] = "WIL"
    summary: ClassVar[str] = "word information lost (jiwer)"

    def from_statistics(self, statistics: Scores) -> Scores:
        """Compute 1 minus word information preserved."""
        lost: Scores = 1 - _compute_word_information_preserved(statistics)
        return lost


def _compute_word_information_preserved(edit_counts: Scores) -> Scores:
    """Multiply the share of reference words that are correct by the share of output words that are
    correct.
    """
    hits, substitutions, deletions, insertions = np.moveaxis(edit_counts, -1, 0)
    reference_length = hits + substitutions + deletions
    output_length = hits + substitutions + insertions
    share = (hits / np.maximum(reference_length, 1)) * (hits / np.maximum(output_length, 1))
    is_empty = (reference_length == 0) & (output_length == 0)
    return np.where(is_empty, 1.0, share)
