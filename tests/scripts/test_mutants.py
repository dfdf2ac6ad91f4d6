"""Mutation testing: drawn changes are reproducible, and the right tests are chosen for them."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from scripts.mutants.coverage_map import CoverageMap
from scripts.mutants.mutations import draw_mutations, list_functions, list_mutations

import metassay

SOURCE = Path(__file__).parents[2] / "src" / "metassay"
CODE = """
def is_above(number, limit=2):
    if number > limit and limit:
        raise ValueError(f"{number + 1}")
    return pow(number, 3) - 1
"""


def test_the_same_seed_draws_the_same_mutations() -> None:
    first, again, other = (draw_mutations(SOURCE, "stats", 40, seed) for seed in (0, 0, 1))
    assert first == again != other


def test_every_mutation_changes_its_file_and_leaves_it_valid() -> None:
    for mutation in draw_mutations(SOURCE, "stats", 200, seed=2):
        text = (SOURCE / mutation.path).read_text(encoding="utf-8")
        assert ast.dump(ast.parse(mutation.apply(text))) != ast.dump(ast.parse(text))


def test_all_kinds_of_changes_are_listed_and_messages_are_left_alone() -> None:
    changed = {mutation.apply(CODE) for mutation in list_mutations(Path("a.py"), CODE)}
    expected = [
        ("number > limit", "number >= limit"),
        ("limit and limit", "limit or limit"),
        ("limit=2", "limit=3"),
        ("pow(number, 3)", "pow(3, number)"),
        ("pow(number, 3)", "pow(number, 4)"),
        (") - 1", ") + 1"),
        (") - 1", ") - 2"),
    ]
    assert changed == {CODE.replace(before, after) for before, after in expected}


def test_fast_tests_of_the_function_come_first_within_the_budget() -> None:
    coverage_map = CoverageMap(
        {"t.py::slow": 9.0, "t.py::fast": 1.0, "t.py::middle": 2.0},
        {"a.py:f": {"t.py::slow", "t.py::fast", "t.py::middle"}, "a.py:g": {"t.py::slow"}},
    )
    assert coverage_map.choose_tests(Path("a.py"), "f", budget=4) == ["t.py::fast", "t.py::middle"]
    assert coverage_map.choose_tests(Path("a.py"), "g", budget=4) == ["t.py::slow"]
    every_test = ["t.py::fast", "t.py::middle", "t.py::slow"]
    assert coverage_map.choose_tests(Path("a.py"), "compiled", budget=99) == every_test
    assert coverage_map.choose_tests(Path("b.py"), "f", budget=4) == []


def test_compiled_files_have_the_tests_of_the_files_that_import_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("scripts.mutants.coverage_map.SOURCE", Path(metassay.__file__).parent)
    kernel = Path("metrics/kernels/ter.py")
    coverage_map = CoverageMap({"t.py::ter": 1.0}, {"metrics/ter.py:Ter.statistics": {"t.py::ter"}})
    assert coverage_map.choose_tests(kernel, "_find_best_word_shift", budget=4) == ["t.py::ter"]


def test_methods_have_qualified_names_and_nested_functions_belong_to_the_outer_one() -> None:
    tree = ast.parse("class A:\n    def f(self):\n        def g(): ...\n")
    assert [name for name, _ in list_functions(tree)] == ["A.f"]


def test_annotations_are_not_changed() -> None:
    text = "def f(x: int | None) -> int | None:\n    y: int | None = x\n    return y\n"
    assert list(list_mutations(Path("f.py"), text)) == []
