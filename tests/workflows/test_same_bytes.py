"""The same seed gives the same bytes, for any hash seed, number of workers, order of rows and cache."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

RUN = """
import sys
from metassay.cli import run_command_line as run
from metassay.engine import batches
from metassay.perturbations import collection, runner

batches.BATCH_ROWS = 40
collection.BATCH_SIZE = runner.BATCH_SIZE = 25
sys.exit(run(sys.argv[1:]))
"""
ASSAY = [
    "assay", "--task", "mt", "--language", "en", "--metrics", "bleu,chrf", "--context", "domain", "--resamples", "20",
    "--perturbations", "removal,swapping,pronoun", "--permutations", "19", "--seed", "5", "--quiet",
]  # fmt: skip
PLACES = ("Paris", "Berlin", "Rome", "Madrid", "London")
ROWS = [
    f"{i},{system},{'news' if i % 2 else 'chat'},Yesterday he went to {PLACES[i % 5]} {system} {i} times.,He was in {PLACES[i % 5]}.\n"
    for i in range(12)
    for system in "abc"
]
HOW = ((1, False, None), (2, True, None), (8, True, "cache"), (2, True, "cache"), (1, True, "off"))
"""Workers, whether rows are shuffled, and the cache: none, a new one, one that is full, off."""


def contents(folder: Path) -> dict[str, bytes]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in files
        if file.name not in {"timings.json", "call.json"}
    }


@pytest.mark.parametrize("seeds", [(0, 2), pytest.param(range(5), marks=pytest.mark.slow)])
def test_results_do_not_depend_on_hash_seed_workers_row_order_or_cache(tmp_path, seeds) -> None:
    found = []
    for seed in seeds:
        workers, shuffled, cache = HOW[seed]
        rows = random.Random(seed).sample(ROWS, len(ROWS)) if shuffled else ROWS
        (tmp_path / "data.csv").write_text("seg_id,system,domain,hyp,ref\n" + "".join(rows))
        more = [
            "--workers",
            str(workers),
            "--out",
            f"run-{seed}",
            *([] if cache is None else ["--cache", cache]),
        ]
        subprocess.run(
            [sys.executable, "-c", RUN, ASSAY[0], "data.csv", *ASSAY[1:], *more],
            cwd=tmp_path,
            check=True,
            stdout=subprocess.DEVNULL,
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
        )
        found.append(contents(tmp_path / f"run-{seed}"))
    assert len(found[0]) > 15
    for seed, other in zip(seeds[1:], found[1:]):
        differing = [name for name in found[0].keys() | other.keys() if found[0].get(name) != other.get(name)]
        assert not differing, f"{HOW[seed]}: {differing}"
