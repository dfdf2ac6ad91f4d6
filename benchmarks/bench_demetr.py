"""Assay a challenge set: DEMETR's 31,320 pairs with eight lexical metrics, including the report.

    python benchmarks/bench_demetr.py

Seconds on the clock and of CPU for the whole command, from starting Python to the written report, and the
share of pairs that BLEU and chrF get right (goal: under 30 s on two cores; .760 and .844).
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(os.environ.get("METASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
METRICS = "bleu,chrf,chrf++,ter,rouge1,rouge2,rougel,meteor"


def main() -> None:
    pairs = ROOT / "challenge" / "demetr.parquet"
    if not pairs.exists():
        raise SystemExit(f"{pairs} is absent; set METASSAY_DATA")
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [sys.executable, "-m", "metassay", "assay", "--pairs", str(pairs), "--task", "mt"]
        command += ["--language", "en", "--metrics", METRICS, "--out", str(run), "-q"]
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        wall = time.perf_counter() - started
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        found = json.loads((run / "results" / "assay.json").read_text())
    right = {row["metric"]: row["micro"] for row in found["global"]}
    cpu = used.ru_utime + used.ru_stime
    print(f"{found['pairs']:,} pairs, {len(right)} metrics: {wall:.1f} s, {cpu:.1f} s CPU")
    for name in ("bleu", "chrf"):
        print(f"{name} right in {right[name]:.4f}")


if __name__ == "__main__":
    main()
