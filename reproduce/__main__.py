"""Run every script of this folder on a data folder, two at a time, then write the ledger.

    python -m reproduce FOLDER [--only contextual,spa]

FOLDER holds wmt21, wmt22, wmt23, asr, trec_covid and challenge. What a script prints goes to
`reproduce/NAME/MODULE.log`. If a script fails, the others still run. Exits with an error if a script failed,
or if a reason that the ledger gives for a difference no longer holds. `small_judge` is not run, because it
needs a language model (`make chat-model`).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reproduce.ledger import (
    FOLDER,
    find_failed_reasons,
    find_impossible_failures,
    load_measured,
    render_page,
)

SCRIPTS = (
    *("contextual.run", "spa.run", "system_dependence.run", "which_metric.run", "trec_covid.run"),
    *("system_dependence.correct", "aggregation.run", "challenge_sets.run", "recommenders.page"),
)
"""The longest first, so that neither of two processes ends long before the other."""
LAST_SCRIPTS = ("errors.run", "findings.run")
"""Read what the others measured."""
PROCESSES = 2
ONE_THREAD = dict.fromkeys(
    ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)
"""Environment of each process, so that two of them use two cores."""


def main() -> None:
    """Run the scripts, write the page, and exit with an error if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", help="folders, with commas between them", default="")
    arguments = parser.parse_args()
    folders = {name.partition(".")[0] for name in (*SCRIPTS, *LAST_SCRIPTS)}
    requested = set(filter(None, arguments.only.split(","))) or folders
    if unknown := requested - folders:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(sorted(folders))}")
    started = time.monotonic()
    problems = []
    for scripts in (SCRIPTS, LAST_SCRIPTS):
        chosen = [name for name in scripts if name.partition(".")[0] in requested]
        with ThreadPoolExecutor(PROCESSES) as pool:
            succeeded = list(pool.map(lambda name: run_script(name, arguments.data), chosen))
        problems += [f"{name} failed" for name, success in zip(chosen, succeeded) if not success]
    (FOLDER / "README.md").write_text(render_page(), encoding="utf-8")
    measured = load_measured()
    problems += [f"no longer a reason: {reason}" for reason in find_failed_reasons(measured)]
    problems += [f"must hold by construction: {name}" for name in find_impossible_failures(measured)]
    print(f"all done in {(time.monotonic() - started) / 60:.1f} minutes")
    if problems:
        sys.exit("\n".join(problems))


def run_script(name: str, data: Path) -> bool:
    """Run a module in a process of its own, print its times, and return whether it succeeded."""
    folder, module = name.split(".")
    path = FOLDER / folder / f"{module}.log"
    started = time.monotonic()
    with path.open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", f"reproduce.{name}", str(data)],
            stdout=log,
            stderr=log,
            env=os.environ | ONE_THREAD,
        )
        _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    times = f"{time.monotonic() - started:.0f} s, {usage.ru_utime + usage.ru_stime:.0f} s of processor time"
    memory = f"{usage.ru_maxrss / 2**20:.1f} GiB"
    failure = "" if process.returncode == 0 else f"; FAILED with {process.returncode}, see {path}"
    print(f"{name}: {times}, {memory}{failure}", flush=True)
    return process.returncode == 0


if __name__ == "__main__":
    main()
