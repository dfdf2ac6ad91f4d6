"""Section of the `assay` page: the answer in more detail, in sentences."""

from __future__ import annotations

from typing import ClassVar

from metassay.reporting.assay_answer import write_answer
from metassay.reporting.assay_view import AssayView
from metassay.reporting.pages import Section
from metassay.reporting.report_sections import ReportSection


class AssayDetailsSection(ReportSection[AssayView]):
    """Accuracy and runners-up, human pairs and SPA, and where the choice changes."""

    verb: ClassVar[str] = "assay"
    position: ClassVar[int] = 70

    def build(self, view: AssayView) -> Section:
        """Build the sentences."""
        return Section(
            "The answer in detail",
            sentences=write_answer(view),
            anchor="details",
            contents_title="In detail",
            collapsed=True,
        )
