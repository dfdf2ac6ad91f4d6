"""Summary of the data that a command worked on. Every result contains one as `data`."""

from __future__ import annotations

import msgspec

from metassay.results.base import Count

HUMAN_SCORE = "human"
METRIC_SCORE = "metric"
HIGHER = "higher"
LOWER = "lower"


class ScoreSummary(msgspec.Struct, frozen=True):
    """The direction and the languages of one human or metric score."""

    score: str
    kind: str
    """`human` or `metric`."""
    better: str
    """`higher` or `lower`, as the score stands in the data."""
    why: str
    """How this is known: the user said so, the name and sign of the score, or the default."""
    languages: list[str]
    """Target languages of the scored outputs. Empty if they are not known."""
    outputs: Count | None = None
    """Number of outputs that have this score. None if they were not counted."""


class SystemSummary(msgspec.Struct, frozen=True):
    """How many rows and items of one system are used."""

    system: str
    outputs: Count
    """Number of rows."""
    items: Count
    empty_outputs: Count = 0
    """Number of outputs without text, or of empty ranked lists. They are used like all others."""


class DataSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What was read from the data files, how much of it is used, and what was left out."""

    outputs: Count
    """Number of rows that are used."""
    items: Count
    systems: list[SystemSummary]
    left_out: dict[str, Count] = {}
    """Number of rows that were left out, by reason."""
    ignored_columns: dict[str, str] = {}
    """Columns of the input that are not used, with the reason."""
    scores: list[ScoreSummary] = []
    """Direction and language of every human and metric score."""
