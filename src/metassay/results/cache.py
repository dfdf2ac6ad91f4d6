"""Result of `cache`: what the score cache holds."""

from __future__ import annotations

import msgspec

from metassay.results.base import Count, ResultStruct


class CachedMetric(msgspec.Struct, frozen=True):
    """How many scores of one metric, with one version and parameters, are in the score cache."""

    metric: str
    parts: Count
    """Number of files."""
    bytes: Count
    signature: str


class CacheContent(ResultStruct, frozen=True, kw_only=True):
    """What is in the score cache after the command `cache` listed, removed or verified scores."""

    folder: str
    parts: Count
    """Number of files of all metrics."""
    bytes: Count
    metrics: list[CachedMetric]
    removed: Count = 0
    """Number of files that `prune` removed."""
    broken: list[str] = msgspec.field(default_factory=list)
    """Damaged files that `verify` moved away."""
