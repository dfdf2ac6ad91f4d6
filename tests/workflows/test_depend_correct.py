"""`depend --correct`: the file, the JSON, the page, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import msgspec
import numpy as np
import polars as pl
import pytest

import metassay
from metassay.cli import run_command_line as run
from metassay.errors import InputError
from metassay.results.depend import DependContent

ROOT = Path(__file__).parents[2]
FAST = {"bootstraps": 10, "draws": 39}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    human = rng.normal(size=(4, 30)) + np.arange(4)[:, None]
    system, segment = (axis.ravel() for axis in np.indices(human.shape))
    frame = pl.DataFrame(
        {
            "lp": "en-de",
            "system": [f"s{k}" for k in system],
            "seg_id": segment,
            "mqm": human.ravel(),
            "good": (human + rng.normal(size=human.shape)).ravel(),
            "ter": (20 - human + rng.normal(size=human.shape)).ravel(),
        }
    )
    frame.write_csv(tmp_path / "scores.csv")
    return tmp_path / "scores.csv"


def test_corrected_scores_can_be_ranked_and_the_json_follows_its_schema(file: Path, tmp_path: Path) -> None:
    target = tmp_path / "corrected.parquet"
    content = metassay.depend(file, correct=target, **FAST).to_dict()
    jsonschema.validate(content, msgspec.json.schema(DependContent))
    table = pl.read_parquet(target)
    assert table.columns == ["item", "system", "metric", "score"]
    assert {*table["metric"]} == {f"{how}{name}{end}" for name in ("good", "ter") for how, end in (("", ""), ("f_G(", ")"), ("f_k(", ")"))}  # fmt: skip
    assert table["item"][0] == "en-de/0"
    rows = [row for row in content["corrections"] if row["metric"] == "good"]
    assert [row["mapping"] for row in rows] == ["raw", "f_G", "f_G unseen", "f_k"]
    ranked = metassay.rank(target, join=[file], metrics=["f_G(good)", "f_k(good)"], draws=20).to_dict()
    assert {row["metric"] for row in ranked["results"][0]["metrics"]} >= {"f_G(good)", "f_k(good)"}


def test_scores_are_oriented_before_they_are_converted(file: Path, tmp_path: Path) -> None:
    metassay.depend(file, correct=tmp_path / "c.csv", **FAST)
    wide = pl.read_csv(tmp_path / "c.csv").pivot(on="metric", index=["item", "system"], values="score")
    people = pl.read_csv(file).with_columns(item=pl.concat_str("lp", "seg_id", separator="/"))
    both = wide.join(people.select("item", "system", "mqm"), on=["item", "system"])
    assert both.select(pl.corr("f_G(ter)", "mqm")).item() > 0.3


def test_number_of_workers_does_not_change_the_file(file: Path, tmp_path: Path) -> None:
    content = [
        metassay.depend(file, correct=tmp_path / f"{n}.csv", workers=n, **FAST).to_dict()["corrections"]
        for n in (1, 3)
    ]
    assert content[0] == content[1]
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "3.csv").read_bytes()


def test_terminal_and_page_describe_gains_and_costs(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["--correct", str(tmp_path / "c.jsonl"), "--out", str(tmp_path / "run"), "--bootstraps", "5"]
    assert run(["depend", str(file), *asked, "--draws", "19", "--quiet"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "A constant metric has SPA" in shown
    assert "The cost of f_G" in shown
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Metric scores converted to predicted human scores" in page
    assert "f_k mostly repeats the human scores of the same system on other segments" in page
    lines = (tmp_path / "c.jsonl").read_text().splitlines()
    assert json.loads(lines[0]).keys() == {"item", "system", "metric", "score"}


def test_invalid_requests_are_errors_before_anything_is_computed(file: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs human scores of systems"):
        metassay.depend(file, correct=tmp_path / "c.csv", panel=True)
    with pytest.raises(InputError, match="cannot tell the format"):
        metassay.depend(file, correct=tmp_path / "c.txt")
    with pytest.raises(InputError, match="this file is also an input"):
        metassay.depend(file, correct=file)


def test_constant_metric_gains_as_much_from_f_k_as_real_metrics_on_wmt23(
    real_data: Callable[[str], Path], tmp_path: Path
) -> None:
    """WMT23 en-de: f_k of any metric is about as good as f_k of none; the figures are those of the docs."""
    table = real_data("wmt23/wmt23_en-de_metrics.parquet")
    names = ["BLEU-refA", "COMET-refA"]
    content = metassay.depend(table, metrics=names, correct=tmp_path / "c.parquet", draws=19).to_dict()
    spa = {(row["metric"], row["mapping"]): row["spa"] for row in content["corrections"]}
    kept = json.loads((ROOT / "reproduce/system_dependence/corrections.json").read_text())
    stored = {(row["metric"], row["mapping"]): row["spa"] for row in kept}
    assert spa == pytest.approx({key: stored[key] for key in spa}, abs=2e-6)
    assert spa["BLEU-refA", "raw"] < 0.87
    for name in names:
        assert abs(spa[name, "f_k"] - spa["constant", "f_k"]) < 0.03
        assert abs(spa[name, "f_G"] - spa[name, "raw"]) < 0.02
