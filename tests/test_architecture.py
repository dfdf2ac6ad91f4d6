"""The road of one row: which rooms `assay`, `rank` and `depend` enter, in which order, and how often they
change rooms on the way.

A command is run in this process on a small CSV, a second time under a profiler. Each function of metassay
is noted at its first call; its room is the first folder under `metassay`. Settings, specs, plug-ins and errors
are the ground that every room stands on and do not count. What is made once per process (tables behind a
cache) is made in the first run.
"""

from __future__ import annotations

import random
import sys
import threading
from itertools import pairwise
from pathlib import Path
from statistics import median_low
from types import FrameType
from typing import Any

import polars as pl
import pytest

import metassay
from metassay.cli import run

ROOT = Path(metassay.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"
GROUND = {"settings", "specs", "plugins", "errors"}
AT_MOST = {"assay": 94, "rank": 20, "depend": 25}
"""Two thirds of 142, 31 and 38."""
ORDER = {
    "assay": ("data", "perturbations", "engine", "meta", "reporting"),
    "rank": ("data", "meta", "reporting"),
    "depend": ("data", "meta", "reporting"),
}
"""Read, make worse, score, judge, show; scores that are read need no scoring. Where a room's work is counts: a
function of the engine that says how many threads there are is called before anything is scored.
"""


def _room(frame: FrameType) -> str | None:
    """The first folder under metassay, or the module beside the folders; None outside and on the ground."""
    file = Path(frame.f_code.co_filename)
    if not file.is_relative_to(ROOT):
        return None
    name = file.relative_to(ROOT).parts[0].removesuffix(".py")
    return None if name in GROUND else name


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four items, three systems, a human score and two metrics."""
    draw = random.Random(0)
    words = ["the", "cat", "sat", "on", "a", "mat", "with", "two", "red", "birds", "over", "hill"]
    rows = [
        {
            "lp": "xx-en",
            "seg_id": item,
            "system": system,
            "hyp": " ".join(draw.choices(words, k=6)),
            "ref": " ".join(words[item : item + 6]),
            "mqm": float(draw.randint(-5, 0)),
            "m1": draw.gauss(0, 1),
            "m2": draw.gauss(0, 1),
        }
        for item in range(4)
        for system in "abc"
    ]
    path = tmp_path_factory.mktemp("walk") / "scores.csv"
    pl.DataFrame(rows).write_csv(path)
    return path


def _road(table: Path, verb: str, folder: Path) -> list[str]:
    """The rooms of all functions, each function at its first call."""
    arguments = [verb, str(table), "--workers", "1", "--out"]
    assert run([*arguments, str(folder / "first")]) == 0
    seen: set[tuple[str, str]] = set()
    road: list[str] = []

    def note(frame: FrameType, event: str, _: Any) -> None:
        function = (frame.f_code.co_filename, frame.f_code.co_name)
        if event == "call" and function not in seen and (room := _room(frame)) is not None:
            seen.add(function)
            road.append(room)

    sys.setprofile(note)
    threading.setprofile(note)
    try:
        status = run([*arguments, str(folder / "second")])
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert status == 0
    return road


@pytest.mark.parametrize("verb", AT_MOST)
def test_one_row_walks_through_the_rooms_in_order(verb, table, tmp_path, capsys) -> None:
    road = _road(table, verb, tmp_path)
    switches = sum(here != there for here, there in pairwise(road))
    rooms = list(dict.fromkeys(road))
    with capsys.disabled():
        print(f"\n{verb}: {switches} switches; {' → '.join(rooms)}")
    assert switches <= AT_MOST[verb]
    middle = [median_low(place for place, at in enumerate(road) if at == room) for room in ORDER[verb]]
    assert middle == sorted(middle), dict(zip(ORDER[verb], middle))
    line = f"| `{verb}` | {AT_MOST[verb]} | {' → '.join(rooms)} |"
    assert line in PAGE.read_text(encoding="utf-8"), f"docs/architecture.md should say: {line}"
