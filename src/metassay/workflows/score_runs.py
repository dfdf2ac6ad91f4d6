"""Run folders of verbs that work on scores."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metassay.data.cube import Cube
from metassay.store.run import RunFolder


def open_score_run(
    folder: str | Path, command: str, cubes: Sequence[Cube], configuration: Mapping[str, Any]
) -> RunFolder:
    """The run folder of this command and configuration on these scores; another run's is refused."""
    inputs = {cube.dataset: cube.content_hash for cube in cubes}
    return RunFolder.open(
        folder, {"command": command, "configuration": dict(configuration), "inputs": inputs}
    )


def file_name(text: str) -> str:
    """A text that people chose as the name of a file."""
    return re.sub(r"[^\w.+-]+", "-", text).strip(".-") or "unnamed"
