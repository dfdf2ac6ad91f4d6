"""What changed between two assays, and whether by more than chance.

Two assays of the same outputs are compared cluster by cluster, with Student's t (`cluster_accuracy_sums`).
Others are independent: differences have intervals from those of the two accuracies (Newcombe, 1998: square
and add). p-values are adjusted by Holm over everything compared: every accuracy, and every two metrics that
could change places, in all contexts of all columns but those too small to take part. The accuracies over all
contexts get 80 % of the error rate, so that many contexts do not hide a change of a metric as a whole.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import msgspec
import numpy as np
from scipy.special import ndtr, ndtri

from metassay.meta.contexts.cluster_accuracy_sums import (
    AccuracyChangesByCluster,
    ClusterAccuracySums,
    compute_accuracy_changes_by_cluster,
)
from metassay.results.assay import GLOBAL, ContextStatistics, MetricAccuracy, Recommendation
from metassay.results.base import none_if_nan
from metassay.results.compare import AccuracyChange, ChoiceChange, MetricSwap, OrderChange, RunComparison
from metassay.stats.arrays import BoolArray, FloatArray, round_off_float_errors
from metassay.stats.levels import SIGNIFICANCE_LEVEL
from metassay.stats.multiplicity import adjust_p_values_by_holm
from metassay.stats.rank_correlation import correlate_rows

_NORMAL = float(ndtri(0.975))
# Share of the error rate for the accuracies over all contexts.
_OVERALL_SHARE = 0.8

# The accuracies of a column, by context and metric.
AccuracyTable = Mapping[str, Mapping[str, MetricAccuracy]]
# Sums of accuracies by cluster of items, for each column and context of a run.
ClusterSumsByContext = Mapping[tuple[str, str], ClusterAccuracySums]


def compare_runs(
    old_result: ContextStatistics,
    new_result: ContextStatistics,
    cluster_sums: tuple[ClusterSumsByContext, ClusterSumsByContext] | None = None,
) -> RunComparison:
    """Compare the accuracies, metric rankings and recommendations of two runs of `assay`, in the columns of
    contexts that both have.

    `cluster_sums` are the sums of accuracies by cluster of items in both runs. With them, which must be of
    the same outputs, the comparison is paired.

    `changed` is true when an accuracy moved (Holm-adjusted p ≤ .05) or two metrics changed places by more
    than chance. A recommended metric that left the top group for one that was not in it before counts where
    the two changed places. Where nothing changed, `changed` is true in at most 5 % of comparisons.
    """
    columns = [name for name in old_result.contexts if name in new_result.contexts]
    small_contexts = _find_small_contexts(old_result) | _find_small_contexts(new_result)
    accuracy_changes, order_changes = _compare_accuracies_and_rankings(
        old_result, new_result, columns, cluster_sums
    )
    accuracy_changes, order_changes = _adjust_p_values_of_changes(
        accuracy_changes, order_changes, small_contexts
    )
    choices: list[ChoiceChange] = []
    for name in columns:
        choices += _compare_recommendations_of_two_runs(
            name, old_result.recommendation[name], new_result.recommendation[name], order_changes
        )
    has_moved = any(change.moved for change in accuracy_changes)
    has_new_choice = any(choice.changed for choice in choices)
    has_swapped = any(swap.is_significant for order in order_changes for swap in order.swapped)
    old_metrics = [row.metric for row in old_result.overall]
    new_metrics = [row.metric for row in new_result.overall]
    return RunComparison(
        paired=cluster_sums is not None,
        columns=columns,
        only_before=_list_missing_contexts(old_result, missing_in=new_result),
        only_after=_list_missing_contexts(new_result, missing_in=old_result),
        metrics_only_before=[metric for metric in old_metrics if metric not in new_metrics],
        metrics_only_after=[metric for metric in new_metrics if metric not in old_metrics],
        accuracies=accuracy_changes,
        orders=order_changes,
        recommendation=choices,
        changed=has_moved or has_new_choice or has_swapped,
    )


def _compare_accuracies_and_rankings(
    old_result: ContextStatistics,
    new_result: ContextStatistics,
    columns: Sequence[str],
    cluster_sums: tuple[ClusterSumsByContext, ClusterSumsByContext] | None,
) -> tuple[list[AccuracyChange], list[OrderChange]]:
    """Compare the accuracies and the rankings of metrics in two runs, over all outputs and in each context.
    p-values are not adjusted yet.
    """
    accuracy_changes: list[AccuracyChange] = []
    order_changes: list[OrderChange] = []
    for name in (GLOBAL, *columns):
        old_table = _map_contexts_to_metric_accuracies(old_result, name)
        new_table = _map_contexts_to_metric_accuracies(new_result, name)
        for context, metrics in _iterate_contexts_of_both_runs(old_table, new_table):
            changes_by_cluster = None
            if cluster_sums is not None:
                sums_before, sums_after = cluster_sums
                changes_by_cluster = compute_accuracy_changes_by_cluster(
                    sums_before[name, context], sums_after[name, context], metrics
                )
            old_rows = old_table[context]
            new_rows = new_table[context]
            for metric in metrics:
                accuracy_changes.append(
                    _compare_accuracies_of_two_runs(
                        name, old_rows[metric], new_rows[metric], changes_by_cluster
                    )
                )
            if len(metrics) > 1:
                swaps = _find_metric_pairs_with_changed_order(metrics, old_rows, new_rows, changes_by_cluster)
                order_changes.append(
                    _compare_rankings_before_and_after(name, context, metrics, old_rows, new_rows, swaps)
                )
    return accuracy_changes, order_changes


def _map_contexts_to_metric_accuracies(assay_result: ContextStatistics, column: str) -> AccuracyTable:
    """Return a dictionary from context to metric to accuracy, for one column. For the column "global", the
    only context is all outputs.
    """
    rows: Sequence[MetricAccuracy] = assay_result.overall
    if column != GLOBAL:
        rows = assay_result.contexts[column].local_accuracy
    table: dict[str, dict[str, MetricAccuracy]] = {}
    for row in rows:
        table.setdefault(row.context, {})[row.metric] = row
    return table


def _list_missing_contexts(assay_result: ContextStatistics, *, missing_in: ContextStatistics) -> list[str]:
    """List the contexts of one result, written as `column=value`, that another result lacks."""
    missing = []
    for column in assay_result.contexts:
        other_contexts = (
            _map_contexts_to_metric_accuracies(missing_in, column) if column in missing_in.contexts else {}
        )
        contexts = _map_contexts_to_metric_accuracies(assay_result, column)
        missing += [f"{column}={value}" for value in contexts if value not in other_contexts]
    return missing


def _iterate_contexts_of_both_runs(
    old_accuracies: AccuracyTable, new_accuracies: AccuracyTable
) -> Iterator[tuple[str, list[str]]]:
    """Yield each context that both runs have, with the metrics that both runs scored in it."""
    for context, old_rows in old_accuracies.items():
        if context not in new_accuracies:
            continue
        metrics = []
        for metric, row in old_rows.items():
            new_row = new_accuracies[context].get(metric)
            if new_row is not None and row.accuracy is not None and new_row.accuracy is not None:
                metrics.append(metric)
        yield context, metrics


def _find_small_contexts(assay_result: ContextStatistics) -> set[tuple[str, str]]:
    """Find the contexts with too few items for claims. Returns pairs of column and value."""
    by_column = assay_result.claims.small_contexts
    return {(column, value) for column, values in by_column.items() for value in values}


def _adjust_p_values_of_changes(
    accuracy_changes: Sequence[AccuracyChange],
    order_changes: Sequence[OrderChange],
    small_contexts: set[tuple[str, str]],
) -> tuple[list[AccuracyChange], list[OrderChange]]:
    """Adjust the p-values of changes between two runs for the number of accuracies and pairs of metrics that
    were compared. Mark the significant changes.

    An accuracy that did not change in any cluster is not tested: it has an adjusted p-value already.
    """
    p_values: list[float] = []
    for change in accuracy_changes:
        is_small = (change.column, change.context) in small_contexts
        is_tested = change.p is not None and change.p_holm is None and not is_small
        p_values.append(_require_number(change.p) if is_tested else np.nan)
    is_overall = [change.column == GLOBAL for change in accuracy_changes]
    unchanged_pairs = 0
    for order in order_changes:
        is_small = (order.column, order.context) in small_contexts
        p_values += [np.nan if is_small else swap.p for swap in order.swapped]
        if not is_small:
            pairs = len(order.before) * (len(order.before) - 1) // 2
            unchanged_pairs += pairs - len(order.swapped)
    # Pairs of metrics that kept their order were compared too, without evidence of a change.
    p_values += [1.0] * unchanged_pairs
    is_overall += [False] * (len(p_values) - len(is_overall))
    adjusted = iter(
        _apply_weighted_holm_correction(np.array(p_values), np.array(is_overall, dtype=np.bool_)).tolist()
    )
    adjusted_changes = []
    for change in accuracy_changes:
        p_holm = none_if_nan(next(adjusted))
        if change.p_holm is not None:
            p_holm = change.p_holm
        adjusted_changes.append(msgspec.structs.replace(change, p_holm=p_holm, moved=_is_significant(p_holm)))
    adjusted_orders = []
    for order in order_changes:
        swaps = []
        for swap in order.swapped:
            p_holm = none_if_nan(next(adjusted))
            swaps.append(msgspec.structs.replace(swap, p_holm=p_holm, is_significant=_is_significant(p_holm)))
        adjusted_orders.append(msgspec.structs.replace(order, swapped=swaps))
    return adjusted_changes, adjusted_orders


def _is_significant(p_value: float | None) -> bool:
    """Return whether a p-value is not None and at most 0.05."""
    return p_value is not None and p_value <= SIGNIFICANCE_LEVEL


def _apply_weighted_holm_correction(p_values: FloatArray, is_over_all_outputs: BoolArray) -> FloatArray:
    """Adjust p-values by Holm's method. Tests over all outputs get a fixed share of the error rate, and tests
    in single contexts the rest.
    """
    is_tested = ~np.isnan(p_values)
    overall_tests = int((is_tested & is_over_all_outputs).sum())
    other_tests = int((is_tested & ~is_over_all_outputs).sum())
    overall_weight = _OVERALL_SHARE / max(overall_tests, 1)
    other_weight = (1 - _OVERALL_SHARE) / max(other_tests, 1)
    return adjust_p_values_by_holm(
        p_values, weights=np.where(is_over_all_outputs, overall_weight, other_weight)
    )


def _compare_accuracies_of_two_runs(
    column: str,
    old_accuracy: MetricAccuracy,
    new_accuracy: MetricAccuracy,
    changes_by_cluster: AccuracyChangesByCluster | None,
) -> AccuracyChange:
    """Subtract the accuracies of a metric in two runs. Returns the change, with an interval and an unadjusted
    p-value if both accuracies have intervals.
    """
    before = _require_number(old_accuracy.accuracy)
    after = _require_number(new_accuracy.accuracy)
    difference = after - before
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None
    has_intervals = None not in (old_accuracy.low, old_accuracy.high, new_accuracy.low, new_accuracy.high)
    if has_intervals and changes_by_cluster is not None:
        change = changes_by_cluster.estimate_change_of_accuracy(old_accuracy.metric)
        low, high, p = change.low, change.high, change.p
        # Where no cluster changed, nothing could be found, so nothing is tested.
        p_holm = None if change.has_changes else 1.0
    elif has_intervals:
        below = float(
            np.hypot(
                after - _require_number(new_accuracy.low),
                _require_number(old_accuracy.high) - before,
            )
        )
        above = float(
            np.hypot(
                _require_number(new_accuracy.high) - after,
                before - _require_number(old_accuracy.low),
            )
        )
        low = difference - below
        high = difference + above
        towards_zero = below if difference > 0 else above
        p = _compute_two_sided_p_value(difference, towards_zero / _NORMAL)
    return AccuracyChange(
        column=column,
        context=old_accuracy.context,
        metric=old_accuracy.metric,
        before=before,
        after=after,
        difference=difference,
        low=low,
        high=high,
        p=p,
        p_holm=p_holm,
        moved=False,
    )


def _require_number(number: float | None) -> float:
    """Return the given number, or raise an error if it is None."""
    if number is None:
        raise ValueError("a number that is compared must be defined")
    return number


def _compute_two_sided_p_value(difference: float, standard_error: float) -> float:
    """Compute the two-sided p-value of a difference that is normally distributed around 0."""
    if standard_error <= 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * ndtr(-abs(difference) / standard_error))


def _compare_rankings_before_and_after(
    column: str,
    context: str,
    metrics: Sequence[str],
    old_accuracy_by_metric: Mapping[str, MetricAccuracy],
    new_accuracy_by_metric: Mapping[str, MetricAccuracy],
    reversed_metric_pairs: list[MetricSwap],
) -> OrderChange:
    """Compare how two runs rank the metrics in one context, and list the metrics that changed places."""
    before = np.array([old_accuracy_by_metric[metric].accuracy for metric in metrics], dtype=np.float64)
    after = np.array([new_accuracy_by_metric[metric].accuracy for metric in metrics], dtype=np.float64)
    agreement = correlate_rows(round_off_float_errors(before), round_off_float_errors(after), "tau_ap_b")[0]
    return OrderChange(
        column=column,
        context=context,
        before=[metrics[m] for m in np.argsort(-before, kind="stable")],
        after=[metrics[m] for m in np.argsort(-after, kind="stable")],
        agreement=none_if_nan(agreement),
        swapped=reversed_metric_pairs,
    )


def _find_metric_pairs_with_changed_order(
    metrics: Sequence[str],
    old_accuracy_by_metric: Mapping[str, MetricAccuracy],
    new_accuracy_by_metric: Mapping[str, MetricAccuracy],
    changes_by_cluster: AccuracyChangesByCluster | None,
) -> list[MetricSwap]:
    """Find the pairs of metrics whose order was reversed between two runs, with unadjusted p-values."""
    swaps = []
    for first, second in combinations(metrics, 2):
        old_rows = (old_accuracy_by_metric[first], old_accuracy_by_metric[second])
        new_rows = (new_accuracy_by_metric[first], new_accuracy_by_metric[second])
        lead_before = _subtract_accuracies(*old_rows)
        lead_after = _subtract_accuracies(*new_rows)
        variances = [_compute_variance_from_interval(row) for row in (*old_rows, *new_rows)]
        if lead_before * lead_after >= 0 or np.isnan(variances).any():
            continue
        better, worse = (first, second) if lead_before > 0 else (second, first)
        if changes_by_cluster is None:
            p = _compute_two_sided_p_value(lead_after - lead_before, float(np.sqrt(sum(variances))))
        else:
            p = _require_number(changes_by_cluster.estimate_change_of_accuracy_difference(first, second).p)
        swaps.append(
            MetricSwap(better_before=better, better_after=worse, p=p, p_holm=None, is_significant=False)
        )
    return swaps


def _subtract_accuracies(first: MetricAccuracy, second: MetricAccuracy) -> float:
    """Return the accuracy of the first metric minus that of the second."""
    return _require_number(first.accuracy) - _require_number(second.accuracy)


def _compute_variance_from_interval(accuracy_with_interval: MetricAccuracy) -> float:
    """Compute the sampling variance from the width of a 95 % interval; NaN without an interval."""
    if accuracy_with_interval.low is None or accuracy_with_interval.high is None:
        return float("nan")
    return float((accuracy_with_interval.high - accuracy_with_interval.low) / (2 * _NORMAL)) ** 2


def _compare_recommendations_of_two_runs(
    context_column: str,
    old_recommendations: Mapping[str, Recommendation],
    new_recommendations: Mapping[str, Recommendation],
    order_changes: Sequence[OrderChange],
) -> list[ChoiceChange]:
    """Compare the metrics that two runs recommend in each context of one column."""
    swapped = set()
    for order in order_changes:
        if order.column in {context_column, GLOBAL}:
            for swap in order.swapped:
                if swap.is_significant:
                    swapped.add((order.context, swap.better_before, swap.better_after))
    choices = []
    for context, before in old_recommendations.items():
        after = new_recommendations.get(context)
        if after is None:
            continue
        left_top_group = before.choice not in after.top_group and after.choice not in before.top_group
        changed = left_top_group and (context, before.choice, after.choice) in swapped
        choices.append(
            ChoiceChange(
                column=context_column,
                context=context,
                before=before.choice,
                after=after.choice,
                changed=changed,
            )
        )
    return choices
