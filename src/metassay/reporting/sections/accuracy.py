"""Accuracy over contexts: the tables behind the line charts, and what to notice in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metassay.reporting.findings import Column, Estimate, Findings, brief
from metassay.reporting.tables import Field, Grid, grid
from metassay.reporting.wording import Sentence, joined, number, sentence

DETAIL_FIELDS = (
    Field("context", "context", "name"),
    Field("metric", "metric", "name"),
    Field("accuracy", "accuracy", "percent", "mean over items of the share of pairs told right"),
    Field("low", "95\u202f% from", "percent"),
    Field("high", "to", "percent"),
    Field(
        "accuracy_corrected",
        "corrected",
        "percent",
        "accuracy if every label were right, by how many of the copies that were read are not worse",
    ),
    Field(
        "corrected_low", "95\u202f% from", "percent", "of the corrected accuracy, with both sources of error"
    ),
    Field("corrected_high", "to", "percent"),
    Field("label_error", "wrong labels", "percent", "share of the copies that were read and are not worse"),
    Field("micro", "micro", "percent", "share of all pairs, items weighted by their pairs"),
    Field("standardised", "standardised", "percent", "with the global mix of perturbations"),
    Field("ties", "ties", "percent", "pairs with equal scores, counted as wrong"),
    Field("items", "items", "count"),
    Field("outputs", "outputs", "count"),
    Field("pairs", "pairs", "count"),
)
_CORRECTED = ("accuracy_corrected", "corrected_low", "corrected_high", "label_error")
_COUNTED = (*_CORRECTED, "micro", "standardised", "ties", "items", "outputs", "pairs")


def overall_grid(findings: Findings) -> Grid:
    """All outputs together, one row per metric."""
    rows = [_row(findings.overall[name]) for name in findings.ordered]
    fields = [field for field in DETAIL_FIELDS if field.key != "context"]
    return grid("overall", "All outputs together", fields, rows)


def accuracy_grid(findings: Findings, column: Column) -> Grid:
    """Contexts down, metrics across: accuracy with its interval."""
    keys = {name: f"metric {n}" for n, name in enumerate(findings.ordered)}
    fields = [Field("context", column.name, "name"), *(Field(keys[m], m, "percent") for m in keys)]
    rows = [
        {
            "context": context,
            **{key: column.estimates.get((context, name)) for name, key in keys.items()},
        }
        for context in column.contexts
    ]
    return grid(f"accuracy-{column.name}", f"Accuracy by {column.name}", fields, rows, at_most=500)


def detail_grid(findings: Findings, column: Column) -> Grid:
    """One row per context and metric with everything that was counted."""
    rows = [
        _row(estimate)
        for context in column.contexts
        for name in findings.ordered
        if (estimate := column.estimates.get((context, name)))
    ]
    return grid(f"detail-{column.name}", f"Accuracy by {column.name}, in full", DETAIL_FIELDS, rows)


def mix_grid(column: Column) -> Grid | None:
    """The share of each perturbation among the pairs of each context."""
    mix: Mapping[str, Mapping[str, float]] = column.raw.get("method_mix") or {}
    methods = list(dict.fromkeys(method for shares in mix.values() for method in shares))
    if not methods:
        return None
    keys = {method: f"method {n}" for n, method in enumerate(methods)}
    fields = [Field("context", column.name, "name"), *(Field(keys[m], m, "percent") for m in methods)]
    rows = [
        {"context": context, **{key: mix[context].get(method) for method, key in keys.items()}}
        for context in column.contexts
        if context in mix
    ]
    return grid(f"mix-{column.name}", f"How pairs were made, by {column.name}", fields, rows, at_most=500)


def spread_sentence(findings: Findings, column: Column) -> Sentence | None:
    """Of the metrics whose accuracy is shown to differ, which differs most, and where it is high and low."""
    shown = findings.claimed("vary", column=column.name)
    names = findings.metrics if shown is None else [str(row["metric"]) for row in shown]
    aside = (findings.result.get("claims") or {}).get("set_aside", {}).get(column.name, ())
    found = {
        name: [each for each in column.of(name) if each.context not in aside and each.row.get("items") != 1]
        for name in names
    }
    estimates = {name: several for name, several in found.items() if len(several) > 1}
    if not estimates:
        return None
    ends = {name: (min(found, key=_accuracy), max(found, key=_accuracy)) for name, found in estimates.items()}
    widest = max(ends, key=lambda name: _accuracy(ends[name][1]) - _accuracy(ends[name][0]))
    low, high = ends[widest]
    return sentence(
        "{metric:metric} varies{most}: {high:figure} on {best:context}, {low:figure} on {worst:context}.",
        metric=widest,
        most=" most" if len(ends) > 1 else "",
        high=brief(high),
        best=high.context,
        low=brief(low),
        worst=low.context,
    )


def trend_sentence(findings: Findings, column: Column) -> Sentence | None:
    """How accuracy moves along contexts that have an order, such as buckets of human scores."""
    known = column.raw.get("trend") or {}
    shown = findings.claimed("trend", column=column.name)
    if not any(rho is not None for rho in known.values()) or shown is None:
        return None
    claimed = {str(row["metric"]) for row in shown}
    names = [name for name in findings.metrics if name in claimed]
    if not names:
        return sentence(
            "Accuracy is not shown to follow the order of {column:column} for any metric.", column=column.name
        )
    trends = {name: float(known.get(name) or 0.0) for name in names[:4]}
    said = [
        sentence("{rho:figure} for {metric:metric}", rho=number(rho), metric=name)
        for name, rho in trends.items()
    ]
    return sentence(
        "{verdict}: Spearman’s correlation between the order of {column:column} and accuracy is {shown}.",
        verdict=_direction(list(trends.values())),
        column=column.name,
        shown=joined(said),
    )


def _direction(trends: list[float]) -> str:
    if min(trends) > 0:
        return "Accuracy rises along the contexts"
    if max(trends) < 0:
        return "Accuracy falls along the contexts"
    return "Accuracy follows the order of the contexts, up or down with the metric"


def _accuracy(estimate: Estimate) -> float:
    return estimate.accuracy or 0.0


def _row(estimate: Estimate) -> Mapping[str, Any]:
    return {
        "context": estimate.context,
        "metric": estimate.metric,
        "accuracy": estimate.accuracy,
        "low": estimate.low,
        "high": estimate.high,
        **{key: estimate.row.get(key) for key in _COUNTED},
    }
