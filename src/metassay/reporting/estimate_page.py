"""What `estimate` shows on its page and in the terminal: the human score of every system from few labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from metassay.reporting.data_summary import describe_data_used
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pages import Page
from metassay.reporting.report_sections import ResultReport, build_report_sections
from metassay.reporting.sections.estimate import ESTIMATE_SECTIONS, build_system_row
from metassay.reporting.terminal.blocks import (
    Block,
    Details,
    Line,
    Table,
    convert_sentences_to_lines,
    convert_sentences_to_notes,
    summarize_data_in_note,
)
from metassay.reporting.wording import (
    format_number,
    format_p_value,
    format_percent,
    format_percent_interval,
    format_plural,
    join_names,
)
from metassay.results.base import Interval
from metassay.results.estimate import EstimateContent, SystemDifference, SystemEstimate
from metassay.results.verdict import Claim, convert_sentences_to_findings
from metassay.stats.levels import SIGNIFICANCE_LEVEL

# Coverage of the intervals was measured from this many labelled items, or documents, on.
SMALLEST_TESTED_SAMPLE = 50
MOST_NAMES = 6
MOST_PAIRS = 15
MOST_IMPORTANT_COLUMNS = ("system", "ranks", "estimate", "low", "high", "labels_only")


def build_estimate_page(estimate_result: EstimateContent) -> Page:
    """Build the report page of the command `estimate`, which estimates the human scores of systems from few
    ratings.
    """
    labels = MetricLabels(candidate.metric for candidate in estimate_result.candidates)
    return Page(
        kicker="Estimates from few labels",
        title="How good would people find each system?",
        lead=[claim.sentence for claim in estimate_result.verdict],
        sections=build_report_sections("estimate", ResultReport(estimate_result, labels), ESTIMATE_SECTIONS),
        doubts=list_reasons_to_doubt_estimates(estimate_result),
        notes=[*describe_data_used(estimate_result.data), *estimate_result.notes],
    )


def build_estimate_verdict(estimate_result: EstimateContent) -> list[Claim]:
    """Write the main sentences of an `estimate` report: which systems may be best, and how many human labels
    a metric saves.
    """
    return convert_sentences_to_findings(
        [
            _describe_best_systems(estimate_result),
            _describe_estimated_quantity(estimate_result),
            _describe_human_labels_saved_by_metric(estimate_result),
        ]
    )


def _describe_best_systems(estimate_result: EstimateContent) -> str:
    best = estimate_result.systems[0]
    highest = [entry for entry in estimate_result.systems if entry.estimate.value == best.estimate.value]
    if 1 < len(highest) == len(estimate_result.systems):
        return (
            f"All {len(highest)} systems have the same estimated {estimate_result.human}:"
            f" {format_estimate(best.estimate)}."
        )
    verb = "has" if len(highest) == 1 else "share"
    sentence = (
        f"{join_names([entry.system for entry in highest])} {verb} the highest estimated"
        f" {estimate_result.human}: {format_estimate(best.estimate)}."
    )
    others = [
        entry.system for entry in estimate_result.systems if entry.rank_low == 1 and entry not in highest
    ]
    if not others and len(estimate_result.systems) > len(highest):
        return f"{sentence} All other systems are worse (simultaneous 95 % intervals)."
    if not others:
        return sentence
    shown = others[:MOST_NAMES]
    if len(others) > MOST_NAMES:
        shown = [*shown, format_plural(len(others) - MOST_NAMES, "other system")]
    verb = "is" if len(others) == 1 else "are"
    return f"{sentence} {join_names(shown)} {verb} tied with it (simultaneous 95 % intervals)."


def _describe_estimated_quantity(estimate_result: EstimateContent) -> str:
    items = estimate_result.systems[0].items
    labelled = max(entry.labelled for entry in estimate_result.systems)
    part = f"All {items} items have" if labelled == items else f"{labelled} of {items} items have"
    if labelled == 1:
        part = f"{labelled} of {format_plural(items, 'item')} has"
    sentence = f"{part} labels; estimates are for the mean over"
    if estimate_result.target == "these items":
        sentence += f" all {format_plural(items, 'item')}"
    else:
        sentence += " items like these"
    if estimate_result.unit != "item":
        sentence += (
            f"; whole documents were labelled ({estimate_result.unit}), so intervals resample documents"
        )
    return f"{sentence}."


def _describe_human_labels_saved_by_metric(estimate_result: EstimateContent) -> str:
    candidates = {candidate.metric: candidate for candidate in estimate_result.candidates}
    chosen = candidates.get(estimate_result.metric or "")
    if chosen is None:
        return "No metric is shown to save labels here: the estimates use the labels alone."
    label = MetricLabels([chosen.metric])[chosen.metric]
    share = chosen.for_mean
    saved = format_percent(share.value)
    if share.low is not None and share.high is not None:
        saved += f" (95 % interval {format_percent_interval(share.low, share.high)})"
    labelled = max(entry.labelled for entry in estimate_result.systems)
    items = estimate_result.systems[0].items
    if labelled == items:
        return (
            "All items have labels, so a metric adds nothing to these estimates. "
            f"On new items, {label} would save {saved} of the labels that the mean of a system needs."
        )
    sentence = f"With {label} on all items, {saved} of the labels are saved"
    if share.value is not None and 0 < share.value < 1:
        worth = count_labels_needed_without_metric(labelled, items, share.value)
        sentence += f": {labelled} labels are worth about {worth:.0f}"
    return f"{sentence} for the mean of a system."


def count_labels_needed_without_metric(labelled_items: int, all_items: int, share_saved: float) -> float:
    """Compute how many human labels alone would give estimates as precise as the given labels together with a
    metric.

    The metric removes its share of the variance that is due to items without labels, 1/labelled - 1/items.
    """
    return 1 / (1 / labelled_items - share_saved * (1 / labelled_items - 1 / all_items))


def list_reasons_to_doubt_estimates(estimate_result: EstimateContent) -> list[str]:
    """List the reasons to doubt estimated human scores, such as too few labels, or items that are not a
    random sample.
    """
    doubts = []
    sample = estimate_result.sample
    if sample is not None and sample.p <= SIGNIFICANCE_LEVEL:
        label = MetricLabels([sample.metric])[sample.metric]
        doubts.append(
            f"The labelled items are not a random sample: their mean {label} is"
            f" {format_number(sample.labelled_mean, digits=3)}, that of all items"
            f" {format_number(sample.mean_of_all, digits=3)} (p {format_p_value(sample.p)}, permutation test"
            " over all metrics). The estimates may be biased. If you know the probability of each item to be"
            " chosen, add it as a column named probability."
        )
    copies = [candidate.metric for candidate in estimate_result.candidates if candidate.copies_labels]
    if copies:
        doubts.append(f"These metrics are not used, because they equal the labels: {join_names(copies)}.")
    labelled = estimate_result.labelled_units
    if labelled < SMALLEST_TESTED_SAMPLE:
        unit = "labelled item" if estimate_result.unit == "item" else "labelled document"
        doubts.append(
            f"There are only {format_plural(labelled, unit)}. Intervals were tested with"
            f" {SMALLEST_TESTED_SAMPLE} and more, and may be too narrow here."
        )
    return doubts


def format_estimate(estimate: Interval) -> str:
    """Write an estimate with its 95 % interval. The number of decimals depends on the width of the
    interval.
    """
    if estimate.low is None or estimate.high is None:
        return format_number(estimate.value)
    digits = choose_decimals_for_estimates([estimate])
    ends = f"{format_number(estimate.low, digits=digits)} to {format_number(estimate.high, digits=digits)}"
    return f"{format_number(estimate.value, digits=digits)} (95 % interval {ends})"


def choose_decimals_for_estimates(estimates: Iterable[Interval]) -> int:
    """Choose the number of decimals of estimates so that the narrowest interval has two significant
    digits.
    """
    widths = []
    for estimate in estimates:
        if estimate.low is not None and estimate.high is not None and estimate.high > estimate.low:
            widths.append(estimate.high - estimate.low)
    if not widths:
        return 2
    return min(6, max(0, 1 - math.floor(math.log10(min(widths)))))


def describe_estimate_result(estimate_result: EstimateContent) -> list[Block]:
    """Describe estimated human scores for the terminal: which systems may be best, reasons to doubt this, and
    tables.
    """
    blocks: list[Block] = [
        *convert_sentences_to_lines(claim.sentence for claim in estimate_result.verdict),
        *convert_sentences_to_lines(list_reasons_to_doubt_estimates(estimate_result)),
    ]
    blocks += _build_estimate_tables(
        estimate_result.systems, estimate_result.differences, f"Mean {estimate_result.human} of each system"
    )
    for column, estimates in estimate_result.contexts.items():
        for entry in estimates:
            labelled = f"{entry.labelled} of {format_plural(entry.items, 'item')} labelled"
            title = f"{column} {entry.context}, {labelled}"
            blocks.append(Details(_build_estimate_tables(entry.systems, [], title)))
    return [
        *blocks,
        *summarize_data_in_note(estimate_result.data),
        *convert_sentences_to_notes(estimate_result.notes),
    ]


def _build_estimate_tables(
    systems: Sequence[SystemEstimate], differences: Sequence[SystemDifference], title: str
) -> list[Line | Table]:
    """Build a table of the systems, and a table of the pairs of systems that differ (the interval of the
    difference does not contain 0).
    """
    digits = choose_decimals_for_estimates(system.estimate for system in systems)
    system_rows = []
    for system in systems:
        labels_saved = format_percent(system.labels_saved)
        system_rows.append(build_system_row(system) | {"labels_saved": labels_saved})
    tables: list[Line | Table] = [
        Table(system_rows, title=title, most_important=MOST_IMPORTANT_COLUMNS, digits=digits)
    ]
    rows = []
    for pair in differences:
        if pair.low is not None and pair.high is not None and not pair.low <= 0 <= pair.high:
            better, worse = (pair.a, pair.b) if pair.low > 0 else (pair.b, pair.a)
            low, high = sorted((abs(pair.low), abs(pair.high)))
            rows.append({"better": better, "worse": worse, "low": low, "high": high})
    if rows:
        title = f"Pairs of systems that differ, with simultaneous 95 % intervals: {len(rows)} of"
        tables.append(Table(rows[:MOST_PAIRS], title=f"{title} {len(differences)}", digits=digits))
    if len(rows) > MOST_PAIRS:
        verb = "differs" if len(rows) == MOST_PAIRS + 1 else "differ"
        more = format_plural(len(rows) - MOST_PAIRS, "more pair")
        tables.append(Line(f"{more} {verb}; --json and --out list them all."))
    return tables
