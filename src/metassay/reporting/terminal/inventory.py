"""What `metassay list`, `metassay models` and `metassay cache` print."""

from __future__ import annotations

from collections.abc import Sequence

from metassay.reporting.terminal.blocks import Block, Line, Row, Table

MODEL_COLUMNS = ("model", "metrics", "megabytes", "weights", "licence")
LISTED_LANGUAGES = 4
"""Up to this many languages are all named; of more, the first three and their number."""


def describe_list(rows: Sequence[Row]) -> list[Block]:
    """Describe what is installed of one kind, such as metrics."""
    name_column = next(iter(rows[0]))
    return [Table(rows, most_important=(name_column, "what", "task", "better", "default"))]


def describe_models(rows: Sequence[Row], searched: Sequence[str]) -> list[Block]:
    """Describe the neural models that were found in the searched places."""
    if not rows:
        return [Line(f"No model was found in {' or '.join(searched)}.")]
    table_rows: list[Row] = []
    for row in rows:
        columns = {name: row[name] for name in MODEL_COLUMNS}
        if row["commercial_use"] is False:
            columns["licence"] = f"{row['licence']} (non-commercial)"
        languages = _shorten_languages(row["languages"])
        table_rows.append({**columns, "languages": languages, "note": row["note"]})
    folders: list[Block] = [Line(f"{row['model']}: {row['folder']}") for row in rows]
    return [Table(table_rows), *folders]


def _shorten_languages(codes: Sequence[str] | None) -> str | None:
    if codes is None:
        return None
    if len(codes) <= LISTED_LANGUAGES:
        return ", ".join(codes)
    return f"{len(codes)}: {', '.join(codes[:3])} …"


def describe_cache(
    action: str, rows: Sequence[Row], *, folder: str, files: int, size: int, removed: int, damaged: int
) -> list[Block]:
    """Describe the score cache after an action: `info`, `prune` or `verify`."""
    outcome = ""
    if damaged:
        outcome = f"Damaged and moved away: {damaged}. "
    elif action == "prune":
        outcome = f"Removed: {removed}. "
    elif action == "verify":
        outcome = "All are intact. "
    return [Table(rows), Line(f"{outcome}{folder} holds {files} parts, {size / 1e6:,.1f} MB.")]
