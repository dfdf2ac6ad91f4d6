"""Sentences on what changed between two assays."""

from __future__ import annotations

from metassay.reporting.labels import MetricLabels
from metassay.reporting.recommendation_reasons import SPECS
from metassay.results.assay import GLOBAL
from metassay.results.compare import ChoiceChange, RunComparison, SharedOutputs


def describe_changes(comparison: RunComparison, labels: MetricLabels = SPECS) -> list[str]:
    """Describe every change that is more than chance: accuracies, recommendations, orders."""
    sentences = []
    for change in comparison.accuracies:
        if change.moved:
            verb = "gained" if change.difference > 0 else "lost"
            sentences.append(
                f"{labels[change.metric]} {verb} accuracy {_describe_place(change.column, change.context)}:"
                f" {100 * change.before:.0f} % before, {100 * change.after:.0f} % now."
            )
    sentences += [_describe_choice(choice, labels) for choice in comparison.recommendation if choice.changed]
    for order in comparison.orders:
        place = _describe_place(order.column, order.context)
        for swap in order.swapped:
            if swap.is_significant:
                better = labels[swap.better_after]
                worse = labels[swap.better_before]
                sentences.append(f"{better} is more accurate than {worse} {place} now; before, it was less.")
    return sentences


def describe_differences_of_runs(comparison: RunComparison, shared: SharedOutputs) -> list[str]:
    """Describe what makes two runs hard to compare: other data, and metrics that only one of them has."""
    sentences = []
    if not shared.are_identical:
        sentences.append(
            f"The runs use different data: {shared.before} outputs before and {shared.after} now;"
            f" {shared.in_both} have the same item and system, {shared.identical} of them the same text."
            " A change may come from the data, not from the metric."
        )
    for metrics, run in (
        (comparison.metrics_only_before, "earlier"),
        (comparison.metrics_only_after, "later"),
    ):
        if metrics:
            sentences.append(f"Only the {run} run has: {', '.join(metrics)}.")
    return sentences


def describe_pairing(*, paired: bool) -> str:
    """Describe how the runs were compared."""
    if paired:
        return "Paired comparison: both runs have the same items and systems."
    return "Unpaired comparison: small changes may be missed. Runs of the same outputs are compared in pairs."


def _describe_choice(choice: ChoiceChange, labels: MetricLabels) -> str:
    place = _describe_place(choice.column, choice.context)
    after = "none" if choice.after is None else labels[choice.after]
    before = "none" if choice.before is None else labels[choice.before]
    return f"The recommended metric {place} is {after} now; it was {before}."


def _describe_place(column: str, context: str) -> str:
    return "over all contexts" if context == GLOBAL else f"on {column} {context}"
