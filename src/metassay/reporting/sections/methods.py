"""What each metric overlooks: accuracy by perturbation method and difficulty, how the perturbations went.

Where the page comes from: what was left out, signatures, configuration and versions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metassay.reporting.charts.accuracy import difficulty_chart
from metassay.reporting.charts.heatmaps import MethodCell, methods_chart
from metassay.reporting.findings import Estimate, Findings, brief, estimate
from metassay.reporting.tables import Field, Grid, grid
from metassay.reporting.wording import Sentence, count, listing, named, percent, sentence, tidy

VALIDITY_FIELDS = (
    Field("perturbation", "perturbation", "name"),
    Field("pairs", "pairs used", "count"),
    Field("applied", "applied", "amount"),
    Field("not_applicable", "did not apply", "amount"),
    Field("unchanged", "left it unchanged", "amount"),
    Field("mean_edit_distance", "mean edit distance", "number", "characters edited"),
    Field("edit_distance", "mean edit distance", "number", "characters edited"),
    Field("edit_share", "edited share", "percent", "edited characters over the length of the text"),
    Field("judged", "judged by people", "count", "pairs whose copy people scored too"),
    Field("disagreements", "people disagree", "count", "judged pairs in which the copy scored higher"),
    Field("worse", "lost gain", "count", "copies with less discounted gain"),
    Field("equal", "kept gain", "count", "copies with the same discounted gain: their label is wrong"),
    Field("better", "won gain", "count", "copies with more discounted gain: their label is wrong"),
)


def methods(findings: Findings) -> dict[str, Any] | None:
    """The heatmap metrics × methods, its table, and a sentence for each confounded metric."""
    rows = {str(row["metric"]): row for row in findings.result.get("confounding") or ()}
    metrics = [name for name in findings.ordered if name in rows]
    cells = [cell for name in metrics for cell in _cells(name, rows[name])]
    if not cells:
        return None
    names = list(dict.fromkeys(cell.method for cell in cells))
    shown = [name for name in metrics if any(cell.metric == name for cell in cells)]
    claims = findings.claimed("method")
    claimed = None if claims is None else {str(row["metric"]) for row in claims}
    flagged = [
        name
        for name in metrics
        if name not in findings.sentinels and (rows[name].get("flag") if claimed is None else name in claimed)
    ]
    return {
        "chart": methods_chart(cells, shown, names),
        "grid": _grid(rows, metrics, names, cells),
        "flagged": flagged,
        "sentences": [tidy(str(rows[name]["sentence"])) for name in flagged if rows[name].get("sentence")],
        "unseen": _unseen(rows, [name for name in metrics if name not in findings.sentinels]),
        "tests": sum(len(_cells(name, row)) for name, row in rows.items()),
    }


def difficulty(findings: Findings) -> dict[str, Any] | None:
    """Accuracy by how close the two sides of a pair are: chart, table, and what it says."""
    known = findings.result.get("difficulty") or {}
    bins: Sequence[Mapping[str, float]] = known.get("bins") or ()
    names = [_span(part) for part in bins]
    rows = [
        estimate({**row, "median": bins[row["bin"]]["median"]}, names[row["bin"]])
        for row in known.get("accuracy") or ()
        if row["accuracy"] is not None
    ]
    if not rows:
        return None
    by = {(int(row.row["bin"]), row.metric): row for row in rows}
    keys = {metric: f"metric {n}" for n, metric in enumerate(findings.metrics)}
    fields = (
        Field("context", "characters edited", "name"),
        Field("pairs", "pairs", "count"),
        *(Field(key, metric, "percent") for metric, key in keys.items()),
    )
    table = [
        {"context": name, "pairs": part["pairs"]}
        | {key: by.get((place, metric)) for metric, key in keys.items()}
        for place, (name, part) in enumerate(zip(names, bins))
    ]
    return {
        "chart": difficulty_chart(findings, rows, known.get("people")),
        "grid": grid("difficulty", "Accuracy by characters edited", fields, table),
        "sentences": _hardness(findings, by, known),
        "people": known.get("people"),
    }


def _hardness(
    findings: Findings, by: Mapping[tuple[int, str], Estimate], known: Mapping[str, Any]
) -> list[Sentence]:
    """How often the metric of choice is right on the closest and farthest pairs, and where people's are."""
    best, bins, said = findings.best, known["bins"], []
    ends = None if best is None else [by.get((place, best.metric)) for place in (0, len(bins) - 1)]
    if best is not None and ends and ends[0] and ends[1]:
        said.append(
            sentence(
                "Of pairs whose two texts differ in {close:figure} of their characters or less "
                "{metric:metric} tells {few:figure} right, of those that differ in {far:figure} or more "
                "{many:figure}.",
                close=_share(bins[0]["high"]),
                metric=best.metric,
                few=brief(ends[0]),
                far=_share(bins[-1]["low"]),
                many=brief(ends[1]),
            )
        )
    if people := known.get("people"):
        said.append(
            sentence(
                "Outputs that people tell apart ({human:column}) differ in {median:figure} (median; middle "
                "half {low:figure} to {high:figure}), these pairs in {own:figure}.",
                human=people["human"],
                **{key: _share(people[key]) for key in ("median", "low", "high")},
                own=_share(known["median"]),
            )
        )
    return said


def _share(share: float) -> str:
    """A share of edited characters; small ones matter."""
    return percent(share, digits=1 if share < 0.1 else 0)


def _span(part: Mapping[str, float]) -> str:
    return f"{_share(part['low'])} to {_share(part['high'])}"


def _unseen(rows: Mapping[str, Mapping[str, Any]], metrics: Sequence[str]) -> list[dict[str, str]]:
    """Per metric, the methods of whose pairs it is shown to get less than half right."""
    return [
        {
            "metric": name,
            "methods": listing(
                [f"{row['method']} ({percent(row['accuracy'])})" for row in rows[name]["unseen"]]
            )
            or "no method is shown",
        }
        for name in metrics
        if "unseen" in rows[name]
    ]


def validity_grid(findings: Findings) -> Grid | None:
    """How often each perturbation applied, and how many of its pairs were used."""
    pairs: Mapping[str, int] = findings.result.get("perturbations") or {}
    rows: Sequence[Mapping[str, Any]] = findings.result.get("validity") or [
        {"perturbation": name} for name in pairs
    ]
    counted = [{"pairs": pairs.get(row["perturbation"]), **row} for row in rows]
    return grid("validity", "How the worse outputs were made", VALIDITY_FIELDS, counted) if counted else None


def _cells(metric: str, row: Mapping[str, Any]) -> list[MethodCell]:
    return [
        MethodCell(metric, str(method), float(accuracy))
        for method, value in (row.get("by_method") or {}).items()
        if (accuracy := value.get("accuracy") if isinstance(value, Mapping) else value) is not None
    ]


def _grid(
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


SIGNATURE_FIELDS = (
    Field("metric", "metric", "name"),
    Field("signature", "signature", "name"),
    Field("direction", "better is", "text"),
)


def left_out(result: Mapping[str, Any]) -> list[dict[str, str]]:
    """What was left out: the reason, how many, and which where they have names."""
    counts = result.get("left_out") or {}
    names = result.get("named_left_out") or {}
    return [
        {
            "reason": str(reason),
            "count": count(counts[reason]) if counts.get(reason) is not None else "",
            "names": str(named([str(name) for name in names.get(reason) or ()], "", at_most=5)),
        }
        for reason in dict.fromkeys([*counts, *names])
        if counts.get(reason) or names.get(reason)
    ]


def signature_grid(result: Mapping[str, Any]) -> Grid | None:
    """The metrics with all that decides their values."""
    rows = [
        {**row, "direction": _direction(row.get("higher_is_better"))} for row in result.get("metrics") or ()
    ]
    return grid("signatures", "Metrics and their signatures", SIGNATURE_FIELDS, rows) if rows else None


def program(result: Mapping[str, Any]) -> str:
    """The program and version that made the run."""
    manifest = result.get("manifest") or {}
    versions = manifest.get("versions")
    version = versions.get("metassay") if isinstance(versions, Mapping) else manifest.get("version")
    return f"metassay {version}" if version else "metassay"


def setting(result: Mapping[str, Any], name: str) -> Any:
    """A setting of the run, wherever the manifest keeps its configuration."""
    manifest = result.get("manifest") or {}
    identity = manifest.get("identity") or {}
    configuration = identity.get("configuration") or manifest.get("configuration") or {}
    return configuration.get(name) if isinstance(configuration, Mapping) else None


def flat(value: Any, path: str = "") -> list[dict[str, str]]:
    """A nested mapping as rows `a.b.c: value`, in its own order."""
    if isinstance(value, Mapping):
        return [
            row for key, inner in value.items() for row in flat(inner, f"{path}.{key}" if path else str(key))
        ]
    if isinstance(value, list | tuple):
        if any(isinstance(inner, Mapping | list) for inner in value):
            return [row for n, inner in enumerate(value) for row in flat(inner, f"{path}[{n}]")]
        value = ", ".join(map(str, value))
    return [{"key": path, "value": "" if value is None else str(value)}]


def _direction(higher: Any) -> str | None:
    return None if higher is None else "higher" if higher else "lower"


def unit(result: Mapping[str, Any]) -> str:
    """The independent unit and why it is that one: `doc_id (…)`; empty where the result does not say."""
    chosen = result.get("cluster") or {}
    return f"{chosen['column']} ({chosen['why']})" if isinstance(chosen, Mapping) and chosen else ""
