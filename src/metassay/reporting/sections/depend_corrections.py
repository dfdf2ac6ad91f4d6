"""Section of the `depend` page: what is gained by converting metric scores to predicted human scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from metassay.reporting.depend_report import DependReport
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import Section
from metassay.reporting.report_sections import ReportSection
from metassay.reporting.tables import Grid, build_grid_from_rows
from metassay.reporting.wording import format_number, format_percent, format_plural
from metassay.results.depend import Correction

MAPPINGS = {
    "f_G": "With f_G",
    "f_G unseen": "With an f_G that was fitted without both systems of a pair",
    "f_k": "With the f_k of each system",
}
COLUMNS = (
    "metric",
    "mapping",
    "spa",
    "spa_gain",
    "spa_low",
    "spa_high",
    "pa",
    "pa_gain",
    "kendall_item",
    "tied",
    "sysdep",
)


class DependCorrectionsSection(ReportSection[DependReport]):
    """Report section on agreement with human scores before and after correcting metric scores."""

    verb: ClassVar[str] = "depend"
    position: ClassVar[int] = 20

    def build_section(self, depend_report: DependReport) -> Section | None:
        """Build the section on corrected metric scores for every data set; None if none were requested."""
        sentences: list[str] = []
        tables: list[Grid] = []
        for dataset in depend_report.datasets:
            corrections = [row for row in depend_report.result.corrections if row.dataset == dataset]
            if not corrections:
                continue
            statements = describe_corrections(corrections, depend_report.result.human, depend_report.labels)
            sentences += [
                depend_report.get_dataset_sentence_prefix(dataset) + statement for statement in statements
            ]
            tables.append(_build_corrections_table(depend_report, dataset, corrections))
        if not sentences:
            return None
        return Section("Metric scores converted to predicted human scores", sentences, folded=tables)


def describe_corrections(
    corrections: Sequence[Correction], human: str, metric_labels: MetricLabels
) -> list[str]:
    """Say how predicted human scores agree with people, compared with the metric scores themselves."""
    by_mapping: dict[str, list[Correction]] = {}
    for mapping in MAPPINGS:
        rows = [row for row in corrections if row.mapping == mapping and not row.baseline]
        if not rows:
            return ["No metric has complete scores for the rated systems: no correction was tested."]
        by_mapping[mapping] = rows
    sentences = [
        _describe_effect_of_correction(phrase, by_mapping[mapping], human, metric_labels)
        for mapping, phrase in MAPPINGS.items()
    ]
    sentences += _compare_with_constant_metric(corrections, by_mapping["f_k"])
    sentences += _describe_ties_after_correction(by_mapping["f_G"])
    return sentences


def _describe_effect_of_correction(
    phrase: str, corrections: Sequence[Correction], human: str, metric_labels: MetricLabels
) -> str:
    higher = sum(row.spa_low is not None and row.spa_low > 0 for row in corrections)
    lower = sum(row.spa_high is not None and row.spa_high < 0 for row in corrections)
    largest = max(corrections, key=lambda row: float(row.spa_gain or 0.0))
    return (
        f"{phrase}, SPA with {human} on segments that were not used for fitting is higher for {higher} of"
        f" {format_plural(len(corrections), 'metric')} and lower for {lower} (95 % intervals, not corrected"
        " for"
        " several"
        f" metrics). The largest gain is {format_number(largest.spa_gain, digits=3)}, of"
        f" {metric_labels[largest.metric]}."
    )


def _compare_with_constant_metric(
    corrections: Sequence[Correction], f_k_rows: Sequence[Correction]
) -> list[str]:
    """Compare a corrected metric with a corrected constant metric, for which f_k alone is nearly as good."""
    (constant,) = [row for row in corrections if row.baseline and row.mapping == "f_k"]
    spa = sorted(row.spa for row in f_k_rows if row.spa is not None)
    if not spa:
        return []
    sentence = (
        f"A constant metric has SPA {format_number(constant.spa, digits=3)} with f_k, these metrics"
        f" {format_number(spa[0], digits=3)} to {format_number(spa[-1], digits=3)}: f_k mostly repeats the"
        " human scores of"
        " the same system on other segments, and needs human scores of every system."
    )
    return [sentence]


def _describe_ties_after_correction(f_g_rows: Sequence[Correction]) -> list[str]:
    shares = sorted(row.tied for row in f_g_rows if row.tied is not None)
    if not shares:
        return []
    median = shares[len(shares) // 2]
    sentence = (
        f"The cost of f_G: {format_percent(median, digits=1)} of the pairs of outputs of a segment to which"
        " a metric"
        " gives different scores become equal"
        f" (median over metrics; at most {format_percent(shares[-1], digits=1)})."
    )
    return [sentence]


def _build_corrections_table(
    depend_report: DependReport, dataset: str, corrections: Sequence[Correction]
) -> Grid:
    rows = [
        {**msgspec.structs.asdict(correction), "metric": depend_report.labels[correction.metric]}
        for correction in corrections
    ]
    caption = (
        "Agreement with human scores on segments that were not used for fitting"
        + depend_report.get_dataset_caption_suffix(dataset)
    )
    return build_grid_from_rows(f"corrections {dataset}", caption, rows, COLUMNS)
