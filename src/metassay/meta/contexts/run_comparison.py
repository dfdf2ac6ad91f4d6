"""Watching metrics: what changed between two assays, and whether by more than chance.

Works on results as `ContextualResult.to_dict` gives them, so on results read back from files. Differences
have intervals from those of the two accuracies (Newcombe, 1998: square and add) and p-values adjusted by Holm
over everything compared: every accuracy, and every two metrics that could change places, in all contexts of
all columns but those too small to take part. Assays of the same outputs are correlated; the intervals are
then too wide, not too narrow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from metassay.meta.contexts.pair_outcomes import GLOBAL
from metassay.stats.arrays import to_json_values
from metassay.stats.multiplicity import adjust_holm
from metassay.stats.rank_correlation import correlate_rows

Row = dict[str, Any]
Result = Mapping[str, Any]

_LEVEL = 0.05
_NORMAL = float(ndtri(0.975))


def compare(before: Result, after: Result, *, agreement: str = "tau_ap_b") -> Row:
    """Moved accuracies, changed orders and changed recommendations of the columns both results have.

    `changed` is true when an accuracy moved (Holm-adjusted p ≤ .05) or two metrics changed places by more
    than chance. A recommended metric that left the top group for one that was not in it before counts where
    the two changed places. Where nothing changed, that is said in at most 5 % of comparisons.
    """
    columns = [name for name in before["contexts"] if name in after["contexts"]]
    moved, orders, choices = [], [], []
    for name in (GLOBAL, *columns):
        old, new = _by_context(before, name), _by_context(after, name)
        moved += _moved(name, old, new)
        orders += _orders(name, old, new, agreement)
    _adjust(moved, orders, _set_aside(before) | _set_aside(after))
    for name in columns:
        choices += _choices(name, before["recommendation"][name], after["recommendation"][name], orders)
    comparison = {
        "columns": columns,
        "only_before": _missing(before, after),
        "only_after": _missing(after, before),
        "accuracies": moved,
        "orders": orders,
        "recommendation": choices,
    }
    swaps = [swap for row in orders for swap in row["swapped"]]
    changed = [*(row["moved"] for row in moved), *(row["changed"] for row in choices), *map(holds, swaps)]
    return comparison | {"changed": any(changed)}


def compare_series(results: Sequence[Result], *, agreement: str = "tau_ap_b") -> list[Row]:
    """Each result against the one before it."""
    return [compare(old, new, agreement=agreement) for old, new in pairwise(results)]


def _by_context(result: Result, column: str) -> dict[str, dict[str, Row]]:
    """Rows of local accuracy by context and metric; the whole is a column of its own, `global`."""
    table: dict[str, dict[str, Row]] = {}
    rows = result[GLOBAL] if column == GLOBAL else result["contexts"][column]["local_accuracy"]
    for row in rows:
        table.setdefault(row.get("context", GLOBAL), {})[row["metric"]] = row
    return table


def _missing(here: Result, there: Result) -> list[str]:
    """Contexts, as `column=value`, that only the first result has."""
    missing = []
    for column in here["contexts"]:
        other = _by_context(there, column) if column in there["contexts"] else {}
        missing += [f"{column}={value}" for value in _by_context(here, column) if value not in other]
    return missing


def _common(
    old: Mapping[str, Mapping[str, Row]], new: Mapping[str, Mapping[str, Row]]
) -> Iterator[tuple[str, list[str]]]:
    """Contexts of both, with the metrics that have an accuracy in both."""
    for context in old:
        if context in new:
            both = [metric for metric in old[context] if metric in new[context]]
            yield context, [m for m in both if _known(old[context][m]) and _known(new[context][m])]


def _known(row: Row) -> bool:
    return row["accuracy"] is not None


def _set_aside(result: Result) -> set[tuple[str, str]]:
    """Contexts, as (column, value), that are too small to take part in claims."""
    named = (result.get("claims") or {}).get("set_aside", {})
    return {(column, value) for column, values in named.items() for value in values}


def _adjust(moved: Sequence[Row], orders: Sequence[Row], aside: set[tuple[str, str]]) -> None:
    """Adds p-values adjusted for all accuracies and all pairs of metrics that were compared."""

    def p_value(row: Row, of: Row) -> float:
        out = of["p"] is None or (row["column"], row["context"]) in aside
        return float("nan") if out else float(of["p"])

    swaps = [(row, swap) for row in orders for swap in row["swapped"]]
    kept = [row for row in orders if (row["column"], row["context"]) not in aside]
    pairs = sum(len(row["before"]) * (len(row["before"]) - 1) // 2 - len(row["swapped"]) for row in kept)
    tests = [*(p_value(row, row) for row in moved), *(p_value(*each) for each in swaps), *[1.0] * pairs]
    adjusted = [None if np.isnan(p) else p for p in adjust_holm(tests).tolist()]
    for row, p in zip(moved, adjusted):
        row["p_holm"] = p
        row["moved"] = p is not None and p <= _LEVEL
    for (_, swap), p in zip(swaps, adjusted[len(moved) :]):
        swap["p_holm"] = p


def _moved(column: str, old: dict[str, dict[str, Row]], new: dict[str, dict[str, Row]]) -> list[Row]:
    return [
        {
            "column": column,
            "context": context,
            "metric": metric,
            **_difference(old[context][metric], new[context][metric]),
        }
        for context, metrics in _common(old, new)
        for metric in metrics
    ]


def _difference(old: Row, new: Row) -> Row:
    """After less before, with its interval and the p-value at which the interval would touch 0."""
    difference = new["accuracy"] - old["accuracy"]
    entry = {"before": old["accuracy"], "after": new["accuracy"], "difference": difference}
    if any(row[end] is None for row in (old, new) for end in ("low", "high")):
        return entry | {"low": None, "high": None, "p": None}
    below = float(np.hypot(new["accuracy"] - new["low"], old["high"] - old["accuracy"]))
    above = float(np.hypot(new["high"] - new["accuracy"], old["accuracy"] - old["low"]))
    towards_zero = below if difference > 0 else above
    return entry | {
        "low": difference - below,
        "high": difference + above,
        "p": _two_sided(difference, towards_zero / _NORMAL),
    }


def _two_sided(difference: float, deviation: float) -> float:
    if deviation <= 0:
        return 1.0 if difference == 0 else 0.0
    return float(2 * ndtr(-abs(difference) / deviation))


def _orders(
    column: str, old: dict[str, dict[str, Row]], new: dict[str, dict[str, Row]], agreement: str
) -> list[Row]:
    rows: list[Row] = []
    for context, metrics in _common(old, new):
        if len(metrics) < 2:
            continue
        first = np.array([old[context][metric]["accuracy"] for metric in metrics])
        second = np.array([new[context][metric]["accuracy"] for metric in metrics])
        value = float(correlate_rows(np.round(first, 12), np.round(second, 12), agreement)[0])
        rows.append(
            {
                "column": column,
                "context": context,
                "before": [metrics[m] for m in np.argsort(-first, kind="stable")],
                "after": [metrics[m] for m in np.argsort(-second, kind="stable")],
                "agreement": to_json_values(value),
                "swapped": _swapped(metrics, old[context], new[context]),
            }
        )
    return rows


def _swapped(metrics: Sequence[str], old: Mapping[str, Row], new: Mapping[str, Row]) -> list[Row]:
    """Pairs of metrics whose order is reversed, and how likely so large a change of their difference is."""
    swaps: list[Row] = []
    for i, first in enumerate(metrics):
        for second in metrics[i + 1 :]:
            lead_before = old[first]["accuracy"] - old[second]["accuracy"]
            lead_after = new[first]["accuracy"] - new[second]["accuracy"]
            deviations = [_deviation(row) for row in (old[first], old[second], new[first], new[second])]
            if lead_before * lead_after < 0 and None not in deviations:
                better, worse = (first, second) if lead_before > 0 else (second, first)
                spread = float(np.sqrt(sum(each**2 for each in deviations if each is not None)))
                p = _two_sided(lead_after - lead_before, spread)
                swaps.append({"better_before": better, "better_after": worse, "p": p})
    return swaps


def _deviation(row: Row) -> float | None:
    """Standard deviation that the interval implies."""
    if row["low"] is None or row["high"] is None:
        return None
    return float((row["high"] - row["low"]) / (2 * _NORMAL))


def _choices(column: str, old: Mapping[str, Row], new: Mapping[str, Row], orders: Sequence[Row]) -> list[Row]:
    swapped = {
        (row["context"], swap["better_before"], swap["better_after"])
        for row in orders
        for swap in row["swapped"]
        if row["column"] in {column, GLOBAL} and holds(swap)
    }
    rows = []
    for context in old:
        if context not in new:
            continue
        first, second = old[context]["choice"], new[context]["choice"]
        left = first not in new[context]["top_group"] and second not in old[context]["top_group"]
        entry = {"column": column, "context": context, "before": first, "after": second}
        rows.append(entry | {"changed": left and (context, first, second) in swapped})
    return rows


def holds(swap: Row) -> bool:
    """Whether two metrics changed places by more than chance."""
    return swap["p_holm"] is not None and swap["p_holm"] <= _LEVEL
