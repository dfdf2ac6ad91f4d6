"""Blocks of work shared out over threads, with BLAS on one thread each so that results never depend on it."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

Block = TypeVar("Block")
Done = TypeVar("Done")


def map_blocks(
    function: Callable[[Block], Done], blocks: Iterable[Block], workers: int | None = None
) -> list[Done]:
    """`function` of every block, in order; `workers` threads, by default one per core.

    >>> map_blocks(abs, [-1, 2], workers=2)
    [1, 2]
    """
    with _libraries().limit(limits=1, user_api="blas"), ThreadPoolExecutor(workers or _cores()) as pool:
        return list(pool.map(function, blocks))


@functools.cache
def _libraries() -> ThreadpoolController:
    """The linear algebra libraries in this process; finding them takes longer than a small block of work."""
    return ThreadpoolController()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
