"""Section of the `depend` page: what the numbers mean and what the tests assume."""

from __future__ import annotations

from typing import ClassVar

from metassay.reporting.depend_report import DependReport
from metassay.reporting.pages import Section
from metassay.reporting.report_sections import ReportSection


class DependMethodSection(ReportSection[DependReport]):
    """Report section with the definitions of system dependence (SysDep) and its parts, and of the tests."""

    verb: ClassVar[str] = "depend"
    position: ClassVar[int] = 90

    def build_section(self, depend_report: DependReport) -> Section:
        """Build the section that defines system dependence (SysDep) and its tests."""
        return Section(
            "How it was measured",
            explain_dependence_terms(depend_report.result.by, depend_report.result.human),
        )


def explain_deviation(by: str, human: str) -> str:
    """Explain expected deviations and SysDep, their range."""
    return (
        f"The expected deviation of a {by} says how much too high its {human} is if it is predicted from the"
        f" metric. SysDep is the highest expected deviation of a {by} minus the lowest, in points of {human}."
        " SysDep also contains shrinkage, which any noisy metric shows."
    )


def explain_fairness_test(by: str) -> str:
    """Say when a metric counts as favouring some systems."""
    return f"A metric is shown to favour some {by}s if p fair is at most .05 after Holm's correction."


def explain_dependence_terms(by: str, human: str) -> list[str]:
    """Explain SysDep, shrinkage, residual and both p-values; `by` is the column that groups outputs."""
    shrinkage = (
        f"A noisy metric predicts values close to the mean for every {by}, which favours each bad {by} and"
        " disadvantages each good one. This part of the deviation is called shrinkage, and the rest is"
        " called"
        " residual. On this page, favoured and disadvantaged always refer to the residual. The column"
        " constant"
        " is the SysDep of a metric that gives every output the same score."
    )
    p_equal = (
        f"The test “p equal” asks whether outputs with the same metric score have the same expected {human}"
        f" for every {by}. It assumes that {human} varies equally around this expectation everywhere. If one"
        f" {by} is three times as noisy as the others, the test rejects in 12 % of cases instead of 5 %."
    )
    p_fair = (
        f"The test “p fair” asks whether the metric is {human} plus noise that favours no {by}. It assumes"
        " that the noise has the same size everywhere. A metric that notices only large errors is therefore"
        f" rejected more often, even if it treats every {by} alike."
    )
    return [explain_deviation(by, human), shrinkage, p_equal, p_fair, explain_fairness_test(by)]
