"""Why there is too little data to claim anything about metrics."""

from __future__ import annotations

from typing import Literal

import msgspec

from metassay.results.base import Count


class InsufficientData(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why nothing can be claimed about metrics: all human scores are equal, or there is too little data."""

    kind: Literal["equal_human_scores", "few_systems", "few_items", "few_clusters"]
    count: Count | None = None
    """Number of systems, items or clusters of items. None if all human scores are equal."""
