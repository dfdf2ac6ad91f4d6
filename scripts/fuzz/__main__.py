"""Read broken files and check that only our own errors are raised: `python -m scripts.fuzz --cases 20000`.

A case is determined by the seed, the target and a number, so that each can be repeated:
`--target csv --first 17 --cases 1`. A case fails if it raises anything but a `MetassayError`, if a message
has more than 500 characters or two lines, or if it takes more than two seconds of CPU time. Targets that may
crash the process run in a child process, which is started again after the case that crashed it.
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
SLOW_SECONDS = 2.0
HANG_SECONDS = 60
LONGEST_MESSAGE = 500
CASES_PER_CHILD = 2000


@dataclass
class Tally:
    """Counts over the cases, and for each kind of failure how to repeat its first case."""

    cases: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    first_cases: dict[str, str] = field(default_factory=dict)

    def add_failure(self, reason: str, target: str, number: int) -> None:
        """Count a failure."""
        key = f"{target}: {reason}"
        self.failures[key] += 1
        self.first_cases.setdefault(key, f"--target '{target}' --first {number} --cases 1")


class CaseHangs(BaseException):
    """A case that does not end. Not an `Exception`, so that no reader can catch it."""


def run_case(target: Target, seed: int, number: int, tally: Tally, root: Path) -> None:
    """Run one case in this process."""
    random = Random(f"{seed}/{target.name}/{number}")
    folder = root / "case"
    started_at = time.process_time()
    tally.cases[target.name] += 1
    try:
        with _limit_time(), patch.object(plugins, "find_entry_points", _list_no_entry_points):
            target.run_case(folder, random)
    except MetassayError as error:
        tally.refused[target.name] += 1
        message = str(error)
        if len(message) > LONGEST_MESSAGE or message.count("\n") > 1:
            reason = f"a message of {len(message)} characters at {_find_place(error)}"
            tally.add_failure(reason, target.name, number)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - any other error is what the fuzzer looks for
        tally.add_failure(f"{type(error).__name__} at {_find_place(error)}", target.name, number)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    if time.process_time() - started_at > SLOW_SECONDS:
        tally.add_failure(f"more than {SLOW_SECONDS:g} s", target.name, number)


def _list_no_entry_points(group: str) -> tuple[()]:
    """Stand in for `find_entry_points`: installed plug-ins must not change a case, and the search is slow."""
    del group
    return ()


@contextmanager
def _limit_time() -> Iterator[None]:
    def raise_error(*_: object) -> None:
        raise CaseHangs

    # A limit of CPU time: on a busy machine a case may take minutes by the clock.
    previous_handler = signal.signal(signal.SIGPROF, raise_error)
    signal.setitimer(signal.ITIMER_PROF, HANG_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous_handler)


def _find_place(error: BaseException) -> str:
    """Return the last line of our own code that an error passed through."""
    calls = traceback.extract_tb(error.__traceback__)
    our_calls = [
        call for call in calls if "metassay" in call.filename and "site-packages" not in call.filename
    ]
    return f"{Path(our_calls[-1].filename).name}:{our_calls[-1].lineno}" if our_calls else "?"


def run_in_children(target: Target, seed: int, first: int, cases: int, tally: Tally) -> None:
    """Run cases in child processes; a child that crashes is a failure of its last case."""
    with tempfile.TemporaryDirectory() as folder:
        progress_file = Path(folder) / "progress"
        result_file = Path(folder) / "results"
        while cases > 0:
            count = min(cases, CASES_PER_CHILD)
            options = [f"--seed={seed}", f"--target={target.name}", f"--first={first}", f"--cases={count}"]
            options += [f"--progress-file={progress_file}", f"--result-file={result_file}"]
            result_file.write_text("")
            command = [sys.executable, "-m", "scripts.fuzz", *options]
            process = subprocess.run(command, check=False, capture_output=True, text=True, cwd=ROOT)
            _add_results_of_child(result_file, target.name, tally)
            next_case = first + count
            if process.returncode not in (0, 1):
                last_case = int(progress_file.read_text()) if progress_file.exists() else first
                reason = f"crashes the process ({process.returncode}: {process.stderr[-80:]!r})"
                tally.add_failure(reason, target.name, last_case)
                next_case = last_case + 1
            tally.cases[target.name] += next_case - first
            cases -= next_case - first
            first = next_case


def _add_results_of_child(result_file: Path, target: str, tally: Tally) -> None:
    for line in result_file.read_text().splitlines():
        number, _, reason = line.partition("\t")
        if reason == "refused":
            tally.refused[target] += int(number)
        else:
            tally.add_failure(reason, target, int(number))


def share_cases(cases: int, targets: tuple[Target, ...]) -> dict[str, int]:
    """Return the number of cases of each target, by weight; the rest from rounding goes to the first."""
    total_weight = sum(target.weight for target in targets)
    counts = {target.name: max(1, cases * target.weight // total_weight) for target in targets}
    counts[targets[0].name] += max(0, cases - sum(counts.values()))
    return counts


def fuzz(cases: int, seed: int, targets: tuple[Target, ...] = TARGETS, *, first: int = 0) -> Tally:
    """Run the cases of all targets, on a memory disk where there is one."""
    tally = Tally()
    counts = share_cases(cases, targets)
    memory_disk = Path("/dev/shm")
    with (
        tempfile.TemporaryDirectory(dir=memory_disk if memory_disk.is_dir() else None) as root,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        for target in targets:
            target.files()  # cached afterwards; making them may take longer than a case is allowed to
            if target.may_crash:
                run_in_children(target, seed, first, counts[target.name], tally)
            else:
                for number in range(first, first + counts[target.name]):
                    run_case(target, seed, number, tally, Path(root))
            failed = sum(n for key, n in tally.failures.items() if key.startswith(f"{target.name}: "))
            print(f"{target.name}: {tally.cases[target.name]:,} cases, {failed:,} failures", file=sys.stderr)
    return tally


def run_as_child(target: Target, seed: int, numbers: range, progress_file: Path, result_file: Path) -> None:
    """Run cases of one target, and write to files how far they are and what failed."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as root, result_file.open("a") as results:
        for number in numbers:
            progress_file.write_text(str(number))
            failures_before = tally.failures.copy()
            run_case(target, seed, number, tally, Path(root))
            for key in tally.failures - failures_before:
                print(number, key.partition(": ")[2], sep="\t", file=results, flush=True)
        print(tally.refused[target.name], "refused", sep="\t", file=results)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--target", choices=[target.name for target in TARGETS])
    parser.add_argument("--progress-file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--result-file", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    os.environ.setdefault("METASSAY_UNPACK_LIMIT", "200")
    targets = tuple(target for target in TARGETS if arguments.target in (None, target.name))
    if arguments.progress_file is not None:
        numbers = range(arguments.first, arguments.first + arguments.cases)
        run_as_child(targets[0], arguments.seed, numbers, arguments.progress_file, arguments.result_file)
        return
    tally = fuzz(arguments.cases, arguments.seed, targets, first=arguments.first)
    print(f"{'target':<16}{'cases':>10}{'refused':>10}")
    for name, count in tally.cases.items():
        print(f"{name:<16}{count:>10,}{tally.refused[name]:>10,}")
    print(f"{'all':<16}{tally.cases.total():>10,}{tally.refused.total():>10,}")
    for key, count in tally.failures.items():
        print(f"FAILED {count:,} times: {key}")
        print(f"       python -m scripts.fuzz --seed {arguments.seed} {tally.first_cases[key]}")
    sys.exit(1 if tally.failures else 0)


if __name__ == "__main__":
    main()
