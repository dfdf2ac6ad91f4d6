"""The bundled sample: small data for each task, so that metassay can be tried without any of one's own.

All of its text was written for this project; its quality scores are simulated. `README.md` in this folder
says of every system what it is.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

from metassay.errors import UnknownName

PATHS = {"mt": "mt.parquet", "asr": "asr.parquet", "ranking": "ranking", "text": "text.parquet"}

DEFAULT = "mt"
"""The sample of the demo where none is named."""


def sample_path(task: str) -> Path:
    """Where the sample of a task lies: a folder for `ranking`, a Parquet file for the others.

    The folder holds `runs/` (one TREC run file per ranker), `qrels.txt`, `topics.tsv` and `documents.tsv`.

    >>> sample_path("mt").name
    'mt.parquet'
    """
    if task not in PATHS:
        raise UnknownName("sample", task, PATHS)
    return Path(str(files(__package__).joinpath(PATHS[task])))


def sample_source(task: str) -> tuple[Path, dict[str, Any]]:
    """What to read of a task's sample, and with which keywords of `read`."""
    path = sample_path(task)
    if path.is_dir():
        return path / "runs", {"qrels": path / "qrels.txt", "join": path / "topics.tsv"}
    return path, {"language": "en"} if task == "text" else {}


def sample_tasks() -> list[str]:
    """The tasks that have a sample."""
    return list(PATHS)
