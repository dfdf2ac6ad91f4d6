"""The bundled sample: small data for each task, so that metassay can be tried without any of one's own.

All of its text was written for this project; its quality scores are simulated. `README.md` in this folder
says of every system what it is.
"""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from metassay.errors import UnknownName

PATHS = {"mt": "mt.parquet", "asr": "asr.parquet", "ranking": "ranking", "text": "text.parquet"}

LANGUAGES = {"text": "en"}
"""Languages of samples whose tables do not say it."""


def sample_path(task: str) -> Path:
    """Where the sample of a task lies: a folder for `ranking`, a Parquet file for the others.

    The folder holds `runs/` (one TREC run file per ranker), `qrels.txt`, `topics.tsv` and `documents.tsv`.

    >>> sample_path("mt").name
    'mt.parquet'
    """
    if task not in PATHS:
        raise UnknownName("sample", task, PATHS)
    return Path(str(files(__package__).joinpath(PATHS[task])))


def sample_tasks() -> list[str]:
    """The tasks that have a sample."""
    return list(PATHS)
