"""A real small model as a judge: killed once, taken up again, its habits shown."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

PROMPT = """Question: {source}
A: {output_a}
B: {output_b}
Which answer is better? Reply with one letter, A or B, and nothing else."""


@pytest.mark.slow
def test_a_killed_judge_is_taken_up_again_and_asks_nothing_twice(
    smollm: tuple[str, Path], tmp_path: Path
) -> None:
    url, log = smollm
    animals = ("cat", "dog", "cow", "hen", "fox", "owl", "pig", "rat")
    pl.DataFrame(
        {
            "item": animals,
            "instruction": [f"Write a sentence about a {animal}." for animal in animals],
            "output_1": [f"The {animal} sat on the mat." for animal in animals],
            "output_2": ["Bananas are yellow."] * len(animals),
            "better": [1] * len(animals),
        }
    ).write_parquet(tmp_path / "pairs.parquet")
    prompt = tmp_path / "prompt.txt"
    prompt.write_text(PROMPT)
    cache = tmp_path / "run" / "llm-answers.jsonl"
    spec = f"judge(mode=pairwise,prompt={prompt},tokens=16,again=0)"
    command = [sys.executable, "-m", "metassay", "judge", str(tmp_path / "pairs.parquet"), "--judge", spec, "--json",
               "--llm-url", url, "--llm-model", "smollm2", "--llm-concurrency", "1", "--out", str(tmp_path / "run")]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ) as first:
        while not cache.exists() or cache.read_text().count("\n") < 4:
            time.sleep(0.05)
            assert first.poll() is None
        first.send_signal(signal.SIGKILL)
    kept, before = cache.read_text().count("\n"), log.read_text().splitlines()
    assert kept < 16
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    after = log.read_text().splitlines()[len(before) :]
    assert len(after) == 16 - kept
    (row,) = json.loads(done.stdout)["judges"]
    assert row["askings"] == 16
    assert row["pairs"] + row["missing"] > 0
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert again.stdout == done.stdout
    assert len(log.read_text().splitlines()) == len(before) + len(after)
