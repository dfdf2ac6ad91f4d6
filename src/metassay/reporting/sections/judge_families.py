"""Section of the `judge` page: which families of systems each judge favours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from metassay.reporting.charts.heatmaps import build_signed_heatmap
from metassay.reporting.judge_page import JudgeReport, build_text_table, is_self_preference_significant
from metassay.reporting.pages import Chart, Section
from metassay.reporting.report_sections import ReportSection
from metassay.reporting.wording import NO_VALUE, format_number, format_p_value
from metassay.results.judge import HUMANS, SelfPreference

HEADINGS = ("judge", "family", "its own", "deviation", "95 % interval", "p (Holm)")
CHART_CAPTION = (
    "Blue: the judge rates the systems of the family too high; red: too low; * where this is shown for the"
    " judge's own family (p ≤ .05 after Holm's correction)."
)
HUMAN_YARDSTICK = (
    "The deviation of a family is how much higher the judge rates its outputs than outputs of other systems"
    " with equal human scores, in standard deviations of the judge's scores. Human scores are taken as exact."
)
PANEL_YARDSTICK = (
    "There are no human scores: the yardstick is the panel of the other judges, by standardised system means."
    " A preference that all judges share does not show."
)
ONE_TEST = "Only the judge's own family is tested; the other rows describe and claim nothing."
NO_OWN_FAMILY = (
    "No judge is tested for self-preference, because the table does not name the judges' own families: add a"
    " column judge_family."
)


class JudgeFamiliesSection(ReportSection[JudgeReport]):
    """Report section on how much each judge favours or disadvantages each model family."""

    verb: ClassVar[str] = "judge"
    position: ClassVar[int] = 40

    def build_section(self, judge_report: JudgeReport) -> Section | None:
        """Build the section on favoured model families; None if the data does not name families."""
        entries = judge_report.result.self_preference
        if not entries:
            return None
        explanation = HUMAN_YARDSTICK if entries[0].yardstick == HUMANS else PANEL_YARDSTICK
        tests = ONE_TEST if any(entry.own for entry in entries) else NO_OWN_FAMILY
        rows = [_build_family_preference_row(entry) for entry in entries]
        table = build_text_table("families", "Deviation of each family", HEADINGS, rows)
        return Section(
            "Which families does it favour?",
            [explanation, tests],
            charts=_build_judge_family_heatmap(entries),
            grids=[table],
        )


def _build_family_preference_row(preference: SelfPreference) -> list[str]:
    interval = (
        NO_VALUE
        if preference.low is None
        else f"{format_number(preference.low)} to {format_number(preference.high)}"
    )
    return [
        preference.judge,
        preference.family,
        "yes" if preference.own else NO_VALUE,
        format_number(preference.deviation),
        interval,
        format_p_value(preference.p_holm),
    ]


def _build_judge_family_heatmap(self_preferences: Sequence[SelfPreference]) -> list[Chart]:
    """Draw how much each judge favours each model family, if the heatmap has more than two cells."""
    cells = [
        {
            "row": entry.judge,
            "column": entry.family,
            "value": round(entry.deviation, 4),
            "mark": "*" if is_self_preference_significant(entry) else "",
        }
        for entry in self_preferences
        if entry.deviation is not None
    ]
    judges = list(dict.fromkeys(str(cell["row"]) for cell in cells))
    families = list(dict.fromkeys(str(cell["column"]) for cell in cells))
    if len(judges) * len(families) <= 2:
        return []
    description = f"How much {len(judges)} judges favour the systems of {len(families)} families."
    spec = build_signed_heatmap(description, cells, judges, families, ("judge", "family", "deviation"))
    return [Chart("families", spec, CHART_CAPTION)]
