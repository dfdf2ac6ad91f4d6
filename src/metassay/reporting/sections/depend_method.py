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
        f"SysDep is the range of expected deviations over {by}s, in points of {human}. The expected deviation"
        f" of a {by} says how much too high its {human} is if it is predicted from the metric."
    )


def explain_dependence_terms(by: str, human: str) -> list[str]:
    """Explain SysDep, shrinkage, residual and both p-values; `by` is the column that groups outputs."""
    shrinkage = (
        "A constant metric has the SysDep under constant. Any noisy metric shrinks its predictions to the"
        f" mean, which favours each bad {by} and disadvantages each good one: this part is called shrinkage,"
        " the remainder residual. Favoured or disadvantaged always means: beyond shrinkage."
    )
    p_equal = (
        f"p equal tests whether the expected {human} given the metric is the same for every {by}. It assumes"
        f" that residuals vary equally everywhere (with one {by} three times as noisy as the others it"
        " rejects in 12 % instead of 5 %)."
    )
    p_fair = (
        f"p fair tests whether the metric is {human} plus noise that favours no {by}. It assumes that the"
        " noise has the same size everywhere (a metric that notices only large errors is rejected more often,"
        " however evenly it does so)."
    )
    return [explain_deviation(by, human), shrinkage, p_equal, p_fair]
