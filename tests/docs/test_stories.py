"""Pages whose commands build on one another give the results that they describe."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from metassay.sample import get_bundled_sample_path_and_options

sys.path.insert(0, str(Path(__file__).parent))
from documented_files import build_environment

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```(?P<kind>python|bash)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture
def shell(tmp_path):
    """A function that runs a script in a folder with `outputs.csv`, where metassay is a command."""
    source, _ = get_bundled_sample_path_and_options("mt")
    frame = pl.read_parquet(source)
    rows = frame.filter(pl.col("seg_id").is_in(frame["seg_id"].unique().sort()[:30].implode()))
    rows.write_csv(tmp_path / "outputs.csv")
    variables = build_environment(tmp_path / "programs")

    def run(script: str) -> None:
        subprocess.run(["bash", "-e", "-c", script], cwd=tmp_path, env=variables, check=True)

    return run


@pytest.mark.posix
def test_every_way_to_bring_a_metric_works_as_shown(shell, tmp_path) -> None:
    commands = []
    for block in BLOCK.finditer((DOCS / "your-own-metric.md").read_text()):
        if block["kind"] == "bash":
            commands.append(block["text"])
            continue
        name, _, code = block["text"].removeprefix("# ").partition("\n")
        (tmp_path / name).write_text(code)
    assert len(commands) == 4
    shell("".join(commands))

    def read_accuracies(run: str) -> dict[str, dict[str, float]]:
        result = json.loads((tmp_path / run / "results/assay.json").read_text())
        return {row["metric"]: {k: v for k, v in row.items() if k != "metric"} for row in result["global"]}

    assert read_accuracies("run").keys() == {"bleu", "chrf"}
    assert (
        read_accuracies("run")["bleu"]
        == read_accuracies("by-class")["bleu"]
        == read_accuracies("by-function")["bleu"]
    )
    assert read_accuracies("by-function") == read_accuracies("by-program")
    assert "vowels" in read_accuracies("by-class")


@pytest.mark.posix
def test_runs_are_resumed_repeated_and_shared_as_shown(shell, tmp_path) -> None:
    commands = [block["text"] for block in BLOCK.finditer((DOCS / "runs.md").read_text())]
    assert len(commands) == 3
    quick = {
        "--metrics": "--resamples 20 --perturbations removal --metrics",
        "seed =": "resamples = 20\nperturbations = 'removal'\nseed =",
    }
    script = "".join(commands)
    for shown, done in quick.items():
        script = script.replace(shown, done)
    shell(script)
    results = [tmp_path / run / "results" / "judgements.parquet" for run in ("run", "from-file")]
    assert results[0].read_bytes() == results[1].read_bytes()
    assert json.loads((tmp_path / "metassay.schema.json").read_text())["oneOf"]
    assert len(list((tmp_path / "scores").glob("??/*/about.json"))) == 4, (
        "three metrics and the perturbed outputs"
    )
