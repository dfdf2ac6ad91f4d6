"""`watch`: stable runs raise no alarm, a changed run does, and the exit status says so."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import polars as pl
import pytest

import metassay
from metassay.cli import run
from metassay.errors import InputError
from metassay.results.watch import ACCURACY, HUMAN_AGREEMENT
from metassay.schemas import schema

ITEMS = 200


def make_run(folder, share_right: float, seed: int, items: int = ITEMS):
    """Assay pairs of which the longer output is the better one with this probability."""
    generator = np.random.default_rng(seed)
    is_right = generator.random(items) < share_right
    long = "a longer text of six words"
    pairs = pl.DataFrame(
        {
            "item": [f"{seed}-{n}" for n in range(items)],
            "output": [long if right else "short" for right in is_right],
            "worse": ["short" if right else long for right in is_right],
            "ref": "a reference",
            "subset": ["x" if n % 2 else "y" for n in range(items)],
        }
    )
    metassay.assay(
        None,
        pairs=pairs,
        metrics="length",
        contexts=["subset"],
        resamples=50,
        permutations=19,
        out=folder,
    )
    return is_right.mean()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Eight runs with accuracy .9, then six with accuracy .6."""
    folder = tmp_path_factory.mktemp("runs")
    shares = [make_run(folder / f"run{n:02d}", 0.9 if n < 8 else 0.6, seed=n) for n in range(14)]
    return folder, shares


def test_a_changed_accuracy_is_reported(runs) -> None:
    folder, shares = runs
    result = metassay.watch(folder)
    series = next(entry for entry in result.series if entry.metric == "length")
    assert [point.value for point in series.runs] == pytest.approx(shares)
    assert result.changed
    assert series.change.first_run.endswith("run08")
    assert series.change.before.value > series.change.after.value
    assert {entry.measure for entry in result.series} <= {ACCURACY, HUMAN_AGREEMENT}


def test_stable_runs_raise_no_alarm(runs) -> None:
    folder, _ = runs
    result = metassay.watch(*[folder / f"run{n:02d}" for n in range(8)])
    assert not result.changed
    assert "No change is shown in 8 runs." in result.build_page().lead[0]


def test_exit_status_is_3_on_change(runs, tmp_path, capsys) -> None:
    folder, _ = runs
    page = tmp_path / "watch.html"
    assert run(["watch", str(folder), "--fail-on", "change", "--json", "--page", str(page)]) == 3
    content = json.loads(capsys.readouterr().out)
    jsonschema.validate(content, schema("watch"))
    assert "Did anything change?" in page.read_text()
    stable = [str(folder / f"run{n:02d}") for n in range(4)]
    assert run(["watch", *stable, "--fail-on", "change"]) == 0
    assert "No change is shown" in capsys.readouterr().out


def test_one_run_is_refused(runs) -> None:
    folder, _ = runs
    with pytest.raises(InputError, match="one run only"):
        metassay.watch(folder / "run00")
