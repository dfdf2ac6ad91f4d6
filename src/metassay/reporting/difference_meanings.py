"""Rows and sentences about what differences between scored systems mean to people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metassay.reporting.agreement_curves import format_difference
from metassay.reporting.labels import MetricLabels
from metassay.reporting.wording import format_percent
from metassay.results.score import DifferenceMeaning

TITLE = "How often people agree with such differences"


def build_difference_agreement_rows(
    difference_meanings: Sequence[DifferenceMeaning], metric_labels: MetricLabels
) -> list[dict[str, Any]]:
    """Build a table row per score difference of two systems: its size, and how often people agree with it."""
    rows = []
    for meaning in difference_meanings:
        row: dict[str, Any] = {"group": meaning.group} if meaning.group else {}
        row |= {
            "metric": metric_labels[meaning.metric],
            "better": meaning.better,
            "worse": meaning.worse,
            "difference": format_difference(meaning.difference),
            "people agree": describe_human_agreement_with_difference(meaning),
        }
        rows.append(row)
    return rows


def describe_human_agreement_with_difference(difference_meaning: DifferenceMeaning) -> str:
    """Say how often people agree with a difference between two systems, or why that is not known."""
    if (
        difference_meaning.agreement is None
        or difference_meaning.low is None
        or difference_meaning.high is None
    ):
        return f"not known: {difference_meaning.reason}"
    return (
        f"{format_percent(difference_meaning.agreement)} (95 % interval"
        f" {format_percent(difference_meaning.low)}–{format_percent(difference_meaning.high)})"
    )


def explain_origin_of_agreement(difference_meanings: Sequence[DifferenceMeaning]) -> str:
    """Say from which `rank` run the shares of people who agree were estimated."""
    datasets = sorted({meaning.dataset for meaning in difference_meanings if meaning.dataset is not None})
    origin = f" ({', '.join(datasets)})" if datasets else ""
    return (
        f"People ({difference_meanings[0].human}) as in the run of rank{origin}; differences are those of"
        " mean segment "
        "scores."
    )
