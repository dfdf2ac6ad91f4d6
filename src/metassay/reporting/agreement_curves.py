"""Tables and sentences about what a difference in metric scores means to people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from metassay.reporting.labels import MetricLabels
from metassay.reporting.wording import format_percent, format_percent_interval
from metassay.results.rank import AgreementCurve
from metassay.results.score import (
    DifferenceBeyondRun,
    DifferenceMeaning,
    DifferenceWithinNoise,
    FewItems,
    NoCurve,
    OtherLanguagePair,
    UnknownAgreement,
)

MAIN_SHARE = 0.8
TITLE = "How often people agree with such differences"


def build_threshold_rows(
    human_agreement_curves: Sequence[AgreementCurve], metric_labels: MetricLabels | None = None
) -> list[dict[str, Any]]:
    """Build a table row for each metric that says how large a score difference must be for people to prefer
    the same system or output in, for example, 80 % of pairs.

    Each difference has its interval and its coverage, the share of pairs that differ at least so much.
    """
    rows = []
    for curve in human_agreement_curves:
        row: dict[str, Any] = {
            "dataset": curve.dataset,
            "context": curve.context,
            "between": curve.between,
            "metric": curve.metric if metric_labels is None else metric_labels[curve.metric],
            "segments": curve.items,
            "pairs": curve.pairs,
            "accuracy": curve.accuracy,
        }
        for threshold in curve.thresholds:
            name = f"d{threshold.agreement * 100:.0f}"
            row[name] = threshold.difference
            row[f"{name}_low"] = threshold.low
            row[f"{name}_high"] = threshold.high
            row[f"{name}_coverage"] = threshold.coverage
        row["largest"] = curve.largest_difference
        rows.append(row)
    return rows


def describe_difference_people_agree_with(
    human_agreement_curve: AgreementCurve, human_score: str, metric_labels: MetricLabels
) -> str:
    """Say how large a score difference must be for people and the metric to prefer the same system or output
    in 80 % of pairs.
    """
    label = metric_labels[human_agreement_curve.metric]
    objects = "systems" if human_agreement_curve.between == "systems" else "single outputs"
    threshold = next(
        (threshold for threshold in human_agreement_curve.thresholds if threshold.agreement == MAIN_SHARE),
        None,
    )
    if threshold is None or threshold.difference is None:
        return (
            f"No difference in {label} between {objects} is large enough for people ({human_score}) to agree "
            f"with it in {format_percent(MAIN_SHARE)}."
        )
    low = format_score_difference(threshold.low or 0.0)
    high = "unknown" if threshold.high is None else format_score_difference(threshold.high)
    sentence = (
        f"People ({human_score}) agree with a difference of {format_score_difference(threshold.difference)}"
        f" in {label} between {objects} in {format_percent(MAIN_SHARE)} of pairs (95 % interval"
        f" {low}–{high})"
    )
    if threshold.coverage is None:
        return f"{sentence}."
    return f"{sentence}; {format_percent(threshold.coverage)} of all pairs differ at least so much."


def format_score_difference(score_difference: float) -> str:
    """Write a difference between two scores with three significant digits."""
    return f"{score_difference:.3g}".replace("-", "−")


def build_score_difference_rows(
    score_differences: Sequence[DifferenceMeaning], metric_labels: MetricLabels
) -> list[dict[str, Any]]:
    """Build a table row for each score difference between two systems, with its size and how often people
    prefer the same system.
    """
    rows = []
    for meaning in score_differences:
        row: dict[str, Any] = {"group": meaning.group} if meaning.group else {}
        row |= {
            "metric": metric_labels[meaning.metric],
            "better": meaning.better,
            "worse": meaning.worse,
            "difference": format_score_difference(meaning.difference),
            "people agree": describe_how_often_people_agree(meaning),
        }
        rows.append(row)
    return rows


def describe_how_often_people_agree(score_difference: DifferenceMeaning) -> str:
    """Write how often people prefer the system with the better score if two scores differ so much, or why
    this is not known.
    """
    if score_difference.reason is not None:
        return f"not known: {_explain_unknown_agreement(score_difference.reason)}"
    return (
        f"{format_percent(score_difference.agreement)} (95 % interval"
        f" {format_percent_interval(score_difference.low, score_difference.high)})"
    )


def _explain_unknown_agreement(reason: UnknownAgreement) -> str:
    match reason:
        case NoCurve():
            return "the run has no curve for this metric and data set"
        case OtherLanguagePair(of_run=run_pair, of_data=data_pair):
            return f"the run is on {run_pair}, the data on {data_pair}"
        case FewItems(items=items, items_of_run=items_of_run):
            return f"only {items} segments, and {items_of_run} in the run"
        case DifferenceWithinNoise(noise=noise):
            return f"below {noise:.3g}, the noise of the metric"
        case DifferenceBeyondRun(largest=largest):
            return f"above {largest:.3g}, the largest difference in the run"


def explain_source_of_human_agreement(score_differences: Sequence[DifferenceMeaning]) -> str:
    """Name the human scores and data sets from which it is known how often people agree with score
    differences.
    """
    datasets = sorted({meaning.dataset for meaning in score_differences if meaning.dataset is not None})
    origin = f" ({', '.join(datasets)})" if datasets else ""
    return (
        f"People ({score_differences[0].human}) as in the run of rank{origin}; differences are those of mean"
        " segment scores."
    )
