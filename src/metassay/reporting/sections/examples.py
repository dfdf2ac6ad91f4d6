"""Pairs that a metric got wrong, ready to be read: what changed, and how the metric scored both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from metassay.reporting.alignment import edit_counts, word_edits
from metassay.reporting.findings import Findings
from metassay.reporting.wording import about

PER_METRIC = 12


def examples(findings: Findings) -> list[dict[str, Any]]:
    """The examples grouped by metric, in the order of the metrics, at most twelve each."""
    groups: dict[str, list[Mapping[str, Any]]] = {name: [] for name in findings.ordered}
    for row in findings.result.get("examples") or ():
        groups.setdefault(str(row.get("metric")), []).append(row)
    return [
        {
            "metric": metric,
            "pairs": [_pair(row, findings.task) for row in rows[:PER_METRIC]],
            "total": len(rows),
        }
        for metric, rows in groups.items()
        if rows
    ]


def _pair(row: Mapping[str, Any], task: str) -> dict[str, Any]:
    output, worse = _text(row.get("output")), _text(row.get("worse"))
    references = [_text(reference) for reference in row.get("references") or ()]
    score, score_worse = row.get("score"), row.get("score_worse")
    pair = {
        "place": [
            {"label": key, "text": _text(row[key])}
            for key in ("context", "system", "item", "perturbation")
            if row.get(key) not in {None, ""}
        ],
        "source": _text(row.get("source")),
        "references": references,
        "edits": word_edits(output, worse),
        "score": _score(score),
        "score_worse": _score(score_worse),
        "verdict": _verdict(score, score_worse),
    }
    if references and (known := about(task)) and known.aligned:
        pair["alignments"] = [_alignment(references[0], output), _alignment(references[0], worse)]
    return pair


def _alignment(reference: str, output: str) -> dict[str, Any]:
    """The output against the reference, with the counts that the word error rate is made of."""
    edits = word_edits(reference, output)
    counts = edit_counts(edits)
    names = (("replaced", "substitution"), ("gone", "deletion"), ("new", "insertion"))
    errors = [
        f"{counts[kind]} {name}{'' if counts[kind] == 1 else 's'}" for kind, name in names if kind in counts
    ]
    return {"edits": edits, "errors": ", ".join(errors) or "no errors"}


def _verdict(score: Any, worse: Any) -> str:
    if score is None or worse is None:
        return ""
    return "sees no difference" if score == worse else "prefers the worse one"


def _score(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.4g}".replace("-", "−") if isinstance(value, int | float) else str(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return " ".join(map(str, value))
    return str(value)
