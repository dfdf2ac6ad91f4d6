"""What a script found for one table or figure of a paper, and how scripts keep it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from metassay.stats.arrays import to_json_values


@dataclass(frozen=True)
class Entry:
    """Our side of a line of the ledger."""

    shown: str
    """What we find, in words and figures."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Our figures under the names of `published.toml`; one that is missing cannot be computed here."""
    checks: Mapping[str, bool] = field(default_factory=dict)
    """Each claim of the paper that can be looked at, and whether it holds here."""


def kept(entries: Mapping[str, Entry]) -> dict[str, Any]:
    """Entries as they stand in `ours.json`."""
    return {name: rounded(asdict(entry)) for name, entry in entries.items()}


def write(path: Path, content: Mapping[str, Any]) -> None:
    """`content` as JSON to six digits, an entry of each list or table a line, so that changes can be read."""
    parts = [f" {json.dumps(name)}: {_lines(value)}" for name, value in rounded(content).items()]
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def _lines(value: Any) -> str:
    def text(inner: Any) -> str:
        return json.dumps(inner, ensure_ascii=False)

    if isinstance(value, dict):
        body = [f"  {text(name)}: {text(inner)}" for name, inner in value.items()]
        return "{\n" + ",\n".join(body) + "\n }"
    if isinstance(value, list):
        return "[\n" + ",\n".join(f"  {text(inner)}" for inner in value) + "\n ]"
    return text(value)


def rounded(value: Any) -> Any:
    """Plain values, floats to six significant digits."""
    value = to_json_values(value)
    if isinstance(value, Mapping):
        return {str(name): rounded(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    """Lines of a Markdown table."""
    return [
        "| " + " | ".join(map(str, head)) + " |",
        "|" + "---|" * len(head),
        *("| " + " | ".join(map(str, row)) + " |" for row in rows),
    ]


def small(p: float | None) -> str:
    """A p value for reading."""
    if p is None:
        return "–"
    return f"{p:.1e}" if 0 < p < 1e-3 else f"{p:.3f}"


def ends(values: Sequence[float], digits: int = 2) -> str:
    """Least and greatest, as text."""
    low, high = (f"{value:.{digits}f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"
