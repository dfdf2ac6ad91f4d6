"""Functions that worker processes import in `test_process_pool.py`."""

from __future__ import annotations

import os
import signal
import time

SECONDS = 0.05


def square_slowly(number: int) -> tuple[int, int]:
    """Return the square of a number, and the id of the process that computed it."""
    time.sleep(SECONDS)
    return number * number, os.getpid()


def die_in_worker(number: int) -> int:
    if _is_worker() and number % 3 == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(SECONDS)
    return number * number


def hang_in_worker(number: int) -> int:
    if _is_worker() and number % 3 == 0:
        time.sleep(3600)
    time.sleep(SECONDS)
    return number * number


def fail_in_worker(number: int) -> int:
    if _is_worker():
        raise MemoryError
    time.sleep(SECONDS)
    return number * number


def divide_by(number: int) -> float:
    return 1 / number


def _is_worker() -> bool:
    return os.getpid() != int(os.environ["METASSAY_TEST_PARENT"])
