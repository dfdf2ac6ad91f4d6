"""Draw changes to the source at random and run the tests that should notice them.

    python -m scripts.mutants --package stats --sample 20 --seed 0

Works in a copy of the checkout under .mutants/. The first run records which tests run which functions, which
takes as long as the suite; later runs record only test files that changed. Prints the share of changes that a
test noticed in each package, and the changes that no test noticed. Exits with 1 if there are any.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass

from scripts.mutants.coverage_map import CoverageMap, load_coverage_map
from scripts.mutants.mutations import Mutation, draw_mutations
from scripts.mutants.working_copy import SOURCE, WORK, run_pytest, update_copy

PACKAGES = (
    *("cli", "data", "engine", "llm", "meta", "metrics", "perturbations", "reporting", "results", "serve"),
    *("stats", "store", "tasks", "text", "workflows"),
)
STARTUP_SECONDS = 120
"""Time that pytest may take besides the tests themselves, before a change counts as an endless loop."""


@dataclass(frozen=True)
class Outcome:
    """Whether a test noticed a mutation."""

    package: str
    mutation: Mutation
    noticed: bool
    test_count: int


def try_mutation(mutation: Mutation, tests: list[str], seconds: float) -> bool:
    """Return whether one of the tests fails with the mutation, or does not end."""
    if not tests:
        return False
    path = SOURCE / mutation.path
    original = path.read_text(encoding="utf-8")
    times = path.stat()
    arguments = WORK / "arguments.txt"
    arguments.write_text("\n".join(tests), encoding="utf-8")
    path.write_text(mutation.apply(original), encoding="utf-8")
    # Python and Numba recompile a file whose time changed, by whole seconds.
    os.utime(path, (times.st_atime, times.st_mtime + 10))
    try:
        return run_pytest(["-x", f"@{arguments}"], timeout=STARTUP_SECONDS + 10 * seconds).returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(original, encoding="utf-8")
        os.utime(path, (times.st_atime, times.st_mtime + 20))


def try_package(
    package: str, sample: int, seed: int, coverage_map: CoverageMap, budget: float
) -> list[Outcome]:
    """Try mutations of one package, and print each as it is done."""
    outcomes: list[Outcome] = []
    for mutation in draw_mutations(SOURCE, package, sample, seed):
        started_at = time.monotonic()
        tests = coverage_map.choose_tests(mutation.path, mutation.function, budget)
        seconds = sum(coverage_map.seconds[test] for test in tests)
        outcome = Outcome(package, mutation, try_mutation(mutation, tests, seconds), len(tests))
        outcomes.append(outcome)
        took = f"{time.monotonic() - started_at:.0f} s, {outcome.test_count} tests"
        state = "noticed" if outcome.noticed else "NOT NOTICED"
        text = (SOURCE / mutation.path).read_text(encoding="utf-8")
        print(f"{state} ({took}) {mutation.describe(text)}", flush=True)
    return outcomes


def print_table(outcomes: list[Outcome]) -> None:
    """Print the share of mutations that were noticed, by package."""
    print(f"\n{'package':<16}{'mutations':>10}{'noticed':>9}{'share':>7}")
    for package in dict.fromkeys(outcome.package for outcome in outcomes):
        noticed = [outcome.noticed for outcome in outcomes if outcome.package == package]
        share = sum(noticed) / len(noticed)
        print(f"{package:<16}{len(noticed):>10}{sum(noticed):>9}{share:>7.0%}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--package", choices=PACKAGES, action="append", help="repeatable; default all")
    parser.add_argument("--sample", type=int, default=20, help="changes per package")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--budget", type=float, default=60, help="seconds of tests per change, at most")
    parser.add_argument("--tests", action="append", help="folder of tests to use; repeatable, default all")
    parser.add_argument("--record", action="store_true", help="record again what all tests run")
    arguments = parser.parse_args()
    WORK.mkdir(exist_ok=True)
    update_copy()
    coverage_map = load_coverage_map(arguments.tests or [""], record_all=arguments.record)
    outcomes: list[Outcome] = []
    for package in arguments.package or PACKAGES:
        outcomes += try_package(package, arguments.sample, arguments.seed, coverage_map, arguments.budget)
    print_table(outcomes)
    sys.exit(0 if all(outcome.noticed for outcome in outcomes) else 1)


if __name__ == "__main__":
    main()
