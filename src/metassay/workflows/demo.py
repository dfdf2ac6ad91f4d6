"""`demo`: the main job on the bundled sample, offline."""

from __future__ import annotations

from pathlib import Path

from metassay.data.dataset import Dataset
from metassay.engine.local import Progress
from metassay.sample import LANGUAGES, sample_path
from metassay.workflows.assay import assay
from metassay.workflows.assay_result import AssayResult
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
    return assay(read_sample(task), seed=seed, workers=workers, out=out, progress=progress)


def read_sample(task: str) -> Dataset:
    """The bundled sample of a task."""
    path = sample_path(task)
    if task == "ranking":
        return read(path / "runs", task=task, qrels=path / "qrels.txt", join=path / "topics.tsv")
    return read(path, task=task, language=LANGUAGES.get(task))
