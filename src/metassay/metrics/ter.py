"""Translation edit rate (Snover et al., 2006), with sacrebleu's numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metassay.metrics.base import Batch, Scores, StatisticsMetric
from metassay.metrics.kernels.packing import Tokens
from metassay.metrics.kernels.ter import ter_edits
from metassay.metrics.texts import SPACES, batch_texts, pairing, tokenized, warn_of_words
from metassay.text.tokenizers import primary

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
        tokens = batch.derived(("ter", *settings.values()), lambda: _tokens(batch, settings))
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


def _tokens(batch: Batch, settings: dict[str, Any]) -> Tokens:
    if not (settings["normalized"] or settings["no_punct"]):
        return tokenized(batch_texts(batch, lowercase=not settings["case_sensitive"]), SPACES)[0]
    from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

    official = TercomTokenizer(**settings)
    texts = [official(text.rstrip()) for text in pairing(batch).texts]
    return tokenized(texts, SPACES)[0]


METRICS = (Ter,)
