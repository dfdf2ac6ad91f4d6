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

from real_llm import interpreter, weights

PROMPTS = Path(__file__).parents[2] / "reproduce" / "small_judge"
PROMPT = """Question: {source}
A: {output_a}
B: {output_b}
Which answer is better? Reply with one letter, A or B, and nothing else."""


@pytest.mark.posix
@pytest.mark.slow
def test_a_killed_judge_continues_without_repeating_requests(
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
    assert row["verdicts"] == 16
    assert row["pairs"] + row["missing"] > 0
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert again.stdout == done.stdout
    assert len(log.read_text().splitlines()) == len(before) + len(after)


def assay_command(python: str, pairs: Path, out: Path) -> list[str]:
    judges = "judge(prompt=direct.txt,tokens=16,again=0),judge(mode=pairwise,prompt=pairwise.txt,tokens=16,again=0)"
    return [python, "-m", "metassay", "assay", "--pairs", str(pairs), "--task", "mt", "--language", "en",
            "--metrics", f"chrf,{judges}", "--context", "domain", "--resamples", "20", "--permutations", "19",
            "--llm-local", weights(python), "--llm-model", "smollm2", "--out", str(out), "-q"]  # fmt: skip


@pytest.mark.posix
@pytest.mark.slow
def test_a_killed_assay_ends_with_the_same_bytes(tmp_path: Path) -> None:
    """Twenty pairs, scored and compared by a model in the process that is killed."""
    animals = ("cat", "dog", "cow", "hen", "fox", "owl", "pig", "rat", "ant", "bee")
    rows = [
        {"item": f"{animal}{n}", "domain": place, "ref": f"The {animal} sat in the {place}.",
         "output": f"A {animal} sat in the {place}.", "worse": f"A {animal} {how} {place}."}
        for n, (place, how) in enumerate((("garden", "sat on a"), ("house", "never sat in the")))
        for animal in animals
    ]  # fmt: skip
    pl.DataFrame(rows).write_parquet(tmp_path / "pairs.parquet")
    python = interpreter()
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    environment["PYTHONPATH"] = str(PROMPTS.parents[1] / "src")
    whole, broken = (
        assay_command(python, tmp_path / "pairs.parquet", tmp_path / name) for name in ("a", "b")
    )
    answers = tmp_path / "b" / "llm-answers.jsonl"
    with subprocess.Popen(broken, cwd=PROMPTS, env=environment, stdout=subprocess.DEVNULL) as process:
        while not answers.exists() or answers.read_text().count("\n") < 30:
            time.sleep(0.05)
            assert process.poll() is None
        process.send_signal(signal.SIGKILL)
    kept = answers.read_text().count("\n")
    assert kept < 80
    for command in (broken, whole):
        subprocess.run(command, cwd=PROMPTS, env=environment, capture_output=True, check=True)
    lines = answers.read_text().splitlines()
    assert len({json.loads(line)["key"] for line in lines}) == len(lines) == 80
    ours, theirs = (
        {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
        for folder in (tmp_path / "b", tmp_path / "a")
    )
    assert ours.keys() == theirs.keys()
    for name in ours.keys() - {"timings.json", "call.json", "llm-answers.jsonl"}:
        assert ours[name].read_bytes() == theirs[name].read_bytes(), name
    assert sorted(lines) == sorted(theirs["llm-answers.jsonl"].read_text().splitlines())
