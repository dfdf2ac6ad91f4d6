"""Result of `cache`: what the score cache holds."""

from __future__ import annotations

import msgspec

from metassay.results.base import Count, ResultStruct


class CachedMetric(msgspec.Struct, frozen=True):
    """Cached scores of one metric with one signature."""

    metric: str
    parts: Count
    """Number of files."""
    bytes: Count
    signature: str


class CacheContent(ResultStruct, frozen=True, kw_only=True):
    """The score cache after an action."""

    folder: str
    parts: Count
    """Number of files of all metrics."""
    bytes: Count
    metrics: list[CachedMetric]
    removed: Count = 0
    """Number of files that `prune` removed."""
    broken: list[str] = msgspec.field(default_factory=list)
    """Damaged files that `verify` moved away."""
