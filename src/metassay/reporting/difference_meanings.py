"""Rows and sentences about what differences between scored systems mean to people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metassay.reporting.agreement_curves import format_difference
from metassay.reporting.labels import MetricLabels
from metassay.reporting.wording import format_percent
from metassay.results.score import DifferenceMeaning

TITLE = "How often people agree with such differences"


def build_meaning_rows(meanings: Sequence[DifferenceMeaning], labels: MetricLabels) -> list[dict[str, Any]]:
    """Build one row per difference between two systems: its size, and how often people agree with it."""
    rows = []
    for meaning in meanings:
        row: dict[str, Any] = {"group": meaning.group} if meaning.group else {}
        row |= {
            "metric": labels[meaning.metric],
            "better": meaning.better,
            "worse": meaning.worse,
            "difference": format_difference(meaning.difference),
            "people agree": describe_agreement(meaning),
        }
        rows.append(row)
    return rows


def describe_agreement(meaning: DifferenceMeaning) -> str:
    """Say how often people agree with a difference between two systems, or why that is not known."""
    if meaning.agreement is None or meaning.low is None or meaning.high is None:
        return f"not known: {meaning.reason}"
    return (
        f"{format_percent(meaning.agreement)} (95 % interval"
        f" {format_percent(meaning.low)}–{format_percent(meaning.high)})"
    )


def explain_meanings(meanings: Sequence[DifferenceMeaning]) -> str:
    """Say from which run of `rank` the agreement with people was estimated."""
    datasets = sorted({meaning.dataset for meaning in meanings if meaning.dataset is not None})
    origin = f" ({', '.join(datasets)})" if datasets else ""
    return (
        f"People ({meanings[0].human}) as in the run of rank{origin}; differences are those of mean segment "
        "scores."
    )
