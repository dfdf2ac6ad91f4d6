"""The answer of an assay in a few sentences: which metric to trust, how surely, and where it changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from metassay.reporting.accuracy_phrases import describe_ability, describe_accuracy, describe_share
from metassay.reporting.assay_view import AssayView, ColumnView
from metassay.reporting.human_sentences import (
    compare_choices,
    describe_human_agreement,
    describe_human_choice,
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


def write_answer(view: AssayView) -> list[Sentence]:
    """Write the sentences at the top of a report, most important first."""
    best = view.best
    if best is None:
        return [format_sentence("No pair could be scored, so there is no metric to recommend here.")]
    by_column = [_describe_column(view, column, best) for column in view.columns]
    columns = [each for each in by_column if each is not None]
    comparison = view.result.human_comparison
    if comparison is None:
        return [_describe_best(view, best), *columns]
    if comparison.followed:
        opening = [
            describe_human_choice(comparison, view.labels, describe_ability(view.result.task)),
            _describe_on_perturbed_pairs(view, comparison, best),
        ]
    else:
        opening = [_describe_best(view, best), compare_choices(comparison, view.labels)]
    on_perturbed_pairs = [_begin_with_pairs(view.pairs, each) for each in columns]
    return [*opening, *describe_human_agreement(comparison, view.labels), *on_perturbed_pairs]


def write_exceptions(result: RecommendContent, labels: MetricLabels) -> list[str]:
    """List the contexts in which another metric is to be used."""
    answer = result.answer
    if answer is None:
        return []
    lines = [
        f"On {row.context} ({row.column}) use {labels[row.metric]}."
        for row in answer.exceptions[:_LISTED_EXCEPTIONS]
    ]
    more = len(answer.exceptions) - _LISTED_EXCEPTIONS
    if more > 0:
        lines.append(f"{format_plural(more, 'more exception')} in the tables below.")
    return lines


def _begin_with_pairs(pairs: str, statement: Sentence) -> Sentence:
    """Begin a sentence with the pairs it is about: `On perturbed pairs, for no domain …`."""
    first, *others = statement.spans
    if not first.kind:  # a label keeps its capital letter
        first = replace(first, text=first.text[:1].lower() + first.text[1:])
    return format_sentence("On {pairs}, {statement}", pairs=pairs, statement=Sentence((first, *others)))


def _describe_on_perturbed_pairs(
    view: AssayView, comparison: HumanComparison, best: MetricAccuracy
) -> Sentence:
    """Say, where the choice follows human pairs, what perturbed pairs say of it and of their own choice."""
    chosen = view.accuracies[comparison.by_perturbed_pairs.metric]
    return format_sentence(
        "{chosen:metric} {ability} in {share}, {best:metric} in {best_share:figure}.",
        chosen=view.labels[chosen.metric],
        ability=describe_ability(view.result.task),
        share=describe_share(chosen, view.pairs),
        best=view.labels[best.metric],
        best_share=describe_accuracy(best),
    )


def _describe_best(view: AssayView, best: MetricAccuracy) -> Sentence:
    """State the accuracy of the best metric, and what cannot be told apart from it or follows it."""
    equals = _list_equals(view, best)
    opening = format_sentence(
        "{best:metric} {ability} in {share}",
        best=view.labels[best.metric],
        ability=describe_ability(view.result.task),
        share=describe_share(best, view.pairs),
    )
    if equals:
        end = format_sentence("; {equals} cannot be told apart from it.", equals=list_names(equals, "metric"))
    else:
        end = _describe_runner_up(view, best)
    return format_sentence("{opening}{end}", opening=opening, end=end)


def _describe_runner_up(view: AssayView, best: MetricAccuracy) -> Sentence:
    own = view.labels.representative(best.metric)
    rivals = [metric for metric in view.metrics if metric != own and metric not in view.uninformed]
    if not rivals or view.accuracies[rivals[0]].accuracy is None:
        return format_sentence(".")
    return format_sentence(
        ", ahead of {next:metric} with {share:figure}.",
        next=view.labels[rivals[0]],
        share=describe_accuracy(view.accuracies[rivals[0]]),
    )


def _list_equals(view: AssayView, best: MetricAccuracy) -> list[str]:
    """List the labels of the metrics that are not shown to be behind the best over all outputs."""
    answer = view.result.answer
    top_group = [] if answer is None else answer.top_group
    own = view.labels[best.metric]
    return [label for label in view.labels.label_all(top_group) if label != own]


def _describe_column(view: AssayView, column: ColumnView, best: MetricAccuracy) -> Sentence | None:
    """Say where in one column the best metric holds, and what to use elsewhere."""
    rows = column.defined_accuracies(best.metric)
    if not rows:
        return None
    if len(column.contexts) == 1:
        return format_sentence(
            "There is only one {column:column}, {only:context}, so nothing can change there.",
            column=column.name,
            only=column.contexts[0],
        )
    small = view.small_contexts(column.name)
    large_rows = [row for row in rows if row.context not in small and row.items != 1]
    if not large_rows:
        return format_sentence(
            "Every {column:column} is too small for a claim of its own.", column=column.name
        )
    comparison = view.result.human_comparison
    label = view.labels[best.metric]
    has_rivals = len(view.metrics) > 1
    changes = _find_changes(view, column, large_rows) if has_rivals else []
    if changes:
        return _describe_changes(view, column, large_rows, changes, label)
    pattern = "By {column:column} the accuracy of {best:metric} runs {range}."
    if has_rivals and not (comparison is not None and comparison.followed):
        pattern = "{best:metric} is best or tied in every {column:column}, {range}."
    return format_sentence(pattern, column=column.name, best=label, range=_describe_range(large_rows))


def _find_changes(
    view: AssayView, column: ColumnView, rows: Sequence[MetricAccuracy]
) -> list[tuple[MetricAccuracy, MetricAccuracy]]:
    """Find the contexts with an exception: the accuracy of the best metric, and of the one to use there."""
    changes = []
    for row in rows:
        metric = view.exceptions.get((column.name, row.context))
        other = None if metric is None else column.accuracies.get((row.context, metric))
        if other is not None and other.accuracy is not None:
            changes.append((row, other))
    return changes


def _describe_changes(
    view: AssayView,
    column: ColumnView,
    rows: Sequence[MetricAccuracy],
    changes: Sequence[tuple[MetricAccuracy, MetricAccuracy]],
    best: str,
) -> Sentence:
    advice = [
        format_sentence(
            "on {context:context} trust {other:metric}, right in {new:figure} against {old:figure}",
            context=old.context,
            other=view.labels[new.metric],
            new=describe_accuracy(new),
            old=describe_accuracy(old),
        )
        for old, new in changes[:2]
    ]
    more = f" (and {format_plural(len(changes) - 2, 'more context')} below)" if len(changes) > 2 else ""
    return format_sentence(
        "{best:metric} is best or tied in {kept} of {total} values of {column:column}; {advice}{more}.",
        best=best,
        column=column.name,
        kept=len(rows) - len(changes),
        total=len(rows),
        advice=join_phrases(advice),
        more=more,
    )


def _describe_range(rows: Sequence[MetricAccuracy]) -> Sentence:
    lowest = min(rows, key=lambda row: row.accuracy or 0.0)
    highest = max(rows, key=lambda row: row.accuracy or 0.0)
    if len(rows) == 1:
        return format_sentence(
            "at {low:figure} on {worst:context}", low=describe_accuracy(lowest), worst=lowest.context
        )
    if lowest.accuracy == highest.accuracy:
        return format_sentence("at {low:figure} in all of them", low=format_percent(lowest.accuracy))
    return format_sentence(
        "from {low:figure} on {worst:context} to {high:figure} on {best:context}",
        low=describe_accuracy(lowest),
        worst=lowest.context,
        high=describe_accuracy(highest),
        best=highest.context,
    )
