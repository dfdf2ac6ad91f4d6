"""From an assay's JSON object to everything the page shows, as plain values: sentences, tables, charts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metassay.report import columns as about
from metassay.report.answer import answer, caveats
from metassay.report.charts.accuracy import accuracy_chart, outside_frame, slot
from metassay.report.charts.agreement import agreement_chart
from metassay.report.charts.methods import MethodCell, methods_chart
from metassay.report.examples import examples
from metassay.report.findings import Column, Findings, find
from metassay.report.grid import Field, Grid, grid
from metassay.report.wording import TASKS, count, listing, plural

DEFAULT_TITLE = "Which metric can you trust, here?"
TASK_NAMES = {"mt": "machine translation", "asr": "speech recognition", "ranking": "ranking"}
CHARTED_UP_TO = 150


def summarize(result: Mapping[str, Any]) -> dict[str, Any]:
    """The report's content, top to bottom, independent of HTML."""
    findings = find(result)
    one, many = TASKS.get(findings.task, ("output", "outputs"))
    return {
        "title": str(result.get("title") or DEFAULT_TITLE),
        "task": TASK_NAMES.get(findings.task, findings.task),
        "one": one,
        "many": many,
        "answer": answer(findings),
        "caveats": caveats(findings),
        "warnings": [str(warning) for warning in result.get("warnings") or ()],
        "numbers": _numbers(findings),
        "metrics": [_metric(findings, name) for name in findings.ordered],
        "overall": _overall(findings),
        "columns": [_column(findings, column, n) for n, column in enumerate(findings.columns)],
        "methods": _methods(findings),
        "examples": examples(findings),
        "validity": _validity(findings),
        "left_out": _left_out(result),
        "signatures": _signatures(result),
        "provenance": _flat(result.get("manifest") or {}),
        "versions": _versions(result),
    }


def _numbers(findings: Findings) -> list[dict[str, str]]:
    result = findings.result
    contexts = sum(len(column.contexts) for column in findings.columns)
    shown = [
        ("items", count(result.get("items")), ""),
        ("outputs", count(result.get("outputs")), ""),
        ("pairs", count(result.get("pairs")), _mix(result)),
        ("metrics", count(len(findings.metrics)), _sentinel_note(findings)),
        ("contexts", count(contexts), listing([column.name for column in findings.columns][:4])),
    ]
    return [{"label": label, "value": value, "note": note} for label, value, note in shown]


def _mix(result: Mapping[str, Any]) -> str:
    methods = result.get("perturbations") or {}
    return f"made by {plural(len(methods), 'perturbation')}" if methods else ""


def _sentinel_note(findings: Findings) -> str:
    return f"and {plural(len(findings.sentinels), 'sentinel')}" if findings.sentinels else ""


def _metric(findings: Findings, name: str) -> dict[str, Any]:
    return {"name": name, "slot": slot(findings, name), "sentinel": name in findings.sentinels}


def _overall(findings: Findings) -> Grid:
    rows = [about.estimate_row(findings.overall[name]) for name in findings.ordered]
    fields = [field for field in about.DETAIL_FIELDS if field.key != "context"]
    return grid("overall", "All outputs together", fields, rows)


def _column(findings: Findings, column: Column, position: int) -> dict[str, Any]:
    charted = thinned(column)
    agreement = column.agreement
    return {
        "name": column.name,
        "id": f"column-{position}",
        "contexts": len(column.contexts),
        "charted": len(charted.contexts),
        "spread": about.spread_sentence(findings, column),
        "chart": accuracy_chart(findings, charted) if column.contexts else None,
        "outside": outside_frame(findings, charted),
        "accuracy": about.accuracy_grid(findings, column),
        "detail": about.detail_grid(findings, column),
        "choices": about.recommendation_grid(findings, column),
        "h1": about.h1_grid(column),
        "h1_sentence": about.h1_sentence(findings, column),
        "agreement": agreement_chart(agreement, column.name) if agreement else None,
        "agreement_sentences": about.agreement_sentences(findings, column),
        "agreement_grid": about.agreement_grid(column),
    }


def thinned(column: Column, at_most: int = CHARTED_UP_TO) -> Column:
    """The column with no more contexts than a chart can show, evenly spaced in their order."""
    total = len(column.contexts)
    if total <= at_most:
        return column
    kept = tuple(column.contexts[n * (total - 1) // (at_most - 1)] for n in range(at_most))
    return Column(column.name, kept, column.estimates, column.h1, column.agreement, column.choices)


def _methods(findings: Findings) -> dict[str, Any] | None:
    rows = {str(row["metric"]): row for row in findings.result.get("confounding") or ()}
    metrics = [name for name in findings.ordered if name in rows]
    cells = [
        MethodCell(metric, str(method), float(accuracy))
        for metric in metrics
        for method, value in (rows[metric].get("by_method") or {}).items()
        if (accuracy := value.get("accuracy") if isinstance(value, Mapping) else value) is not None
    ]
    if not cells:
        return None
    methods = list(dict.fromkeys(cell.method for cell in cells))
    shown = [name for name in metrics if any(cell.metric == name for cell in cells)]
    return {
        "chart": methods_chart(cells, shown, methods),
        "grid": _confounding_grid(rows, metrics, methods, cells),
        "flagged": [name for name in metrics if rows[name].get("flag") and name not in findings.sentinels],
    }


def _confounding_grid(
    rows: Mapping[str, Mapping[str, Any]], metrics: list[str], methods: list[str], cells: list[MethodCell]
) -> Grid:
    accuracy = {(cell.metric, cell.method): cell.accuracy for cell in cells}
    fields = (
        Field("metric", "metric", "name"),
        *(Field(f"method {n}", method, "percent") for n, method in enumerate(methods)),
        Field("variance", "variance", "number", "σ² of accuracy over single methods"),
        Field("low", "95\u202f% from", "number"),
        Field("high", "to", "number"),
        Field("flag", "confounded?", "verdict"),
    )
    table = [
        {
            "metric": name,
            **{f"method {n}": accuracy.get((name, method)) for n, method in enumerate(methods)},
            **{key: rows[name].get(key) for key in ("variance", "low", "high")},
            "flag": "yes" if rows[name].get("flag") else "no",
        }
        for name in metrics
    ]
    return grid("methods", "Accuracy by perturbation method", fields, table)


def _validity(findings: Findings) -> Grid | None:
    rows = list(findings.result.get("validity") or ())
    if not rows:
        mix = findings.result.get("perturbations") or {}
        rows = [{"perturbation": name, "pairs": pairs} for name, pairs in mix.items()]
    fields = (
        Field("perturbation", "perturbation", "name"),
        Field("pairs", "pairs", "count"),
        Field("applied", "applied", "count"),
        Field("not_applicable", "did not apply", "count"),
        Field("unchanged", "left it unchanged", "count"),
        Field("mean_edit_distance", "mean edit distance", "number", "words changed"),
        Field("disagreement", "people disagree", "percent", "human-scored pairs where y′ is not worse"),
    )
    return grid("validity", "How the worse outputs were made", fields, rows) if rows else None


def _left_out(result: Mapping[str, Any]) -> list[dict[str, str]]:
    counts = result.get("left_out") or {}
    names = result.get("named_left_out") or {}
    return [
        {
            "reason": str(reason),
            "count": count(counts.get(reason)) if counts.get(reason) is not None else "",
            "names": listing([str(name) for name in names.get(reason) or ()]),
        }
        for reason in dict.fromkeys([*counts, *names])
        if counts.get(reason) or names.get(reason)
    ]


def _signatures(result: Mapping[str, Any]) -> Grid | None:
    rows = [
        {**row, "direction": _direction(row.get("higher_is_better"))} for row in result.get("metrics") or ()
    ]
    fields = (
        Field("metric", "metric", "name"),
        Field("signature", "signature", "name"),
        Field("direction", "better is", "text"),
    )
    return grid("signatures", "Metrics and their signatures", fields, rows) if rows else None


def _direction(higher: Any) -> str | None:
    return None if higher is None else "higher" if higher else "lower"


def _versions(result: Mapping[str, Any]) -> str:
    manifest = result.get("manifest") or {}
    versions = manifest.get("versions")
    version = versions.get("metassay") if isinstance(versions, Mapping) else manifest.get("version")
    return f"metassay {version}" if version else "metassay"


def _flat(value: Any, path: str = "") -> list[dict[str, str]]:
    """A nested mapping as rows `a.b.c: value`, in its own order."""
    if isinstance(value, Mapping):
        return [
            row for key, inner in value.items() for row in _flat(inner, f"{path}.{key}" if path else str(key))
        ]
    if isinstance(value, list | tuple):
        if any(isinstance(inner, Mapping | list) for inner in value):
            return [row for n, inner in enumerate(value) for row in _flat(inner, f"{path}[{n}]")]
        value = ", ".join(map(str, value))
    return [{"key": path, "value": "" if value is None else str(value)}]
