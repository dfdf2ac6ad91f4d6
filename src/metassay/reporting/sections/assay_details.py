"""Section of the `assay` page: the answer in more detail, in sentences."""

from __future__ import annotations

from typing import ClassVar

from metassay.reporting.assay_answer import describe_assay_answer
from metassay.reporting.assay_report import AssayReport
from metassay.reporting.pages import Section
from metassay.reporting.report_sections import ReportSection


class AssayDetailsSection(ReportSection[AssayReport]):
    """Report section with the full answer: accuracies, tied metrics, human pairs and contexts."""

    verb: ClassVar[str] = "assay"
    position: ClassVar[int] = 70

    def build_section(self, assay_report: AssayReport) -> Section:
        """Build the section with the full answer of an assay in sentences."""
        return Section(
            "The answer in detail",
            sentences=describe_assay_answer(assay_report),
            anchor="details",
            contents_title="In detail",
            collapsed=True,
        )
