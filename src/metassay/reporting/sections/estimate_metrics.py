"""Section of the `estimate` page: how many labels each metric saves, and how estimates are made."""

from __future__ import annotations

from typing import Any, ClassVar

from metassay.reporting.estimate_page import EstimateReport
from metassay.reporting.pages import Section
from metassay.reporting.report_sections import ReportSection
from metassay.reporting.tables import Field, build_grid
from metassay.results.estimate import CandidateMetric

FIELDS = (
    Field("metric", "metric", "name"),
    Field("saved", "labels saved for a mean", "percent", "cross-fitted; 0 for a useless metric"),
    Field("low", "95 % interval: low", "percent"),
    Field("high", "high", "percent"),
    Field("saved_difference", "for a difference", "percent"),
    Field("difference_low", "95 % interval: low", "percent"),
    Field("difference_high", "high", "percent"),
    Field("copies", "copies the labels", "text"),
)
FORMULA = (
    "The estimate of a system is the mean of its labels, corrected by how far the metric scores of the"
    " labelled items differ from those of all items: mean(h) + λ (mean(m of all) − mean(m of labelled)),"
    " λ = Cov(h, m) / Var(m). It is unbiased whatever the metric, if the labelled items are a random sample;"
    " a good metric makes it more precise (Chaganty et al., 2018; Angelopoulos et al., 2023)."
)
INTERVALS = (
    "Intervals are bootstrap-t intervals over the labelled items (or documents). In 95 of 100 samples they"
    " contain the true mean; docs/assumptions.md has the measurements."
)


class EstimateMetricsSection(ReportSection[EstimateReport]):
    """Report section on the candidate metrics, and on the method of the estimates."""

    verb: ClassVar[str] = "estimate"
    position: ClassVar[int] = 40

    def build_section(self, estimate_report: EstimateReport) -> Section:
        """Build the section that explains the method and lists the candidate metrics."""
        rows = [
            {"metric": estimate_report.labels[candidate.metric], **_build_candidate_metric_row(candidate)}
            for candidate in estimate_report.result.candidates
        ]
        table = build_grid("labels saved", "Share of labels that each metric saves", FIELDS, rows)
        return Section("Metrics and method", sentences=[FORMULA, INTERVALS], folded=[table] if rows else [])


def _build_candidate_metric_row(candidate: CandidateMetric) -> dict[str, Any]:
    return {
        "saved": candidate.for_mean.value,
        "low": candidate.for_mean.low,
        "high": candidate.for_mean.high,
        "saved_difference": candidate.for_difference.value,
        "difference_low": candidate.for_difference.low,
        "difference_high": candidate.for_difference.high,
        "copies": "yes" if candidate.copies_labels else "",
    }
