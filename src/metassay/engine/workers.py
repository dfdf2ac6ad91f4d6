"""How many workers to use."""

from __future__ import annotations

import os

from metassay.errors import InputError


def choose_worker_count(requested_count: int | None) -> int:
    """Return the number of workers that the user requested, or else the number of CPU cores that this process
    may use.
    """
    if requested_count is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if requested_count < 1:
        raise InputError(
            f"the number of workers is {requested_count}; it must be at least 1.",
            remedy="Use --workers 1 or more.",
        )
    return requested_count
