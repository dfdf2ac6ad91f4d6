"""Run folders of verbs that work on scores."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metassay.data.cube import ScoreTable
from metassay.store.run import RunFolder


def open_score_run(
    folder: str | Path, command: str, tables: Sequence[ScoreTable], configuration: Mapping[str, Any]
) -> RunFolder:
    """The run folder of this command and configuration on these scores; another run's is refused."""
    inputs = {table.dataset: table.content_hash for table in tables}
    return RunFolder.open(
        folder, {"command": command, "configuration": dict(configuration), "inputs": inputs}
    )


def file_name(text: str) -> str:
    """A text that people chose as the name of a file."""
    return re.sub(r"[^\w.+-]+", "-", text).strip(".-") or "unnamed"
