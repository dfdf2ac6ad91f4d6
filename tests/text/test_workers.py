"""Work shared out over processes gives what one process gives, whatever becomes of the helpers."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator

import pytest

import metassay.text
from metassay.text import _Helper, map_texts, shared_out

FUNCTION = "metassay.perturbations.entity:find_all"
TEXTS = [f"On day {i} we met Anna in Paris, not in Rome{'!' * (i % 3)}" for i in range(1100)]
REPEATED = "operator:mul"
"""A number of times a list, and both go through JSON."""


@pytest.fixture(autouse=True)
def helpers() -> Iterator[None]:
    """None from before, none left."""
    _Helper.end_all()
    yield
    _Helper.end_all()


def test_several_processes_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("HanTa")
    monkeypatch.setattr(metassay.text, "WORTH_A_PROCESS", 500)
    monkeypatch.setattr(metassay.text, "_AT_ONCE", 100)
    alone = map_texts(FUNCTION, TEXTS, "en", 1)
    assert not _Helper.running
    together = map_texts(FUNCTION, TEXTS, "en", 3)
    assert len(_Helper.running) == 2
    assert [[tuple(entity) for entity in own] for own in together] == alone
    assert all(len(own) == 3 for own in alone)


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


def test_a_helper_that_dies_takes_nothing_along() -> None:
    done = {}
    for number, (_, given) in shared_out(f"{__name__}:at_work", 40, _waits, 2):
        done[number] = given
        if len(done) == 10:
            for helper in _Helper.running:
                os.kill(helper.process.pid, signal.SIGKILL)
    assert done == dict.fromkeys(range(40), 0.05)
    assert len(dict(shared_out(f"{__name__}:at_work", 4, _waits, 1))) == 4  # by a new one


def test_an_error_is_the_functions_own() -> None:
    with pytest.raises(ZeroDivisionError):
        dict(shared_out("operator:truediv", 3, lambda number: (1, number), 1))


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
    import time

    time.sleep(seconds)
    return os.getpid(), seconds


def _waits(_: int) -> tuple[float]:
    return (0.05,)


def test_no_more_helpers_than_are_worth_it() -> None:
    worth = metassay.text.WORTH_A_PROCESS
    assert metassay.text.helpers_for(worth - 1, 64) == 0
    assert metassay.text.helpers_for(3 * worth, 64) == 3
    assert metassay.text.helpers_for(3 * worth, 2) == 1
    assert metassay.text.helpers_for(100 * worth, 64) == 8
    assert metassay.text.helpers_for(100 * worth, 1) == 0
