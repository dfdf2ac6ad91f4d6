"""Run every script of this folder on a data folder, two at a time, then write the ledger.

    python -m reproduce FOLDER [--only contextual,spa]

FOLDER holds wmt21, wmt22, wmt23, asr, trec_covid and challenge. What a script prints goes to
`reproduce/NAME/MODULE.log`. One that fails does not keep the others from running; it is named at the end. The
one script that is not run is `small_judge`, which needs a language model (`make chat-model`).
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reproduce.ledger import HERE, page

SCRIPTS = (
    *("contextual.run", "spa.run", "system_dependence.run", "which_metric.run", "trec_covid.run"),
    *("system_dependence.correct", "aggregation.run", "challenge_sets.run", "recommenders.page"),
)
"""The longest first, so that neither of two processes ends long before the other."""
LAST = ("errors.run",)
"""Reads what the others found."""
AT_ONCE = 2
ONE_THREAD = dict.fromkeys(
    ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
)
"""For each of the processes, so that two of them take two cores."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", help="folders, with commas between them", default="")
    given = parser.parse_args()
    folders = {name.partition(".")[0] for name in (*SCRIPTS, *LAST)}
    wanted = set(filter(None, given.only.split(","))) or folders
    if unknown := wanted - folders:
        parser.error(f"there is no {', '.join(sorted(unknown))}; there are {', '.join(sorted(folders))}")
    started, failed = time.monotonic(), []
    for scripts in (SCRIPTS, LAST):
        chosen = [name for name in scripts if name.partition(".")[0] in wanted]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            ended = list(pool.map(lambda name: run(name, given.data), chosen))
        failed += [name for name, well in zip(chosen, ended) if not well]
    (HERE / "README.md").write_text(page(), encoding="utf-8")
    print(f"all done in {(time.monotonic() - started) / 60:.1f} minutes")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}; the README holds what they found before, if anything")


def run(name: str, data: Path) -> bool:
    """One module in a process of its own, and its times; whether it ended well."""
    folder, module = name.split(".")
    path = HERE / folder / f"{module}.log"
    started = time.monotonic()
    with path.open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", f"reproduce.{name}", str(data)],
            stdout=log,
            stderr=log,
            env=os.environ | ONE_THREAD,
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    times = f"{time.monotonic() - started:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processor time"
    memory = f"{used.ru_maxrss / 2**20:.1f} GiB"
    outcome = "" if process.returncode == 0 else f"; FAILED with {process.returncode}, see {path}"
    print(f"{name}: {times}, {memory}{outcome}", flush=True)
    return process.returncode == 0


if __name__ == "__main__":
    main()
