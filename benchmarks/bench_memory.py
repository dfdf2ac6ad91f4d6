"""Measure the memory of a process that runs 20 assays of 20,000 German outputs one after the other.

python benchmarks/bench_memory.py [--runs 20] [--outputs 20000]

Prints the resident memory after each assay, and by how much the last one exceeds the third. The first assays
load dictionaries and compiled code that later ones use. The real tables (METASSAY_DATA, else ../shared/data)
are needed.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import polars as pl

import metassay

DATA = Path(os.environ.get("METASSAY_DATA", Path(__file__).parents[2] / "shared" / "data"))
PAGE_MEGABYTES = os.sysconf("SC_PAGE_SIZE") / 2**20


def read_resident_megabytes() -> float:
    """Return the resident memory of this process."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * PAGE_MEGABYTES


def main() -> None:
    """Run the assays and print a line for each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--outputs", type=int, default=20_000)
    options = parser.parse_args()
    columns = ["lp", "seg_id", "system", "domain", "src", "hyp", "ref"]
    table = pl.read_parquet(DATA / "wmt22" / "wmt22_en-de.parquet", columns=columns).drop_nulls()
    copies = [table.with_columns(pl.col("seg_id").cast(pl.String) + f"-{copy}") for copy in range(9)]
    rows = pl.concat(copies).head(options.outputs)
    resident: list[float] = []
    for number in range(options.runs):
        metassay.assay(rows, metrics="bleu,chrf", seed=number)
        resident.append(read_resident_megabytes())
        print(f"assay {number + 1:2}: {resident[-1]:6.0f} MB", flush=True)
    print(f"last / third: {resident[-1] / resident[2]:.3f}")


if __name__ == "__main__":
    main()
