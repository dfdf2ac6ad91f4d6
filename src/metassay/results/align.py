"""Result of `align`: outputs aligned with their references word by word."""

from __future__ import annotations

import msgspec

from metassay.results.base import ResultStruct
from metassay.results.data_summary import DataSummary


class AlignedWord(msgspec.Struct, frozen=True):
    """One step of an alignment: a word of the reference, of the output, or of both."""

    system: str
    item: str
    kind: str
    """`hit`, `substitution`, `deletion` or `insertion`."""
    reference: str | None
    output: str | None


class AlignContent(ResultStruct, frozen=True, kw_only=True):
    """The alignments of all outputs of all systems, word by word in order."""

    alignments: list[AlignedWord]
    data: DataSummary | None = None
