"""What changed between two assays, and whether by more than chance.

Differences have intervals from those of the two accuracies (Newcombe, 1998: square and add) and p-values
adjusted by Holm over everything compared: every accuracy, and every two metrics that could change places, in
all contexts of all columns but those too small to take part. Assays of the same outputs are correlated; the
intervals are then too wide, not too narrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import ndtr, ndtri

from metassay.results.assay import GLOBAL, ContextStatistics, MetricAccuracy, Recommendation
from metassay.results.base import to_optional
from metassay.results.compare import AccuracyChange, ChoiceChange, MetricSwap, OrderChange, RunComparison
from metassay.stats.multiplicity import adjust_holm
from metassay.stats.rank_correlation import correlate_rows

_LEVEL = 0.05
_NORMAL = float(ndtri(0.975))
_TIE_DECIMALS = 12

AccuracyTable = Mapping[str, Mapping[str, MetricAccuracy]]
"""Accuracies of a column by context and metric."""


@dataclass(frozen=True)
class _Difference:
    """After less before, with its interval and the p-value at which the interval would touch 0."""

    column: str
    context: str
    metric: str
    before: float
    after: float
    low: float | None
    high: float | None
    p: float | None


@dataclass(frozen=True)
class _Swap:
    better_before: str
    better_after: str
    p: float


@dataclass(frozen=True)
class _Orders:
    """The orders of the metrics in one context, before and after."""

    column: str
    context: str
    before: list[str]
    after: list[str]
    agreement: float
    swaps: list[_Swap]


def compare_runs(
    before: ContextStatistics, after: ContextStatistics, *, agreement: str = "tau_ap_b"
) -> RunComparison:
    """Compare accuracies, orders and recommendations in the columns that both results have.

    `changed` is true when an accuracy moved (Holm-adjusted p ≤ .05) or two metrics changed places by more
    than chance. A recommended metric that left the top group for one that was not in it before counts where
    the two changed places. Where nothing changed, at most 5 % of comparisons say so.
    """
    columns = [name for name in before.contexts if name in after.contexts]
    differences: list[_Difference] = []
    orders: list[_Orders] = []
    for name in (GLOBAL, *columns):
        old_table = _accuracy_table(before, name)
        new_table = _accuracy_table(after, name)
        differences += _compare_accuracies(name, old_table, new_table)
        orders += _compare_orders(name, old_table, new_table, agreement)
    small_contexts = _small_contexts(before) | _small_contexts(after)
    accuracy_changes, order_changes = _adjust_p_values(differences, orders, small_contexts)
    choices: list[ChoiceChange] = []
    for name in columns:
        choices += _compare_choices(
            name, before.recommendation[name], after.recommendation[name], order_changes
        )
    has_moved = any(change.moved for change in accuracy_changes)
    has_new_choice = any(choice.changed for choice in choices)
    has_swapped = any(swap.is_significant for order in order_changes for swap in order.swapped)
    return RunComparison(
        columns=columns,
        only_before=_contexts_missing_in(after, before),
        only_after=_contexts_missing_in(before, after),
        accuracies=accuracy_changes,
        orders=order_changes,
        recommendation=choices,
        changed=has_moved or has_new_choice or has_swapped,
    )


def compare_series(
    results: Sequence[ContextStatistics], *, agreement: str = "tau_ap_b"
) -> list[RunComparison]:
    """Compare each result with the one before it."""
    return [compare_runs(before, after, agreement=agreement) for before, after in pairwise(results)]


def _accuracy_table(result: ContextStatistics, column: str) -> AccuracyTable:
    """Return accuracies by context and metric; all outputs together are a column of their own, "global"."""
    rows: Sequence[MetricAccuracy] = result.overall
    if column != GLOBAL:
        rows = result.contexts[column].local_accuracy
    table: dict[str, dict[str, MetricAccuracy]] = {}
    for row in rows:
        table.setdefault(row.context, {})[row.metric] = row
    return table


def _contexts_missing_in(other: ContextStatistics, result: ContextStatistics) -> list[str]:
    """List the contexts of `result`, as `column=value`, that `other` has not."""
    missing = []
    for column in result.contexts:
        other_contexts = _accuracy_table(other, column) if column in other.contexts else {}
        contexts = _accuracy_table(result, column)
        missing += [f"{column}={value}" for value in contexts if value not in other_contexts]
    return missing


def _iterate_common(old: AccuracyTable, new: AccuracyTable) -> Iterator[tuple[str, list[str]]]:
    """Yield the contexts of both, with the metrics that have an accuracy in both."""
    for context, old_rows in old.items():
        if context not in new:
            continue
        metrics = []
        for metric, row in old_rows.items():
            new_row = new[context].get(metric)
            if new_row is not None and row.accuracy is not None and new_row.accuracy is not None:
                metrics.append(metric)
        yield context, metrics


def _small_contexts(result: ContextStatistics) -> set[tuple[str, str]]:
    """Return the contexts, as (column, value), that are too small to take part in claims."""
    by_column = result.claims.small_contexts
    return {(column, value) for column, values in by_column.items() for value in values}


def _adjust_p_values(
    differences: Sequence[_Difference], orders: Sequence[_Orders], small_contexts: set[tuple[str, str]]
) -> tuple[list[AccuracyChange], list[OrderChange]]:
    """Adjust p-values for all accuracies and all pairs of metrics that were compared."""
    tested = []
    for difference in differences:
        is_small = (difference.column, difference.context) in small_contexts
        tested.append(np.nan if difference.p is None or is_small else difference.p)
    unchanged_pairs = 0
    for order in orders:
        is_small = (order.column, order.context) in small_contexts
        tested += [np.nan if is_small else swap.p for swap in order.swaps]
        if not is_small:
            pairs = len(order.before) * (len(order.before) - 1) // 2
            unchanged_pairs += pairs - len(order.swaps)
    # Pairs of metrics that kept their order were compared too, without evidence of a change.
    adjusted = iter(adjust_holm([*tested, *[1.0] * unchanged_pairs]).tolist())
    accuracy_changes = [
        _to_accuracy_change(difference, to_optional(next(adjusted))) for difference in differences
    ]
    order_changes = []
    for order in orders:
        swaps = []
        for swap in order.swaps:
            p_holm = to_optional(next(adjusted))
            swaps.append(
                MetricSwap(
                    better_before=swap.better_before,
                    better_after=swap.better_after,
                    p=swap.p,
                    p_holm=p_holm,
                    is_significant=p_holm is not None and p_holm <= _LEVEL,
                )
            )
        order_changes.append(
            OrderChange(
                column=order.column,
                context=order.context,
                before=order.before,
                after=order.after,
                agreement=to_optional(order.agreement),
                swapped=swaps,
            )
        )
    return accuracy_changes, order_changes


def _to_accuracy_change(difference: _Difference, p_holm: float | None) -> AccuracyChange:
    return AccuracyChange(
        column=difference.column,
        context=difference.context,
        metric=difference.metric,
        before=difference.before,
        after=difference.after,
        difference=difference.after - difference.before,
        low=difference.low,
        high=difference.high,
        p=difference.p,
        p_holm=p_holm,
        moved=p_holm is not None and p_holm <= _LEVEL,
    )


def _compare_accuracies(column: str, old: AccuracyTable, new: AccuracyTable) -> list[_Difference]:
    differences = []
    for context, metrics in _iterate_common(old, new):
        differences += [
            _compare_accuracy(column, old[context][metric], new[context][metric]) for metric in metrics
        ]
    return differences


def _compare_accuracy(column: str, old: MetricAccuracy, new: MetricAccuracy) -> _Difference:
    """Compare two accuracies, both defined; without both intervals there is no test."""
    before = _defined(old.accuracy)
    after = _defined(new.accuracy)
    if old.low is None or old.high is None or new.low is None or new.high is None:
        return _Difference(column, old.context, old.metric, before, after, None, None, None)
    difference = after - before
    below = float(np.hypot(after - new.low, old.high - before))
    above = float(np.hypot(new.high - after, before - old.low))
    towards_zero = below if difference > 0 else above
    p = _two_sided_p(difference, towards_zero / _NORMAL)
    return _Difference(
        column, old.context, old.metric, before, after, difference - below, difference + above, p
    )


def _defined(accuracy: float | None) -> float:
    if accuracy is None:
        raise ValueError("an accuracy that is compared must be defined")
    return accuracy


def _two_sided_p(difference: float, standard_error: float) -> float:
    if standard_error <= 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * ndtr(-abs(difference) / standard_error))


def _compare_orders(column: str, old: AccuracyTable, new: AccuracyTable, agreement: str) -> list[_Orders]:
    orders = []
    for context, metrics in _iterate_common(old, new):
        if len(metrics) < 2:
            continue
        before = np.array([old[context][metric].accuracy for metric in metrics], dtype=np.float64)
        after = np.array([new[context][metric].accuracy for metric in metrics], dtype=np.float64)
        rounded = (np.round(before, _TIE_DECIMALS), np.round(after, _TIE_DECIMALS))
        orders.append(
            _Orders(
                column=column,
                context=context,
                before=[metrics[m] for m in np.argsort(-before, kind="stable")],
                after=[metrics[m] for m in np.argsort(-after, kind="stable")],
                agreement=float(correlate_rows(*rounded, agreement)[0]),
                swaps=_find_swaps(metrics, old[context], new[context]),
            )
        )
    return orders


def _find_swaps(
    metrics: Sequence[str], old: Mapping[str, MetricAccuracy], new: Mapping[str, MetricAccuracy]
) -> list[_Swap]:
    """Find pairs of metrics whose order is reversed, and how likely so large a change of their lead is."""
    swaps = []
    for i, first in enumerate(metrics):
        for second in metrics[i + 1 :]:
            lead_before = _defined(old[first].accuracy) - _defined(old[second].accuracy)
            lead_after = _defined(new[first].accuracy) - _defined(new[second].accuracy)
            rows = (old[first], old[second], new[first], new[second])
            variances = [_interval_variance(row) for row in rows]
            if lead_before * lead_after >= 0 or np.isnan(variances).any():
                continue
            better, worse = (first, second) if lead_before > 0 else (second, first)
            p = _two_sided_p(lead_after - lead_before, float(np.sqrt(sum(variances))))
            swaps.append(_Swap(better, worse, p))
    return swaps


def _interval_variance(row: MetricAccuracy) -> float:
    """Return the variance that the interval implies; NaN without an interval."""
    if row.low is None or row.high is None:
        return float("nan")
    return float((row.high - row.low) / (2 * _NORMAL)) ** 2


def _compare_choices(
    column: str,
    old: Mapping[str, Recommendation],
    new: Mapping[str, Recommendation],
    orders: Sequence[OrderChange],
) -> list[ChoiceChange]:
    swapped = set()
    for order in orders:
        if order.column in {column, GLOBAL}:
            for swap in order.swapped:
                if swap.is_significant:
                    swapped.add((order.context, swap.better_before, swap.better_after))
    choices = []
    for context, before in old.items():
        after = new.get(context)
        if after is None:
            continue
        left_top_group = before.choice not in after.top_group and after.choice not in before.top_group
        changed = left_top_group and (context, before.choice, after.choice) in swapped
        choices.append(
            ChoiceChange(
                column=column, context=context, before=before.choice, after=after.choice, changed=changed
            )
        )
    return choices
