"""Section of the `judge` page: the prompt that the model was asked with."""

from __future__ import annotations

from typing import ClassVar

from metassay.reporting.judge_page import JudgeReport
from metassay.reporting.pages import Section
from metassay.reporting.report_sections import ReportSection


class JudgePromptSection(ReportSection[JudgeReport]):
    """Report section with the signature and the prompt of the model that made the verdicts."""

    verb: ClassVar[str] = "judge"
    position: ClassVar[int] = 50

    def build_section(self, judge_report: JudgeReport) -> Section | None:
        """Build the section with the prompt of the judge; None if the verdicts were read from a table."""
        asked = judge_report.result.asked
        if asked is None:
            return None
        prompt_lines = [line for line in asked.prompt.split("\n") if line]
        return Section("What the model was asked", [asked.signature, *prompt_lines])
