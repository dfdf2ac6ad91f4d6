"""Section of the `assay` page: accuracy over contexts, and by difficulty."""

from __future__ import annotations

from typing import ClassVar

from metassay.reporting.accuracy_phrases import format_accuracy
from metassay.reporting.assay_view import AssayView, ColumnView
from metassay.reporting.charts.accuracy import (
    build_accuracy_chart,
    build_difficulty_chart,
    find_hidden_sentinels,
)
from metassay.reporting.difficulty_bins import format_edit_share, name_difficulty_bins
from metassay.reporting.pages import Chart, Section
from metassay.reporting.report_sections import ReportSection
from metassay.reporting.wording import (
    Sentence,
    find_task,
    format_number,
    format_sentence,
    join_names,
    join_phrases,
)
from metassay.results.assay import BinAccuracy, Difficulty, MetricAccuracy

_MOST_TRENDS = 4


class AssayAccuracySection(ReportSection[AssayView]):
    """Report section with a chart of accuracies for every column, and one by edit distance."""

    verb: ClassVar[str] = "assay"
    position: ClassVar[int] = 50

    def build_section(self, assay_view: AssayView) -> Section | None:
        """Build one subsection per column; None where there are no contexts."""
        if not assay_view.columns:
            return None
        subsections = [
            _build_accuracy_subsection(assay_view, column) for column in assay_view.columns if column.contexts
        ]
        difficulty = assay_view.result.difficulty
        if difficulty is not None and any(row.accuracy is not None for row in difficulty.accuracy):
            subsections.append(_build_difficulty_subsection(assay_view, difficulty))
        return Section(
            "Accuracy over contexts",
            sentences=[_write_introduction(assay_view)],
            subsections=subsections,
            anchor="accuracy",
            collapsed=True,
        )


def _write_introduction(assay_view: AssayView) -> Sentence:
    task = find_task(assay_view.result.task)
    pattern = (
        "How often each metric tells the better {noun} from the worse one{accuracy:note}. Bars and bands are"
        " 95\u202f% intervals; press a name to bring its line out."
    )
    if assay_view.sentinels:
        pattern += " Grey dashed lines are sentinels{sentinels:note}, which know nothing of quality."
    noun = "output" if task is None else task.output_noun
    return format_sentence(pattern, noun=noun, accuracy="accuracy", sentinels="sentinels")


def _build_accuracy_subsection(assay_view: AssayView, column: ColumnView) -> Section:
    charted = column.limit_contexts()
    hidden = find_hidden_sentinels(assay_view, charted)
    remarks = []
    if len(charted.contexts) < len(column.contexts):
        remarks.append(
            f"{len(charted.contexts)} of {len(column.contexts)} contexts, evenly spaced in their order."
        )
    if hidden:
        remarks.append(f"Outside the frame: {join_names([assay_view.labels[metric] for metric in hidden])}.")
    chart = Chart(
        f"accuracy by {column.name}",
        build_accuracy_chart(assay_view, charted),
        " ".join(remarks),
        sentinels=[assay_view.labels[metric] for metric in assay_view.sentinels if metric not in hidden],
    )
    sentences = [describe_spread(assay_view, column), describe_trend(assay_view, column)]
    return Section(
        f"By {column.name}",
        sentences=[each for each in sentences if each is not None],
        charts=[chart],
    )


def describe_spread(assay_view: AssayView, column: ColumnView) -> Sentence | None:
    """Say which metric varies most between contexts, among those that are shown to vary."""
    claimed = [claim.metric for claim in assay_view.result.claims.variations if claim.column == column.name]
    small = assay_view.list_small_contexts(column.name)
    ends: dict[str, tuple[MetricAccuracy, MetricAccuracy]] = {}
    for metric in claimed:
        rows = [
            row
            for row in column.list_defined_accuracies(metric)
            if row.context not in small and row.items != 1
        ]
        if len(rows) > 1 and assay_view.labels.is_shown(metric):
            ends[metric] = (min(rows, key=_get_accuracy), max(rows, key=_get_accuracy))
    if not ends:
        return None
    widest = max(ends, key=lambda metric: _get_accuracy(ends[metric][1]) - _get_accuracy(ends[metric][0]))
    low, high = ends[widest]
    return format_sentence(
        "{metric:metric} varies{most}: {high:figure} on {best:context}, {low:figure} on {worst:context}.",
        metric=assay_view.labels[widest],
        most=" most" if len(ends) > 1 else "",
        high=format_accuracy(high),
        best=high.context,
        low=format_accuracy(low),
        worst=low.context,
    )


def describe_trend(assay_view: AssayView, column: ColumnView) -> Sentence | None:
    """Say whether accuracy rises or falls along contexts that have an order."""
    trends = column.result.trend or {}
    if all(rho is None for rho in trends.values()):
        return None
    claimed = {claim.metric for claim in assay_view.result.claims.trends if claim.column == column.name}
    metrics = [metric for metric in assay_view.metrics if metric in claimed][:_MOST_TRENDS]
    if not metrics:
        return format_sentence(
            "Accuracy is not shown to follow the order of {column:column} for any metric.", column=column.name
        )
    correlations = [trends.get(metric) or 0.0 for metric in metrics]
    listed = [
        format_sentence(
            "{rho:figure} for {metric:metric}", rho=format_number(rho), metric=assay_view.labels[metric]
        )
        for metric, rho in zip(metrics, correlations)
    ]
    return format_sentence(
        "{direction}: Spearman’s correlation between the order of {column:column} and accuracy is {listed}.",
        direction=_describe_trend_direction(correlations),
        column=column.name,
        listed=join_phrases(listed),
    )


def _describe_trend_direction(correlations: list[float]) -> str:
    if min(correlations) > 0:
        return "Accuracy rises along the contexts"
    if max(correlations) < 0:
        return "Accuracy falls along the contexts"
    return "Accuracy follows the order of the contexts, up or down depending on the metric"


def _build_difficulty_subsection(assay_view: AssayView, difficulty: Difficulty) -> Section:
    caption = "Each point is at the median of its part of the pairs."
    if difficulty.human_pairs is not None:
        caption += " Grey: the middle half of the human pairs, and their median (dashed)."
    chart = Chart(
        "difficulty",
        build_difficulty_chart(assay_view, difficulty, name_difficulty_bins(difficulty)),
        caption,
    )
    return Section(
        "By how close the two texts of a pair are",
        sentences=describe_difficulty(assay_view, difficulty),
        charts=[chart],
    )


def describe_difficulty(assay_view: AssayView, difficulty: Difficulty) -> list[Sentence]:
    """Say how often the best metric is right on pairs of close texts and on pairs of distant texts."""
    sentences = []
    best = assay_view.best_metric
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
                    metric=assay_view.labels[best.metric],
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


def _get_accuracy(row: MetricAccuracy) -> float:
    return row.accuracy or 0.0
