"""What a script measures for one table or figure of a paper, and how scripts store it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from metassay.stats.arrays import to_json_values

SEEDS = (1, 2, 3, 4, 5)
"""Every claim that depends on random numbers is checked with each of these seeds."""


@dataclass(frozen=True)
class Reason:
    """Why our figures differ from the published ones, with the check that it is still true."""

    statement: str
    holds: bool
    figures: str = ""
    """The numbers behind the check, for the reader."""
    is_inference: bool = False
    """Whether the reason fits the published numbers but is not stated in the paper."""


@dataclass(frozen=True)
class Entry:
    """Our side of a line of the ledger."""

    description: str
    """What we measure, in words and figures."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Our figures under the names of `published.toml`; one that is missing cannot be computed here."""
    claims: Mapping[str, Sequence[bool]] = field(default_factory=dict)
    """Each claim of the paper that can be checked: whether it holds here, once for each seed."""
    reasons: Sequence[Reason] = ()
    uses_random_numbers: bool = True
    """Whether a claim depends on random numbers, so that it must be checked with every seed."""


def to_json_entries(entries: Mapping[str, Entry]) -> dict[str, Any]:
    """Return entries as they are stored in `ours.json`."""
    return {name: round_floats(asdict(entry)) for name, entry in entries.items()}


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON with floats of six digits and a line per entry of each list or object, for short diffs."""
    parts = [f" {json.dumps(name)}: {_format_lines(value)}" for name, value in round_floats(content).items()]
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def _format_lines(value: Any) -> str:
    def to_text(inner: Any) -> str:
        return json.dumps(inner, ensure_ascii=False)

    if isinstance(value, dict):
        body = [f"  {to_text(name)}: {to_text(inner)}" for name, inner in value.items()]
        return "{\n" + ",\n".join(body) + "\n }"
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"  {to_text(inner)}" for inner in value) + "\n ]"
    return to_text(value)


def round_floats(value: Any) -> Any:
    """Return plain values with floats of six significant digits."""
    value = to_json_values(value)
    if isinstance(value, Mapping):
        return {str(name): round_floats(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [round_floats(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def format_table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Return the lines of a Markdown table."""
    return [
        "| " + " | ".join(map(str, head)) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(map(str, row)) + " |" for row in rows),
    ]


def format_p(p: float | None) -> str:
    """Return a p value as text."""
    if p is None:
        return "–"
    return f"{p:.1e}" if 0 < p < 1e-3 else f"{p:.3f}"


def format_range(values: Sequence[float], digits: int = 2) -> str:
    """Return the smallest and the largest value as text."""
    low, high = (f"{value:.{digits}f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
