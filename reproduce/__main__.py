"""Run every script of this folder on a data folder, then write the ledger.

    python -m reproduce FOLDER [--only contextual,spa]

FOLDER holds wmt21, wmt22, wmt23, asr, trec_covid and challenge. Scripts run one after the other, and what one
prints goes to `reproduce/NAME/log.txt`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

from reproduce.ledger import HERE, page

SCRIPTS = {
    "aggregation": ["reproduce.aggregation.run"],
    "spa": ["reproduce.spa.run"],
    "system_dependence": ["reproduce.system_dependence.run", "reproduce.system_dependence.correct"],
    "contextual": ["reproduce.contextual.run"],
    "trec_covid": ["reproduce.trec_covid.run"],
    "recommenders": ["reproduce.recommenders.page"],
    "challenge_sets": ["reproduce.challenge_sets.run"],
    "which_metric": ["reproduce.which_metric.run"],
    "errors": ["reproduce.errors.run"],
}
"""Folder of each script, and its modules; `errors` reads what others found."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--only", default=",".join(SCRIPTS))
    given = parser.parse_args()
    started = time.monotonic()
    for name in given.only.split(","):
        for module in SCRIPTS[name]:
            run(name, module, given.data)
    (HERE / "README.md").write_text(page(), encoding="utf-8")
    print(f"all done in {(time.monotonic() - started) / 60:.1f} minutes")


def run(name: str, module: str, data: Path) -> None:
    """One module in a process of its own; where it fails, so do we."""
    started = time.monotonic()
    with (HERE / name / "log.txt").open("w", encoding="utf-8") as log:
        done = subprocess.run([sys.executable, "-m", module, str(data)], stdout=log, stderr=log, check=False)
    print(f"{module}: {time.monotonic() - started:.0f} s", flush=True)
    if done.returncode:
        sys.exit(f"{module} failed; see {log.name}")


if __name__ == "__main__":
    main()
