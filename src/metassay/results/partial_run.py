"""Result of scoring only some parts of an assay."""

from __future__ import annotations

from metassay.results.base import Count, ResultStruct


class PartialRun(ResultStruct, frozen=True, kw_only=True):
    """The parts of an assay that one process scored and stored. Another process finishes the run."""

    part_numbers: tuple[Count, ...]
    """The parts that were scored, numbered from 0."""
    part_count: Count
    """How many parts the run has."""
