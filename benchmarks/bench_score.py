"""Compare `metassay score` with the command of sacrebleu, in CPU seconds of the whole process.

python benchmarks/bench_score.py [--lines 1000 100000] [--repeat 3] [--distinct]

Texts are the German outputs of WMT22 in the real tables (METASSAY_DATA, else ../shared/data), repeated as
needed. With `--distinct` every line ends with its number, because sacrebleu tokenises equal lines only once.
Both tools read the same two files and print the same scores. The smallest of several runs counts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl

DATA = Path(os.environ.get("METASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
OURS = [sys.executable, "-c", "from metassay.cli import main; main()", "score"]
THEIRS = [sys.executable, "-m", "sacrebleu"]
# Installed packages are compiled to bytecode; a source tree must be allowed to write it.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def write_lines(path: Path, texts: list[str], lines: int, *, distinct: bool) -> None:
    """Write a file of this many lines, repeating the texts; on request with the number of each line."""
    repeated = (texts * (lines // len(texts) + 1))[:lines]
    if distinct:
        repeated = [f"{text} {number}" for number, text in enumerate(repeated)]
    path.write_text("\n".join(repeated) + "\n", encoding="utf-8")


def measure_cpu_seconds(command: list[str], repeat: int) -> float:
    """Run a command several times and return the smallest CPU time, user plus system."""
    seconds = []
    for _ in range(repeat):
        process = subprocess.Popen(
            command, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            sys.exit(f"failed: {' '.join(command)}")
        seconds.append(usage.ru_utime + usage.ru_stime)
    return min(seconds)


def main() -> None:
    """Print a row per number of lines and choice of metrics."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--lines", type=int, nargs="*", default=[1_000, 100_000])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--distinct", action="store_true")
    options = parser.parse_args()
    table = pl.read_parquet(DATA / "wmt22" / "wmt22_en-de.parquet").filter(pl.col("hyp").is_not_null())
    print(f"{'lines':>8} {'metrics':14} {'sacrebleu, s':>12} {'metassay, s':>12} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for lines in options.lines:
            outputs = Path(folder) / f"outputs_{lines}.txt"
            references = Path(folder) / f"references_{lines}.txt"
            for path, column in ((outputs, "hyp"), (references, "ref")):
                texts = [text.replace("\n", " ") for text in table[column]]
                write_lines(path, texts, lines, distinct=options.distinct)
            for metrics in (["bleu"], ["bleu", "chrf", "ter"]):
                ours = [*OURS, "--reference", f"{references}", f"{outputs}", "--metrics", ",".join(metrics)]
                ours.append("-b")
                theirs = [*THEIRS, f"{references}", "-i", f"{outputs}", "-m", *metrics, "-b"]
                measure_cpu_seconds(ours, 1)  # compile
                our_seconds = measure_cpu_seconds(ours, options.repeat)
                their_seconds = measure_cpu_seconds(theirs, options.repeat if lines < 10_000 else 1)
                print(
                    f"{lines:8} {'+'.join(metrics):14} {their_seconds:12.2f} {our_seconds:12.2f}"
                    f" {their_seconds / our_seconds:6.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
