"""The copy of the checkout that mutations are tried in, and pytest run in it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from scripts.mutants.touched import Touched

ROOT = Path(__file__).parents[2]
WORK = Path(os.environ.get("MUTANTS_WORK", ROOT / ".mutants"))
TREE = WORK / "tree"
SOURCE = TREE / "src" / "metassay"
LOG = WORK / "pytest.log"
FIRST_ONLY = {"MUTANTS_FIRST": "1"}
"""To end with the first test that fails."""


def update_tree() -> None:
    """Copy what changed in the checkout, with its times, so that compiled code is made again when it must."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    wanted = {name for name in names if name and (ROOT / name).is_file()}
    for old in [path for path in TREE.rglob("*") if path.is_file() and not _made(path)]:
        if old.relative_to(TREE).as_posix() not in wanted:
            old.unlink()
    for name in wanted:
        content, target = (ROOT / name).read_bytes(), TREE / name
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


def _made(path: Path) -> bool:
    return bool({"__pycache__", ".pytest_cache", ".hypothesis"} & set(path.parts))


def learn(*, all_again: bool = False, nothing: bool = False) -> Touched:
    """Which tests call what; with `nothing`, as far as it is known.

    What is known of a test file holds until it changes, or a module that its tests called goes elsewhere.
    """
    record = WORK / "touched.json"
    known: dict[str, Any] = json.loads(record.read_text()) if record.exists() and not all_again else {}
    files = {path.relative_to(TREE).as_posix(): _digest(path) for path in _test_files()}
    known = {
        name: entry
        for name, entry in known.items()
        if nothing or (files.get(name) == entry["digest"] and not _left(entry["tests"]))
    }
    stale = [] if nothing else sorted(set(files) - set(known))
    for folder, group in groupby(stale, key=lambda name: name.rpartition("/")[0]):
        names = list(group)
        print(f"learning which tests call what: {folder} ({len(names)} files)", file=sys.stderr)
        trace = WORK / "trace.json"
        trace.unlink(missing_ok=True)
        run_pytest(names, {"MUTANTS_TRACE": str(trace)}).wait()
        found = json.loads(trace.read_text()) if trace.exists() else {}
        for name in names:
            tests = {test: entry for test, entry in found.items() if test.partition("::")[0] == name}
            known[name] = {"digest": files[name], "tests": tests}
        record.write_text(json.dumps(known))
    tests = {test: entry for file in known.values() for test, entry in file["tests"].items()}
    return Touched(tests, SOURCE)


def _left(tests: dict[str, Any]) -> bool:
    """Whether a module that these tests called is not there any more."""
    called = {call.partition(":")[0] for test in tests.values() for call in test["calls"]}
    return not all((SOURCE / path).exists() for path in called)


def _test_files() -> Iterator[Path]:
    yield from (TREE / "tests").rglob("test_*.py")
    yield from (path for path in SOURCE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8"))


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run_pytest(arguments: Sequence[str], extra: dict[str, str]) -> subprocess.Popen[str]:
    """Pytest in the copy, with both plug-ins; what `extra` puts into the environment says what for."""
    data = os.environ.get("METASSAY_DATA", str(ROOT.parent / "shared" / "data"))
    paths = {"PYTHONPATH": f"{TREE / 'src'}{os.pathsep}{TREE}", "METASSAY_DATA": data}
    plugins = ["-p", "scripts.mutants.touched", "-p", "scripts.mutants.forks", "-p", "no:cacheprovider"]
    options = ["-q", *plugins, "-m", "not slow and not browser", "--hypothesis-seed=0"]
    first = ["-x"] if FIRST_ONLY.items() <= extra.items() else []
    return subprocess.Popen(
        [sys.executable, "-m", "pytest", *options, *first, *arguments],
        cwd=TREE,
        env=os.environ | paths | extra,
        stdout=subprocess.PIPE if "MUTANTS_TESTS" in extra else LOG.open("w", encoding="utf-8"),
        stderr=subprocess.STDOUT,
        text=True,
    )
