"""What a user should know about a ranking of metrics, such as metrics that were left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from metassay.results.insufficient_data import InsufficientData


@dataclass(frozen=True)
class SparseMetrics:
    """Metrics that were left out because they scored less than half of the items of another metric."""

    item_counts: Mapping[str, int]
    """Number of scored items of each of these metrics."""
    largest_item_count: int


@dataclass(frozen=True)
class SmallContexts:
    """Contexts that were left out because they have too few items."""

    column: str
    contexts: tuple[str, ...]
    fewest_items: int


@dataclass(frozen=True)
class ReplacedMetaMetrics:
    """Meta-metrics that compare systems, and the one that is used because there is only one system."""

    replaced: tuple[str, ...]
    substitute: str


@dataclass(frozen=True)
class PermutedMetrics:
    """Metrics whose p-values come from permutations, because those from the normal distribution would be
    inaccurate. `metrics` is None for all metrics.
    """

    meta_metric: str
    metrics: tuple[str, ...] | None
    permutations: int
    largest_error: float
    """Of a p-value from the normal distribution."""


@dataclass(frozen=True)
class TooLittleData:
    """Why there are no intervals of a meta-metric, and no metric is named best."""

    meta_metric: str
    reason: InsufficientData


@dataclass(frozen=True)
class MissingSpans:
    """A metric that has error spans for some of the rated outputs only."""

    metric: str
    ratings_with_spans: int
    ratings: int


RankingCaveat = (
    SparseMetrics | SmallContexts | ReplacedMetaMetrics | PermutedMetrics | TooLittleData | MissingSpans
)
