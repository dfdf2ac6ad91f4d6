"""Map a function over batches in several processes. The results are the same as in one process.

The worker processes are loky's. They are started afresh, because a fork beside the threads of polars and
Numba can deadlock; they do not run the user's script again, as those of `concurrent.futures` do without a
`__main__` guard; and they work on Linux, macOS and Windows. They stay for the next call and end when they
have been idle for a minute.
"""

from __future__ import annotations

import importlib
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from typing import Generic, TypeVar

from loky import ProcessPoolExecutor, get_reusable_executor  # type: ignore[import-untyped]

Batch = TypeVar("Batch")
Result = TypeVar("Result")

# A further process pays off only if it saves this process as many texts: it takes seconds to start.
TEXTS_PER_PROCESS = 50_000
# Every worker process loads dictionaries of its own, some hundred megabytes.
MAXIMUM_PROCESSES = 8
IDLE_SECONDS = 60
# Batches given to a process at a time: it begins the second while its first result is on the way.
_QUEUED_PER_PROCESS = 2
# Results that wait for an earlier one before we take its process for stuck.
_MAXIMUM_AHEAD = 16


def choose_process_count(text_count: int, workers: int) -> int:
    """Return how many worker processes to use for a number of texts."""
    return max(0, min(workers - 1, text_count // TEXTS_PER_PROCESS, MAXIMUM_PROCESSES))


def map_batches_in_parallel(
    function: Callable[[Batch], Result], batches: Iterable[Batch], process_count: int
) -> Iterator[Result]:
    """Yield `function(batch)` for every batch, in order. This process and several others share the batches.

    The function must be importable, and give the same result in every process. A batch that a worker process
    fails to compute, for whatever reason, is computed here: nothing is lost, and an error is the function's
    own.
    """
    if process_count < 1:
        yield from map(function, batches)
        return
    parallel_map = _ParallelMap(function, batches, process_count)
    try:
        yield from parallel_map
    finally:
        parallel_map.stop_workers()


class _ParallelMap(Generic[Batch, Result]):
    """Computes the results of `map_batches_in_parallel` in this process and in worker processes."""

    def __init__(self, function: Callable[[Batch], Result], batches: Iterable[Batch], processes: int) -> None:
        self._function = function
        self._new_batches = enumerate(batches)
        self._processes = processes
        self._submitted: dict[int, Batch] = {}
        self._futures: dict[Future[Result], int] = {}
        self._results: dict[int, Result] = {}
        self._longest_seconds = 0.0
        self._executor: ProcessPoolExecutor | None = None
        self._is_ready: Future[None] | None = None
        self._start_workers()

    def __iter__(self) -> Iterator[Result]:
        number = 0
        while self._compute_or_await_batch_result(number):
            yield self._results.pop(number)
            number += 1

    def stop_workers(self) -> None:
        """Stop worker processes that still compute. Idle ones are kept for later calls."""
        if self._executor is not None and self._futures:
            self._executor.shutdown(wait=True, kill_workers=True)

    def _start_workers(self) -> None:
        """Start the worker processes. If that fails, everything is computed in this process."""
        with suppress(OSError, RuntimeError):
            self._executor = get_reusable_executor(
                self._processes, timeout=IDLE_SECONDS, initializer=_ignore_keyboard_interrupts
            )
            self._is_ready = self._executor.submit(_import_module, self._function.__module__)

    def _compute_or_await_batch_result(self, batch_number: int) -> bool:
        """Compute the result of a batch, or wait until a worker process has it. Returns False if there is no
        such batch.
        """
        while batch_number not in self._results:
            self._submit_batches_to_workers()
            self._collect_worker_results()
            if batch_number in self._results:
                break
            is_lost = batch_number in self._submitted and batch_number not in self._futures.values()
            is_late = len(self._results) > _MAXIMUM_AHEAD * self._processes
            if is_lost or is_late:
                self._compute_batch_in_this_process(batch_number, self._submitted[batch_number])
            elif not self._compute_next_batch_in_this_process() and not self._wait_for_worker_result():
                if batch_number not in self._submitted:
                    return False
                self._compute_batch_in_this_process(batch_number, self._submitted[batch_number])
        self._submitted.pop(batch_number, None)
        return True

    def _submit_batches_to_workers(self) -> None:
        """Submit batches to the worker processes, once these have started."""
        if self._executor is None or self._is_ready is None or not self._is_ready.done():
            return
        with suppress(OSError, RuntimeError), warnings.catch_warnings():
            # loky warns if a worker ended although there is work: it starts another one.
            warnings.simplefilter("ignore", UserWarning)
            while len(self._futures) < _QUEUED_PER_PROCESS * self._processes:
                new_batch = next(self._new_batches, None)
                if new_batch is None:
                    return
                number, batch = new_batch
                self._submitted[number] = batch
                self._futures[self._executor.submit(self._function, batch)] = number
            return
        self._executor = None  # no further process can be had, or all have died

    def _collect_worker_results(self) -> None:
        """Store the results that worker processes have finished."""
        for future in [future for future in self._futures if future.done()]:
            number = self._futures.pop(future)
            if future.exception() is None:
                self._results.setdefault(number, future.result())

    def _compute_next_batch_in_this_process(self) -> bool:
        """Compute the next batch in this process. Returns False if no batch is left."""
        new_batch = next(self._new_batches, None)
        if new_batch is None:
            return False
        self._compute_batch_in_this_process(*new_batch)
        return True

    def _compute_batch_in_this_process(self, batch_number: int, batch: Batch) -> None:
        """Compute the result of a batch in this process, and note how long it took."""
        started = time.perf_counter()
        self._results[batch_number] = self._function(batch)
        self._longest_seconds = max(self._longest_seconds, time.perf_counter() - started)

    def _wait_for_worker_result(self) -> bool:
        """Wait until a worker process has a result, at most twice as long as this process takes for a batch.
        Returns False if none has.
        """
        if not self._futures:
            return False
        finished, _ = wait(self._futures, 2 * self._longest_seconds, FIRST_COMPLETED)
        return bool(finished)


def _ignore_keyboard_interrupts() -> None:
    """Ignore Ctrl-C in a worker process; the main process handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _import_module(module_name: str) -> None:
    """Import a module. Worker processes do so before their first batch."""
    importlib.import_module(module_name)
