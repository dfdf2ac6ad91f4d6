"""Sentences about a ranking of metrics against people."""

from __future__ import annotations

from metassay.meta.people.meta_metrics.registry import label_meta_metric
from metassay.meta.people.metric_comparison import SYSTEMS_LIKE_THESE
from metassay.reporting.charts.ranking import SIGNIFICANCE_LEVEL
from metassay.reporting.labels_saved_sentences import describe_labels_saved
from metassay.reporting.rank_view import RankView
from metassay.reporting.wording import count, named, number, plural
from metassay.results.rank import RankedMetric, Ranking

LABELS_SAVED = "labels_saved"


def describe_best_metric(ranking: Ranking, view: RankView) -> str:
    """Say which metric agrees best with people, and which cannot be told apart from it."""
    human = view.result.human
    scope = view.name_scope(ranking)
    metrics = ranking.defined_metrics
    if not metrics:
        return f"No metric has a defined {label_meta_metric(ranking.meta_metric)} with {human} on {scope}."
    best = max(metrics, key=lambda metric: metric.value or 0.0)
    rivals = [metric.metric for metric in metrics if metric is not best]
    behind = {
        comparison.worse
        for comparison in ranking.comparisons
        if comparison.better == best.metric and comparison.p <= SIGNIFICANCE_LEVEL
    }
    undecided = [metric for metric in rivals if metric not in behind]
    if ranking.meta_metric == LABELS_SAVED:
        return describe_labels_saved(ranking, view, undecided if ranking.comparisons else [])
    opening = (
        f"{view.labels[best.metric]} agrees best with people ({human}) on these {count(ranking.systems)} "
        f"systems of {scope}: {format_value(ranking, best)}"
    )
    if not rivals:
        return f"{opening}. It is the only metric."
    if not ranking.comparisons:
        return f"{opening}. Whether it is ahead of the others was not tested."
    population = f" for {SYSTEMS_LIKE_THESE}" if ranking.answers_for == SYSTEMS_LIKE_THESE else ""
    if undecided:
        names = named(view.labels.label_all(undecided), "")
        return f"{opening}. {names} cannot be told apart from it{population}."
    return f"{opening}, ahead of all others{population} (one-sided p ≤ .05)."


def describe_significance(ranking: Ranking) -> str:
    """Say how many comparisons are significant, for these systems and, if tested, for systems like these."""
    comparisons = ranking.comparisons
    has_both_tests = any(comparison.p_systems is not None for comparison in comparisons)
    if has_both_tests:
        for_these = _count_significant([comparison.p_inputs for comparison in comparisons])
        for_others = _count_significant([comparison.p_systems for comparison in comparisons])
        population = f" for these systems, {count(for_others)} for {SYSTEMS_LIKE_THESE}"
    else:
        for_these = _count_significant([comparison.p for comparison in comparisons])
        population = f" for {ranking.answers_for}" if ranking.answers_for else ""
    verb = "is" if for_these == 1 else "are"
    total = plural(len(comparisons), "comparison")
    return f"{count(for_these)} of {total} {verb} significant{population} (one-sided p ≤ .05)."


def _count_significant(p_values: list[float | None]) -> int:
    return sum(p is not None and p <= SIGNIFICANCE_LEVEL for p in p_values)


def list_doubts(ranking: Ranking, view: RankView) -> list[str]:
    """List what weakens a ranking: a baseline that does as well as the best metric, dropped items."""
    scope = view.name_scope(ranking)
    doubts = []
    values = [metric.value for metric in ranking.defined_metrics if metric.value is not None]
    baselines = [metric for metric in ranking.metrics if metric.baseline and metric.value is not None]
    for baseline in baselines:
        if values and baseline.value is not None and baseline.value >= max(values):
            doubt = (
                f"{scope}: {baseline.metric}, a baseline without information about quality, has "
                f"{format_value(ranking, baseline)}, as much as the best metric."
            )
            doubts.append(doubt)
    if ranking.dropped_items:
        doubts.append(f"{scope}: {plural(ranking.dropped_items, 'item')} without all scores left out.")
    return doubts


def format_value(ranking: Ranking, metric: RankedMetric) -> str:
    """Write the value of a metric with its interval: `SPA 0.950 (95 % interval 0.930–0.970)`."""
    value = f"{label_meta_metric(ranking.meta_metric)} {number(metric.value, digits=3)}"
    if metric.low is None or metric.high is None:
        return value
    low = number(metric.low, digits=3)
    high = number(metric.high, digits=3)
    return f"{value} (95 % interval {low}–{high})"
