"""What reading the WMT23 metrics as human scores gains and loses: the table in docs/system-dependence.md.

    python -m reproduce.system_dependence.correct FOLDER   a folder with wmt23/wmt23_en-de_metrics.parquet

Writes `corrections.json` next to this file, a line per metric and mapping, to six digits; takes some minutes.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from metassay.workflows.depend import depend

FOLDER = Path(__file__).parent


def main() -> None:
    table = Path(sys.argv[1]) / "wmt23" / "wmt23_en-de_metrics.parquet"
    with tempfile.TemporaryDirectory() as folder:
        result = depend(table, human="mqm", correct=Path(folder) / "corrected.parquet").to_dict()
    (FOLDER / "corrections.json").write_text(format_lines(result["corrections"]))


def format_lines(rows: list[dict[str, Any]]) -> str:
    """JSON with a line per row."""
    return "[\n" + ",\n".join(f" {json.dumps(_round_row(row))}" for row in rows) + "\n]\n"


def _round_row(row: dict[str, Any]) -> dict[str, Any]:
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in row.items()}


if __name__ == "__main__":
    main()
