"""Distribute blocks of numeric work over threads."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

Block = TypeVar("Block")
BlockResult = TypeVar("BlockResult")


def map_blocks_in_threads(
    function: Callable[[Block], BlockResult], blocks: Iterable[Block], workers: int | None = None
) -> list[BlockResult]:
    """Call a function on each block of work in several threads, and return the results in order.

    `workers` is the number of threads, by default one per core. Matrix products inside use one thread each,
    so that sums are always added in the same order and results do not depend on the number of cores.

    >>> map_blocks_in_threads(abs, [-1, 2], workers=2)
    [1, 2]
    """
    with (
        _find_thread_pools().limit(limits=1, user_api="blas"),
        ThreadPoolExecutor(workers or _count_cores()) as pool,
    ):
        return list(pool.map(function, blocks))


@functools.cache
def _find_thread_pools() -> ThreadpoolController:
    """Find the libraries for linear algebra, to limit how many threads they use. Cached, as the search is
    slow.
    """
    return ThreadpoolController()


def _count_cores() -> int:
    """Count the processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
