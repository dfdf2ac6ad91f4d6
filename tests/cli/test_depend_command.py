"""`metassay depend`: what it prints."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from metassay.cli.depend import run_depend
from metassay.cli.options import DataOptions, OutputOptions


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


def test_json_is_one_object_and_nothing_else(file, capsys):
    run_depend(DataOptions(data=[file]), OutputOptions(json=True, quiet=True), bootstraps=10, draws=19)
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert (found["schema_version"], found["by"], found["metrics"][0]["metric"]) == (1, "system", "good")
    assert shown.err == ""


def test_the_table_explains_itself(file, capsys):
    run_depend(DataOptions(data=[file], where=["domain=news"]), OutputOptions(), bootstraps=10, draws=19)
    shown = capsys.readouterr()
    assert "Dependence on system" in shown.out
    assert "prefers nobody" in shown.out
    assert "metrics: done (1 of 1)" in shown.err
