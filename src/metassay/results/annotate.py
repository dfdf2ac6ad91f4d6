"""Result of `annotate`: which items people should rate next, and how many ratings are needed."""

from __future__ import annotations

import msgspec

from metassay.results.base import Count, ResultStruct, Share
from metassay.results.data_summary import DataSummary
from metassay.results.verdict import Claim


class ItemToRate(msgspec.Struct, frozen=True):
    """An item that people should rate, with the probability that it was chosen in this round or an earlier
    one.
    """

    item: str
    probability: Share


class AnnotateContent(ResultStruct, frozen=True, kw_only=True):
    """The items that people should rate next, and how many rated items are needed."""

    needed: Count
    """Labelled items that are needed in all, with those that are labelled already."""
    reason: str
    """Why so many."""
    items: list[ItemToRate]
    human: str
    labelled: Count
    """Items that are labelled already."""
    file: str | None = None
    """The CSV file for the raters, if one was written."""
    notes: list[str] = msgspec.field(default_factory=list)
    data: DataSummary | None = None
    verdict: list[Claim] = msgspec.field(default_factory=list)
