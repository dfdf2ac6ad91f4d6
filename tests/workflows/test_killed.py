"""A run that was killed at any moment is resumed to the same bytes, and finished work is not done twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.posix

RUNS = '''
"""Forks an assay again and again from a process that has imported everything, and kills it at random moments."""
import json, os, random, shutil, signal, sys, time
from pathlib import Path
import numpy, numba, polars, scipy.stats, pyarrow.parquet
from metassay.cli import run_command_line as run
from metassay.cli.application import build_command_line
from metassay.engine import batches
from metassay.perturbations import collection, runner
from metassay.reporting import assay_page
from metassay.workflows import assay

build_command_line()
batches.BATCH_ROWS = 40
collection.BATCH_SIZE = runner.BATCH_SIZE = 25
data, own, kills, by_event = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "events"
ARGUMENTS = [
    "assay", data, "--task", "mt", "--language", "en", "--metrics", "chrf,ter", "--metric-file", own, "--context", "domain",
    "--perturbations", "removal,swapping,entity,negation", "--resamples", "20", "--permutations", "19", "--quiet",
]
draw = random.Random(kills)


def start(folder, steps=None):
    child = os.fork()
    if child:
        return child
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if steps is not None:
        left = [steps]
        def count(event, arguments):
            if event in {"open", "os.rename", "os.remove", "os.mkdir"} and str(arguments[0]).startswith(folder):
                left[0] -= 1
                if left[0] <= 0:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(count)
    os._exit(run([*ARGUMENTS, "--workers", str(1 + (steps or 0) % 2), "--out", folder]))


def ended(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


assert ended(start("whole")) == 0
began = time.monotonic()
shutil.rmtree("whole")
Path("log").unlink()
assert ended(start("whole")) == 0
lasted = time.monotonic() - began
pieces = len(Path("log").read_text().split())
killed = series = 0
while killed < kills:
    folder = f"killed-{series}"
    Path("log").unlink(missing_ok=True)
    hit = 0
    while True:
        if killed >= kills:
            child = start(folder)
        elif by_event:
            child = start(folder, draw.randint(1, 60))
        else:
            child = start(folder)
            time.sleep(draw.uniform(0, lasted))
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
        status = ended(child)
        if status == 0:
            break
        assert status == -signal.SIGKILL, status
        killed += 1
        hit += 1
    computed = len(Path("log").read_text().split())
    print(json.dumps({"folder": folder, "kills": hit, "computed": computed, "pieces": pieces}), flush=True)
    series += 1
'''
OWN = """
from dataclasses import dataclass
import os
import numpy as np
from metassay.metrics.base import Metric

@dataclass(frozen=True)
class Logged(Metric):
    name = "logged"
    task = "any"
    can_be_timed = False
    needs = frozenset({"output"})
    def score(self, batch):
        log = os.open("log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(log, b"x\\n")
        os.close(log)
        return np.array([len(text) for text in batch.output], dtype=float)
"""
NAMES = ("John", "Mary", "Peter", "Susan")
PLACES = ("Paris", "Berlin", "Rome", "Madrid", "London")
TABLE = "seg_id,system,domain,hyp,ref\n" + "".join(
    f"{i},{system},{'news' if i % 2 else 'chat'},Yesterday {NAMES[i % 4]} did not go to {PLACES[i % 5]} {system} {i} times.,"
    f"Yesterday {NAMES[i % 4]} was not in {PLACES[i % 5]} {i} times.\n"
    for i in range(15)
    for system in "abc"
)
UNPROMISED = {"timings.json", "call.json"}


def contents(folder: Path) -> dict[str, bytes]:
    files = [file for file in folder.rglob("*") if file.is_file() and file.name not in UNPROMISED]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def check(tmp_path: Path, kills: int, moments: str) -> None:
    (tmp_path / "data.csv").write_text(TABLE)
    (tmp_path / "own.py").write_text(OWN)
    command = [sys.executable, "-c", RUNS, "data.csv", "own.py:Logged", str(kills), moments]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"POLARS_MAX_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    series = [json.loads(line) for line in done.stdout.splitlines()]
    assert sum(one["kills"] for one in series) >= kills
    whole = contents(tmp_path / "whole")
    assert len(whole) > 20
    for one in series:
        assert contents(tmp_path / one["folder"]) == whole, one
        in_flight = 2 * one["kills"]  # a part for each of two threads
        assert one["pieces"] <= one["computed"] <= one["pieces"] + in_flight, one


def test_run_killed_between_steps_of_writing_is_resumed_to_the_same_bytes(tmp_path) -> None:
    check(tmp_path, 6, "events")


@pytest.mark.slow
@pytest.mark.parametrize("moments", ["events", "times"])
def test_run_killed_fifty_times_is_resumed_to_the_same_bytes(tmp_path, moments) -> None:
    check(tmp_path, 50, moments)


@pytest.mark.slow
def test_two_processes_on_one_folder_write_the_same_files_as_one(tmp_path) -> None:
    (tmp_path / "data.csv").write_text(TABLE)
    options = ["--task", "mt", "--language", "en", "--metrics", "chrf,bleu", "--resamples", "20", "--quiet"]
    command = [sys.executable, "-m", "metassay", "assay", "data.csv", *options, "--out"]
    running = [
        subprocess.Popen([*command, "shared"], cwd=tmp_path, stdout=subprocess.DEVNULL) for _ in range(2)
    ]
    assert [process.wait() for process in running] == [0, 0]
    subprocess.run([*command, "alone"], cwd=tmp_path, check=True, capture_output=True)
    assert contents(tmp_path / "shared") == contents(tmp_path / "alone")
