"""Work shared out over processes gives what one process gives, whatever becomes of the helpers."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import metassay.text
from metassay.text import _Helper, map_texts, shared_out

FUNCTION = "metassay.perturbations.entity:find_all"
TEXTS = [f"On day {i} we met Anna in Paris, not in Rome{'!' * (i % 3)}" for i in range(1100)]
REPEATED = "operator:mul"
"""A number of times a list, and both go through JSON."""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Helpers as on systems where a process cannot be copied; none from before, none left."""
    monkeypatch.setattr(metassay.text, "can_copy", lambda: False)
    _Helper.end_all()
    yield
    _Helper.end_all()


@pytest.fixture
def copied() -> None:
    """Helpers that are copies of this process."""
    if not metassay.text.can_copy():
        pytest.skip("a process can be copied on Linux, and where Ray was not imported")


@pytest.fixture(params=["started", "copied"])
def either(request: pytest.FixtureRequest) -> str:
    """Helpers of either kind."""
    request.getfixturevalue(request.param)
    return str(request.param)


def test_several_processes_give_what_one_gives(either: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("HanTa")
    monkeypatch.setattr(metassay.text, "WORTH_A_PROCESS", 500)
    monkeypatch.setattr(metassay.text, "WORTH_A_COPY", 500)
    monkeypatch.setattr(metassay.text, "_AT_ONCE", 100)
    alone = map_texts(FUNCTION, TEXTS, "en", 1)
    assert not _Helper.running
    together = map_texts(FUNCTION, TEXTS, "en", 3)
    assert len(_Helper.running) == (2 if either == "started" else 0)
    assert [[tuple(entity) for entity in own] for own in together] == alone
    assert all(len(own) == 3 for own in alone)


@pytest.mark.usefixtures("copied")
def test_copies_do_a_part_and_end() -> None:
    """Each task says which process did it; what `here` does counts, in either."""
    done = dict(shared_out("operator:abs", 40, _waits, 2, here=lambda number: at_work(0.05)[0] + number))
    processes = {found - number for number, found in done.items()}
    assert sorted(done) == list(range(40))
    assert os.getpid() in processes
    assert len(processes) == 3
    for process in processes - {os.getpid()}:
        assert not Path(f"/proc/{process}").exists()


@pytest.mark.usefixtures("copied")
@pytest.mark.parametrize("end", ["dies", "hangs"])
def test_a_copy_that_dies_or_hangs_takes_nothing_along(end: str) -> None:
    here = os.getpid()

    def work(number: int) -> int:
        time.sleep(0.01)
        if os.getpid() != here and number % 3 == 0:
            if end == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            time.sleep(3600)
        return number * number

    assert dict(shared_out("operator:abs", 20, _waits, 2, work)) == {n: n * n for n in range(20)}


@pytest.mark.usefixtures("copied")
def test_a_copy_ends_when_its_process_is_killed(tmp_path: Path) -> None:
    said = tmp_path / "process"
    script = f"""
import os, pathlib, time
from metassay.text import shared_out
here = os.getpid()
def work(number):
    if os.getpid() != here:
        pathlib.Path({str(said)!r}).write_text(str(os.getpid()))
    time.sleep(3600)
dict(shared_out("operator:abs", 4, lambda number: (number,), 1, work))
"""
    with subprocess.Popen([sys.executable, "-c", script]) as running:
        _until(lambda: said.exists() and said.read_text() != "")
        copy = int(said.read_text())
        assert _runs(copy)
        running.kill()
    _until(lambda: not _runs(copy))


def _runs(process: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def _until(holds: Callable[[], bool]) -> None:
    """Wait until something holds, half a minute at most."""
    end = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.usefixtures("copied")
def test_where_no_copy_can_be_made_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused() -> int:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(os, "fork", refused)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert dict(shared_out(REPEATED, 2, lambda number: (number, ["a"]), 2)) == {0: [], 1: ["a"]}


def test_a_process_with_ray_in_it_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", sys)
    assert not metassay.text.can_copy()


@pytest.mark.usefixtures("started")
def test_helpers_do_a_part_and_are_taken_again() -> None:
    """Each task says which process did it."""
    first = {number: process for number, (process, _) in shared_out(f"{__name__}:at_work", 40, _waits, 2)}
    assert sorted(first) == list(range(40))
    assert len({*first.values()}) > 1
    assert os.getpid() in first.values()
    known = {helper.process.pid for helper in _Helper.running}
    assert {*first.values()} <= {os.getpid(), *known}
    again = dict(shared_out(f"{__name__}:at_work", 10, _waits, 2))
    assert {process for process, _ in again.values()} <= {os.getpid(), *known}


@pytest.mark.usefixtures("started")
def test_a_helper_that_dies_takes_nothing_along() -> None:
    done = {}
    for number, (_, given) in shared_out(f"{__name__}:at_work", 40, _waits, 2):
        done[number] = given
        if len(done) == 10:
            for helper in _Helper.running:
                os.kill(helper.process.pid, signal.SIGKILL)
    assert done == dict.fromkeys(range(40), 0.05)
    assert len(dict(shared_out(f"{__name__}:at_work", 4, _waits, 1))) == 4  # by a new one


@pytest.mark.usefixtures("either")
def test_an_error_is_the_functions_own() -> None:
    with pytest.raises(ZeroDivisionError):
        dict(shared_out("operator:truediv", 3, lambda number: (1, number), 1))


@pytest.mark.usefixtures("started")
def test_where_no_process_can_be_started_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert dict(shared_out(REPEATED, 3, lambda number: (number, ["a"]), 2)) == {
        0: [],
        1: ["a"],
        2: ["a", "a"],
    }
    assert not _Helper.running


def at_work(seconds: float) -> tuple[int, float]:
    """Which process does it, after a while."""
    time.sleep(seconds)
    return os.getpid(), seconds


def _waits(_: int) -> tuple[float]:
    return (0.05,)


def test_no_more_helpers_than_are_worth_it(either: str) -> None:
    worth = metassay.text.WORTH_A_PROCESS if either == "started" else metassay.text.WORTH_A_COPY
    assert metassay.text.helpers_for(worth - 1, 64) == 0
    assert metassay.text.helpers_for(3 * worth, 64) == 3
    assert metassay.text.helpers_for(3 * worth, 2) == 1
    assert metassay.text.helpers_for(100 * worth, 64) == 8
    assert metassay.text.helpers_for(100 * worth, 1) == 0
