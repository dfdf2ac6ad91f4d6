"""Which tests run which functions, recorded by coverage.py."""

from __future__ import annotations

import ast
import hashlib
import json
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from coverage import CoverageData
from scripts.mutants.mutations import list_functions
from scripts.mutants.working_copy import COPY, SOURCE, WORK, run_pytest

RECORD = WORK / "tests.json"


@dataclass(frozen=True)
class CoverageMap:
    """The passing tests of the suite, with their seconds and the functions that they run."""

    seconds: dict[str, float]
    tests_by_function: dict[str, set[str]]

    def choose_tests(self, path: Path, function: str, budget: float) -> list[str]:
        """Return tests that run a function, fastest first, up to a budget of seconds.

        Compiled code cannot be recorded: where no test is known, those of the whole file are taken, or else
        those of the files that import it.
        """
        tests = self.tests_by_function.get(f"{path.as_posix()}:{function}", set())
        if not tests:
            tests = self._find_tests_of_file(path)
        importing_files = [path]
        while not tests and importing_files:
            importing_files = [file for each in importing_files for file in _find_importing_files(each)]
            for file in importing_files:
                tests |= self._find_tests_of_file(file)
        chosen: list[str] = []
        total = 0.0
        for test in sorted(tests, key=lambda name: (self.seconds[name], name)):
            total += self.seconds[test]
            if chosen and total > budget:
                break
            chosen.append(test)
        return chosen

    def _find_tests_of_file(self, path: Path) -> set[str]:
        """Find the tests that run any function of a file."""
        tests: set[str] = set()
        for name, names_of_tests in self.tests_by_function.items():
            if name.startswith(f"{path.as_posix()}:"):
                tests |= names_of_tests
        return tests


def _find_importing_files(path: Path) -> list[Path]:
    """Find the files of the package that import the module at `path`, relative to the package."""
    module = "metassay." + ".".join(path.with_suffix("").parts)
    importing_files = []
    for file in SOURCE.rglob("*.py"):
        if f"from {module} import" in file.read_text(encoding="utf-8"):
            importing_files.append(file.relative_to(SOURCE))
    return importing_files


def load_coverage_map(folders: Sequence[str], *, record_all: bool = False) -> CoverageMap:
    """Load the record of the tests in these folders, after running files that are new or changed."""
    record: dict[str, dict[str, object]] = {}
    if RECORD.exists() and not record_all:
        record = json.loads(RECORD.read_text(encoding="utf-8"))
    digests = {path.relative_to(COPY).as_posix(): _compute_digest(path) for path in _list_test_files()}
    record = {file: entry for file, entry in record.items() if entry["digest"] == digests.get(file)}
    missing = sorted(file for file in digests if file not in record and file.startswith(tuple(folders)))
    for folder, group in groupby(missing, key=lambda file: file.rpartition("/")[0]):
        files = list(group)
        print(f"recording which functions tests run: {folder} ({len(files)} files)", file=sys.stderr)
        tests = _record_tests(files)
        for file in files:
            own_tests = {name: entry for name, entry in tests.items() if name.partition("::")[0] == file}
            record[file] = {"digest": digests[file], "tests": own_tests}
        RECORD.write_text(json.dumps(record), encoding="utf-8")
    return _build_coverage_map(record)


def _list_test_files() -> list[Path]:
    doctests = [path for path in SOURCE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")]
    return [*(COPY / "tests").rglob("test_*.py"), *doctests]


def _compute_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _record_tests(files: list[str]) -> dict[str, dict[str, object]]:
    """Run test files and return the seconds and functions of each test that passes."""
    report = WORK / "report.xml"
    database = COPY / ".coverage"
    database.unlink(missing_ok=True)
    run_pytest(["--cov=metassay", "--cov-context=test", "--cov-report=", f"--junitxml={report}", *files])
    functions = _read_functions(CoverageData(str(database)))
    tests: dict[str, dict[str, object]] = {}
    for name in functions:
        tests[name] = {"seconds": 0.0, "functions": sorted(functions[name])}
    for case in ET.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').replace('.', '/')}.py::{case.get('name')}"
        has_passed = not list(case)  # a failure, an error or a skip is a child element
        if name in tests and has_passed:
            tests[name]["seconds"] = float(case.get("time", 0))
        elif not has_passed:
            tests.pop(name, None)
    return tests


def _read_functions(data: CoverageData) -> dict[str, set[str]]:
    """Return the functions that each test runs. Fixtures of a file count for all tests of the file."""
    data.read()
    functions: dict[str, set[str]] = defaultdict(set)
    functions_of_fixtures: dict[str, set[str]] = defaultdict(set)
    for file in data.measured_files():
        path = Path(file)
        function_at = _map_lines_to_functions(path)
        for line, contexts in data.contexts_by_lineno(file).items():
            function = function_at.get(line)
            if function is None:
                continue
            name = f"{path.relative_to(SOURCE).as_posix()}:{function}"
            for context in contexts:
                test, _, phase = context.rpartition("|")
                if phase == "run":
                    functions[test].add(name)
                elif phase == "setup":
                    functions_of_fixtures[test.partition("::")[0]].add(name)
    for test in functions:
        functions[test] |= functions_of_fixtures[test.partition("::")[0]]
    return functions


def _map_lines_to_functions(path: Path) -> dict[int, str]:
    """Return the function of each line inside one, without the line of its `def`, which runs on import."""
    function_at: dict[int, str] = {}
    for name, node in list_functions(ast.parse(path.read_text(encoding="utf-8"))):
        for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1):  # type: ignore[attr-defined]
            function_at[line] = name
    return function_at


def _build_coverage_map(record: dict[str, dict[str, object]]) -> CoverageMap:
    seconds: dict[str, float] = {}
    tests_by_function: dict[str, set[str]] = defaultdict(set)
    for entry in record.values():
        for test, details in entry["tests"].items():  # type: ignore[attr-defined]
            seconds[test] = details["seconds"]
            for function in details["functions"]:
                tests_by_function[function].add(test)
    return CoverageMap(seconds, dict(tests_by_function))
