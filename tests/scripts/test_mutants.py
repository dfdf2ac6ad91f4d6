"""The sample of mutations is reproducible, and a change in place is a change."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest
from scripts.mutants.forks import NotInPlace, exchange, live_functions
from scripts.mutants.mutations import sampled
from scripts.mutants.touched import Touched, functions_of

SOURCE = Path(__file__).parents[2] / "src" / "metassay"


def test_the_sample_is_the_same_each_time_and_another_for_another_seed() -> None:
    first, again, other = (sampled("stats", SOURCE, 40, seed) for seed in (0, 0, 1))
    assert first == again != other
    for placed in first:
        assert placed.text != placed.path.read_text(encoding="utf-8")
        ast.parse(placed.text)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module with a constant, a function, a class and something computed on import."""
    text = """
LEVEL = 2
MADE = [LEVEL]

def above(number):
    return number > LEVEL

class Thing:
    size = 3

    def grown(self):
        return [self.size + step for step in range(2)]
"""
    path = tmp_path / "mutated_module.py"
    path.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    import mutated_module  # type: ignore[import-not-found]

    yield path, text, mutated_module
    del sys.modules["mutated_module"]


def test_functions_are_exchanged_in_place(module) -> None:
    path, text, thing = module
    above, made = thing.above, thing.Thing()
    exchange(path, text.replace("number > LEVEL", "number < LEVEL"), live_functions())
    assert above(1)
    exchange(path, text.replace("self.size + step", "self.size - step"), live_functions())
    assert made.grown() == [3, 2]


@pytest.mark.parametrize(
    "change", [("LEVEL = 2", "LEVEL = 5"), ("size = 3", "size = 4"), ("MADE = [LEVEL]\n", "")]
)
def test_what_is_computed_on_import_takes_a_fresh_process(module, change) -> None:
    path, text, _ = module
    with pytest.raises(NotInPlace):
        exchange(path, text.replace(*change), live_functions())


def test_a_constant_is_exchanged_in_place(module) -> None:
    path, text, thing = module
    plain = text.replace("MADE = [LEVEL]\n", "")
    path.write_text(plain)
    exchange(path, plain.replace("LEVEL = 2", "LEVEL = 5"), live_functions())
    assert not thing.above(4)


def test_tests_are_those_that_call_a_function_or_else_its_callers(tmp_path) -> None:
    (tmp_path / "a.py").write_text(
        "def low():\n    return 1\n\ndef high():\n    return low()\n\nSIZE = 1\n\ndef sized():\n    return SIZE\n"
    )
    record = {
        "t.py::one": {"outcome": "passed", "seconds": 1, "calls": ["a.py:high"]},
        "t.py::two": {"outcome": "passed", "seconds": 1, "calls": ["a.py:sized"]},
        "t.py::three": {"outcome": "failed", "seconds": 1, "calls": ["a.py:high"]},
    }
    touched = Touched(record, tmp_path)
    assert touched.tests_of("a.py:high") == {"t.py::one"}
    assert touched.tests_of("a.py:low") == {"t.py::one"}  # compiled, say: it leaves no trace
    assert touched.tests_of("a.py:<module>", ["SIZE"]) == {"t.py::two"}
    (tmp_path / "b.py").write_text("def _low():\n    return 2\n\ndef other():\n    return _low()\n")
    (tmp_path / "c.py").write_text("def _low():\n    return 3\n\ndef own():\n    return _low()\n")
    record["t.py::four"] = {"outcome": "passed", "seconds": 1, "calls": ["b.py:other"]}
    record["t.py::five"] = {"outcome": "passed", "seconds": 1, "calls": ["c.py:own"]}
    assert Touched(record, tmp_path).tests_of("c.py:_low") == {"t.py::five"}  # not those of b.py's
    names = [
        name for name, _ in functions_of(ast.parse("class A:\n    def f(self):\n        def g(): ...\n"))
    ]
    assert names == ["A.f"]
