"""Choosing a metric: one for all contexts, another only where it is shown to be more accurate.

Without the choice of a run (a table of accuracies, or a user's own criteria) each context has a choice of its
own: among the most accurate metrics there the most stable, then the cheapest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from metassay.metrics.base import COST_CLASSES
from metassay.results.assay import GLOBAL, ContextStatistics, Recommendation
from metassay.stats.arrays import BoolArray, FloatArray, round_off_float_errors

# A user's own criteria, the most important first: by name, a number per metric, higher is better.
Criteria = Mapping[str, Mapping[str, float]]
# Standard deviations between contexts that differ by less are equally stable.
STABILITY_STEP = 0.01


@dataclass(frozen=True)
class MetricAccuracyTable:
    """Accuracy of each metric in each context (such as a domain), and cost of each metric. A metric is
    recommended for each context from these numbers.

    `may_be_best` marks the metrics that may be the best in a context, `is_worse_than_another` those of them
    that are clearly less accurate there than another one. `spread` is how much a metric's true accuracy
    varies between contexts; `robust_accuracy` and `worst_case` are its accuracy under the least favourable
    mix of contexts and in the least favourable context. `cost_classes` has the class of each metric
    (`COST_CLASSES`). The scores of `uninformed` metrics say nothing about quality: these metrics come last
    and are never chosen.
    """

    metrics: tuple[str, ...]
    contexts: tuple[str, ...]
    accuracy: FloatArray
    may_be_best: BoolArray
    is_worse_than_another: BoolArray
    spread: FloatArray
    robust_accuracy: FloatArray
    worst_case: FloatArray
    cost_classes: Mapping[str, str] = field(default_factory=dict)
    criteria: Criteria = field(default_factory=dict)
    uninformed: frozenset[str] = frozenset()

    def drop_metrics_unrelated_to_quality(self, metric_positions: Sequence[int]) -> list[int]:
        """Return the given positions of metrics, without metrics whose scores say nothing about quality."""
        return [m for m in metric_positions if self.metrics[m] not in self.uninformed]


@dataclass(frozen=True)
class OverallMetricChoice:
    """The metric recommended for all contexts, with the contexts in which another metric is better.

    `ahead` lists the better metrics of each such context. `human_top_group` is given if the choice follows
    human scores: the metrics that are not significantly worse on pairs with human scores.
    """

    metric: str
    ahead: Mapping[str, Sequence[str]] = field(default_factory=dict)
    human_top_group: Sequence[str] | None = None


def get_rank_of_cost_class(cost_class: str | None) -> float:
    """Return the rank of a cost class (how expensive a metric is to compute), where 0 is the cheapest. An
    unknown class has infinite rank.
    """
    return COST_CLASSES.index(cost_class) if cost_class in COST_CLASSES else np.inf


def round_accuracy_variations(variations: FloatArray) -> FloatArray:
    """Round standard deviations of accuracies between contexts, so that nearly equal ones become equal."""
    return np.asarray(np.round(variations / STABILITY_STEP))


def collect_accuracies_and_costs_from_result(
    assay_result: ContextStatistics, column: str, criteria: Criteria
) -> MetricAccuracyTable:
    """Collect accuracies and costs of metrics in the contexts of one column (such as the domains) from the
    result of the command `assay`.
    """
    metrics = tuple(row.metric for row in assay_result.overall)
    rows = {(row.context, row.metric): row for row in assay_result.contexts[column].local_accuracy}
    rows |= {(GLOBAL, row.metric): row for row in assay_result.overall}
    recommendations = assay_result.recommendation[column]
    contexts = (GLOBAL, *dict.fromkeys(row.context for row in assay_result.contexts[column].local_accuracy))
    robustness = {row.metric: row for row in assay_result.contexts[column].robustness}
    accuracy = [[rows[context, metric].accuracy for context in contexts] for metric in metrics]
    return MetricAccuracyTable(
        metrics=metrics,
        contexts=contexts,
        accuracy=np.array(accuracy, dtype=np.float64),  # None becomes NaN
        may_be_best=np.array(
            [[metric in recommendations[context].top_group for context in contexts] for metric in metrics]
        ),
        is_worse_than_another=np.array(
            [[metric in recommendations[context].behind for context in contexts] for metric in metrics]
        ),
        spread=np.array([robustness[metric].stability for metric in metrics], dtype=np.float64),
        robust_accuracy=np.array(
            [robustness[metric].robust_accuracy for metric in metrics], dtype=np.float64
        ),
        worst_case=np.array([robustness[metric].worst_case for metric in metrics], dtype=np.float64),
        cost_classes=assay_result.cost_class,
        criteria=criteria,
        uninformed=frozenset(assay_result.uninformed),
    )


def choose_single_metric_for_all_contexts(
    accuracies: FloatArray,
    may_be_best: BoolArray,
    is_worse_than_another: BoolArray,
    cost_ranks: FloatArray,
    is_unrelated_to_quality: BoolArray,
) -> int:
    """Choose one metric for all contexts, and return its position. It is the cheapest of the metrics that may
    be the most accurate, and the most accurate of equally cheap ones.

    Metrics in `is_worse_than_another` come later, and metrics in `is_unrelated_to_quality` last. `cost_ranks`
    are ranks of cost classes, so that accuracy decides within a class.
    """
    rounded = np.nan_to_num(round_off_float_errors(accuracies), nan=-1).tolist()

    def build_sort_key(metric: int) -> tuple[bool, bool, bool, float, float, int]:
        """Build a sort key for one metric, so that the smallest key belongs to the metric to use."""
        cost = float(cost_ranks[metric]) if may_be_best[metric] else 0.0
        return (
            bool(is_unrelated_to_quality[metric]),
            not may_be_best[metric],
            bool(is_worse_than_another[metric]),
            cost,
            -rounded[metric],
            metric,
        )

    return min(range(len(rounded)), key=build_sort_key)


def recommend_metric_for_each_context(
    metric_table: MetricAccuracyTable, overall_choice: OverallMetricChoice | None = None
) -> dict[str, Recommendation]:
    """Recommend a metric for each context (such as each domain), and list the other metrics that may be the
    best in it.

    `metrics` of a recommendation are ordered by accuracy, equal ones by preference: stability (standard
    deviation between contexts, to the nearest hundredth), cost class, the user's criteria, robust accuracy.
    `top_group` is ordered by preference, but metrics that are clearly less accurate than another come last.
    With an overall choice, that metric is recommended and comes first in its top groups; otherwise the first
    metric of the top group is recommended.
    """
    preferences = _build_preference_sort_keys(metric_table)
    recommendations = {}
    for c, context in enumerate(metric_table.contexts):
        recommendations[context] = _recommend_metric_for_context(metric_table, c, preferences, overall_choice)
    robust_choice = choose_metric_for_unknown_contexts(metric_table)
    recommendations[GLOBAL] = msgspec.structs.replace(recommendations[GLOBAL], robust_choice=robust_choice)
    return recommendations


def choose_metric_for_unknown_contexts(metric_table: MetricAccuracyTable) -> str | None:
    """Choose the metric whose accuracy is highest under the least favourable mix of contexts. Returns None if
    no accuracy is known.

    Ties are broken by the accuracy in the worst context.
    """
    robust = round_off_float_errors(metric_table.robust_accuracy).tolist()
    worst_case = metric_table.worst_case.tolist()
    known = metric_table.drop_metrics_unrelated_to_quality(
        [m for m in range(len(metric_table.metrics)) if not np.isnan(robust[m])]
    )
    if not known:
        return None
    best = max(known, key=lambda m: (robust[m], _replace_nan_by_infinity(worst_case[m]), -m))
    return metric_table.metrics[best]


def _build_preference_sort_keys(metric_table: MetricAccuracyTable) -> list[tuple[float, ...]]:
    """Build a sort key for each metric from its stability between contexts, cost, user criteria and robust
    accuracy. Preferred metrics have smaller keys.
    """
    spread = round_accuracy_variations(metric_table.spread).tolist()
    robust = round_off_float_errors(metric_table.robust_accuracy).tolist()
    keys = []
    for m, metric in enumerate(metric_table.metrics):
        by_criteria = [-numbers.get(metric, -np.inf) for numbers in metric_table.criteria.values()]
        cost = get_rank_of_cost_class(metric_table.cost_classes.get(metric))
        keys.append(
            (_replace_nan_by_infinity(spread[m]), cost, *by_criteria, _replace_nan_by_infinity(-robust[m]))
        )
    return keys


def _recommend_metric_for_context(
    metric_table: MetricAccuracyTable,
    context_position: int,
    sort_key_of_metric: list[tuple[float, ...]],
    overall_choice: OverallMetricChoice | None,
) -> Recommendation:
    """Recommend a metric for one context, and list the metrics that may be the best in it."""
    accuracy = round_off_float_errors(metric_table.accuracy[:, context_position]).tolist()
    positions = range(len(metric_table.metrics))
    by_accuracy = sorted(
        positions,
        key=lambda m: (
            metric_table.metrics[m] in metric_table.uninformed,
            _replace_nan_by_infinity(-accuracy[m]),
            sort_key_of_metric[m],
            m,
        ),
    )
    ordered_metrics = [metric_table.metrics[m] for m in by_accuracy]
    if overall_choice is not None and overall_choice.human_top_group is not None:
        return Recommendation(
            metrics=ordered_metrics,
            top_group=list(overall_choice.human_top_group),
            behind=[],
            choice=overall_choice.metric,
        )
    chosen = (
        None
        if overall_choice is None
        else _find_metric_to_use_in_context(metric_table, context_position, by_accuracy, overall_choice)
    )
    candidates = metric_table.drop_metrics_unrelated_to_quality(
        [m for m in positions if metric_table.may_be_best[m, context_position]]
    )
    top = sorted(
        candidates,
        key=lambda m: (
            m != chosen,
            metric_table.is_worse_than_another[m, context_position],
            sort_key_of_metric[m],
            -accuracy[m],
            m,
        ),
    )
    if chosen is None and top:
        chosen = top[0]
    return Recommendation(
        metrics=ordered_metrics,
        top_group=[metric_table.metrics[m] for m in top],
        behind=[
            metric_table.metrics[m] for m in top if metric_table.is_worse_than_another[m, context_position]
        ],
        choice=None if chosen is None else metric_table.metrics[chosen],
    )


def _find_metric_to_use_in_context(
    metric_table: MetricAccuracyTable,
    context_position: int,
    metrics_by_accuracy: list[int],
    overall_choice: OverallMetricChoice,
) -> int | None:
    """Find the metric to recommend in one context: the most accurate of the metrics that beat the general
    recommendation there, else the general recommendation. Returns None if none has an accuracy there.
    """
    ahead = overall_choice.ahead.get(metric_table.contexts[context_position], ())
    wanted = [m for m in metrics_by_accuracy if metric_table.metrics[m] in ahead]
    wanted += [m for m in metrics_by_accuracy if metric_table.metrics[m] == overall_choice.metric]
    for m in metric_table.drop_metrics_unrelated_to_quality(wanted):
        if not np.isnan(metric_table.accuracy[m, context_position]):
            return m
    return None


def list_metrics_on_pareto_front(metric_table: MetricAccuracyTable) -> list[str] | None:
    """List the metrics that no other metric beats in both accuracy and cost. Returns None if no costs are
    known.
    """
    if not metric_table.cost_classes:
        return None
    costs = np.array(
        [get_rank_of_cost_class(metric_table.cost_classes.get(metric)) for metric in metric_table.metrics]
    )
    is_uninformed = np.array([metric in metric_table.uninformed for metric in metric_table.metrics])
    costs = np.where(np.isinf(costs) | is_uninformed, np.nan, costs)
    return [
        metric_table.metrics[m]
        for m in np.flatnonzero(are_metrics_on_pareto_front(metric_table.accuracy[:, 0], costs))
    ]


def are_metrics_on_pareto_front(accuracies: FloatArray, cost_ranks: FloatArray) -> BoolArray:
    """Return a Boolean mask of the metrics that no other metric beats in both accuracy and cost.

    Metrics without accuracy or cost (NaN) are not marked.
    """
    at_least_as_good = (accuracies[:, None] >= accuracies) & (cost_ranks[:, None] <= cost_ranks)
    better_in_one = (accuracies[:, None] > accuracies) | (cost_ranks[:, None] < cost_ranks)
    is_beaten = (at_least_as_good & better_in_one).any(axis=0)
    return np.asarray(~is_beaten & ~np.isnan(accuracies) & ~np.isnan(cost_ranks))


def _replace_nan_by_infinity(value: float) -> float:
    """Return the value, or infinity if it is NaN."""
    return float("inf") if np.isnan(value) else float(value)
