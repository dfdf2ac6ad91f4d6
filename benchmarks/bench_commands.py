"""Compare the CPU time and the memory of commands with those of another version of metassay.

python benchmarks/bench_commands.py --against FOLDER [--only NAME ...] [--cold] [--repeat 3]

FOLDER is a checkout of the other version (`git worktree add FOLDER COMMIT`). Both versions run in the same
environment, in turn, so that they meet the same load. CPU time is user plus system time of the process and
its children; the smallest of several runs is printed. `--cold` starts every run without compiled code and
without language caches. The real tables (METASSAY_DATA, else ../shared/data) are needed.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

DATA = Path(os.environ.get("METASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
OURS = Path(__file__).parents[1]
RUN = "from metassay.cli import main; main()"
MEGABYTE = 1024
# Installed packages are compiled to bytecode; a source tree must be allowed to write it.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Usage:
    """What one process used: CPU seconds, and the most memory at a time in megabytes."""

    seconds: float
    megabytes: float


def list_commands() -> dict[str, list[str]]:
    """Return the commands by the name under which they are printed."""
    commands = {"help": ["--help"], "demo": ["demo"]}
    for pair in ("en-de", "en-ru", "zh-en"):
        table = DATA / "wmt22" / f"wmt22_{pair}.parquet"
        scores = DATA / "wmt22" / f"wmt22_{pair}_metrics.parquet"
        commands[f"rank WMT22 {pair}"] = ["rank", f"{table}", "--join", f"{scores}", "--meta", "spa"]
    for pair in ("en-de", "he-en", "zh-en"):
        table = DATA / "wmt23" / f"wmt23_{pair}.parquet"
        scores = DATA / "wmt23" / f"wmt23_{pair}_metrics.parquet"
        options = [f"{table}", "--join", f"{scores}", "--human", "mqm"]
        commands[f"rank WMT23 {pair}"] = ["rank", *options]
        commands[f"depend WMT23 {pair}"] = ["depend", *options]
    commands["assay WMT22 en-de"] = ["assay", f"{DATA / 'wmt22' / 'wmt22_en-de.parquet'}"]
    commands["assay LibriSpeech"] = [
        "assay",
        f"{DATA / 'asr' / 'asr_librispeech_test_clean.parquet'}",
        "--task",
        "asr",
    ]
    commands["assay REALSumm"] = ["assay", f"{DATA / 'text' / 'realsumm.parquet'}"]
    return commands


def run_command(folder: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> Usage:
    """Run a command with the source code in `folder`, in an empty folder, and return what it used."""
    with tempfile.TemporaryDirectory() as place:
        process = subprocess.Popen(
            [sys.executable, "-c", RUN, *arguments],
            cwd=place,
            env={**ENVIRONMENT, **environment, "PYTHONPATH": str(folder / "src")},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert process.stderr is not None
        messages = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"{' '.join(arguments)} failed in {folder}:\n{messages.decode()}")
    return Usage(usage.ru_utime + usage.ru_stime, usage.ru_maxrss / MEGABYTE)


def measure(folder: Path, arguments: Sequence[str], *, cold: bool) -> Usage:
    """Run a command once, with compiled code in the cache or (`cold`) without any cache."""
    if not cold:
        return run_command(folder, arguments, {})
    with tempfile.TemporaryDirectory() as caches:
        environment = {"NUMBA_CACHE_DIR": f"{caches}/numba", "XDG_CACHE_HOME": f"{caches}/other"}
        return run_command(folder, arguments, environment)


def main() -> None:
    """Print a row per command."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--against", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--repeat", type=int, default=1)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print(f"{'command':24} {'other, s':>9} {'this, s':>9} {'ratio':>6} {'other, MB':>10} {'this, MB':>9}")
    for name, arguments in list_commands().items():
        if options.only and not any(part in name for part in options.only):
            continue
        if not options.cold:  # compile first
            for folder in (options.against, OURS):
                run_command(folder, arguments, {})
        other, this = [], []
        for _ in range(options.repeat):
            other.append(measure(options.against, arguments, cold=options.cold))
            this.append(measure(OURS, arguments, cold=options.cold))
        before = min(other, key=lambda usage: usage.seconds)
        after = min(this, key=lambda usage: usage.seconds)
        ratio = before.seconds / after.seconds
        print(
            f"{name:24} {before.seconds:9.2f} {after.seconds:9.2f} {ratio:6.2f}"
            f" {before.megabytes:10.0f} {after.megabytes:9.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
