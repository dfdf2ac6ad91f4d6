"""`metassay rank` as a command."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import typer
from typer.testing import CliRunner, Result

from metassay.cli.commands.rank import run_rank_command
from metassay.cli.parameters import flatten_option_groups


@pytest.fixture
def table(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    rows = [(f"s{i}", k, "news" if k % 2 else "chat") for i in range(4) for k in range(1, 21)]
    human = rng.normal(size=len(rows))
    frame = pl.DataFrame(rows, schema=["system", "seg_id", "domain"], orient="row").with_columns(
        mqm=pl.Series(human), Good=pl.Series(human + rng.normal(size=80)), Bad=pl.Series(rng.normal(size=80))
    )
    frame.write_csv(tmp_path / "scores.csv")
    return tmp_path / "scores.csv"


def rank(*arguments: str | Path) -> Result:
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(flatten_option_groups(run_rank_command))
    return CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)


def test_json_is_one_object_with_exact_metric_names(table: Path) -> None:
    result = rank(
        table, "--draws", "50", "--meta", "spa,pa", "--context", "domain", "--min-segments", "5", "--json"
    )
    found = json.loads(result.stdout)
    assert result.exit_code == 0
    assert [r["context"] for r in found["results"]] == ["global", "chat", "news"] * 2
    assert {row["metric"] for row in found["results"][0]["metrics"]} == {"Good", "Bad", "constant", "random"}


def test_the_table_names_baselines_and_says_what_is_significant(table: Path) -> None:
    result = rank(table, "--draws", "50", "--analysis", "power", "--where", "domain=news")
    assert result.exit_code == 0
    assert "4 systems, 10 items" in result.stdout
    assert "constant (baseline)" in result.stdout
    assert "of 1 comparison " in result.stdout
    assert "power" in result.stdout


def test_bad_usage_is_an_input_error(table: Path) -> None:
    with pytest.raises(ValueError, match="Did you mean perm-inputs"):
        rank(table, "--significance", "perm-input")
    with pytest.raises(ValueError, match="no file was named"):
        rank()
