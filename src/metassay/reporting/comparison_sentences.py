"""Sentences on what changed between two assays, and what the command `compare` prints."""

from __future__ import annotations

import msgspec

from metassay.reporting.labels import MetricLabels
from metassay.reporting.recommendation_reasons import SPECS
from metassay.reporting.terminal.blocks import Block, Line, Table, convert_sentences_to_lines, select_columns
from metassay.reporting.wording import format_plural
from metassay.results.assay import GLOBAL
from metassay.results.compare import ChoiceChange, CompareContent, RunComparison, SharedOutputs
from metassay.results.verdict import Claim

COLUMNS = ("metric", "before", "after", "difference", "low", "high", "p_holm")


def describe_run_changes(comparison: RunComparison, metric_labels: MetricLabels = SPECS) -> list[str]:
    """Write a sentence for each change between two runs that is larger than chance explains, for example in
    the accuracy of a metric.
    """
    sentences = []
    for change in comparison.accuracies:
        if change.moved:
            verb = "gained" if change.difference > 0 else "lost"
            sentences.append(
                f"{metric_labels[change.metric]} {verb} accuracy"
                f" {_describe_context_in_sentence(change.column, change.context)}:"
                f" {100 * change.before:.0f} % before, {100 * change.after:.0f} % now."
            )
    for choice in comparison.recommendation:
        if choice.changed:
            sentences.append(_describe_change_of_recommended_metric(choice, metric_labels))
    for order in comparison.orders:
        place = _describe_context_in_sentence(order.column, order.context)
        for swap in order.swapped:
            if swap.is_significant:
                better = metric_labels[swap.better_after]
                worse = metric_labels[swap.better_before]
                sentences.append(f"{better} is more accurate than {worse} {place} now; before, it was less.")
    return sentences


def describe_unshared_outputs_and_metrics(
    comparison: RunComparison, shared_outputs: SharedOutputs
) -> list[str]:
    """Say which outputs and metrics only one of two compared runs has."""
    sentences = []
    if not shared_outputs.are_identical:
        before = format_plural(shared_outputs.before, "output")
        sentences.append(
            f"The runs use different data: {before} before and {shared_outputs.after:,} now, of which"
            f" {shared_outputs.in_both:,} have the same item and system and {shared_outputs.identical:,} also"
            " the same texts and scores. A change may come from the data, not from the metric."
        )
    for metrics, run in (
        (comparison.metrics_only_before, "earlier"),
        (comparison.metrics_only_after, "later"),
    ):
        if metrics:
            sentences.append(f"Only the {run} run has: {', '.join(metrics)}.")
    return sentences


def describe_how_runs_were_paired(*, paired: bool) -> str:
    """Say whether two runs were compared item by item, because they have the same items and systems, or as
    independent samples.
    """
    if paired:
        return "Paired comparison: both runs have the same items and systems."
    return "Unpaired comparison: small changes may be missed. Runs of the same outputs are compared in pairs."


def _describe_change_of_recommended_metric(
    recommendation_change: ChoiceChange, metric_labels: MetricLabels
) -> str:
    place = _describe_context_in_sentence(recommendation_change.column, recommendation_change.context)
    after = "none" if recommendation_change.after is None else metric_labels[recommendation_change.after]
    before = "none" if recommendation_change.before is None else metric_labels[recommendation_change.before]
    return f"The recommended metric {place} is {after} now; it was {before}."


def _describe_context_in_sentence(context_column: str, context: str) -> str:
    return "over all contexts" if context == GLOBAL else f"on {context_column} {context}"


def build_compare_verdict(compare_result: CompareContent) -> list[Claim]:
    """Write the main sentences of the command `compare`: what changed from each run to the next. Each
    sentence is stored with the names of both runs.
    """
    claims = []
    for comparison in compare_result.comparisons:
        scope = f"{comparison.before} → {comparison.after}"
        for sentence in _describe_changes_or_none(comparison):
            claims.append(Claim(kind="finding", sentence=sentence, scope=scope))
    return claims


def _describe_changes_or_none(comparison: RunComparison) -> list[str]:
    """Describe the changes between two runs, or say that there are none."""
    sentences = describe_run_changes(comparison, _label_compared_metrics(comparison))
    return sentences or ["Nothing changed by more than chance."]


def _label_compared_metrics(comparison: RunComparison) -> MetricLabels:
    return MetricLabels(change.metric for change in comparison.accuracies)


def describe_comparisons(compare_result: CompareContent) -> list[Block]:
    """Describe for the terminal what changed from each run to the next."""
    blocks: list[Block] = []
    for comparison in compare_result.comparisons:
        labels = _label_compared_metrics(comparison)
        rows = []
        for change in comparison.accuracies:
            if change.column == GLOBAL:
                rows.append(msgspec.structs.asdict(change) | {"metric": labels[change.metric]})
        blocks += [
            Line(f"{comparison.before} → {comparison.after}"),
            *convert_sentences_to_lines(
                [
                    *comparison.warnings,
                    *_describe_changes_or_none(comparison),
                    describe_how_runs_were_paired(paired=comparison.paired),
                ]
            ),
            Table(select_columns(rows, COLUMNS), title="Accuracy over all contexts"),
        ]
    return blocks
