"""Blocks of work shared out over threads, with BLAS on one thread each so that results never depend on it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

Block = TypeVar("Block")
Done = TypeVar("Done")


def map_blocks(
    function: Callable[[Block], Done], blocks: Iterable[Block], workers: int | None = None
) -> list[Done]:
    """`function` of every block, in order; `workers` threads, by default one per core.

    >>> map_blocks(abs, [-1, 2], workers=2)
    [1, 2]
    """
    with threadpool_limits(1, "blas"), ThreadPoolExecutor(workers or _cores()) as pool:
        return list(pool.map(function, blocks))


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
