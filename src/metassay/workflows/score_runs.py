"""Run folders of verbs that work on scores."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metassay.data.cube import Cube
from metassay.store.run import RunFolder

_LONGEST = 150
"""File systems take 255 bytes, and endings follow."""


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
    name = re.sub(r"[^\w.+-]+", "-", text).strip(".-") or "unnamed"
    if len(name.encode()) <= _LONGEST:
        return name
    rest = hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
    return f"{name.encode()[:_LONGEST].decode(errors='ignore')}-{rest}"
