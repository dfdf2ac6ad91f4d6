"""Section of the `assay` page: accuracy over contexts, and by difficulty."""

from __future__ import annotations

from metassay.reporting.assay_report import AssayReport, ReportedColumn
from metassay.reporting.charts.accuracy import (
    build_accuracy_chart,
    build_difficulty_chart,
    find_baselines_outside_chart_range,
)
from metassay.reporting.pages import Chart, Section
from metassay.reporting.wording import (
    Sentence,
    find_installed_task,
    format_accuracy,
    format_number,
    format_percent,
    format_sentence,
    join_names,
    join_phrases,
)
from metassay.results.assay import BinAccuracy, Difficulty, MetricAccuracy

_MOST_TRENDS = 4


def build_accuracy_section(assay_report: AssayReport) -> Section | None:
    """Build the section with charts of accuracy by context, such as the domain. None if the result has no
    contexts.
    """
    if not assay_report.context_columns:
        return None
    subsections = [
        _build_accuracy_subsection(assay_report, column)
        for column in assay_report.context_columns
        if column.contexts
    ]
    difficulty = assay_report.result.difficulty
    if difficulty is not None and any(row.accuracy is not None for row in difficulty.accuracy):
        subsections.append(_build_difficulty_subsection(assay_report, difficulty))
    return Section(
        "Accuracy over contexts",
        sentences=[_write_introduction(assay_report)],
        subsections=subsections,
        anchor="accuracy",
        collapsed=True,
    )


def _write_introduction(assay_report: AssayReport) -> Sentence:
    task = find_installed_task(assay_report.result.task)
    pattern = (
        "The charts show how often each metric prefers the better {noun} of a pair{accuracy:note}. Bars and"
        " bands are 95\u202f% intervals. Press a name to highlight its line."
    )
    if assay_report.sentinel_metrics:
        pattern += " Grey dashed lines are baselines that know nothing of quality{sentinels:note}."
    noun = "output" if task is None else task.output_noun
    return format_sentence(pattern, noun=noun, accuracy="accuracy", sentinels="sentinels")


def _build_accuracy_subsection(assay_report: AssayReport, context_column: ReportedColumn) -> Section:
    charted = context_column.sample_evenly_spaced_contexts()
    hidden = find_baselines_outside_chart_range(assay_report, charted)
    remarks = [
        f"Share of pairs that each metric gets right, by {context_column.name}, with 95\u202f% intervals."
    ]
    if len(charted.contexts) < len(context_column.contexts):
        remarks.append(
            f"The chart shows {len(charted.contexts)} of {len(context_column.contexts)} contexts, evenly"
            " spaced in their order."
        )
    if hidden:
        remarks.append(
            f"Outside the chart: {join_names([assay_report.labels[metric] for metric in hidden])}."
        )
    chart = Chart(
        f"accuracy by {context_column.name}",
        build_accuracy_chart(assay_report, charted),
        " ".join(remarks),
        sentinels=[
            assay_report.labels[metric] for metric in assay_report.sentinel_metrics if metric not in hidden
        ],
    )
    sentences = [
        describe_metric_with_largest_spread(assay_report, context_column),
        describe_accuracy_trend(assay_report, context_column),
    ]
    return Section(
        f"By {context_column.name}",
        sentences=[each for each in sentences if each is not None],
        charts=[chart],
    )


def describe_metric_with_largest_spread(
    assay_report: AssayReport, context_column: ReportedColumn
) -> Sentence | None:
    """Name the metric whose accuracy varies most between contexts, such as domains. Only metrics with a
    significant difference are compared.
    """
    claimed = [
        claim.metric for claim in assay_report.result.claims.variations if claim.column == context_column.name
    ]
    small = assay_report.list_small_contexts(context_column.name)
    ends: dict[str, tuple[MetricAccuracy, MetricAccuracy]] = {}
    for metric in claimed:
        rows = [
            row
            for row in context_column.list_accuracies_per_context(metric)
            if row.context not in small and row.items != 1
        ]
        if len(rows) > 1 and assay_report.labels.has_own_table_row(metric):
            ends[metric] = (
                min(rows, key=_get_accuracy_or_zero),
                max(rows, key=_get_accuracy_or_zero),
            )
    if not ends:
        return None
    widest = max(
        ends,
        key=lambda metric: _get_accuracy_or_zero(ends[metric][1]) - _get_accuracy_or_zero(ends[metric][0]),
    )
    low, high = ends[widest]
    return format_sentence(
        "The accuracy of {metric:metric} varies{most}: {high:figure} on {best:context}, {low:figure} on"
        " {worst:context}.",
        metric=assay_report.labels[widest],
        most=" most" if len(ends) > 1 else "",
        high=format_accuracy(high),
        best=high.context,
        low=format_accuracy(low),
        worst=low.context,
    )


def describe_accuracy_trend(assay_report: AssayReport, context_column: ReportedColumn) -> Sentence | None:
    """Say whether accuracy rises or falls along contexts that have an order, such as years."""
    trends = context_column.result.trend or {}
    if all(rho is None for rho in trends.values()):
        return None
    claimed = {
        claim.metric for claim in assay_report.result.claims.trends if claim.column == context_column.name
    }
    metrics = [metric for metric in assay_report.metrics if metric in claimed][:_MOST_TRENDS]
    if not metrics:
        return format_sentence(
            "Accuracy is not shown to follow the order of {column:column} for any metric.",
            column=context_column.name,
        )
    correlations = [trends.get(metric) or 0.0 for metric in metrics]
    listed = [
        format_sentence(
            "{rho:figure} for {metric:metric}", rho=format_number(rho), metric=assay_report.labels[metric]
        )
        for metric, rho in zip(metrics, correlations)
    ]
    return format_sentence(
        "{direction}: Spearman’s correlation between the order of {column:column} and accuracy is {listed}.",
        direction=_describe_direction_of_accuracy_trend(correlations),
        column=context_column.name,
        listed=join_phrases(listed),
    )


def _describe_direction_of_accuracy_trend(correlations: list[float]) -> str:
    if min(correlations) > 0:
        return "Accuracy rises along the contexts"
    if max(correlations) < 0:
        return "Accuracy falls along the contexts"
    return "Accuracy follows the order of the contexts, up or down depending on the metric"


def _build_difficulty_subsection(assay_report: AssayReport, difficulty: Difficulty) -> Section:
    caption = (
        "Share of right pairs by the share of edited characters. Each point is at the median of its pairs."
    )
    if difficulty.human_pairs is not None:
        caption += " Grey: the middle half of the human pairs, and their median (dashed)."
    chart = Chart(
        "difficulty",
        build_difficulty_chart(assay_report, difficulty, name_ranges_of_edit_shares(difficulty)),
        caption,
    )
    return Section(
        "By how close the two texts of a pair are",
        sentences=describe_accuracy_by_text_distance(assay_report, difficulty),
        charts=[chart],
    )


def describe_accuracy_by_text_distance(assay_report: AssayReport, difficulty: Difficulty) -> list[Sentence]:
    """Say how often the best metric is right if the two outputs of a pair are similar, and if they are very
    different.
    """
    sentences = []
    best = assay_report.best_metric
    if best is not None:
        rows: dict[int, BinAccuracy] = {}
        for row in difficulty.accuracy:
            if row.metric == best.metric and row.accuracy is not None:
                rows[row.bin] = row
        last = len(difficulty.bins) - 1
        if 0 in rows and last in rows:
            sentences.append(
                format_sentence(
                    "{metric:metric} is right in {few:figure} of the pairs whose texts differ in"
                    " {close:figure} of their characters or less, and in {many:figure} of those that differ"
                    " in {far:figure} or more.",
                    metric=assay_report.labels[best.metric],
                    few=format_accuracy(rows[0]),
                    close=format_edit_share(difficulty.bins[0].high),
                    many=format_accuracy(rows[last]),
                    far=format_edit_share(difficulty.bins[-1].low),
                )
            )
    distances = difficulty.human_pairs
    if distances is not None:
        sentences.append(
            format_sentence(
                "The texts of human pairs ({human:column}) differ in {median:figure} of their characters"
                " (median; middle half {low:figure} to {high:figure}), those of these pairs in {own:figure}.",
                human=distances.human,
                median=format_edit_share(distances.median),
                low=format_edit_share(distances.low),
                high=format_edit_share(distances.high),
                own=format_edit_share(difficulty.median),
            )
        )
    return sentences


def _get_accuracy_or_zero(metric_accuracy: MetricAccuracy) -> float:
    return metric_accuracy.accuracy or 0.0


def name_ranges_of_edit_shares(difficulty: Difficulty) -> list[str]:
    """Write the range of each bin of pairs, which are grouped by the share of edited characters: `1.3 % to
    6.2 %`.
    """
    return [f"{format_edit_share(each.low)} to {format_edit_share(each.high)}" for each in difficulty.bins]


def format_edit_share(share: float) -> str:
    """Write the share of edited characters in per cent. Small shares get one decimal."""
    return format_percent(share, digits=1 if share < 0.1 else 0)
