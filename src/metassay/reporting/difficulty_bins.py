"""Names of difficulty bins: the share of edited characters from its low to its high end."""

from __future__ import annotations

from metassay.reporting.wording import format_percent
from metassay.results.assay import Difficulty


def name_edit_share_bins(difficulty: Difficulty) -> list[str]:
    """Name each bin of the share of edited characters by its range: `1.3 % to 6.2 %`."""
    return [f"{format_edit_share(each.low)} to {format_edit_share(each.high)}" for each in difficulty.bins]


def format_edit_share(share: float) -> str:
    """Write a share of edited characters in per cent; small shares get a decimal."""
    return format_percent(share, digits=1 if share < 0.1 else 0)
