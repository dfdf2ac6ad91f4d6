"""Work shared out over processes gives what one process gives."""

from __future__ import annotations

import sys

import pytest

from metassay.text import resources
from metassay.text.resources import map_texts

FUNCTION = "metassay.perturbations.entity:find_all"
TEXTS = [f"On day {i} we met Anna in Paris, not in Rome{'!' * (i % 3)}" for i in range(1100)]


def test_several_processes_give_what_one_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("HanTa")
    monkeypatch.setattr(resources, "WORTH_A_PROCESS", 500)
    alone = map_texts(FUNCTION, TEXTS, "en", 1)
    started = []
    original = resources._in_helper
    monkeypatch.setattr(resources, "_in_helper", lambda *task: started.append(1) or original(*task))
    together = map_texts(FUNCTION, TEXTS, "en", 2)
    assert len(started) == 2
    assert [[tuple(entity) for entity in own] for own in together] == alone
    assert all(len(own) == 3 for own in alone)


def test_where_no_process_can_be_started_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("HanTa")
    monkeypatch.setattr(resources, "WORTH_A_PROCESS", 500)
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert map_texts(FUNCTION, TEXTS, "en", 2) == map_texts(FUNCTION, TEXTS, "en", 1)
