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
    Field("verdict", "differs?", "verdict"),
)


def h1_grid(column: Column) -> Grid | None:
    """The tests of equal accuracy, one row per metric."""
    if not column.h1:
        return None
    rows = [{**row, "corrected": _corrected(row), "verdict": _verdict(row)} for row in column.h1]
    return grid(f"h1-{column.name}", f"Does accuracy differ by {column.name}?", FIELDS, rows)


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
    return next((row[key] for key in ("p_permutation_holm", "p_holm") if row.get(key) is not None), None)


def _verdict(row: Mapping[str, Any]) -> str | None:
    decisive = next((row[key] for key in DECISIVE if row.get(key) is not None), None)
    return None if decisive is None else "yes" if decisive <= ALPHA else "not shown"
