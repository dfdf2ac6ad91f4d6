"""`read`: read outputs, human scores and metadata into a `Dataset`."""

from __future__ import annotations

from metassay.data.dataset import Dataset
from metassay.data.memory import set_memory_target
from metassay.data.readers.remote_files import download_if_remote
from metassay.data.reading import Paths, Source, Where, read, read_parallel_files

__all__ = [
    "Paths",
    "Source",
    "Where",
    "download_if_remote",
    "ensure_dataset",
    "read",
    "read_parallel_files",
    "set_memory_target",
]


def ensure_dataset(data: Dataset | Source) -> Dataset:
    """Return a `Dataset` as it is, and read anything else."""
    return data if isinstance(data, Dataset) else read(data)
