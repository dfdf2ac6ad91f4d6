"""A reader in another package takes one class and one entry point; every verb can use it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from metassay.cli import run_command_line as run

SOURCE_CODE = '''
from pathlib import Path

import polars as pl


class BracketReader:
    """Outputs as lines [system|item|output|reference|score]."""

    files = ".brackets"
    task = "text"

    def sniff(self, path):
        return path.endswith(".brackets")

    def read(self, path):
        lines = Path(path).read_text().splitlines()
        names = ["system", "item", "output", "reference", "human"]
        table = pl.DataFrame([line.strip("[]").split("|") for line in lines], schema=names, orient="row")
        return table.with_columns(pl.col("human").cast(pl.Float64))
'''


@pytest.fixture
def bracket_file(install_plugin, tmp_path) -> str:
    install_plugin("brackets", SOURCE_CODE, "metassay.readers", "BracketReader")
    rng = np.random.default_rng(0)
    lines = []
    for item in range(20):
        for quality, system in enumerate(("poor", "fair", "good")):
            words = ["one", "two", "three", "four"][: 2 + quality]
            score = quality + rng.normal()
            lines.append(f"[{system}|{item}|{' '.join(words)}|one two three four|{score}]")
    path = tmp_path / "outputs.brackets"
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def run_verb(capsys, *arguments: str) -> dict:
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_verb_reads_the_format_of_a_plugin(bracket_file, capsys) -> None:
    checked = run_verb(capsys, "check", bracket_file, "--metrics", "chrf")
    assert (checked["task"], checked["outputs"], checked["human"]) == ("text", 60, {"human": 60})
    scored = run_verb(capsys, "score", bracket_file, "--metrics", "chrf")
    assert [row["system"] for row in scored["systems"]] == ["fair", "good", "poor"]
    ranked = run_verb(capsys, "rank", bracket_file, "--metrics", "chrf", "--meta", "pa", "--draws", "20")
    values = {row["metric"]: row["value"] for row in ranked["results"][0]["metrics"]}
    assert values["chrf"] == 1.0


@pytest.mark.usefixtures("bracket_file")
def test_the_reader_of_a_plugin_is_listed(capsys) -> None:
    listed = {row["reader"]: row for row in run_verb(capsys, "list", "readers")["readers"]}
    assert listed["brackets"]["files"] == ".brackets"
    assert listed["brackets"]["what"] == "Outputs as lines [system|item|output|reference|score]."
