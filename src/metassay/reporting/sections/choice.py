"""What to use where: the choice per context, what serves everywhere, and which metrics err together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from metassay.reporting.charts.heatmaps import matrix_chart
from metassay.reporting.charts.theme import Spec
from metassay.reporting.findings import GLOBAL, Choice, Column, Estimate, Findings
from metassay.reporting.tables import Field, Grid, grid
from metassay.reporting.wording import Sentence, named, percent, sentence, tidy

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
    if not kept or (classes is not None and len(set(classes.values())) < 2):
        return None
    return sentence(
        "No metric is both more accurate and cheaper than {names}.", names=named(kept, "metric", at_most=8)
    )


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
