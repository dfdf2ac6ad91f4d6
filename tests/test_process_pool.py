"""Several processes give the same results as one, whatever happens to the worker processes."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loky import get_reusable_executor

from metassay import process_pool
from metassay.process_pool import choose_process_count, map_batches_in_parallel


@pytest.fixture(autouse=True)
def fresh_workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start every test without worker processes, and set a variable by which new ones know that they are
    workers.
    """
    monkeypatch.setenv("METASSAY_TEST_PARENT", str(os.getpid()))
    monkeypatch.syspath_prepend(Path(__file__).parent)  # so that workers can import the functions
    get_reusable_executor().shutdown(kill_workers=True)
    yield
    get_reusable_executor().shutdown(kill_workers=True)


def load_function(name: str) -> Callable[[int], Any]:
    return getattr(importlib.import_module("process_pool_functions"), name)


def test_results_are_in_order_and_several_processes_compute_them() -> None:
    results = list(map_batches_in_parallel(load_function("square_slowly"), range(100), 2))
    assert [square for square, _ in results] == [number * number for number in range(100)]
    processes = {process for _, process in results}
    assert os.getpid() in processes
    assert len(processes) > 1


def test_no_process_is_started_for_none_requested() -> None:
    assert {
        process for _, process in map_batches_in_parallel(load_function("square_slowly"), range(3), 0)
    } == {os.getpid()}


def test_worker_processes_are_used_again() -> None:
    first = {process for _, process in map_batches_in_parallel(load_function("square_slowly"), range(60), 1)}
    second = {process for _, process in map_batches_in_parallel(load_function("square_slowly"), range(60), 1)}
    assert first == second
    assert len(first) == 2


@pytest.mark.parametrize("name", ["die_in_worker", "hang_in_worker", "fail_in_worker"])
def test_batches_of_failing_workers_are_computed_in_this_process(name: str) -> None:
    assert list(map_batches_in_parallel(load_function(name), range(60), 2)) == [
        number * number for number in range(60)
    ]


def test_an_error_is_that_of_the_function() -> None:
    with pytest.raises(ZeroDivisionError):
        list(map_batches_in_parallel(load_function("divide_by"), range(3), 1))


def test_everything_is_computed_here_if_no_process_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(process_pool, "get_reusable_executor", refuse)
    assert {
        process for _, process in map_batches_in_parallel(load_function("square_slowly"), range(4), 2)
    } == {os.getpid()}


def test_results_may_be_left_unread() -> None:
    results = map_batches_in_parallel(load_function("square_slowly"), range(100), 2)
    assert next(results)[0] == 0
    results.close()  # type: ignore[attr-defined]


def test_a_script_without_a_main_guard_runs_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = tmp_path / "script.py"
    script.write_text(
        "import time, pathlib\n"
        f"pathlib.Path({str(log)!r}).open('a').write('started')\n"
        "from metassay.process_pool import map_batches_in_parallel\n"
        "print(list(map_batches_in_parallel(time.sleep, [0.05] * 40, 2)).count(None))\n"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    finished = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True
    )
    assert finished.stdout == "40\n"
    assert log.read_text() == "started"


def test_few_texts_start_no_process() -> None:
    minimum = process_pool.TEXTS_PER_PROCESS
    assert choose_process_count(minimum - 1, workers=64) == 0
    assert choose_process_count(3 * minimum, workers=64) == 3
    assert choose_process_count(3 * minimum, workers=2) == 1
    assert choose_process_count(100 * minimum, workers=64) == process_pool.MAXIMUM_PROCESSES
    assert choose_process_count(100 * minimum, workers=1) == 0
