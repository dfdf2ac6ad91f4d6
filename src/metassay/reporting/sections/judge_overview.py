"""Section of the `judge` page: accuracy, consistency and biases of every judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from metassay.reporting.charts.judges import build_judge_accuracy_chart
from metassay.reporting.judge_page import (
    JudgeReport,
    build_text_table,
    describe_judge_consistency,
    format_judge_measure,
    format_share_with_interval,
    sort_judges_by_accuracy,
)
from metassay.reporting.pages import Chart, Section
from metassay.reporting.report_sections import ReportSection
from metassay.reporting.tables import Grid
from metassay.reporting.wording import NO_VALUE, format_number, format_percent
from metassay.results.judge import JudgeContent, JudgeEntry

HEADINGS = (
    "judge",
    "pairs",
    "agrees with people",
    "base rate",
    "same in both orders",
    "position bias",
    "length bias",
    "same when repeated",
    "missing",
    "corrected share",
    "cost",
)
# What columns of the table mean.
EXPLANATIONS = {
    "base rate": "the agreement of the same verdicts if they were assigned to items at random",
    "position bias": "share of verdicts that prefer the output shown first, minus ½",
    "length bias": "accuracy where the better output is the longer one, minus where it is the shorter one",
    "corrected share": "the share of first outputs preferred (or of outputs called good), corrected for the"
    " errors of the judge (Rogan and Gladen)",
}
# How ties count, by the name of the option.
TIE_RULES = {
    "half": "A verdict counts if it prefers the same output in both orders; else it is a tie, which is half"
    " right.",
    "strict": "A verdict counts if it prefers the same output in both orders; else it is a tie, which is"
    " wrong.",
    "judgebench": "The verdicts of both orders are added up, as JudgeBench does: a preference and a tie count"
    " as the preference, two contradictory verdicts as wrong.",
}
CHART_CAPTION = (
    "Share of pairs in which each judge agrees with people, best judge first, with 95 % intervals."
)


class JudgeOverviewSection(ReportSection[JudgeReport]):
    """Report section with the accuracy, consistency and biases of every judge."""

    verb: ClassVar[str] = "judge"
    position: ClassVar[int] = 10

    def build_section(self, judge_report: JudgeReport) -> Section:
        """Build the section with a chart and a table of the judges, best first, and sentences about each."""
        entries = sort_judges_by_accuracy(judge_report.result.judges)
        table = build_text_table("judges", "Judges", HEADINGS, [_build_judge_row(entry) for entry in entries])
        statements = [_describe_judge(entry) for entry in entries if describe_judge_consistency(entry)]
        details = Section(
            "What is known about each judge", [], bullets=statements, collapsed=len(entries) > 1
        )
        return Section(
            "Judges",
            charts=_build_accuracy_chart(entries),
            grids=[table],
            subsections=[
                *([details] if statements else []),
                Section("How to read the table", [_explain_judge_table_columns(judge_report.result, table)]),
            ],
        )


def _describe_judge(judge: JudgeEntry) -> str:
    """Say in one paragraph how consistent a judge is."""
    statements = " ".join(describe_judge_consistency(judge))
    return f"{judge.judge}: {statements[0].lower()}{statements[1:]}"


def _build_judge_row(judge: JudgeEntry) -> list[str]:
    corrected = judge.corrected
    corrected_share = NO_VALUE
    if corrected is not None:
        corrected_share = format_share_with_interval(corrected.value, corrected.low, corrected.high)
    return [
        judge.judge,
        str(judge.pairs),
        format_share_with_interval(judge.accuracy, judge.low, judge.high),
        format_percent(judge.base_rate),
        format_judge_measure(judge, "both_orders_same"),
        format_number(judge.position_bias),
        format_number(judge.length_bias),
        format_judge_measure(judge, "repeats_same"),
        str(judge.missing),
        corrected_share,
        format_number(judge.cost),
    ]


def _explain_judge_table_columns(judge_result: JudgeContent, table: Grid) -> str:
    """Explain where human labels come from, how ties count, and what the columns mean."""
    sentences = [
        f"Human labels: {judge_result.gold}." if judge_result.gold else "This table has no human labels."
    ]
    if any(entry.both_orders_same is not None for entry in judge_result.judges):
        sentences.append(TIE_RULES[judge_result.ties])
    sentences += [
        f"{field.label.capitalize()}: {EXPLANATIONS[field.label]}."
        for field in table.fields
        if field.label in EXPLANATIONS
    ]
    sentences.append("Intervals are 95 % intervals from resampled items.")
    return " ".join(sentences)


def _build_accuracy_chart(judges: Sequence[JudgeEntry]) -> list[Chart]:
    """Draw the accuracy of the judges that have one, if there are at least two."""
    measured = [entry for entry in judges if entry.accuracy is not None]
    if len(measured) < 2:
        return []
    return [Chart("judges", build_judge_accuracy_chart(measured), CHART_CAPTION)]
