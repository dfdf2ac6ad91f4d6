"""Report sections: built-in ones and those that another package adds with one file."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from metassay import plugins
from metassay.errors import InputError
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import Section
from metassay.reporting.report_sections import (
    ReportSection,
    ResultReport,
    build_report_sections,
)
from metassay.results.base import ResultStruct


class SpellingResult(ResultStruct, frozen=True, kw_only=True):
    mistakes: int


class MistakesSection(ReportSection[ResultReport[SpellingResult]]):
    verb: ClassVar[str] = "spell"

    def build_section(self, view: ResultReport[SpellingResult]) -> Section | None:
        if view.result.mistakes == 0:
            return None
        return Section("Mistakes", sentences=[f"{view.result.mistakes} words are misspelt."])


class OpeningSection(ReportSection[ResultReport[Any]]):
    verb: ClassVar[str] = "spell"
    position: ClassVar[int] = 5

    def build_section(self, view: ResultReport[Any]) -> Section:
        return Section(f"Spelling, version {view.result.schema_version}")


class RankSection(ReportSection[ResultReport[Any]]):
    verb: ClassVar[str] = "rank"

    def build_section(self, view: ResultReport[Any]) -> Section:
        return Section(str(view))


def announce(monkeypatch: pytest.MonkeyPatch, *section_types: Any) -> None:
    """Announce sections as an installed package does."""
    points = [
        SimpleNamespace(name=str(n), load=lambda section_type=section_type: section_type)
        for n, section_type in enumerate(section_types)
    ]

    def entry_points(group: str) -> list[SimpleNamespace]:
        return points if group == "metassay.report_sections" else []

    monkeypatch.setattr(plugins, "find_entry_points", entry_points)


def view_of(mistakes: int) -> ResultReport[SpellingResult]:
    return ResultReport(SpellingResult(mistakes=mistakes), MetricLabels([]))


def test_sections_of_other_packages_appear_in_the_order_of_their_positions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    announce(monkeypatch, MistakesSection, RankSection, OpeningSection)
    sections = build_report_sections("spell", view_of(mistakes=3), {})
    assert [section.title for section in sections] == ["Spelling, version 1", "Mistakes"]
    assert sections[1].sentences == ["3 words are misspelt."]


def test_a_section_without_content_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    announce(monkeypatch, MistakesSection)
    assert build_report_sections("spell", view_of(mistakes=0), {}) == []


def test_a_plug_in_that_is_no_section_is_named_in_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    announce(monkeypatch, print)
    with pytest.raises(InputError, match=r"plug-in 0 \(metassay.report_sections\) is not a ReportSection"):
        build_report_sections("spell", view_of(mistakes=0), {})


def test_a_section_of_another_package_appears_between_those_of_metassay(monkeypatch) -> None:
    announce(monkeypatch, OpeningSection)
    built_in = {10: lambda _: Section("Second"), 1: lambda _: Section("First")}
    sections = build_report_sections("spell", view_of(mistakes=0), built_in)
    assert [section.title for section in sections] == ["First", "Spelling, version 1", "Second"]
