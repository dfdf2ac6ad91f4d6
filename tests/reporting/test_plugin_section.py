"""Adding a section to a report takes one file outside metassay, in a package that announces it."""

from __future__ import annotations

import polars as pl

import metassay

SOURCE_CODE = '''
from typing import ClassVar

from metassay.reporting.pages import Section
from metassay.reporting.report_sections import ReportSection


class SystemCountSection(ReportSection):
    """How many systems were scored."""

    verb: ClassVar[str] = "score"

    def build_section(self, view):
        systems = {row.system for row in view.result.systems}
        return Section("Number of systems", sentences=[f"{len(systems)} systems were scored."])
'''


def test_the_section_of_a_package_is_on_the_page_of_its_verb(install_plugin, tmp_path) -> None:
    install_plugin("system_count", SOURCE_CODE, "metassay.report_sections", "SystemCountSection")
    outputs = pl.DataFrame({"seg_id": [1, 1], "system": ["a", "b"], "hyp": ["x", "y"], "ref": ["x", "x"]})
    metassay.score(outputs, metrics="chrf", out=tmp_path / "run", workers=1)
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "Number of systems" in page
    assert "2 systems were scored." in page
