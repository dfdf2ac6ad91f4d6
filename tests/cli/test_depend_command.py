"""`metassay depend`: what it prints."""

from __future__ import annotations

import json

import jsonschema
import msgspec
import numpy as np
import polars as pl
import pytest

from metassay.cli import run_command_line as run
from metassay.results.depend import DependContent

FAST = ("--bootstraps", "10", "--draws", "19")


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(0)
    human = rng.normal(size=(4, 20)) + np.arange(4)[:, None]
    system, segment = (axis.ravel() for axis in np.indices(human.shape))
    path = tmp_path / "scores.csv"
    pl.DataFrame(
        {
            "system": [f"s{k}" for k in system],
            "seg_id": segment,
            "domain": np.where(segment < 10, "news", "chat"),
            "mqm": human.ravel(),
            "good": (human + rng.normal(size=human.shape)).ravel(),
        }
    ).write_csv(path)
    return str(path)


def test_json_is_one_object(file, capsys):
    assert run(["depend", file, "--json", "--quiet", *FAST]) == 0
    shown = capsys.readouterr()
    content = json.loads(shown.out)
    assert (content["schema_version"], content["by"], content["metrics"][0]["metric"]) == (
        1,
        "system",
        "good",
    )
    assert shown.err == ""


def test_terminal_output_explains_the_table(file, capsys):
    assert run(["depend", file, "--where", "domain=news", *FAST]) == 0
    shown = capsys.readouterr()
    assert "Dependence on system" in shown.out
    assert "SysDep is the highest expected deviation of a system minus the lowest" in " ".join(
        shown.out.split()
    )
    assert "metrics: done (1 of 1)" in shown.err


@pytest.mark.parametrize("bootstraps", ["10", "0"])
def test_json_follows_its_schema(file, capsys, bootstraps):
    status = run(
        ["depend", file, "--json", "--quiet", "--bootstraps", bootstraps, "--draws", "19", "--analysis"]
    )
    content = json.loads(capsys.readouterr().out)
    jsonschema.validate(content, msgspec.json.schema(DependContent))
    assert status == 0


def test_invalid_input_exits_with_status_2_and_a_remedy(file, capsys):
    assert run(["depend", file, "--by", "domian", "--quiet"]) == 2
    assert "Did you mean domain?" in capsys.readouterr().err


def test_without_intervals_no_metric_is_called_tied(file, capsys):
    table = pl.read_csv(file).with_columns(other=pl.col("good") + pl.col("seg_id") % 3)
    table.write_csv(file)
    assert run(["depend", file, "--bootstraps", "10", "--draws", "19"]) == 0
    assert "tied with it." in " ".join(capsys.readouterr().out.split())
    assert run(["depend", file, "--bootstraps", "0", "--draws", "19"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "No intervals were computed, so it is not known which metrics are tied with it." in shown
    assert "is tied with it" not in shown


def test_verbose_explains_each_term_once(file, capsys):
    assert run(["depend", file, "--bootstraps", "10", "--draws", "19", "--verbose"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.count("The expected deviation of a system says") == 1
    assert shown.count("is shown to favour some systems if p fair is at most .05") == 1
    assert shown.count("This part of the deviation is called shrinkage") == 1
