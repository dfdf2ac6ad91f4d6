"""`demo`: the main job on the bundled sample, offline."""

from __future__ import annotations

from pathlib import Path

from metassay.data.dataset import Dataset
from metassay.engine.local import Progress
from metassay.sample import DEFAULT, sample_source
from metassay.workflows.assay import assay
from metassay.workflows.assay_result import AssayResult
from metassay.workflows.read import read


def demo(
    *,
    task: str = DEFAULT,
    out: str | Path | None = "demo",
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> AssayResult:
    """Assay the sample that comes with metassay."""
    return assay(read_sample(task), seed=seed, workers=workers, out=out, progress=progress)


def read_sample(task: str) -> Dataset:
    """The bundled sample of a task."""
    source, keywords = sample_source(task)
    return read(source, task=task, **keywords)
