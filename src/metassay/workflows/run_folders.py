"""The runs that a person names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from metassay.data.readers.files import checked_path
from metassay.store.run import MANIFEST


def run_folders(runs: Sequence[str | Path]) -> list[Path]:
    """The run folders, in the order given; one folder that is no run stands for all runs in it, by name."""
    for run in runs:
        checked_path(str(run))
    if len(runs) == 1 and not (Path(runs[0]) / MANIFEST).is_file() and Path(runs[0]).is_dir():
        return sorted(path.parent for path in Path(runs[0]).glob(f"*/{MANIFEST}"))
    return [Path(run) for run in runs]
