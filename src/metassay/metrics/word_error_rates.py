"""Word error rate and its relatives, from one alignment per output, with jiwer's numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metassay.metrics.base import Batch, Scores, StatisticsMetric
from metassay.metrics.batch_tokens import get_word_tokens, warn_if_written_without_spaces
from metassay.metrics.edit_statistics import compute_edit_statistics, compute_error_rate
from metassay.text.tokenizers import SPLIT_AS_JIWER


@dataclass(frozen=True)
class WordEditMetric(StatisticsMetric):
    """Base class of rates of hits H, substitutions S, deletions D and insertions I of words."""

    task: ClassVar[str] = "asr"
    higher_is_better: ClassVar[bool] = False
    oracle: ClassVar[str] = "jiwer 4.0.0"

    def statistics(self, batch: Batch) -> Scores:
        """Count hits, substitutions, deletions and insertions of each output."""
        warn_if_written_without_spaces(self, batch.language)
        words = get_word_tokens(batch, SPLIT_AS_JIWER)
        return batch.compute_once("word edits", lambda: compute_edit_statistics(batch, words))


@dataclass(frozen=True)
class WordErrorRate(WordEditMetric):
    """Word error rate: edits per reference word, (S + D + I) / (H + S + D).

    Equals `jiwer.wer`, but for an empty reference, where jiwer returns the number of insertions and we have
    no rate: undefined (NaN).
    """

    name: ClassVar[str] = "wer"
    title: ClassVar[str] = "WER"
    summary: ClassVar[str] = "word error rate (jiwer)"

    def from_statistics(self, statistics: Scores) -> Scores:
        """Compute edits per reference word."""
        return compute_error_rate(statistics)


@dataclass(frozen=True)
class MatchErrorRate(WordEditMetric):
    """Match error rate: share of alignment steps that are edits, (S + D + I) / (H + S + D + I).

    It is 0 if output and reference are empty.
    """

    name: ClassVar[str] = "mer"
    title: ClassVar[str] = "MER"
    summary: ClassVar[str] = "match error rate (jiwer)"

    def from_statistics(self, statistics: Scores) -> Scores:
        """Compute edits per alignment step."""
        hits, substitutions, deletions, insertions = np.moveaxis(statistics, -1, 0)
        edits = substitutions + deletions + insertions
        rate: Scores = edits / np.maximum(hits + edits, 1)
        return rate


@dataclass(frozen=True)
class WordInformationPreserved(WordEditMetric):
    """Word information preserved: hits per reference word × hits per output word.

    This is H / (H + S + D) · H / (H + S + I), and 1 if output and reference are empty.
    """

    name: ClassVar[str] = "wip"
    title: ClassVar[str] = "WIP"
    higher_is_better: ClassVar[bool] = True
    summary: ClassVar[str] = "word information preserved (jiwer)"

    def from_statistics(self, statistics: Scores) -> Scores:
        """Compute H / (H + S + D) · H / (H + S + I)."""
        return _word_information_preserved(statistics)


@dataclass(frozen=True)
class WordInformationLost(WordEditMetric):
    """1 − word information preserved."""

    name: ClassVar[str] = "wil"
    title: ClassVar[str] = "WIL"
    summary: ClassVar[str] = "word information lost (jiwer)"

    def from_statistics(self, statistics: Scores) -> Scores:
        """Compute 1 − WIP."""
        lost: Scores = 1 - _word_information_preserved(statistics)
        return lost


def _word_information_preserved(statistics: Scores) -> Scores:
    """Compute H / (H + S + D) · H / (H + S + I)."""
    hits, substitutions, deletions, insertions = np.moveaxis(statistics, -1, 0)
    reference_length = hits + substitutions + deletions
    output_length = hits + substitutions + insertions
    share = (hits / np.maximum(reference_length, 1)) * (hits / np.maximum(output_length, 1))
    is_empty = (reference_length == 0) & (output_length == 0)
    return np.where(is_empty, 1.0, share)
