"""Translation edit rate (Snover et al., 2006), with sacrebleu's numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metassay.metrics.base import Batch, Scores, StatisticsMetric
from metassay.metrics.kernels.packing import Tokens
from metassay.metrics.kernels.ter import ter_edits
from metassay.metrics.pairing import pairing
from metassay.metrics.tokens import SPACES, batch_texts, tokenized


@dataclass(frozen=True)
class Ter(StatisticsMetric):
    """Edits and shifts of word runs per reference word, in per cent.

    Statistics: the fewest edits over the references, and their mean length. With an empty reference, 100 for
    any output that is not empty.
    """

    normalized: bool = False
    no_punct: bool = False
    asian_support: bool = False
    case_sensitive: bool = False

    name: ClassVar[str] = "ter"
    task: ClassVar[str] = "mt"
    higher_is_better: ClassVar[bool] = False
    oracle: ClassVar[str] = "sacrebleu 2.6.0"
    summary: ClassVar[str] = "edits and shifts per reference word (sacrebleu)"

    def statistics(self, batch: Batch) -> Scores:
        """Edits and reference length of each output."""
        pairs = pairing(batch)
        tokens = batch.derived(("ter", self), lambda: self._tokens(batch))
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

    def _tokens(self, batch: Batch) -> Tokens:
        if not (self.normalized or self.no_punct):
            return tokenized(batch_texts(batch, lowercase=not self.case_sensitive), SPACES)[0]
        from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

        official = TercomTokenizer(
            normalized=self.normalized,
            no_punct=self.no_punct,
            asian_support=self.asian_support,
            case_sensitive=self.case_sensitive,
        )
        texts = [official(text.rstrip()) for text in pairing(batch).texts]
        return tokenized(texts, SPACES)[0]


METRICS = (Ter,)
