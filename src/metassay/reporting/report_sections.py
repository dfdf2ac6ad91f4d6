"""Sections of reports, and the base class of those that other packages add.

A section of metassay is a function that builds a `Section` (sentences, charts and tables) from a result; the
page lists them. Other packages add a class that also names the verb, with an entry point:

    [project.entry-points."metassay.report_sections"]
    word-counts = "my_package.word_counts:WordCountSection"
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from metassay import plugins
from metassay.errors import InputError
from metassay.reporting.labels import MetricLabels
from metassay.results.base import ResultStruct

if TYPE_CHECKING:
    from metassay.reporting.pages import Section

ResultT_co = TypeVar("ResultT_co", bound=ResultStruct, covariant=True)
ReportT_contra = TypeVar("ReportT_contra", bound="ResultReport[Any]", contravariant=True)

# Builds a section from a prepared result; None if the result has nothing to show in it.
SectionBuilder = Callable[[Any], "Section | None"]


@dataclass(frozen=True)
class ResultReport(Generic[ResultT_co]):
    """A result prepared for its report page, with the labels of its metrics."""

    result: ResultT_co
    labels: MetricLabels


class ReportSection(ABC, Generic[ReportT_contra]):
    """Base class of a section that a plug-in adds to the report of one command."""

    verb: ClassVar[str]
    """The verb whose report has this section: `assay`, `rank`, `depend` …"""
    position: ClassVar[int] = 1000
    """Sections appear in ascending position. Those of metassay have 10, 20, 30 …"""

    @abstractmethod
    def build_section(self, report: ReportT_contra) -> Section | None:
        """Build the section from a result. None if the result has nothing to show in it."""


def build_report_sections(
    verb: str, report: ResultReport[Any], built_in: Mapping[int, SectionBuilder]
) -> list[Section]:
    """Build the sections of a report page, including those of plug-ins. Sections without content are left
    out.

    `built_in` are the sections of metassay by position.
    """
    builders = list(built_in.items())
    for name, section_type in plugins.load_entry_points("report_sections").items():
        if not isinstance(section_type, type) or not issubclass(section_type, ReportSection):
            raise InputError(
                f"the plug-in {name} (metassay.report_sections) is not a ReportSection.",
                remedy="Derive its class from metassay.reporting.report_sections.ReportSection.",
            )
        if section_type.verb == verb:
            builders.append((section_type.position, section_type().build_section))
    sections = []
    for _, build_section in sorted(builders, key=lambda builder: builder[0]):
        section = build_section(report)
        if section is not None:
            sections.append(section)
    return sections
