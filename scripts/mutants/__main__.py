"""Change the source and see whether a test notices: `python -m scripts.mutants [--room meta] [--sample 20]`.

Works on a copy of the checkout under `.mutants/`, never on the checkout. First the suite runs once, to learn
which tests call which functions (again only for test files that changed); then, for every mutation, the tests
that call what it changes, quickest first, until one fails. The table gives the share noticed in each room;
what survives is named, and what no test can notice stands apart with the reason. Last, the tests that noticed
something run on the source as it is: a test that fails there has noticed nothing.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from scripts.mutants.checkout import FIRST_ONLY, LOG, SOURCE, WORK, learn, run_pytest, update_tree
from scripts.mutants.forks import KILLED, NOT_IN_PLACE, SURVIVED
from scripts.mutants.mutations import Placed, sampled
from scripts.mutants.touched import Touched

ROOMS = (
    "meta",
    "stats",
    "metrics",
    "perturbations",
    "data",
    "engine",
    "store",
    "workflows",
    "reporting",
)
UNTESTED = "no test"
KILLERS = WORK / "killers.json"
LONG = 600  # seconds after which a change hangs, which a person would notice


@dataclass(frozen=True)
class Verdict:
    """What came of a mutation, by which test, and how many tests ran at most."""

    placed: Placed
    outcome: str
    by: str = ""
    tests: int = 0


def judge(placed: Sequence[Placed], touched: Touched, budget: float) -> Iterator[Verdict]:
    """What comes of every mutation, in forks of one process; where it takes one, in a process of its own."""
    killers = _killers()
    tests = [chosen(each, touched, budget, killers.get(_key(each), "")) for each in placed]
    jobs = [
        {
            "number": number,
            "path": str(each.path),
            "text": each.text,
            "tests": own,
            "seconds": 60 + 5 * sum(map(touched.seconds, own)),
        }
        for number, (each, own) in enumerate(zip(placed, tests))
        if own
    ]
    for each, own in zip(placed, tests):
        if not own:
            yield Verdict(each, UNTESTED)
    alone = []
    for job, (outcome, by) in zip(jobs, _forked(jobs)):
        if outcome == NOT_IN_PLACE:
            alone.append(job["number"])
        else:
            yield _kept(Verdict(placed[job["number"]], outcome, by, len(job["tests"])))
    for number in alone:
        yield _kept(
            Verdict(placed[number], *_alone(placed[number], tests[number], number), len(tests[number]))
        )


def _kept(verdict: Verdict) -> Verdict:
    """The verdict; the test that noticed a mutation is remembered, to be asked first the next time."""
    if verdict.outcome == KILLED:
        KILLERS.write_text(json.dumps(_killers() | {_key(verdict.placed): verdict.by}, indent=0))
    return verdict


def _killers() -> dict[str, str]:
    """By mutation the test that noticed it last time."""
    return json.loads(KILLERS.read_text()) if KILLERS.exists() else {}


def _key(placed: Placed) -> str:
    mutation = placed.mutation
    return f"{mutation.room}\t{mutation.old}\t{mutation.new}"


def _forked(jobs: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """The verdicts of all jobs, as they come."""
    files = sorted({test.partition("::")[0] for job in jobs for test in job["tests"]})
    asked, verdicts = WORK / "jobs.json", WORK / f"verdicts-{os.getpid()}.jsonl"
    asked.write_text(json.dumps(jobs), encoding="utf-8")
    verdicts.write_text("")
    names = {"MUTANTS_JOBS": str(asked), "MUTANTS_VERDICTS": str(verdicts)}
    with run_pytest(files, names) as process, verdicts.open(encoding="utf-8") as lines:
        for job in jobs:
            line = lines.readline()
            while not line.endswith("\n"):
                if process.poll() is not None and not line:
                    sys.exit(f"pytest ended:\n{LOG.read_text(encoding='utf-8')[-2000:]}")
                time.sleep(0.1)
                line += lines.readline()
            found = json.loads(line)
            if found["number"] != job["number"]:
                sys.exit(f"verdict {found['number']} came where {job['number']} was expected.")
            yield found["outcome"], found["by"]
    verdicts.unlink()


def _alone(placed: Placed, tests: Sequence[str], number: int) -> tuple[str, str]:
    """The same in a process of its own, with the mutation in the copy of the source."""
    path = placed.path
    before, times = path.read_bytes(), path.stat()
    asked, files = WORK / "asked.txt", sorted({test.partition("::")[0] for test in tests})
    asked.write_text("\n".join(tests), encoding="utf-8")
    path.write_text(placed.text, encoding="utf-8")
    # Python and numba take code as changed by the second and the size of its file.
    os.utime(path, (times.st_atime, int(times.st_mtime) + 10 + number))
    _forget_compiled(path)
    try:
        with run_pytest(files, {"MUTANTS_TESTS": str(asked)} | FIRST_ONLY) as process:
            said = process.communicate(timeout=LONG)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return KILLED, "it does not end"
    finally:
        path.write_bytes(before)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        _forget_compiled(path)
    failed = [line.split(" ")[1] for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return (SURVIVED, "") if process.returncode == 0 else (KILLED, failed[0] if failed else "pytest failed")


def _forget_compiled(path: Path) -> None:
    """Drop numba's cache of a module and of those that import it: their code holds the module's."""
    users = {
        each.stem
        for each in SOURCE.rglob("*.py")
        if f"{path.stem} import" in each.read_text(encoding="utf-8")
    }
    for cached in SOURCE.rglob("*.nb[ic]"):
        if cached.name.partition(".")[0] in {path.stem, *users}:
            cached.unlink()


def chosen(placed: Placed, touched: Touched, budget: float, killer: str = "") -> list[str]:
    """Tests of what a mutation changes, up to a budget of seconds, quick ones before slow.

    First comes the one that noticed it last time. A test of another room must be twice as quick to come
    before one of its own room, and that one twice as quick as one that is named after the module.
    """
    found = touched.tests_of(placed.function, placed.names)

    def cost(test: str) -> float:
        file = test.partition("::")[0]
        near = placed.mutation.room in file.split("/")
        named = near and placed.path.stem.lstrip("_") in file
        return touched.seconds(test) * (1 if named else 2 if near else 4)

    order = sorted(found, key=lambda test: (test != killer, cost(test), test))
    spent = itertools.accumulate(map(touched.seconds, order))
    return [
        test
        for place, (test, all_so_far) in enumerate(zip(order, spent))
        if not place or all_so_far <= budget
    ]


def without_idle(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts, with those of tests that fail on the source as it is taken back."""
    killers = {verdict.by for verdict in verdicts if "::" in verdict.by}
    asked = WORK / "asked.txt"
    asked.write_text("\n".join(sorted(killers)), encoding="utf-8")
    if not killers:
        return list(verdicts)
    files = sorted({test.partition("::")[0] for test in killers})
    with run_pytest(files, {"MUTANTS_TESTS": str(asked)}) as process:
        said = process.communicate()[0]
    idle = {line.split(" ")[1] for line in said.splitlines() if line.startswith(("FAILED", "ERROR"))}
    for test in sorted(idle):
        print(f"fails without any mutation: {test}")
    return [replace(verdict, outcome=SURVIVED) if verdict.by in idle else verdict for verdict in verdicts]


def table(verdicts: Sequence[Verdict]) -> str:
    """Per room: mutations, noticed, the share without the equivalent ones; then what survives."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for verdict in verdicts:
        same = bool(verdict.placed.mutation.equivalent) and verdict.outcome != KILLED
        counts[verdict.placed.mutation.room]["equivalent" if same else verdict.outcome] += 1
    lines = [f"{'room':<16}{'mutations':>10}{'killed':>8}{'survived':>10}{'equivalent':>12}{'share':>8}"]
    for room in [room for room in ROOMS if room in counts]:
        here = counts[room]
        alive = here[SURVIVED] + here[UNTESTED]
        share = here[KILLED] / max(here[KILLED] + alive, 1)
        lines.append(
            f"{room:<16}{here.total():>10}{here[KILLED]:>8}{alive:>10}{here['equivalent']:>12}{share:>8.0%}"
        )
    for verdict in verdicts:
        if verdict.outcome != KILLED:
            placed = verdict.placed
            where = f"{placed.function.partition(':')[0]}:{placed.line}"
            why = placed.mutation.equivalent
            fate = "EQUIVALENT" if why else verdict.outcome.upper()
            lines += [
                "",
                f"{fate} {where} {placed.mutation.breaks} ({verdict.tests} tests)",
                f"  - {placed.mutation.old!r}",
                f"  + {placed.mutation.new!r}",
                *([f"  {why}"] if why else []),
            ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--room", choices=ROOMS, action="append", help="only this room (repeatable)")
    parser.add_argument("--sample", type=int, default=20, help="mutations to draw in each package")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--match", default="", help="only mutations whose text or purpose holds this")
    parser.add_argument("--alive", action="store_true", help="only what no test has noticed so far")
    parser.add_argument("--tests", default="", help="only tests whose name holds one of these, by commas")
    parser.add_argument("--budget", type=float, default=120, help="seconds of tests for one mutation at most")
    parser.add_argument(
        "--learn", action="store_true", help="learn again which tests call what, for all tests"
    )
    parser.add_argument("--known", action="store_true", help="learn nothing: choose by what is known already")
    asked = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    update_tree()
    rooms = asked.room or ROOMS
    drawn = [each for room in rooms for each in sampled(room, SOURCE, asked.sample, asked.seed)]
    placed = [each for each in drawn if _matches(each, asked.match)]
    if asked.alive:
        placed = [each for each in placed if _key(each) not in _killers()]
    touched = learn(all_again=asked.learn, nothing=asked.known).only(asked.tests.split(","))
    verdicts = []
    started = time.monotonic()
    for verdict in judge(placed, touched, asked.budget):
        verdicts.append(verdict)
        each, took = verdict.placed, f"{time.monotonic() - started:.0f} s"
        said = f"{verdict.outcome} {verdict.by}"
        count = f"{len(verdicts)}/{len(placed)}"
        print(f"[{count} {took}] {each.function}:{each.line} {each.mutation.new!r}: {said}", flush=True)
    verdicts = without_idle(verdicts)
    print(table(verdicts))
    alive = any(each.outcome != KILLED and not each.placed.mutation.equivalent for each in verdicts)
    sys.exit(1 if alive else 0)


def _matches(placed: Placed, wanted: str) -> bool:
    mutation = placed.mutation
    return wanted in f"{mutation.old} {mutation.new} {mutation.breaks} {placed.function}"


if __name__ == "__main__":
    main()
