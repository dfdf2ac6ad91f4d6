"""The report page of the command `assay`: which metric to trust, in which contexts, and how certain
this is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metassay.reporting.assay_caveats import list_caveats_except_main_one
from metassay.reporting.assay_report import prepare_assay_report
from metassay.reporting.pages import Page
from metassay.reporting.report_sections import build_report_sections
from metassay.reporting.sections.assay_accuracy import build_accuracy_section
from metassay.reporting.sections.assay_agreement import build_agreement_section
from metassay.reporting.sections.assay_choice import build_choice_section
from metassay.reporting.sections.assay_heatmap import build_heatmap_section
from metassay.reporting.sections.assay_human_pairs import build_human_pairs_section
from metassay.reporting.sections.assay_method import build_method_section
from metassay.reporting.sections.assay_numbers import build_numbers_section, build_overall_accuracy_table
from metassay.reporting.sections.assay_perturbations import build_perturbations_section
from metassay.reporting.sections.assay_provenance import build_provenance_section
from metassay.reporting.sections.assay_tests import build_tests_section
from metassay.reporting.sections.assay_wrong_pairs import (
    build_wrong_pairs_section,
    describe_pairs_with_doubtful_label,
)
from metassay.reporting.verdict_lines import (
    build_question_table,
    list_closing_lines_of_verdict,
    list_opening_lines_of_verdict,
)
from metassay.reporting.wording import find_installed_task
from metassay.results.assay import AssayContent
from metassay.results.wrong_pairs import WrongPairs

TITLE = "Which metric can you trust, here?"
# In the order of the page. Sections of plug-ins come between or after them, by their position.
ASSAY_SECTIONS = {
    5: build_heatmap_section,
    10: build_choice_section,
    20: build_perturbations_section,
    30: build_wrong_pairs_section,
    40: build_human_pairs_section,
    50: build_accuracy_section,
    60: build_agreement_section,
    80: build_tests_section,
    90: build_numbers_section,
    100: build_method_section,
    110: build_provenance_section,
}


def build_assay_page(
    assay_result: AssayContent,
    *,
    wrong_pairs: WrongPairs | None = None,
    manifest: Mapping[str, Any] | None = None,
) -> Page:
    """Build the report page of the command `assay`, which says which metric to trust. `wrong_pairs` and
    `manifest` come from the run folder.
    """
    assay_report = prepare_assay_report(assay_result, wrong_pairs=wrong_pairs, manifest=manifest)
    task = find_installed_task(assay_result.task)
    verdict = assay_report.result.verdict
    questions = build_question_table(verdict, assay_report.labels, assay_result.task)
    return Page(
        kicker=assay_result.task if task is None else task.title,
        title=TITLE,
        lead=list_opening_lines_of_verdict(verdict),
        questions=questions,
        closing=list_closing_lines_of_verdict(verdict),
        sections=build_report_sections("assay", assay_report, ASSAY_SECTIONS),
        doubts=[
            *list_caveats_except_main_one(assay_report),
            *describe_pairs_with_doubtful_label(wrong_pairs),
        ],
        main_tables=[build_overall_accuracy_table(assay_report)] if questions is None else [questions],
    )
