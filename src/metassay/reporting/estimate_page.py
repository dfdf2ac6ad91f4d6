"""The page of `estimate`: the human score of every system from few labels."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from metassay.data.csv_export import format_csv
from metassay.reporting.data_summary import describe_data
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import Page, render_page
from metassay.reporting.report_sections import ResultView, build_report_sections
from metassay.reporting.wording import (
    format_number,
    format_p_value,
    format_percent,
    format_percent_interval,
    format_plural,
    join_names,
)
from metassay.results.base import Interval
from metassay.results.estimate import CandidateMetric, EstimateContent

SIGNIFICANT = 0.05
SMALLEST_TESTED_SAMPLE = 50
"""Coverage of the intervals was measured from this many labelled items, or documents, on."""
MOST_NAMES = 6

EstimateView = ResultView[EstimateContent]


def build_estimate_page(result: EstimateContent) -> Page:
    """Build the page of an `estimate` result."""
    labels = MetricLabels(candidate.metric for candidate in result.candidates)
    return Page(
        kicker="Estimates from few labels",
        title="How good would people find each system?",
        lead=describe_estimates(result),
        sections=build_report_sections("estimate", ResultView(result, labels)),
        doubts=list_estimate_doubts(result),
        notes=[*describe_data(result.data), *result.notes],
    )


def describe_estimates(result: EstimateContent) -> list[str]:
    """Describe the estimates: which systems may be best, and how many labels the metric saves."""
    return [
        _describe_best_systems(result),
        _describe_estimated_quantity(result),
        _describe_metric_benefit(result),
    ]


def _describe_best_systems(result: EstimateContent) -> str:
    best = result.systems[0]
    sentence = f"{best.system} has the highest estimated {result.human}: {format_estimate(best.estimate)}."
    others = [entry.system for entry in result.systems[1:] if entry.rank_low == 1]
    if not others and len(result.systems) > 1:
        return f"{sentence} All other systems are worse, by simultaneous 95 % intervals."
    if not others:
        return sentence
    shown = others[:MOST_NAMES]
    if len(others) > MOST_NAMES:
        shown = [*shown, format_plural(len(others) - MOST_NAMES, "other system")]
    return f"{sentence} These may be as good, by simultaneous 95 % intervals: {join_names(shown)}."


def _describe_estimated_quantity(result: EstimateContent) -> str:
    items = result.systems[0].items
    labelled = max(entry.labelled for entry in result.systems)
    sentence = f"{format_part_of_total(labelled, items)} items have labels; estimates are for the mean over"
    if result.target == "these items":
        sentence += f" all {items} items"
    else:
        sentence += " items like these"
    if result.unit != "item":
        sentence += f"; whole documents were labelled ({result.unit}), so intervals treat each as one draw"
    return f"{sentence}."


def format_part_of_total(part: int, total: int) -> str:
    """Write a part of a total: `100 of 460`, or `All 460`."""
    return f"All {total}" if part == total else f"{part} of {total}"


def _describe_metric_benefit(result: EstimateContent) -> str:
    chosen = find_chosen_metric(result)
    if chosen is None:
        return "No metric is shown to save labels here: the estimates use the labels alone."
    label = MetricLabels([chosen.metric])[chosen.metric]
    share = chosen.for_mean
    saved = format_percent(share.value)
    if share.low is not None and share.high is not None:
        saved += f" (95 % interval {format_percent_interval(share.low, share.high)})"
    labelled = max(entry.labelled for entry in result.systems)
    items = result.systems[0].items
    if labelled == items:
        return (
            "All items have labels, so a metric adds nothing to these estimates. "
            f"For items without labels {label} would save {saved} of the labels of a system's mean."
        )
    sentence = f"With {label} on all items, {saved} of the labels are saved"
    if share.value is not None and 0 < share.value < 1:
        worth = count_equivalent_labels(labelled, items, share.value)
        sentence += f": {labelled} labels are worth about {worth:.0f}"
    return f"{sentence} for the mean of a system."


def count_equivalent_labels(labelled: int, items: int, share_saved: float) -> float:
    """Count the labels that would give the same precision without a metric.

    The metric removes its share of the variance that is due to items without labels, 1/labelled - 1/items.
    """
    return 1 / (1 / labelled - share_saved * (1 / labelled - 1 / items))


def find_chosen_metric(result: EstimateContent) -> CandidateMetric | None:
    """Return the metric that the estimates use; None where they use labels alone."""
    for candidate in result.candidates:
        if candidate.metric == result.metric:
            return candidate
    return None


def list_estimate_doubts(result: EstimateContent) -> list[str]:
    """List the reasons to doubt the estimates: no random sample, copied labels, few labels."""
    doubts = []
    sample = result.sample
    if sample is not None and sample.p <= SIGNIFICANT:
        label = MetricLabels([sample.metric])[sample.metric]
        doubts.append(
            f"The labelled items are not a random sample: their mean {label} is"
            f" {format_number(sample.labelled_mean, digits=3)}, that of all items"
            f" {format_number(sample.mean_of_all, digits=3)} (p {format_p_value(sample.p)}, permutation"
            " test over all"
            " metrics). The estimates may be biased. If you know the probability of each item to be chosen,"
            " add it as a column `probability`."
        )
    copies = [candidate.metric for candidate in result.candidates if candidate.copies_labels]
    if copies:
        doubts.append(
            f"Not used, because the scores equal the labels where there are labels: {join_names(copies)}."
        )
    labelled = result.labelled_units or max(entry.labelled for entry in result.systems)
    if labelled < SMALLEST_TESTED_SAMPLE:
        unit = "labelled item" if result.unit == "item" else "labelled document"
        doubts.append(
            f"There are only {format_plural(labelled, unit)}. Intervals were tested with"
            f" {SMALLEST_TESTED_SAMPLE} and more, and may be too narrow here."
        )
    return doubts


def format_estimate(estimate: Interval) -> str:
    """Write an estimate with its 95 % interval, with decimals that suit the width of the interval."""
    if estimate.low is None or estimate.high is None:
        return format_number(estimate.value)
    width = estimate.high - estimate.low
    digits = 2 if width <= 0 else min(6, max(0, 1 - math.floor(math.log10(width))))
    ends = f"{format_number(estimate.low, digits=digits)} to {format_number(estimate.high, digits=digits)}"
    return f"{format_number(estimate.value, digits=digits)} (95 % interval {ends})"


def render_estimate_files(result: EstimateContent, table: pl.DataFrame) -> dict[str, Any]:
    """Render the files of an `estimate` run: file contents by name."""
    return {
        "results/estimate.json": result.to_dict(),
        "results/estimate.csv": format_csv(table),
        "report.html": render_page(build_estimate_page(result)),
    }
