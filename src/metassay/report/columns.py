"""What the report says about one context column: accuracy, agreement, tests, and what to use where."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, median
from typing import Any

from metassay.report.answer import brief
from metassay.report.findings import Agreement, Column, Estimate, Findings
from metassay.report.grid import Field, Grid, grid
from metassay.report.wording import Sentence, named, number, plural, sentence

ALPHA = 0.05
STATISTICS = {
    "tau_ap_b": "τ\u2011AP\u2011b",
    "tau_ap": "τ\u2011AP",
    "tau_ap_a": "τ\u2011AP\u2011a",
    "weighted_tau": "weighted τ",
    "kendall": "Kendall’s τ",
}

H1_FIELDS = (
    Field("metric", "metric", "name"),
    Field("chi2", "χ²", "number"),
    Field("dof", "dof", "count", "degrees of freedom: contexts − 1"),
    Field("p", "p, χ²", "probability", "chi-square test on pair counts, as published"),
    Field("cramers_v", "Cramér’s V", "number", "size of the effect: 0 none, 1 complete"),
    Field("p_permutation", "p, permutation", "probability", "labels exchanged by whole outputs or clusters"),
    Field("p_cmh", "p, CMH", "probability", "Cochran–Mantel–Haenszel, stratified by perturbation"),
    Field("p_holm", "p, Holm", "probability", "corrected for the number of metrics"),
    Field("verdict", "differs?", "verdict"),
)


def accuracy_grid(findings: Findings, column: Column) -> Grid:
    """Contexts down, metrics across: accuracy with its interval."""
    fields = [Field("context", column.name, "name")]
    fields += [Field(f"metric {n}", name, "percent") for n, name in enumerate(findings.ordered)]
    rows: list[Mapping[str, Any]] = []
    for context in column.contexts:
        cells = {
            f"metric {n}": column.estimates.get((context, name)) for n, name in enumerate(findings.ordered)
        }
        rows.append({"context": context, **cells})
    return grid(f"accuracy-{column.name}", f"Accuracy by {column.name}", fields, rows, at_most=500)


def detail_grid(findings: Findings, column: Column) -> Grid:
    """One row per context and metric with everything that was counted."""
    rows = [
        estimate_row(estimate)
        for context in column.contexts
        for name in findings.ordered
        if (estimate := column.estimates.get((context, name)))
    ]
    return grid(f"detail-{column.name}", f"Accuracy by {column.name}, in full", DETAIL_FIELDS, rows)


DETAIL_FIELDS = (
    Field("context", "context", "name"),
    Field("metric", "metric", "name"),
    Field("accuracy", "accuracy", "percent", "mean over items of the share of pairs told right"),
    Field("low", "95\u202f% from", "percent"),
    Field("high", "to", "percent"),
    Field("micro", "micro", "percent", "share of all pairs, items weighted by their pairs"),
    Field("standardised", "standardised", "percent", "with the global mix of perturbations"),
    Field("ties", "ties", "percent", "pairs with equal scores, counted as wrong"),
    Field("items", "items", "count"),
    Field("outputs", "outputs", "count"),
    Field("pairs", "pairs", "count"),
)


def estimate_row(estimate: Estimate) -> Mapping[str, Any]:
    """One row of the detailed table."""
    row = estimate.row
    return {
        "context": estimate.context,
        "metric": estimate.metric,
        "accuracy": estimate.accuracy,
        "low": estimate.low,
        "high": estimate.high,
        **{key: row.get(key) for key in ("micro", "standardised", "ties", "items", "outputs", "pairs")},
    }


def spread_sentence(findings: Findings, column: Column) -> Sentence | None:
    """How far the best metric's accuracy runs over the contexts, and which metric varies most."""
    spreads = {
        name: max(values) - min(values)
        for name in findings.metrics
        if len(values := [e.accuracy for e in column.of(name) if e.accuracy is not None]) > 1
    }
    if not spreads:
        return None
    widest = max(spreads, key=lambda name: spreads[name])
    lowest, highest = (pick(column.of(widest), key=lambda e: e.accuracy or 0.0) for pick in (min, max))
    return sentence(
        "{metric:metric} varies most: {high:figure} on {best:context}, {low:figure} on {worst:context}.",
        metric=widest,
        high=brief(highest),
        best=highest.context,
        low=brief(lowest),
        worst=lowest.context,
    )


def recommendation_grid(findings: Findings, column: Column) -> Grid | None:
    """What to use in each context, and why."""
    if not column.choices:
        return None
    fields = (
        Field("context", column.name, "name"),
        Field("use", "use", "name"),
        Field("accuracy", "told right", "percent"),
        Field("top", "not clearly worse", "text", "other metrics in the top group"),
        Field("why", "why", "text"),
    )
    order = [context for context in column.choices if context not in column.contexts]
    rows: list[Mapping[str, Any]] = []
    for context in [*order, *(context for context in column.contexts if context in column.choices)]:
        choice = column.choices[context]
        use = choice.metrics[0] if choice.metrics else None
        rows.append(
            {
                "context": context,
                "use": use,
                "accuracy": _where(findings, column, context, use),
                "top": [name for name in choice.top_group if name != use] or None,
                "why": choice.why,
            }
        )
    return grid(f"recommendation-{column.name}", f"What to use, by {column.name}", fields, rows, at_most=500)


def _where(findings: Findings, column: Column, context: str, metric: str | None) -> Estimate | None:
    if metric is None:
        return None
    return column.estimates.get((context, metric)) or findings.overall.get(metric)


def h1_grid(column: Column) -> Grid | None:
    """The tests of equal accuracy, one row per metric."""
    if not column.h1:
        return None
    rows = [{**row, "p_holm": _holm(row), "verdict": _verdict(row)} for row in column.h1]
    return grid(f"h1-{column.name}", f"Does accuracy differ by {column.name}?", H1_FIELDS, rows)


def h1_sentence(findings: Findings, column: Column) -> Sentence:
    """The tests in words."""
    tested = [row for row in column.h1 if str(row["metric"]) not in findings.sentinels]
    differing = [row for row in tested if _verdict(row) == "yes"]
    if not tested:
        return sentence("There is nothing to test: {column:column} has one value only.", column=column.name)
    if not differing:
        return sentence(
            "For none of {count} does accuracy differ between values of {column:column} "
            "by more than chance allows.",
            count=plural(len(tested), "metric"),
            column=column.name,
        )
    strongest = max(differing, key=lambda row: row.get("cramers_v") or 0.0)
    return sentence(
        "Accuracy differs between values of {column:column} for {which}; the difference is "
        "{size} (largest Cramér’s V {v}, {metric:metric}).",
        column=column.name,
        which=_which(differing, tested),
        size=_effect(strongest.get("cramers_v")),
        v=number(strongest.get("cramers_v")),
        metric=str(strongest["metric"]),
    )


def _which(differing: list[Mapping[str, Any]], tested: list[Mapping[str, Any]]) -> Sentence:
    if len(differing) == len(tested) > 1:
        return sentence("all {count} metrics", count=str(len(tested)))
    names = named([str(row["metric"]) for row in differing], "metric")
    return sentence("{names} ({some} of {all} metrics)", names=names, some=len(differing), all=len(tested))


def _effect(v: float | None) -> str:
    if v is None:
        return "of unknown size"
    return "slight" if v < 0.1 else "moderate" if v < 0.3 else "large"


def _holm(row: Mapping[str, Any]) -> float | None:
    corrected = row.get("p_holm")
    if isinstance(corrected, Mapping):
        kept = [corrected.get(key) for key in ("p_permutation", "permutation", "p", "chi2")]
        return next((p for p in kept if p is not None), None)
    return corrected


def _verdict(row: Mapping[str, Any]) -> str | None:
    decisive = next((p for p in (_holm(row), row.get("p_permutation"), row.get("p")) if p is not None), None)
    return None if decisive is None else "yes" if decisive <= ALPHA else "not shown"


def agreement_sentences(findings: Findings, column: Column) -> list[Sentence]:
    """The rank agreement between contexts in words, against what noise alone would give."""
    agreement = column.agreement
    if agreement is None:
        return []
    said = [_typical(agreement, column)]
    ceiling = [value for value in agreement.ceiling if value is not None]
    if ceiling:
        said.append(
            sentence(
                "Two random halves of one context agree at {ceiling} on average: "
                "with this much data no two contexts can be expected to agree better.",
                ceiling=number(fmean(ceiling)),
            )
        )
    if len(findings.metrics) + len(findings.sentinels) < 4:
        said.append(sentence("With so few metrics the agreement can take a handful of values only."))
    return said


def _typical(agreement: Agreement, column: Column) -> Sentence:
    full = len(agreement.matrix) == len(agreement.contexts)
    cells = [
        (value, agreement.contexts[i], agreement.contexts[j])
        for i in range(len(agreement.matrix))
        for j in range(i + 1, len(agreement.contexts))
        if (i > 0 or not full or len(agreement.contexts) <= 2) and (value := agreement.cell(i, j)) is not None
    ]
    if not cells:
        return sentence("No agreement between values of {column:column} is defined.", column=column.name)
    worst, one, other = min(cells, key=lambda cell: cell[0])
    middle = median(cell[0] for cell in cells)
    if worst >= 1:
        return sentence("The metrics come in the same order for every {column:column}.", column=column.name)
    return sentence(
        "Between two values of {column:column} the order of the metrics typically agrees at {middle} "
        "({statistic}; 1 is the same order), least between {one:context} and {other:context} at {worst}.",
        column=column.name,
        middle=number(middle),
        statistic=STATISTICS.get(agreement.statistic, agreement.statistic),
        one=one,
        other=other,
        worst=number(worst),
    )


def agreement_grid(column: Column) -> Grid | None:
    """Each context against global, with its noise ceiling."""
    agreement = column.agreement
    if agreement is None:
        return None
    fields = (
        Field("context", column.name, "name"),
        Field("agreement", "agreement with global", "number"),
        Field("low", "95\u202f% from", "number"),
        Field("high", "to", "number"),
        Field("ceiling", "noise ceiling", "number", "split-half reliability of the context’s own order"),
    )
    rows = [
        {
            "context": context,
            **{of: agreement.cell(0, j, key) for of, key in _CELLS},
            "ceiling": agreement.ceiling[j] if j < len(agreement.ceiling) else None,
        }
        for j, context in enumerate(agreement.contexts)
        if j
    ]
    return grid(
        f"agreement-{column.name}", f"Order of the metrics by {column.name}, against global", fields, rows
    )


_CELLS = (("agreement", "matrix"), ("low", "low"), ("high", "high"))
