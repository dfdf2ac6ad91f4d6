"""Check that a wheel works where nothing else is installed: `python scripts/smoke.py DIST`.

Run it with the Python of an environment that has only the wheel. It runs the demo and a command of each kind
in an empty folder, and checks the size and the content of the wheel.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

LARGEST_WHEEL = 5_000_000
COMMANDS = (
    "--version",
    "demo --out demo --quiet",
    "recommend demo",
    "report demo",
    "compare demo demo --fail-on change",
    "list metrics",
    "list perturbations",
    "check {sample}",
    "score {sample} --metrics bleu,chrf --json",
    "rank {sample} --human mqm --metrics bleu,chrf --draws 20",
    "depend {scores} --human mqm --bootstraps 5 --draws 9",
    "run --schema",
)


def main() -> None:
    wheel = next(Path(sys.argv[1]).glob("*.whl"))
    size = wheel.stat().st_size
    if size > LARGEST_WHEEL:
        sys.exit(f"{wheel.name} has {size:,} bytes, more than {LARGEST_WHEEL:,}")
    names = zipfile.ZipFile(wheel).namelist()
    for needed in ("LICENSE", "NOTICE"):
        if not any(name.endswith(f"licenses/{needed}") for name in names):
            sys.exit(f"{wheel.name} holds no {needed}")
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            run_command(command, Path(folder))
    print(f"{wheel.name}: {size:,} bytes, {len(names)} files, {len(COMMANDS)} commands")


def run_command(command: str, folder: Path) -> None:
    """Run a command and exit with its output if it fails."""
    from metassay.sample import get_bundled_sample_path

    scores = folder / "scores.csv"
    if "{scores}" in command:
        _write_scores(scores)
    words = [word.format(sample=get_bundled_sample_path("mt"), scores=scores) for word in command.split()]
    process = subprocess.run(
        [sys.executable, "-m", "metassay", *words], cwd=folder, capture_output=True, text=True, check=False
    )
    if process.returncode:
        sys.exit(f"metassay {command}: exit status {process.returncode}\n{process.stdout}{process.stderr}")
    if "--json" in words:
        json.loads(process.stdout)


def _write_scores(path: Path) -> None:
    lines = ["seg_id,system,mqm,M"]
    lines += [
        f"{n},{name},{gap + n % 3},{n % 3 + gap / 10}"
        for n in range(30)
        for name, gap in (("a", 0), ("b", -1), ("c", -3))
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
