"""Does accuracy differ between contexts? Three tests, and the answer in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metassay.reporting.findings import Column, Findings
from metassay.reporting.tables import Field, Grid, grid
from metassay.reporting.wording import Sentence, named, number, plural, sentence

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
