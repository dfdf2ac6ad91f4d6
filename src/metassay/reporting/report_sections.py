"""Sections of reports: the base class, and the registry of ours and of other packages.

A section is one class in one file. It declares the verb whose report it belongs to and builds a `Section`
(sentences, charts and tables) from the result. Packages add sections with an entry point:

    [project.entry-points."metassay.report_sections"]
    word-counts = "my_package.word_counts:WordCountSection"
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
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

# Sections of metassay by verb, as `module:class` below `metassay.reporting.sections`.
BUILT_IN_SECTIONS: dict[str, tuple[str, ...]] = {
    "aggregate": ("aggregate_scores:AggregateScoresSection",),
    "assay": (
        "assay_heatmap:AssayHeatmapSection",
        "assay_human_pairs:AssayHumanPairsSection",
        "assay_accuracy:AssayAccuracySection",
        "assay_agreement:AssayAgreementSection",
        "assay_perturbations:AssayPerturbationsSection",
        "assay_choice:AssayChoiceSection",
        "assay_details:AssayDetailsSection",
        "assay_tests:AssayTestsSection",
        "assay_numbers:AssayNumbersSection",
        "assay_wrong_pairs:AssayWrongPairsSection",
        "assay_method:AssayMethodSection",
        "assay_provenance:AssayProvenanceSection",
    ),
    "depend": (
        "depend_overview:DependOverviewSection",
        "depend_corrections:DependCorrectionsSection",
        "depend_single_metrics:DependSingleMetricsSection",
        "depend_method:DependMethodSection",
    ),
    "estimate": (
        "estimate_systems:EstimateSystemsSection",
        "estimate_systems:EstimateDifferencesSection",
        "estimate_systems:EstimateContextsSection",
        "estimate_metrics:EstimateMetricsSection",
    ),
    "judge": (
        "judge_overview:JudgeOverviewSection",
        "judge_contexts:JudgeContextsSection",
        "judge_alternative_test:JudgeAlternativeTestSection",
        "judge_families:JudgeFamiliesSection",
        "judge_prompt:JudgePromptSection",
    ),
    "rank": (
        "rank_rankings:RankRankingsSection",
        "rank_system_pairs:RankSystemPairsSection",
        "rank_fewer_items:RankFewerItemsSection",
        "rank_differences:RankDifferencesSection",
        "rank_rankings:RankContextsSection",
        "rank_averages:RankAveragesSection",
    ),
    "score": (
        "score_systems:ScoreSystemsSection",
        "score_meanings:ScoreMeaningsSection",
        "score_comparisons:ScoreComparisonsSection",
    ),
}


@dataclass(frozen=True)
class ResultReport(Generic[ResultT_co]):
    """A result prepared for its report, with the labels of its metrics."""

    result: ResultT_co
    labels: MetricLabels


class ReportSection(ABC, Generic[ReportT_contra]):
    """Base class for a section of the report of one command."""

    verb: ClassVar[str]
    """The verb whose report has this section: `assay`, `rank`, `depend` …"""
    position: ClassVar[int] = 1000
    """Sections appear in ascending position. Those of metassay have 10, 20, 30 …"""

    @abstractmethod
    def build_section(self, report: ReportT_contra) -> Section | None:
        """Build the report section from a result; None if the result has nothing to show in it."""


def load_report_sections(verb: str) -> list[ReportSection[Any]]:
    """Load the sections of a command's report in display order, including those of plug-ins."""
    sections = [_import_section_class(path)() for path in BUILT_IN_SECTIONS.get(verb, ())]
    for name, section_type in plugins.load_entry_points("report_sections").items():
        if not isinstance(section_type, type) or not issubclass(section_type, ReportSection):
            raise InputError(
                f"the plug-in {name} (metassay.report_sections) is not a ReportSection.",
                remedy="Derive its class from metassay.reporting.report_sections.ReportSection.",
            )
        if section_type.verb == verb:
            sections.append(section_type())
    return sorted(sections, key=lambda section: section.position)


def build_report_sections(verb: str, report: ResultReport[Any]) -> list[Section]:
    """Build all sections of a command's report that have something to show."""
    sections = [section.build_section(report) for section in load_report_sections(verb)]
    return [section for section in sections if section is not None]


def _import_section_class(module_and_class: str) -> type[ReportSection[Any]]:
    module, _, name = module_and_class.partition(":")
    section_type: type[ReportSection[Any]] = getattr(
        importlib.import_module(f"metassay.reporting.sections.{module}"), name
    )
    return section_type
