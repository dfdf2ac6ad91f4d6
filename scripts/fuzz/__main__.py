"""Break files and see what happens: `python -m scripts.fuzz --cases 20000`.

A case is the seed, a target and a number, so that each can be had again: `--target csv --first 17 --cases 1`.
It fails where anything but metassay's own errors comes out, where a message is longer than 500 characters or
two lines, or where it takes more than two seconds of processor time. Targets that may end the process run in
a child, which is started again after the case that killed it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from unittest.mock import patch

from scripts.fuzz.targets import TARGETS, Target

from metassay import plugins
from metassay.errors import MetassayError

ROOT = Path(__file__).parents[2]
SLOW = 2.0
HANGS = 60
LONG = 500
CHILD_CASES = 2000


@dataclass
class Tally:
    """What came of the cases: refused, read, and each kind of failure with the first case of it."""

    refused: Counter[str] = field(default_factory=Counter)
    cases: Counter[str] = field(default_factory=Counter)
    failures: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def fail(self, what: str, target: str, number: int) -> None:
        """Note a failure."""
        key = f"{target}: {what}"
        self.counts[key] += 1
        self.failures.setdefault(key, f"--target '{target}' --first {number} --cases 1")


class Hanging(BaseException):
    """A case that does not end."""


def run_case(target: Target, seed: int, number: int, tally: Tally, root: Path) -> None:
    """One case in this process."""
    random = Random(f"{seed}/{target.name}/{number}")
    folder = root / "case"
    started = time.process_time()
    tally.cases[target.name] += 1
    try:
        with _alarm(), patch.object(plugins, "entry_points", _no_plug_ins):
            target.case(folder, random)
    except MetassayError as error:
        tally.refused[target.name] += 1
        said = str(error)
        if len(said) > LONG or said.count("\n") > 1:
            tally.fail(f"a message of {len(said)} characters at {_place(error)}", target.name, number)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - that is what we look for
        tally.fail(f"{type(error).__name__} at {_place(error)}", target.name, number)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if time.process_time() - started > SLOW:
        tally.fail(f"more than {SLOW:g} s", target.name, number)


def _no_plug_ins(group: str) -> tuple[()]:
    """What happens to be installed on this machine is no part of a case; looking costs half the time."""
    del group
    return ()


@contextmanager
def _alarm() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Hanging

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(HANGS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def _place(error: BaseException) -> str:
    """The last of our own lines that an error came through."""
    calls = traceback.extract_tb(error.__traceback__)
    ours = [call for call in calls if "metassay" in call.filename and "site-packages" not in call.filename]
    return f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"


def run_child(target: Target, seed: int, first: int, cases: int, tally: Tally) -> None:
    """Cases in children, one after the other; a child that dies is a failure of its last case."""
    with tempfile.TemporaryDirectory() as folder:
        at, found = Path(folder) / "at", Path(folder) / "found"
        while cases > 0:
            size = min(cases, CHILD_CASES)
            options = [f"--seed={seed}", f"--target={target.name}", f"--first={first}", f"--cases={size}"]
            command = [sys.executable, "-m", "scripts.fuzz", *options, f"--at={at}", f"--found={found}"]
            found.write_text("")
            done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
            last = int(at.read_text()) if at.exists() else first
            _collect(found, target.name, tally)
            if done.returncode not in (0, 1):
                tally.fail(f"ends the process ({done.returncode}: {done.stderr[-80:]!r})", target.name, last)
            after = first + size if done.returncode in (0, 1) else last + 1
            tally.cases[target.name] += after - first
            cases, first = cases - (after - first), after


def _collect(found: Path, target: str, tally: Tally) -> None:
    for line in found.read_text().splitlines():
        number, _, what = line.partition("\t")
        if what == "refused":
            tally.refused[target] += int(number)
        else:
            tally.fail(what, target, int(number))


def shares(cases: int, targets: tuple[Target, ...]) -> dict[str, int]:
    """How many cases each target gets; what is left over by rounding goes to the first."""
    whole = sum(target.weight for target in targets)
    found = {target.name: max(1, cases * target.weight // whole) for target in targets}
    found[targets[0].name] += max(0, cases - sum(found.values()))
    return found


def fuzz(cases: int, seed: int, targets: tuple[Target, ...] = TARGETS, *, first: int = 0) -> Tally:
    """All cases of all targets, in a folder in memory where there is one."""
    tally = Tally()
    memory = Path("/dev/shm")
    with (
        tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as root,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        for target in targets:
            wanted = shares(cases, targets)[target.name]
            target.files()  # made once, which takes longer than a case may
            if target.in_child:
                run_child(target, seed, first, wanted, tally)
            else:
                for number in range(first, first + wanted):
                    run_case(target, seed, number, tally, Path(root))
            failed = sum(count for key, count in tally.counts.items() if key.startswith(f"{target.name}: "))
            print(f"{target.name}: {tally.cases[target.name]:,} cases, {failed:,} failures", file=sys.stderr)
    return tally


def as_child(target: Target, seed: int, numbers: range, at: Path, found: Path) -> None:
    """The same for one target, leaving on disk where it stands and what it found."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as root, found.open("a") as log:
        for number in numbers:
            at.write_text(str(number))
            before = tally.counts.copy()
            run_case(target, seed, number, tally, Path(root))
            for key in tally.counts - before:
                print(number, key.partition(": ")[2], sep="\t", file=log, flush=True)
        print(tally.refused[target.name], "refused", sep="\t", file=log)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--target", choices=[target.name for target in TARGETS])
    parser.add_argument("--at", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--found", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    os.environ.setdefault("METASSAY_UNPACK_LIMIT", "200")
    chosen = tuple(target for target in TARGETS if asked.target in (None, target.name))
    if asked.at is not None:
        as_child(chosen[0], asked.seed, range(asked.first, asked.first + asked.cases), asked.at, asked.found)
        return
    tally = fuzz(asked.cases, asked.seed, chosen, first=asked.first)
    print(f"{'target':<16}{'cases':>10}{'refused':>10}")
    for name, count in tally.cases.items():
        print(f"{name:<16}{count:>10,}{tally.refused[name]:>10,}")
    print(f"{'all':<16}{tally.cases.total():>10,}{tally.refused.total():>10,}")
    for key, again in tally.failures.items():
        print(f"FAILED {tally.counts[key]:,} times: {key}")
        print(f"       python -m scripts.fuzz --seed {asked.seed} {again}")
    sys.exit(1 if tally.failures else 0)


if __name__ == "__main__":
    main()
