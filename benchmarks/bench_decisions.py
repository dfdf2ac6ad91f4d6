"""Print the CPU time of the commands that support decisions, on WMT23 English–German with all metrics.

    python benchmarks/bench_decisions.py [part of a name]

The table has 460 items, 12 systems and 43 metrics; where few labels are meant, those of 100 random items are
left. Every command makes 1,000 resamples, the default, and starts as a new process: CPU time is user plus
system time with compiled code in the cache. The real tables (METASSAY_DATA, else ../shared/data) are needed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from bench_commands import DATA, OURS, run_command

LABELLED_ITEMS = 100
RUNS_TO_WATCH = 3
LEXICAL = "chrf,bleu"


def prepare_files(folder: Path) -> None:
    """Write tables with all and with few labels, parts for `watch`, and the texts of two systems."""
    texts = pl.read_parquet(DATA / "wmt23" / "wmt23_en-de.parquet")
    scores = pl.read_parquet(DATA / "wmt23" / "wmt23_en-de_metrics.parquet").drop("mqm")
    table = texts.drop("year", "da_sqm", "ref_name", "is_human").join(scores, on=["lp", "system", "seg_id"])
    table.write_parquet(folder / "all.parquet")
    items = table["seg_id"].unique().sort().to_numpy()
    drawn = np.random.default_rng(0).permutation(items)
    is_labelled = pl.col("seg_id").is_in(drawn[:LABELLED_ITEMS].tolist())
    few = table.with_columns(pl.when(is_labelled).then(pl.col("mqm")).alias("mqm"))
    few.write_parquet(folder / "few.parquet")
    for number, part in enumerate(np.array_split(drawn, RUNS_TO_WATCH)):
        table.filter(pl.col("seg_id").is_in(part.tolist())).write_parquet(folder / f"part{number}.parquet")
    table = table.sort("seg_id")
    for system in ("ONLINE-W", "ONLINE-A"):
        rows = table.filter(pl.col("system") == system)
        write_lines(folder / f"{system}.txt", rows["hyp"])
        write_lines(folder / "reference.txt", rows["ref"])


def write_lines(file: Path, lines: pl.Series) -> None:
    """Write a text per line."""
    file.write_text("".join(line.replace("\n", " ") + "\n" for line in lines))


def prepare_runs(folder: Path) -> None:
    """Run `rank` on every part, and with lexical metrics on all data, for `watch` and `score --meaning`."""
    options = ["--human", "mqm", "--significance", "none"]
    for number in range(RUNS_TO_WATCH):
        table = f"{folder / f'part{number}.parquet'}"
        run_command(OURS, ["rank", table, *options, "--out", f"{folder / f'run{number}'}"], {})
    options += ["--metrics", LEXICAL, "--analysis", "thresholds"]
    run_command(OURS, ["rank", f"{folder / 'all.parquet'}", *options, "--out", f"{folder / 'rated'}"], {})


def list_commands(folder: Path) -> dict[str, list[str]]:
    """Return the commands by the name under which they are printed."""
    everything = [f"{folder / 'all.parquet'}", "--human", "mqm"]
    few = [f"{folder / 'few.parquet'}", "--human", "mqm"]
    texts = [f"{folder / 'ONLINE-W.txt'}", f"{folder / 'ONLINE-A.txt'}"]
    reference = f"{folder / 'reference.txt'}"
    runs = [f"{folder / f'run{number}'}" for number in range(RUNS_TO_WATCH)]
    labels_saved = ["rank", *everything, "--meta", "labels_saved"]
    thresholds = [*labels_saved, "--analysis", "thresholds"]
    return {
        "estimate": ["estimate", *few],
        "estimate --context domain": ["estimate", *few, "--context", "domain"],
        "annotate --count 50": ["annotate", *few, "--count", "50"],
        "annotate --difference 1": ["annotate", *few, "--difference", "1"],
        "rank --meta labels_saved": labels_saved,
        "rank --analysis thresholds": thresholds,
        "rank --analysis thresholds, four contexts": [*thresholds, "--context", "domain"],
        "watch": ["watch", *runs],
        "score --meaning": [
            *("score", *texts, "--reference", reference, "--language", "de"),
            *("--metrics", LEXICAL, "--meaning", f"{folder / 'rated'}"),
        ],
    }


def main(part_of_name: str = "") -> None:
    """Print a row per command."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepare_files(folder)
        if part_of_name in "watch, score --meaning":
            prepare_runs(folder)
        print(f"{'command':44} {'CPU s':>6} {'MB':>6}")
        for name, arguments in list_commands(folder).items():
            if part_of_name in name:
                run_command(OURS, arguments, {})  # compile first
                usage = run_command(OURS, arguments, {})
                print(f"{name:44} {usage.seconds:6.1f} {usage.megabytes:6.0f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:2])
