"""Sentences about how many human labels a metric saves."""

from __future__ import annotations

from metassay.reporting.rank_report import RankReport
from metassay.reporting.wording import format_count, list_names
from metassay.results.rank import RankedMetric, Ranking

RATED_ITEMS = 100
# Shares above are not converted, because the number of items would grow without bound.
_LARGEST_SHARE = 0.99


def describe_labels_saved(ranking: Ranking, rank_report: RankReport, tied_metrics: list[str]) -> str:
    """Say how many human ratings the best metric saves: 100 ratings with the metric are as precise as, for
    example, 117 ratings alone.

    `tied_metrics` are the metrics that the test does not separate from it.
    """
    human = rank_report.result.human
    scope = rank_report.name_dataset_and_context(ranking)
    metrics = ranking.defined_metrics
    best = max(metrics, key=lambda metric: metric.value or 0.0)
    label = rank_report.labels[best.metric]
    difference = (
        f"{describe_equivalent_items(best.value, best.low, best.high)} for a difference between two systems"
    )
    if best.low is None or best.low <= 0:
        return (
            f"No metric is shown to save human labels ({human}) when two systems of {scope} are compared. "
            f"The highest is {label}: {format_count(RATED_ITEMS)} rated items are worth {difference}."
        )
    mean = describe_equivalent_items(best.for_mean, best.for_mean_low, best.for_mean_high)
    opening = (
        f"With {label}, {format_count(RATED_ITEMS)} rated items ({human}, {scope}) are worth {mean} for a"
        f" system's score and {difference}."
    )
    sentences = [opening]
    if tied_metrics:
        names = list_names(rank_report.labels.list_labels_of_metrics(tied_metrics), "")
        verb = "is" if len(tied_metrics) == 1 else "are"
        sentences.append(f"For a difference, {names} {verb} tied with it.")
    best_for_mean = max(metrics, key=_get_labels_saved_for_mean)
    if best_for_mean is not best and _get_labels_saved_for_mean(best_for_mean) > 0:
        worth = describe_equivalent_items(
            best_for_mean.for_mean, best_for_mean.for_mean_low, best_for_mean.for_mean_high
        )
        sentences.append(
            f"For a system's score {rank_report.labels[best_for_mean.metric]} is highest: {worth}."
        )
    return " ".join(sentences)


def _get_labels_saved_for_mean(ranked_metric: RankedMetric) -> float:
    return ranked_metric.for_mean if ranked_metric.for_mean is not None else 0.0


def describe_equivalent_items(share_saved: float | None, low: float | None, high: float | None) -> str:
    """Write how many rated items alone are as precise as 100 rated items with a metric: `117 (95 % interval
    110–124)`.
    """
    if share_saved is None:
        return "an unknown number"
    if low is None or high is None:
        return _convert_share_saved_to_items(share_saved)
    return (
        f"{_convert_share_saved_to_items(share_saved)} (95 % interval"
        f" {_convert_share_saved_to_items(low)}–{_convert_share_saved_to_items(high)})"
    )


def format_equivalent_items_for_table(
    share_saved: float | None, low: float | None, high: float | None
) -> str:
    """Write for a table how many rated items alone are as precise as 100 rated items with a metric: `117
    (110–124)`.
    """
    worth = _convert_share_saved_to_items(share_saved or 0.0)
    if low is None or high is None:
        return worth
    return f"{worth} ({_convert_share_saved_to_items(low)}–{_convert_share_saved_to_items(high)})"


def _convert_share_saved_to_items(share: float) -> str:
    """Convert the share of ratings that a metric saves to a number of items. If it saves half, 100 rated
    items with the metric replace 200.
    """
    if share > _LARGEST_SHARE:
        return f"over {format_count(round(RATED_ITEMS / (1 - _LARGEST_SHARE)))}"
    return format_count(round(RATED_ITEMS / (1 - share)))
