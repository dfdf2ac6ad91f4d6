"""Measure the dashboard on a run of ten million pairs, on 200 runs, and under many requests at once.

python benchmarks/bench_serve.py [--pairs 10000000] [--runs 200] [--folder FOLDER]

A real assay of the bundled sample gives the run its form; its pairs are then multiplied, with scores and
texts of their own, in the layout and row groups of a run. Everything is asked over HTTP, of `metassay serve`
in a process of its own. Times are medians of single requests, one after the other, unless it says otherwise;
the first time that a filter is used it is asked of all pairs, and later pages come from what was found.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import httpx
import numpy as np
import polars as pl
import psutil

from metassay.sample import get_bundled_sample_path
from metassay.store.run_folder import ROWS_PER_GROUP
from metassay.workflows.assay import assay
from metassay.workflows.pair_table import EXPLORER_FILE, OUTPUTS_FILE, PAIRS_FILE
from metassay.workflows.read import read

PART = 500_000
METRICS = ("bleu", "chrf", "ter", "rouge1", "rougel")
WORDS = tuple("the a cat dog sat ran on over mat hill we saw two red birds house river late".split())  # noqa: SIM905


def make_small_run(folder: Path) -> Path:
    """Assay the bundled sample, as a template for large runs."""
    data = read(get_bundled_sample_path("mt"))
    assay(data, metrics=",".join(METRICS), resamples=50, permutations=49, out=folder)
    return folder


def multiply_run(run: Path, folder: Path, pairs: int) -> Path:
    """Write a run with this many pairs; each part has other scores and texts."""
    shutil.copytree(run, folder)
    form = pl.read_parquet(run / EXPLORER_FILE)
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory(dir=folder) as parts:
        for number, first in enumerate(range(0, pairs, PART)):
            height = min(PART, pairs - first)
            _build_explorer_part(form, first, height, rng).write_parquet(f"{parts}/e{number:04d}.parquet")
            _build_text_part(form, first, height, rng).write_parquet(f"{parts}/p{number:04d}.parquet")
        for letter, name in (("e", EXPLORER_FILE), ("p", PAIRS_FILE)):
            found = sorted(Path(parts).glob(f"{letter}*.parquet"))
            pl.scan_parquet(found).sink_parquet(
                folder / name, row_group_size=ROWS_PER_GROUP, compression="zstd", statistics=False
            )
    _write_outputs(folder, -(-pairs // 4))
    return folder


def _build_explorer_part(
    form: pl.DataFrame, first: int, height: int, rng: np.random.Generator
) -> pl.DataFrame:
    rows = pl.Series(rng.integers(0, form.height, height))
    place = np.arange(first, first + height)
    own = {
        "item": pl.Series((place // 28).astype(str)),
        "output": pl.Series((place // 4).astype(np.uint32)),
    }
    for metric in METRICS:
        better, worse = rng.normal(50, 20, height), rng.normal(48, 20, height)
        outcomes = np.sign(better - worse).astype(np.int8)
        outcomes[rng.random(height) < 0.1] = 0
        own |= {
            f"outcome/{metric}": pl.Series(outcomes),
            f"score/{metric}": pl.Series(better.astype(np.float32)),
            f"worse_score/{metric}": pl.Series(worse.astype(np.float32)),
            f"margin/{metric}": pl.Series((better - worse).astype(np.float32)),
        }
    return form[rows].with_columns(**own)


def _build_text_part(form: pl.DataFrame, first: int, height: int, rng: np.random.Generator) -> pl.DataFrame:
    words = pl.Series(WORDS)
    place = pl.Series("n", np.arange(first, first + height))
    drawn = [words.gather(rng.integers(0, len(WORDS), height)).alias(f"w{n}") for n in range(16)]
    texts = pl.DataFrame([place, *drawn]).select(
        pl.concat_str(pl.col("n"), *(f"w{n}" for n in range(16)), separator=" ").alias("output"),
        pl.concat_str(pl.col("n"), *(f"w{n}" for n in range(12)), separator=" ").alias("worse"),
    )
    keys = form[pl.Series(rng.integers(0, form.height, height))].select("system", "perturbation")
    return texts.select((place // 28).cast(pl.String).alias("item"), keys["system"].cast(pl.String),
                        keys["perturbation"].cast(pl.String), "output", "worse")  # fmt: skip


def _write_outputs(folder: Path, outputs: int) -> None:
    number = pl.int_range(outputs, eager=True).alias("n")
    frame = pl.DataFrame({"item": (number // 7).cast(pl.String), "system": (number % 7).cast(pl.String)})
    source = pl.concat_str(pl.lit("source of output"), pl.col("item"), separator=" ").alias("source")
    reference = pl.concat_str(pl.lit("reference"), pl.col("item"), separator=" ")
    frame.with_columns(source, pl.concat_list(reference).alias("references")).write_parquet(
        folder / OUTPUTS_FILE, row_group_size=ROWS_PER_GROUP, compression="zstd", statistics=False
    )


@contextmanager
def serve_in_process(*runs: Path) -> Iterator[tuple[str, psutil.Process, float]]:
    """Serve runs in a new process and yield its address, the process, and the seconds until it was ready."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "metassay", "serve", *map(str, runs), "--port", "0", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        url = json.loads(process.stdout.readline())["url"]
        yield url, psutil.Process(process.pid), time.perf_counter() - started
    finally:
        process.terminate()
        process.wait()


def read_peak_memory(process: psutil.Process) -> float:
    """Return the peak memory of a process in MB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 1024


def time_queries(client: httpx.Client, path: str, queries: Sequence[dict[str, object]]) -> list[float]:
    """Return the milliseconds of each query."""
    times = []
    for query in queries:
        started = time.perf_counter()
        answer = client.get(f"{path}?{urlencode(query)}")
        times.append(1000 * (time.perf_counter() - started))
        assert answer.status_code == 200, answer.text[-2000:]
        assert 'class="pair"' in answer.text, query
    return times


def print_times(name: str, times: Sequence[float], note: str = "") -> None:
    print(f"{name:<58} {statistics.median(times):8.0f} ms   worst {max(times):6.0f} ms{note}", flush=True)


def measure_large_run(folder: Path, pairs: int) -> None:
    """Time opening, paging, filtering, ordering and searching a run of many pairs."""
    rng = np.random.default_rng(1)
    path = f"/runs/{folder.name}/"
    with (
        serve_in_process(folder) as (url, process, seconds),
        httpx.Client(base_url=url, timeout=120) as client,
    ):
        print(f"{'ready to serve (Python, imports, overview)':<58} {1000 * seconds:8.0f} ms")
        print_times("first page of the run, first visit", time_queries(client, path, [{}]))
        pages = [{"page": int(n)} for n in rng.integers(1, pairs // 20, 30)]
        print_times("any page of all pairs", time_queries(client, path, pages))
        filters: list[dict[str, object]] = [
            {"metric": "bleu", "outcome": "wrong"},
            {"metric": "chrf", "outcome": "tie", "system": "apertium"},
            {"metric": "ter", "outcome": "wrong", "column": "domain", "context": "news"},
            {"metric": "bleu", "outcome": "wrong", "other_metric": "chrf", "other_outcome": "right"},
            {"method": "removal", "system": "jumble"},
            {"item": "17"},
        ]
        print_times("a filter, the first time", time_queries(client, path, filters))
        deep = [{**f, "page": int(n)} for f in filters[:3] for n in rng.integers(1, pairs // 2000, 10)]
        print_times("any page of what it found", time_queries(client, path, deep))
        order = {"metric": "bleu", "outcome": "wrong", "order": "worst"}
        print_times("most wrong first, the first time", time_queries(client, path, [order]))
        print_times(
            "its other pages", time_queries(client, path, [{**order, "page": n} for n in range(2, 12)])
        )
        search = [{"text": text} for text in ("red birds house", "late late late")]
        print_times("search of one part of 524,288 pairs, the first time", time_queries(client, path, search))
        last = -(-pairs // 2**19)
        print_times(
            "search of the last part", time_queries(client, path, [{"text": "cat dog", "part": last}])
        )
        both = {"text": "two red", "metric": "bleu", "outcome": "wrong"}
        print_times("search with a filter", time_queries(client, path, [both]))
        print(f"{'memory of the server, at most':<58} {read_peak_memory(process):8.0f} MB")


def measure_many_runs(run: Path, folder: Path, count: int) -> None:
    """Time the overview of many runs: the first time, again, and after one of them changed."""
    folder.mkdir()
    for number in range(count):
        (folder / f"run-{number:03d}" / "results").mkdir(parents=True)
        for name in ("manifest.json", "report.html", "results/assay.json"):
            shutil.copy(run / name, folder / f"run-{number:03d}" / name)
    with (
        serve_in_process(folder) as (url, process, seconds),
        httpx.Client(base_url=url, timeout=120) as client,
    ):
        print(f"{f'ready to serve {count} runs':<58} {1000 * seconds:8.0f} ms")
        started = time.perf_counter()
        assert client.get("/").status_code == 200
        print_times("overview, first visit: all of them are read", [1000 * (time.perf_counter() - started)])
        times = []
        for _ in range(10):
            started = time.perf_counter()
            assert client.get("/").text.count('<th scope="row"') == count
            times.append(1000 * (time.perf_counter() - started))
        print_times("overview of unchanged runs", times)
        os.utime(folder / "run-007" / "results" / "assay.json")
        started = time.perf_counter()
        assert client.get("/").status_code == 200
        print_times("overview after one of them changed", [1000 * (time.perf_counter() - started)])
        print(f"{'memory of the server, at most':<58} {read_peak_memory(process):8.0f} MB")


def measure_crowd(run: Path, slow: int = 50, requests: int = 1000) -> None:
    """Time many requests at once beside slow clients that never finish their request."""
    with serve_in_process(run) as (url, process, _):
        host, port = url.removeprefix("http://").rstrip("/").split(":")
        waiting = [socket.create_connection((host, int(port))) for _ in range(slow)]
        for slow_client in waiting:
            slow_client.sendall(b"GET / HTTP/1.1\r\nHost: local")
        started = time.perf_counter()
        found = asyncio.run(_request_at_once(url, run.name, requests))
        seconds = time.perf_counter() - started
        answered = sum(status == 200 for status, _ in found)
        times = [1000 * took for _, took in found]
        print(f"{requests} at once beside {slow} slow clients: {answered} answered in {seconds:.1f} s")
        print_times("each of them", times)
        with httpx.Client(base_url=url) as client:
            started = time.perf_counter()
            assert client.get("/").status_code == 200
            print_times("one more afterwards", [1000 * (time.perf_counter() - started)])
        print(f"{'memory of the server, at most':<58} {read_peak_memory(process):8.0f} MB")
        for client in waiting:
            client.close()


async def _request_at_once(url: str, name: str, requests: int) -> list[tuple[int, float]]:
    limits = httpx.Limits(max_connections=requests, max_keepalive_connections=0)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as client:

        async def one(number: int) -> tuple[int, float]:
            paths = (
                "/",
                f"/runs/{name}/?page={number % 200 + 1}",
                f"/runs/{name}/?metric=bleu&outcome=wrong",
            )
            started = time.perf_counter()
            try:
                status = (await client.get(paths[number % 3])).status_code
            except httpx.HTTPError as error:
                print(type(error).__name__, error)
                status = 0
            return status, time.perf_counter() - started

        return await asyncio.gather(*(one(number) for number in range(requests)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10_000_000)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--folder", type=Path, help="where runs are kept for the next time")
    asked_for = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked_for.folder or Path(scratch)
        folder.mkdir(exist_ok=True)
        small, large = folder / "small", folder / f"pairs-{asked_for.pairs}"
        if not small.exists():
            make_small_run(small)
        if not large.exists():
            started = time.perf_counter()
            multiply_run(small, large, asked_for.pairs)
            print(f"made {asked_for.pairs:,} pairs in {time.perf_counter() - started:.0f} s")
        size = sum(file.stat().st_size for file in large.rglob("*.parquet"))
        print(f"\na run of {asked_for.pairs:,} pairs, {size / 1e9:.1f} GB")
        measure_large_run(large, asked_for.pairs)
        print(f"\n{asked_for.runs} runs")
        measure_many_runs(small, Path(scratch) / "many", asked_for.runs)
        print("\na crowd")
        measure_crowd(small)


if __name__ == "__main__":
    main()
