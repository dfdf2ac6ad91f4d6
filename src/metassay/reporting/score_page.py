"""The page of `score`: which systems differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metassay.reporting.data_summary import describe_data_used
from metassay.reporting.labels import MetricLabels
from metassay.reporting.report_sections import ResultReport, build_report_sections
from metassay.reporting.wording import format_count, format_p_value, format_plural, join_names
from metassay.results.score import ScoreContent, SystemComparison
from metassay.results.verdict import Claim, convert_sentences_to_findings
from metassay.stats.levels import SIGNIFICANCE_LEVEL

if TYPE_CHECKING:
    from metassay.reporting.pages import Page

TITLE = "Which systems differ?"
TEST_NAMES = {"bootstrap": "paired bootstrap", "randomization": "approximate randomisation"}

ScoreReport = ResultReport[ScoreContent]


def build_score_page(score_result: ScoreContent) -> Page:
    """Build the report page of the command `score`, which shows the scores of systems and which differences
    are significant.
    """
    from metassay.reporting.pages import Page
    from metassay.reporting.sections.score import SCORE_SECTIONS

    score_report = prepare_score_report(score_result)
    return Page(
        kicker="Scores",
        title=TITLE,
        lead=[claim.sentence for claim in score_result.verdict],
        sections=build_report_sections("score", score_report, SCORE_SECTIONS),
        doubts=warn_of_too_few_draws(score_report),
        notes=[*describe_data_used(score_result.data), *score_result.notes],
    )


def prepare_score_report(score_result: ScoreContent) -> ScoreReport:
    """Combine the result of the command `score` with the labels under which its report shows the metrics."""
    return ResultReport(score_result, MetricLabels(row.metric for row in score_result.systems))


def list_main_findings_on_score_differences(score_report: ScoreReport) -> list[Claim]:
    """Write the main statements of a `score` report: how many differences between systems are significant by
    each metric.
    """
    sentences = _describe_score_differences(score_report) or [
        "Scores of every system. No test was requested (--test)."
    ]
    return convert_sentences_to_findings(sentences)


def group_comparisons_by_metric(
    score_result: ScoreContent,
) -> dict[tuple[str, str | None], list[SystemComparison]]:
    """Group the comparisons of two systems by metric and test set."""
    groups: dict[tuple[str, str | None], list[SystemComparison]] = {}
    for comparison in score_result.comparisons:
        groups.setdefault((comparison.metric, comparison.group), []).append(comparison)
    return groups


def is_difference_significant(comparison: SystemComparison) -> bool:
    """Return whether the scores of two systems differ at the 5 % level after Holm's correction."""
    return comparison.p_holm is not None and comparison.p_holm <= SIGNIFICANCE_LEVEL


def _describe_score_differences(score_report: ScoreReport) -> list[str]:
    """Say for each test set how many differences between the scores of systems are significant."""
    counts_by_test: dict[tuple[str | None, str, int], dict[str, int]] = {}
    for (metric, group), comparisons in group_comparisons_by_metric(score_report.result).items():
        counts = counts_by_test.setdefault((group, comparisons[0].test, len(comparisons)), {})
        significant = sum(is_difference_significant(comparison) for comparison in comparisons)
        counts[score_report.labels[metric]] = significant
    sentences = []
    for (group, test, number), counts in counts_by_test.items():
        on_group = f" on {group}" if group else ""
        by_metric = [f"{format_count(significant)} by {metric}" for metric, significant in counts.items()]
        verb = "is" if [*counts.values()] == [1] else "are"
        sentences.append(
            f"Of {format_plural(number, 'difference')} between systems{on_group},"
            f" {join_names(by_metric)} {verb} significant"
            f" (p ≤ .05 by {TEST_NAMES.get(test, test)}, two-sided, after Holm's correction)."
        )
    return sentences


def warn_of_too_few_draws(score_report: ScoreReport) -> list[str]:
    """Warn if no p-value is significant after Holm's correction, but one may become so with more random
    draws.
    """
    metrics_by_test: dict[tuple[str | None, float, int], list[str]] = {}
    for (metric, group), comparisons in group_comparisons_by_metric(score_report.result).items():
        p_values = [comparison.p for comparison in comparisons if comparison.p is not None]
        smallest = min(p_values, default=0.0)
        if smallest <= SIGNIFICANCE_LEVEL < smallest * len(comparisons):
            metrics = metrics_by_test.setdefault((group, smallest, len(comparisons)), [])
            metrics.append(score_report.labels[metric])
    sentences = []
    for (group, smallest, number), metrics in metrics_by_test.items():
        on_group = f", {group}" if group else ""
        sentences.append(
            f"{join_names(metrics)}{on_group}: the smallest p, {format_p_value(smallest)}, is not"
            f" significant among {format_plural(number, 'comparison')};"
            " with more draws (--draws) it may be."
        )
    return sentences
