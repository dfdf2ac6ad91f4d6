"""JSON schemas of what each command prints with `--json`. Keys may be added, never changed or removed."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def schema(command: str) -> dict[str, Any]:
    """The JSON schema of a command's output."""
    text = files(__package__).joinpath(f"{command}.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded
