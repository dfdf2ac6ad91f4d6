"""A copy of the checkout in which mutations are tried, and pytest run in it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
WORK = Path(os.environ.get("MUTANTS_WORK", ROOT / ".mutants"))
COPY = WORK / "checkout"
SOURCE = COPY / "src" / "metassay"


def update_copy() -> None:
    """Copy the files of the checkout that changed, and delete those that are gone."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode().split("\0")
    current = {name for name in names if name and (ROOT / name).is_file()}
    for copied in COPY.rglob("*.py"):
        if copied.relative_to(COPY).as_posix() not in current:
            copied.unlink()
    for name in current:
        content = (ROOT / name).read_bytes()
        target = COPY / name
        if not target.is_file() or target.read_bytes() != content:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


def run_pytest(arguments: Sequence[str], *, timeout: float | None = None) -> subprocess.CompletedProcess[str]:
    """Run pytest in the copy, without slow tests and without the browser."""
    data = os.environ.get("METASSAY_DATA", str(ROOT.parent / "shared" / "data"))
    environment = os.environ | {"PYTHONPATH": f"{COPY / 'src'}{os.pathsep}{COPY}", "METASSAY_DATA": data}
    options = ["-q", "-p", "no:cacheprovider", "-m", "not slow and not browser", "--hypothesis-seed=0"]
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *arguments],
        cwd=COPY,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
