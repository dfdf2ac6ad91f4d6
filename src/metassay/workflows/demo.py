"""`demo`: the main job on the bundled sample, offline."""

from __future__ import annotations

from pathlib import Path

from metassay.engine.local import Progress
from metassay.sample import sample_path
from metassay.workflows.assay import AssayResult, assay
from metassay.workflows.read import read


def demo(
    *,
    task: str = "mt",
    out: str | Path | None = "demo",
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> AssayResult:
    """Assay the sample that comes with metassay."""
    dataset = read(sample_path(task), task=task)
    return assay(dataset, seed=seed, workers=workers, out=out, progress=progress)
