"""Sentences on what changed between two assays."""

from __future__ import annotations

from metassay.results.assay import GLOBAL
from metassay.results.compare import RunComparison


def describe_changes(comparison: RunComparison) -> list[str]:
    """Describe every change that is more than chance: accuracies, recommendations, orders."""
    sentences = []
    for change in comparison.accuracies:
        if change.moved:
            verb = "gained" if change.difference > 0 else "lost"
            sentences.append(
                f"{change.metric} {verb} accuracy {_describe_place(change.column, change.context)}:"
                f" {100 * change.before:.0f} % before, {100 * change.after:.0f} % now."
            )
    for choice in comparison.recommendation:
        if choice.changed:
            place = _describe_place(choice.column, choice.context)
            sentences.append(f"The recommended metric {place} is {choice.after} now; it was {choice.before}.")
    for order in comparison.orders:
        place = _describe_place(order.column, order.context)
        sentences += [
            f"{swap.better_after} is more accurate than {swap.better_before} {place} now; it was less."
            for swap in order.swapped
            if swap.is_significant
        ]
    return sentences


def _describe_place(column: str, context: str) -> str:
    return "over all contexts" if context == GLOBAL else f"on {column} {context}"
