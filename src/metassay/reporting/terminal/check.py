"""What `metassay check` prints: what was recognised, left out and missing, and what an assay would cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metassay.reporting.terminal.blocks import Block, Line, Row, Table, notes
from metassay.reporting.wording import in_labels


def describe_check(result: Mapping[str, Any]) -> list[Block]:
    """Describe what a data set holds."""
    systems = result["systems"]
    outputs = f"{result['outputs']} outputs of {len(systems)} systems for {result['items']} items"
    overview = f"Task {result['task']}: {outputs}."
    blocks: list[Block] = [Line(overview), Table(systems), Table(_list_properties(result))]
    if result["perturbations"]:
        blocks.append(Table([_describe_perturbation(row) for row in result["perturbations"]]))
    estimate = result["estimate"]
    if estimate["seconds"] is not None:
        seconds = f"{estimate['seconds']:g}"
        blocks.append(
            Line(f"An assay would score {estimate['rows']} texts per metric: about {seconds} s here.")
        )
    return [*blocks, *notes(result["notes"])]


def _list_properties(result: Mapping[str, Any]) -> list[Row]:
    """Return a row for each property of the data set."""
    rated = {name: f"{count} rated" for name, count in result["human"].items()}
    properties = {
        "languages": _list_with_counts(result["languages"]),
        "references per output": _list_with_counts(result["references"]) or "none",
        "human scores": _list_with_counts(rated) or "none",
        "possible contexts": _list_with_counts(result["contexts"]),
        "missing values": _list_with_counts(result["missing"]) or "none",
        "empty outputs": str(result["empty_outputs"]),
        "left out": _list_with_counts(result["left_out"]) or "nothing",
        "systems that are the reference": ", ".join(result["own_references"]) or "none",
        "text normalisation": result["normalize"],
        "metrics": ", ".join(row["metric"] for row in in_labels(result["metrics"])),
    }
    return [{"property": name, "value": value} for name, value in properties.items()]


def _list_with_counts(counts: Mapping[str, object]) -> str:
    """Join names and counts: `news (10), social (5)`."""
    return ", ".join(f"{name} ({count})" for name, count in counts.items())


def _describe_perturbation(row: Row) -> Row:
    """Return to how many outputs a perturbation applies, and why not to the others."""
    return {
        "perturbation": row["perturbation"],
        "applies to": f"{row['outputs']} of {row['tried']}",
        "why not to others": row["why"] or "",
    }
