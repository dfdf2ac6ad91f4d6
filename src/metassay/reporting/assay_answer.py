"""The answer of an assay in a few sentences: which metric to trust, how surely, and where it changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from metassay.reporting.accuracy_phrases import (
    describe_metric_ability,
    format_accuracy,
    format_share_of_pairs,
)
from metassay.reporting.assay_report import AssayReport, ReportedColumn
from metassay.reporting.human_sentences import (
    describe_best_metric_on_human_pairs,
    describe_choice_on_human_pairs,
    describe_human_agreement,
)
from metassay.reporting.labels import MetricLabels
from metassay.reporting.wording import (
    Sentence,
    format_percent,
    format_plural,
    format_sentence,
    join_phrases,
    list_names,
)
from metassay.results.assay import HumanComparison, MetricAccuracy
from metassay.results.recommend import RecommendContent

_LISTED_EXCEPTIONS = 5


def describe_assay_answer(assay_report: AssayReport) -> list[Sentence]:
    """Say which metric is best over all outputs, what human scores say of it, and where contexts differ."""
    best = assay_report.best_metric
    if best is None:
        reason = "No pair could be scored"
        if any(row.accuracy is not None for row in assay_report.accuracies.values()):
            reason = "No metric rates single outputs"
        return [format_sentence("{reason}, so there is no metric to recommend here.", reason=reason)]
    by_column = [
        _describe_best_metric_in_contexts(assay_report, column, best) for column in assay_report.columns
    ]
    columns = [each for each in by_column if each is not None]
    comparison = assay_report.result.human_comparison
    if comparison is None:
        return [_describe_best_metric(assay_report, best), *columns]
    if comparison.followed:
        opening = [
            describe_best_metric_on_human_pairs(
                comparison, assay_report.labels, describe_metric_ability(assay_report.result.task)
            ),
            _compare_choices_on_perturbed_pairs(assay_report, comparison, best),
        ]
    else:
        opening = [
            _describe_best_metric(assay_report, best),
            describe_choice_on_human_pairs(comparison, assay_report.labels),
        ]
    on_perturbed_pairs = [
        _prefix_sentence_with_pair_kind(assay_report.pairs_phrase, each) for each in columns
    ]
    return [*opening, *describe_human_agreement(comparison, assay_report.labels), *on_perturbed_pairs]


def list_contexts_with_other_metric(
    recommendations: RecommendContent, metric_labels: MetricLabels
) -> list[str]:
    """List the contexts in which another metric than the overall recommendation should be used."""
    answer = recommendations.answer
    if answer is None:
        return []
    lines = [
        f"On {row.context} ({row.column}) use {metric_labels[row.metric]}."
        for row in answer.exceptions[:_LISTED_EXCEPTIONS]
    ]
    more = len(answer.exceptions) - _LISTED_EXCEPTIONS
    if more > 0:
        lines.append(f"{format_plural(more, 'more exception')}: --verbose")
    return lines


def _prefix_sentence_with_pair_kind(pairs: str, sentence: Sentence) -> Sentence:
    """Begin a sentence with the kind of pairs it is about: `On perturbed pairs, for no domain …`."""
    first, *others = sentence.spans
    if not first.kind:  # a label keeps its capital letter
        first = replace(first, text=first.text[:1].lower() + first.text[1:])
    return format_sentence("On {pairs}, {statement}", pairs=pairs, statement=Sentence((first, *others)))


def _compare_choices_on_perturbed_pairs(
    assay_report: AssayReport, comparison: HumanComparison, best_metric: MetricAccuracy
) -> Sentence:
    """Compare the metric chosen on human pairs with the one chosen on perturbed pairs."""
    chosen = assay_report.accuracies[comparison.by_perturbed_pairs.metric]
    return format_sentence(
        "{chosen:metric} {ability} in {share}, {best:metric} in {best_share:figure}.",
        chosen=assay_report.labels[chosen.metric],
        ability=describe_metric_ability(assay_report.result.task),
        share=format_share_of_pairs(chosen, assay_report.pairs_phrase),
        best=assay_report.labels[best_metric.metric],
        best_share=format_accuracy(best_metric),
    )


def _describe_best_metric(assay_report: AssayReport, best_metric: MetricAccuracy) -> Sentence:
    """State the accuracy of the best metric, and the metrics that are tied with it or follow it."""
    equals = _list_tied_labels(assay_report, best_metric)
    opening = format_sentence(
        "{best:metric} {ability} in {share}",
        best=assay_report.labels[best_metric.metric],
        ability=describe_metric_ability(assay_report.result.task),
        share=format_share_of_pairs(best_metric, assay_report.pairs_phrase),
    )
    if equals:
        end = format_sentence("; tied with it: {equals}.", equals=list_names(equals, "metric"))
    else:
        end = _describe_second_best_metric(assay_report, best_metric)
    return format_sentence("{opening}{end}", opening=opening, end=end)


def _describe_second_best_metric(assay_report: AssayReport, best_metric: MetricAccuracy) -> Sentence:
    own = assay_report.labels.get_representative_metric(best_metric.metric)
    rivals = [
        metric
        for metric in assay_report.metrics
        if metric != own and metric not in assay_report.uninformed_metrics
    ]
    if not rivals or assay_report.accuracies[rivals[0]].accuracy is None:
        return format_sentence(".")
    return format_sentence(
        ", ahead of {next:metric} with {share:figure}.",
        next=assay_report.labels[rivals[0]],
        share=format_accuracy(assay_report.accuracies[rivals[0]]),
    )


def _list_tied_labels(assay_report: AssayReport, best_metric: MetricAccuracy) -> list[str]:
    """List the labels of the metrics that are not shown to be worse than the best metric."""
    answer = assay_report.result.answer
    top_group = [] if answer is None else answer.top_group
    own = assay_report.labels[best_metric.metric]
    return [label for label in assay_report.labels.label_all(top_group) if label != own]


def _describe_best_metric_in_contexts(
    assay_report: AssayReport, context_column: ReportedColumn, best_metric: MetricAccuracy
) -> Sentence | None:
    """Say in how many contexts of a column the best metric is best, and what to use in the other contexts."""
    rows = context_column.list_defined_accuracies(best_metric.metric)
    if not rows:
        return None
    if len(context_column.contexts) == 1:
        return format_sentence(
            "There is only one {column:column}, {only:context}, so nothing can change there.",
            column=context_column.name,
            only=context_column.contexts[0],
        )
    small = assay_report.list_small_contexts(context_column.name)
    large_rows = [row for row in rows if row.context not in small and row.items != 1]
    if not large_rows:
        return format_sentence(
            "Every {column:column} is too small for a claim of its own.", column=context_column.name
        )
    comparison = assay_report.result.human_comparison
    label = assay_report.labels[best_metric.metric]
    has_rivals = len(assay_report.metrics) > 1
    changes = _find_contexts_with_other_metric(assay_report, context_column, large_rows) if has_rivals else []
    if changes:
        return _describe_contexts_with_other_metric(assay_report, context_column, large_rows, changes, label)
    pattern = "By {column:column} the accuracy of {best:metric} runs {range}."
    if has_rivals and not (comparison is not None and comparison.followed):
        pattern = "{best:metric} is best or tied in every {column:column}, {range}."
    return format_sentence(
        pattern, column=context_column.name, best=label, range=_describe_accuracy_range(large_rows)
    )


def _find_contexts_with_other_metric(
    assay_report: AssayReport, context_column: ReportedColumn, best_accuracies: Sequence[MetricAccuracy]
) -> list[tuple[MetricAccuracy, MetricAccuracy]]:
    """Find the contexts in which another metric is recommended than overall, with the accuracies of both."""
    changes = []
    for row in best_accuracies:
        metric = assay_report.exceptions_by_context.get((context_column.name, row.context))
        other = None if metric is None else context_column.accuracies.get((row.context, metric))
        if other is not None and other.accuracy is not None:
            changes.append((row, other))
    return changes


def _describe_contexts_with_other_metric(
    assay_report: AssayReport,
    context_column: ReportedColumn,
    metric_accuracies: Sequence[MetricAccuracy],
    exceptions: Sequence[tuple[MetricAccuracy, MetricAccuracy]],
    best_label: str,
) -> Sentence:
    advice = [
        format_sentence(
            "on {context:context} trust {other:metric}, right in {new:figure} against {old:figure}",
            context=old.context,
            other=assay_report.labels[new.metric],
            new=format_accuracy(new),
            old=format_accuracy(old),
        )
        for old, new in exceptions[:2]
    ]
    more = f" (and {format_plural(len(exceptions) - 2, 'more context')} below)" if len(exceptions) > 2 else ""
    return format_sentence(
        "{best:metric} is best or tied in {kept} of {total} values of {column:column}; {advice}{more}.",
        best=best_label,
        column=context_column.name,
        kept=len(metric_accuracies) - len(exceptions),
        total=len(metric_accuracies),
        advice=join_phrases(advice),
        more=more,
    )


def _describe_accuracy_range(accuracies: Sequence[MetricAccuracy]) -> Sentence:
    lowest = min(accuracies, key=lambda row: row.accuracy or 0.0)
    highest = max(accuracies, key=lambda row: row.accuracy or 0.0)
    if len(accuracies) == 1:
        return format_sentence(
            "at {low:figure} on {worst:context}", low=format_accuracy(lowest), worst=lowest.context
        )
    if lowest.accuracy == highest.accuracy:
        return format_sentence("at {low:figure} in all of them", low=format_percent(lowest.accuracy))
    return format_sentence(
        "from {low:figure} on {worst:context} to {high:figure} on {best:context}",
        low=format_accuracy(lowest),
        worst=lowest.context,
        high=format_accuracy(highest),
        best=highest.context,
    )
