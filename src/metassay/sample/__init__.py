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

# The sample of the demo where none is named.
DEFAULT = "mt"


def get_bundled_sample_path(task: str) -> Path:
    """Return the path of the bundled sample of a task: a folder for `ranking`, else a Parquet file.

    The folder holds `runs/` (one TREC run file per ranker), `qrels.txt`, `topics.tsv` and `documents.tsv`.

    >>> get_bundled_sample_path("mt").name
    'mt.parquet'
    """
    if task not in PATHS:
        raise UnknownName("sample", task, PATHS)
    return Path(str(files(__package__).joinpath(PATHS[task])))


def get_bundled_sample_path_and_options(task: str) -> tuple[Path, dict[str, Any]]:
    """Return the path of a task's sample, and the keywords of `read` that it needs."""
    path = get_bundled_sample_path(task)
    if path.is_dir():
        return path / "runs", {"qrels": path / "qrels.txt", "join": path / "topics.tsv"}
    return path, {"language": "en"} if task == "text" else {}


def list_sample_tasks() -> list[str]:
    """List the tasks that have a bundled sample."""
    return list(PATHS)
