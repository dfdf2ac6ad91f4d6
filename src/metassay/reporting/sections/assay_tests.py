"""Section of the `assay` page: tests of differences between contexts (H1)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from metassay.reporting.assay_report import AssayReport, ReportedColumn
from metassay.reporting.pages import Section
from metassay.reporting.tables import Field, Grid, build_grid
from metassay.reporting.wording import Sentence, format_number, format_plural, format_sentence, list_names
from metassay.results.assay import AccuracyTest

_FIELDS = (
    Field("metric", "metric", "name"),
    Field("chi2", "χ²", "number"),
    Field("dof", "dof", "count", "degrees of freedom: contexts − 1"),
    Field("cramers_v", "Cramér’s V", "number", "size of the effect: 0 none, 1 complete"),
    Field("p", "p, χ²", "probability", "chi-square test on pair counts, as published"),
    Field("p_cmh", "p, CMH", "probability", "Cochran–Mantel–Haenszel, stratified by perturbation"),
    Field("p_permutation", "p, permutation", "probability", "labels exchanged by whole outputs or clusters"),
    Field("p_deciding", "p that decides", "probability", "permutation test, for all claims of this report"),
    Field("differs", "differs?", "verdict", "yes where the p that decides is at most .05"),
)
_SLIGHT = 0.1
_MODERATE = 0.3


def build_tests_section(assay_report: AssayReport) -> Section | None:
    """Build the section with tests of whether accuracy differs between contexts, such as domains. None if no
    column could be tested.
    """
    if not any(column.result.h1 for column in assay_report.context_columns):
        return None
    introduction = format_sentence(
        "Null hypothesis{note:note}: “the metric is right equally often in every context; the differences"
        " that we see are chance”. A small p says that chance is a poor explanation; Cramér’s V says how"
        " large the difference is.",
        note="h1",
    )
    return Section(
        "Is the difference between contexts real?",
        sentences=[introduction],
        subsections=[
            _build_tests_subsection(assay_report, column) for column in assay_report.context_columns
        ],
        anchor="tests",
        collapsed=True,
        contents_title="Is the difference real?",
    )


def _build_tests_subsection(assay_report: AssayReport, context_column: ReportedColumn) -> Section:
    sentences: list[str | Sentence] = [
        describe_accuracy_differences_between_contexts(assay_report, context_column)
    ]
    exchanges = context_column.result.h1_exchanges or []
    if exchanges:
        sentences.append(f"The permutation test exchanged {', '.join(exchanges)}.")
    table = build_table_of_accuracy_tests(assay_report, context_column)
    return Section(f"By {context_column.name}", sentences=sentences, grids=[] if table is None else [table])


def build_table_of_accuracy_tests(assay_report: AssayReport, context_column: ReportedColumn) -> Grid | None:
    """Build a table with a test for each metric of whether its accuracy is equal in all contexts, such as
    domains. None if nothing was tested.
    """
    if not context_column.result.h1:
        return None
    rows = []
    for test in context_column.result.h1:
        if assay_report.labels.has_own_table_row(test.metric):
            row = msgspec.structs.asdict(test)
            row["metric"] = assay_report.labels[test.metric]
            row["p_deciding"] = assay_report.find_adjusted_p_value(context_column.name, test)
            row["differs"] = _write_test_decision(assay_report, context_column, test)
            rows.append(row)
    return build_grid(
        f"h1-{context_column.name}", f"Does accuracy differ by {context_column.name}?", _FIELDS, rows
    )


def describe_accuracy_differences_between_contexts(
    assay_report: AssayReport, context_column: ReportedColumn
) -> Sentence:
    """Name the metrics whose accuracy is shown to differ between contexts, such as domains, and say how large
    the differences are.
    """
    tests = [
        test for test in context_column.result.h1 or [] if assay_report.labels.has_own_table_row(test.metric)
    ]
    if not tests:
        return format_sentence(
            "There is nothing to test: {column:column} has one value only.", column=context_column.name
        )
    testable = [test for test in tests if test.p_permutation_holm is not None]
    if not testable:
        return _explain_untested_column(assay_report, context_column)
    differing = [
        test for test in testable if _write_test_decision(assay_report, context_column, test) == "yes"
    ]
    if not differing:
        return format_sentence(
            "For none of {count} is accuracy shown to differ between values of {column:column}.",
            count=format_plural(len(tests), "metric"),
            column=context_column.name,
        )
    strongest = max(differing, key=lambda test: test.cramers_v or 0.0)
    return format_sentence(
        "Accuracy differs between values of {column:column} for {which}; the difference is {size} (largest"
        " Cramér’s V {v}, {metric:metric}).",
        column=context_column.name,
        which=_name_metrics_that_differ(assay_report, differing, len(tests)),
        size=_name_effect_size(strongest.cramers_v),
        v=format_number(strongest.cramers_v),
        metric=assay_report.labels[strongest.metric],
    )


def _explain_untested_column(assay_report: AssayReport, context_column: ReportedColumn) -> Sentence:
    reason = (
        "too few of its values hold two clusters. Compare values that several clusters share, or name a"
        " smaller cluster with --cluster"
    )
    if len(context_column.contexts) - len(assay_report.list_small_contexts(context_column.name)) < 2:
        reason = "fewer than two of its values are large enough"
    return format_sentence(
        "Whether accuracy differs by {column:column} cannot be tested: {reason}.",
        column=context_column.name,
        reason=reason,
    )


def _write_test_decision(
    assay_report: AssayReport, context_column: ReportedColumn, accuracy_test: AccuracyTest
) -> str | None:
    """Return `yes` if the accuracy of a metric is shown to differ between contexts, such as domains, and else
    `not shown`. None if it could not be tested.
    """
    if accuracy_test.p_permutation_holm is None:
        return None
    claims = assay_report.result.claims.variations
    is_claimed = any(
        claim.column == context_column.name and claim.metric == accuracy_test.metric for claim in claims
    )
    return "yes" if is_claimed else "not shown"


def _name_metrics_that_differ(
    assay_report: AssayReport, significant_tests: Sequence[AccuracyTest], tested_count: int
) -> Sentence:
    if len(significant_tests) == tested_count > 1:
        return format_sentence("all {count} metrics", count=tested_count)
    names = list_names([assay_report.labels[test.metric] for test in significant_tests], "metric")
    return format_sentence(
        "{names} ({some} of {all})", names=names, some=len(significant_tests), all=tested_count
    )


def _name_effect_size(cramers_v: float | None) -> str:
    if cramers_v is None:
        return "of unknown size"
    if cramers_v < _SLIGHT:
        return "slight"
    if cramers_v < _MODERATE:
        return "moderate"
    return "large"
