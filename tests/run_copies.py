"""Copies of run folders for tests that edit them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path


def copy_without_checksums(run: Path, target: Path) -> Path:
    """Copy a run and remove its checksums, so that edited files are read."""
    shutil.copytree(run, target)
    manifest = json.loads((target / "manifest.json").read_text())
    del manifest["files"]
    (target / "manifest.json").write_text(json.dumps(manifest))
    return target
