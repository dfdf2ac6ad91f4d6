"""H1 and H2: whether accuracies, and the order of the metrics, change over contexts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any

from metassay.reporting.findings import Agreement, Column, Findings
from metassay.reporting.tables import Field, Grid, grid
from metassay.reporting.wording import Sentence, joined, named, number, percent, plural, sentence

ALPHA = 0.05
DECISIVE = ("p_permutation_holm", "p_permutation", "p_holm", "p")
"""The test that decides: the one that respects dependence, corrected for many metrics, where it was made."""

FIELDS = (
    Field("metric", "metric", "name"),
    Field("chi2", "χ²", "number"),
    Field("dof", "dof", "count", "degrees of freedom: contexts − 1"),
    Field("cramers_v", "Cramér’s V", "number", "size of the effect: 0 none, 1 complete"),
    Field("p", "p, χ²", "probability", "chi-square test on pair counts, as published"),
    Field("p_cmh", "p, CMH", "probability", "Cochran–Mantel–Haenszel, stratified by perturbation"),
    Field("p_permutation", "p, permutation", "probability", "labels exchanged by whole outputs or clusters"),
    Field("corrected", "p, Holm", "probability", "the deciding p-value, corrected for the number of metrics"),
    Field("verdict", "differs?", "verdict", "with one error rate for all claims of this report"),
)


def h1_grid(findings: Findings, column: Column) -> Grid | None:
    """The tests of equal accuracy, one row per metric."""
    if not column.h1:
        return None
    rows = [
        {**row, "corrected": _corrected(row), "verdict": _verdict(findings, column, row)} for row in column.h1
    ]
    return grid(f"h1-{column.name}", f"Does accuracy differ by {column.name}?", FIELDS, rows)


def h1_sentence(findings: Findings, column: Column) -> Sentence:
    """The tests in words."""
    tested = [row for row in column.h1 if str(row["metric"]) not in findings.sentinels]
    verdicts = [_verdict(findings, column, row) for row in tested]
    differing = [row for row, verdict in zip(tested, verdicts) if verdict == "yes"]
    if not tested:
        return sentence("There is nothing to test: {column:column} has one value only.", column=column.name)
    aside = (findings.result.get("claims") or {}).get("set_aside", {}).get(column.name, ())
    if not any(verdicts) and len(column.contexts) - len(aside) < 2:
        return sentence(
            "Whether accuracy differs by {column:column} cannot be tested: fewer than two of its values are "
            "large enough.",
            column=column.name,
        )
    if not any(verdicts):
        return sentence(
            "Whether accuracy differs by {column:column} cannot be tested: too few of its values hold two "
            "independent units. Compare values that several units share, or name a smaller unit with "
            "--cluster.",
            column=column.name,
        )
    if not differing:
        return sentence(
            "For none of {count} is accuracy shown to differ between values of {column:column}.",
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


def exchanged(column: Column) -> str:
    """What the permutation test exchanged: `outputs within items` or `clusters`."""
    units = column.raw.get("h1_exchanges") or ()
    return ", ".join(dict.fromkeys(map(str, [units] if isinstance(units, str) else units)))


def _which(differing: list[Mapping[str, Any]], tested: list[Mapping[str, Any]]) -> Sentence:
    if len(differing) == len(tested) > 1:
        return sentence("all {count} metrics", count=str(len(tested)))
    names = named([str(row["metric"]) for row in differing], "metric")
    return sentence("{names} ({some} of {all})", names=names, some=len(differing), all=len(tested))


def _effect(v: float | None) -> str:
    if v is None:
        return "of unknown size"
    return "slight" if v < 0.1 else "moderate" if v < 0.3 else "large"


def _corrected(row: Mapping[str, Any]) -> float | None:
    """The permutation test's where it was asked for, even if it could tell nothing."""
    key = "p_permutation_holm" if "p_permutation_holm" in row else "p_holm"
    return None if row.get(key) is None else float(row[key])


def _verdict(findings: Findings, column: Column, row: Mapping[str, Any]) -> str | None:
    shown = findings.claimed("vary", column=column.name, metric=str(row["metric"]))
    decisive = row.get(next((key for key in DECISIVE if key in row), ""))
    if decisive is None:
        return None
    yes = decisive <= ALPHA if shown is None else bool(shown)
    return "yes" if yes else "not shown"


STATISTICS = {
    "tau_ap_b": "τ\u2011AP\u2011b",
    "tau_ap": "τ\u2011AP",
    "tau_ap_a": "τ\u2011AP\u2011a",
    "weighted_tau": "weighted τ",
    "kendall": "Kendall’s τ",
}
FEW = 4
SHOWN = 5
_CELLS = (("agreement", "matrix"), ("low", "low"), ("high", "high"))


def agreement_sentences(findings: Findings, column: Column) -> list[Sentence]:
    """The rank agreement between contexts in words, most important first."""
    agreement = column.agreement
    if agreement is None:
        return []
    said: list[Sentence | None] = [_typical(agreement, column)]
    if not _unanimous(agreement):
        differing, claim = _differing(findings, column, agreement)
        groups = _groups(column) if differing else None
        said += [_noise(agreement), claim, groups, _prediction(findings, column)]
    if len(findings.metrics) < FEW:
        said.append(
            sentence(
                "With {metrics} the agreement can take a handful of values only, so read it with care.",
                metrics=plural(len(findings.metrics), "metric"),
            )
        )
    return [each for each in said if each is not None]


def agreement_grid(findings: Findings, column: Column) -> Grid | None:
    """Each context against global, with its noise ceiling and the test that its order differs."""
    agreement = column.agreement
    if agreement is None:
        return None
    fields = (
        Field("context", column.name, "name"),
        Field("agreement", "agreement with global", "number"),
        Field("low", "95\u202f% from", "number"),
        Field("high", "to", "number"),
        Field("ceiling", "noise ceiling", "number", "agreement of two samples of this context of its size"),
        Field(
            "p", "p, differs", "probability", "that two metrics change places, for all claims of this report"
        ),
    )
    tested = _order_p_values(findings, column)
    rows = [
        {
            "context": context,
            **{of: agreement.cell(0, j, key) for of, key in _CELLS},
            "ceiling": _at(agreement.ceiling, j),
            "p": _at(agreement.p_global, j) if tested is None else tested.get(context),
        }
        for j, context in enumerate(agreement.contexts)
        if j
    ]
    caption = f"Order of the metrics by {column.name}, against global"
    return grid(f"agreement-{column.name}", caption, fields, rows)


def _typical(agreement: Agreement, column: Column) -> Sentence:
    if _unanimous(agreement):
        return sentence("The metrics come in the same order for every {column:column}.", column=column.name)
    first = 1 if len(agreement.matrix) == len(agreement.contexts) > 2 else 0
    cells = [
        (value, agreement.contexts[i], agreement.contexts[j])
        for i in range(first, len(agreement.matrix))
        for j in range(i + 1, len(agreement.contexts))
        if (value := agreement.cell(i, j)) is not None
    ]
    if not cells:
        return sentence("No agreement between values of {column:column} is defined.", column=column.name)
    worst, one, other = min(cells, key=lambda cell: cell[0])
    return sentence(
        "Between two values of {column:column} the order of the metrics typically agrees at {middle} "
        "({statistic}), least between {one:context} and {other:context} at {worst}.",
        column=column.name,
        middle=number(median(cell[0] for cell in cells)),
        statistic=STATISTICS.get(agreement.statistic, agreement.statistic),
        one=one,
        other=other,
        worst=number(worst),
    )


def _unanimous(agreement: Agreement) -> bool:
    known = [value for row in agreement.matrix for value in row if value is not None]
    return len(known) > 1 and min(known) >= 1


def _noise(agreement: Agreement) -> Sentence | None:
    ceiling = [value for value in agreement.ceiling[1:] if value is not None]
    if not ceiling:
        return None
    return sentence(
        "For scale: two samples of the same context, each as large as these, would agree at {ceiling} on "
        "average, so contexts that order the metrics alike agree about as well.",
        ceiling=number(fmean(ceiling)),
    )


def _order_p_values(findings: Findings, column: Column) -> Mapping[str, float] | None:
    """p-values, for all claims of the report, that a context contradicts the order over all outputs."""
    claims: Mapping[str, Any] = findings.result.get("claims") or {}
    return claims.get("order", {}).get(column.name, {}) if claims else None


def _differing(findings: Findings, column: Column, agreement: Agreement) -> tuple[list[str], Sentence | None]:
    """The contexts whose order is shown to differ, and the sentence about them."""
    tested = _order_p_values(findings, column)
    if tested is None:
        found = zip(agreement.contexts[1:], agreement.p_global[1:])
        tested = {context: p for context, p in found if p is not None}
    differing = [context for context in agreement.contexts if tested.get(context, 1) <= 0.05]
    if not tested:
        return [], None
    if not differing:
        return [], sentence("In no context is the order shown to differ from the one over all outputs.")
    return differing, sentence(
        "The order over all outputs is shown not to hold on {contexts}.", contexts=named(differing, "context")
    )


def _groups(column: Column) -> Sentence | None:
    groups: Sequence[Mapping[str, Any]] = (column.raw.get("h2") or {}).get("clusters") or []
    if len(groups) < 2:
        return None
    shared = set.intersection(*({*group.get("metrics", ())} for group in groups))
    first = next((str(metric) for metric in groups[0].get("metrics", ()) if metric in shared), None)
    parts = [
        sentence(
            "{contexts}{serves}",
            contexts=named([str(context) for context in group["contexts"]], "context", at_most=6),
            serves=sentence("") if first else _serves(group.get("metrics") or ()),
        )
        for group in groups[:SHOWN]
    ]
    more = [sentence("{count} more", count=len(groups) - SHOWN)] if len(groups) > SHOWN else []
    return sentence(
        "Contexts that order the metrics alike, in {count}: {body}.{together}",
        count=plural(len(groups), "group"),
        body=joined([*parts, *more], between="; ", last="; "),
        together=sentence(" {metric:metric} is among the best in all of them.", metric=first)
        if first
        else "",
    )


def _serves(metrics: Sequence[Any]) -> Sentence:
    if not metrics:
        return sentence(" (no single metric is among the best in all)")
    return sentence(" (there {metric:metric} is among the best)", metric=str(metrics[0]))


def _prediction(findings: Findings, column: Column) -> Sentence | None:
    prediction = (column.raw.get("h2") or {}).get("prediction")
    if not prediction or prediction.get("explained") is None:
        return None
    explained = float(prediction["explained"])
    if explained < 0.05 or not findings.claimed("predict", column=column.name):
        return sentence(
            "What is known of the contexts ({known}) is not shown to help predict which of them agree.",
            known=named([str(name) for name in prediction.get("coefficients") or ()], "column"),
        )
    return sentence(
        "What is known of two contexts ({known}) predicts {explained} of the variation in their agreement, "
        "measured on contexts that were left out.",
        known=named([str(name) for name in prediction.get("coefficients") or ()], "column"),
        explained=percent(explained),
    )


def _at(values: tuple[float | None, ...], position: int) -> float | None:
    return values[position] if position < len(values) else None
