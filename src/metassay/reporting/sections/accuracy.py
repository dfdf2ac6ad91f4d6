"""Accuracies by context, how they run, and which metric to use where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from metassay.metrics.base import COST_CLASSES
from metassay.reporting.charts.accuracy import pareto_chart
from metassay.reporting.charts.heatmaps import matrix_chart
from metassay.reporting.charts.theme import Spec
from metassay.reporting.findings import GLOBAL, Choice, Column, Estimate, Findings, brief
from metassay.reporting.tables import Field, Grid, grid
from metassay.reporting.wording import Sentence, joined, named, number, percent, sentence, tidy

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


CHOICE_FIELDS = (
    Field("use", "use", "name"),
    Field("accuracy", "told right", "percent"),
    Field("top", "not clearly worse", "text", "the other metrics in the top group"),
    Field("why", "why", "prose"),
)
ROBUST_FIELDS = (
    Field("metric", "metric", "name"),
    Field("worst_case", "worst case", "percent", "lowest lower bound over the contexts"),
    Field("worst_context", "on", "text"),
    Field("robust_accuracy", "robust accuracy", "percent", "worst mix of contexts near the one at hand"),
    Field("stability", "variation", "percent", "standard deviation between contexts, net of sampling error"),
)

ERRORS_TOOLTIP: tuple[Spec, ...] = (
    {"field": "row", "type": "nominal", "title": "metric"},
    {"field": "column", "type": "nominal", "title": "and"},
    {"field": "value", "type": "quantitative", "format": ".3f", "title": "phi"},
)


def recommendation_grid(findings: Findings, column: Column) -> Grid | None:
    """What to use in each context, and why; the whole first."""
    if not column.choices:
        return None
    known = [context for context in column.contexts if context in column.choices]
    others = [context for context in column.choices if context not in known]
    rows = [_choice(findings, column, context) for context in [*others, *known]]
    fields = [Field("context", column.name, "name"), *CHOICE_FIELDS]
    if findings.people is not None:
        fields = [
            replace(each, label="told right by rule") if each.key == "accuracy" else each for each in fields
        ]
    return grid(f"recommendation-{column.name}", f"What to use, by {column.name}", fields, rows, at_most=500)


def robustness_grid(column: Column) -> Grid | None:
    """How each metric holds up over the contexts of a column."""
    rows = list(column.raw.get("robustness") or ())
    if not rows or len(column.contexts) < 2:
        return None
    caption = f"If one metric must serve every {column.name}"
    return grid(f"robustness-{column.name}", caption, ROBUST_FIELDS, rows)


def robust_sentence(column: Column) -> Sentence | None:
    """The metric to use where one must serve every context."""
    choice = column.choices.get(GLOBAL)
    rows = {str(row["metric"]): row for row in column.raw.get("robustness") or ()}
    if choice is None or choice.robust not in rows or len(column.contexts) < 2:
        return None
    row = rows[choice.robust]
    opening = sentence(
        "Where the mix of {column:column} may change, {metric:metric} holds up best",
        column=column.name,
        metric=choice.robust,
    )
    worst, share = row.get("worst_context"), row.get("worst_case")
    if worst is not None and share is not None:
        pattern = "{opening}: at worst, on {worst:context}, it is right in at least {share:figure}."
        return sentence(pattern, opening=opening, worst=worst, share=percent(share))
    if row.get("robust_accuracy") is not None:
        pattern = "{opening}: it stays right in {share:figure}."
        return sentence(pattern, opening=opening, share=percent(row["robust_accuracy"]))
    return sentence("{opening}.", opening=opening)


def shared_errors(findings: Findings) -> Spec | None:
    """Which metrics are wrong on the same pairs: a heatmap of phi coefficients, for three metrics or more."""
    phi = findings.result.get("phi") or {}
    metrics = [str(name) for name in phi.get("metrics") or ()]
    if len(metrics) < 3 or not phi.get("matrix"):
        return None
    cells = [
        {"row": one, "column": other, "value": round(min(1.0, value), 4)}
        for one, row in zip(metrics, phi["matrix"])
        for other, value in zip(metrics, row)
        if value is not None
    ]
    return matrix_chart("Which metrics are wrong on the same pairs.", metrics, cells, ERRORS_TOOLTIP)


def thrifty_sentence(findings: Findings) -> Sentence | None:
    """The metrics that no other beats in both accuracy and cost."""
    kept = [str(name) for name in findings.result.get("pareto") or ()]
    classes = findings.result.get("cost_class")
    if classes and len(set(classes.values())) == 1 and len(findings.metrics) > 1:
        (one,) = set(classes.values())
        return sentence(
            "What using them takes tells no metric from another: all are in one class, {one}.", one=one
        )
    if not kept or (classes is not None and len(set(classes.values())) < 2):
        return None
    return sentence(
        "No metric is both more accurate and cheaper than {names}.", names=named(kept, "metric", at_most=8)
    )


def thrifty_chart(findings: Findings) -> Spec | None:
    """Accuracy by class of cost, with the frontier, where metrics are of several classes."""
    known = findings.result.get("cost_class") or {}
    placed = [
        (COST_CLASSES.index(known[name]), name)
        for name in findings.metrics
        if known.get(name) in COST_CLASSES and findings.overall[name].accuracy is not None
    ]
    classes = {name: COST_CLASSES[place] for place, name in sorted(placed, key=lambda each: each[0])}
    if len(set(classes.values())) < 2:
        return None
    return pareto_chart(findings, classes, [str(name) for name in findings.result.get("pareto") or ()])


def reason(choice: Choice) -> str:
    """Why this metric, without the sentence on how accurate it is, which the table's own column says.

    Where an interval is known, that sentence comes first and ends with it in parentheses:
    `BLEU tells a better … in 83 % of pairs over all contexts (95 % interval 80–86). It is the only metric …`.
    """
    accuracy, interval_ends, reasons = choice.why.partition("). ")
    is_on_accuracy = accuracy.startswith(f"{choice.use} tells a better ")
    return reasons if interval_ends and is_on_accuracy else choice.why


def _choice(findings: Findings, column: Column, context: str) -> Mapping[str, Any]:
    choice = column.choices[context]
    return {
        "context": context,
        "use": choice.use,
        "accuracy": _estimate(findings, column, context, choice.use),
        "top": [name for name in choice.top_group if name != choice.use] or None,
        "why": tidy(reason(choice)),
    }


def _estimate(findings: Findings, column: Column, context: str, metric: str | None) -> Estimate | None:
    if metric is None:
        return None
    if context == GLOBAL:
        return findings.overall.get(metric)
    return column.estimates.get((context, metric))
