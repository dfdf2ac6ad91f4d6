"""`read`: read outputs, human scores and metadata into a `Dataset`."""

from __future__ import annotations

from metassay.data.memory import set_memory_target
from metassay.data.readers.remote_files import download_if_remote
from metassay.data.reading import Source, read, read_parallel_files

__all__ = ["Source", "download_if_remote", "read", "read_parallel_files", "set_memory_target"]
