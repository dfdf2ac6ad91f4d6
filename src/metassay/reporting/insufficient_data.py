"""Say why there is too little data to claim anything about metrics."""

from __future__ import annotations

from metassay.reporting.wording import format_plural
from metassay.results.insufficient_data import InsufficientData


def describe_insufficient_data(reason: InsufficientData, human: str) -> str:
    """Describe why nothing can be claimed about metrics, as a clause such as `3 items are too few`."""
    if reason.count is None:
        return f"all scores of {human} are equal"
    verb = "is" if reason.count == 1 else "are"
    if reason.kind == "few_clusters":
        return f"{format_plural(reason.count, 'cluster')} of items {verb} too few"
    noun = "system" if reason.kind == "few_systems" else "item"
    return f"{format_plural(reason.count, noun)} {verb} too few"
