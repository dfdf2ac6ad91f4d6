"""Which tests run which functions: a plug-in for pytest that writes it down, and the choice made from it.

`pytest -p scripts.mutants.touched` with `MUTANTS_TRACE=file.json` records for every test its seconds and the
functions of `src` it called, in its fixtures too. With `MUTANTS_TESTS=file.txt` it runs the tests named
there, in that order, and no others. Code compiled by numba leaves no trace; see `Touched.tests_of`.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

SOURCE = f"{os.sep}src{os.sep}metassay{os.sep}"
_called: set[CodeType] = set()
_by_fixture: dict[str, set[CodeType]] = defaultdict(set)
_records: dict[str, dict[str, Any]] = {}
_reports: dict[str, str] = {}


def _on_call(frame: FrameType, event: str, argument: object) -> None:
    del event, argument
    _called.add(frame.f_code)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Iterator[Any]:
    """A fixture made once serves many tests: what it called counts for all of them."""
    if "MUTANTS_TRACE" not in os.environ:
        return (yield)
    outside = set(_called)
    _called.clear()
    try:
        return (yield)
    finally:
        _by_fixture[fixturedef.argname] |= _called
        _called.update(outside)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    """One test, with every call written down."""
    if "MUTANTS_TRACE" not in os.environ:
        return (yield)
    _called.clear()
    started = time.perf_counter()
    threading.settrace(_on_call)
    sys.settrace(_on_call)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        seconds = time.perf_counter() - started
        calls = _called.union(*(_by_fixture[name] for name in getattr(item, "fixturenames", ())))
        outcome = _reports.get(item.nodeid, "?")
        _records[item.nodeid] = {
            "seconds": round(seconds, 3),
            "outcome": outcome,
            "calls": sorted(_ours(calls)),
        }


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember what came of a test; only those that pass can notice a change."""
    if report.when == "call" or report.outcome != "passed":
        _reports[report.nodeid] = report.outcome


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests that were asked for, in the order they were asked for."""
    asked = os.environ.get("MUTANTS_TESTS")
    if asked:
        order = {name: at for at, name in enumerate(Path(asked).read_text().splitlines())}
        left_out = [item for item in items if item.nodeid not in order]
        items[:] = sorted(
            (item for item in items if item.nodeid in order), key=lambda item: order[item.nodeid]
        )
        config.hook.pytest_deselected(items=left_out)


def pytest_sessionfinish() -> None:
    """Leave the record."""
    target = os.environ.get("MUTANTS_TRACE")
    if target:
        Path(target).write_text(json.dumps(_records))


def _ours(calls: Iterable[CodeType]) -> set[str]:
    """`meta/contexts/h1.py:movable`, and `…:Class.method`; what is nested counts as its outer function."""
    return {
        f"{code.co_filename.rpartition(SOURCE)[2]}:{code.co_qualname.partition('.<locals>')[0]}"
        for code in calls
        if SOURCE in code.co_filename
    }


@dataclass(frozen=True)
class Touched:
    """The record of a whole run of the suite, and the tree it was made on."""

    tests: dict[str, dict[str, Any]]
    source: Path

    @cached_property
    def by_function(self) -> dict[str, set[str]]:
        """The passing tests that call each function."""
        found: dict[str, set[str]] = defaultdict(set)
        for test, record in self.tests.items():
            if record["outcome"] == "passed":
                for function in record["calls"]:
                    found[function].add(test)
        return found

    @cached_property
    def mentions(self) -> dict[str, set[str]]:
        """The functions (`path:name`) that mention each bare name."""
        found: dict[str, set[str]] = defaultdict(set)
        for path in self.source.rglob("*.py"):
            place = path.relative_to(self.source).as_posix()
            for name, node in functions_of(ast.parse(path.read_text(encoding="utf-8"))):
                for inner in ast.walk(node):
                    word = inner.id if isinstance(inner, ast.Name) else getattr(inner, "attr", None)
                    if word is not None:
                        found[word].add(f"{place}:{name}")
        return found

    def tests_of(self, function: str, names: Iterable[str] = ()) -> set[str]:
        """Tests that call a function, else those of the functions that mention it, and so on outwards.

        A name with an underscore is mentioned in its own module only: others mean something else by it. What
        nobody mentions, such as what runs on import alone, has the tests of its module. `names` are what is
        assigned where a change is not inside any function.
        """
        module = function.partition(":")[0]
        found = set() if names else set(self.by_function.get(function, ()))
        places = {f"{module}:{name}" for name in names} or {function}
        seen: set[str] = set()
        while places and not found:
            places = {caller for place in places for caller in self._mentioning(place)} - seen
            seen |= places
            for caller in places:
                found |= self.by_function.get(caller, set())
        return found or set().union(
            *(own for name, own in self.by_function.items() if name.partition(":")[0] == module)
        )

    def _mentioning(self, place: str) -> set[str]:
        module, _, name = place.partition(":")
        word = name.rpartition(".")[2]
        found = self.mentions.get(word, set())
        return {one for one in found if one.partition(":")[0] == module} if word.startswith("_") else found

    def only(self, names: Sequence[str]) -> Touched:
        """The same for tests whose names hold one of these."""
        kept = {test: record for test, record in self.tests.items() if any(name in test for name in names)}
        return Touched(kept, self.source)

    def seconds(self, test: str) -> float:
        """How long a test took, written down with the trace on."""
        return float(self.tests[test]["seconds"])


def functions_of(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """The functions and methods of a module with their qualified names; nested ones belong to the outer."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions_of(node, f"{prefix}{node.name}.")
        else:
            yield from functions_of(node, prefix)
