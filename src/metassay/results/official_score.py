"""What sacreBLEU prints with a corpus score."""

from __future__ import annotations

import msgspec


class OfficialScore(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A corpus score as sacreBLEU prints it, with name, signature and counts. A field is None if it does not
    apply.
    """

    name: str
    signature: str
    precisions: list[float] | None = None
    """BLEU: n-gram precisions in per cent."""
    brevity_penalty: float | None = None
    length_ratio: float | None = None
    """BLEU: output length divided by reference length."""
    edits: float | None = None
    """TER: edits of all outputs."""
    output_length: int | None = None
    reference_length: int | float | None = None
    """Words of all references; in TER a mean where outputs have several."""
    matches: list[int] | None = None
    """BLEU: matching n-grams for each n."""
    ngrams: list[int] | None = None
    """BLEU: n-grams of the outputs for each n."""
