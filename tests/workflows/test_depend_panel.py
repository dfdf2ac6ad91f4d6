"""`depend --panel`: without human scores, each metric is compared with the mean of the other metrics."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

import metassay
from metassay.cli import run_command_line as run
from metassay.errors import InputError
from metassay.meta.dependence import system_dependence


@pytest.fixture
def table():
    """Three fair metrics and one that adds a point for system s0. Scores of `ter` are reversed."""
    rng = np.random.default_rng(0)
    quality = rng.normal(size=(4, 60)) + np.array([0.5, 0.0, 1.0, 0.2])[:, None]
    noisy = {name: quality + rng.normal(size=quality.shape) * 0.5 for name in ("a", "b", "ter", "fan")}
    noisy["fan"][0] += 1
    system, segment = (axis.ravel() for axis in np.indices(quality.shape))
    scores = {name: (-own if name == "ter" else own).ravel() for name, own in noisy.items()}
    return pl.DataFrame({"system": [f"s{k}" for k in system], "seg_id": segment, **scores})


def test_each_metric_is_compared_with_the_mean_z_score_of_the_others(table):
    content = metassay.depend(table, panel=True, lower_is_better=["ter"], bootstraps=0, draws=19)
    by_metric = {entry["metric"]: entry for entry in content.to_dict()["metrics"]}
    arrays = {
        name: table.sort("system", "seg_id")[name].to_numpy().reshape(4, 60) * (-1 if name == "ter" else 1)
        for name in ("a", "b", "ter", "fan")
    }
    for name, own in arrays.items():
        panel = np.mean(
            [stats.zscore(other, axis=None) for key, other in arrays.items() if key != name], axis=0
        )
        expected = system_dependence(panel, own, bootstraps=0)
        assert by_metric[name]["sysdep"] == pytest.approx(expected.sysdep)
        assert [*by_metric[name]["deviations"].values()] == pytest.approx(expected.deviations.tolist())
    residual = by_metric["fan"]["residual"]
    assert max(residual, key=residual.get) == "s0"
    assert content.to_dict()["comparisons"] == []


def test_panel_with_missing_scores_is_the_mean_of_the_defined_z_scores(table):
    """`a` lies ten points above the others and lacks a third of its scores: only z-scores can be averaged so."""
    gaps = table.with_columns(a=pl.when(pl.col("seg_id") % 3 > 0).then(pl.col("a") + 10))
    content = metassay.depend(gaps, panel=True, lower_is_better=["ter"], bootstraps=0, draws=19).to_dict()
    ordered = gaps.sort("system", "seg_id")
    arrays = [
        ordered[name].cast(float).fill_null(np.nan).to_numpy() * (-1 if name == "ter" else 1)
        for name in ("a", "b", "ter")
    ]
    panel = np.nanmean([stats.zscore(own, nan_policy="omit") for own in arrays], axis=0).reshape(4, 60)
    expected = system_dependence(panel, ordered["fan"].to_numpy().reshape(4, 60), bootstraps=0)
    entry = next(entry for entry in content["metrics"] if entry["metric"] == "fan")
    assert entry["sysdep"] == pytest.approx(expected.sysdep)


def test_page_and_terminal_do_not_mention_human_scores(table, tmp_path, capsys):
    table.write_csv(tmp_path / "t.csv")
    command = ["depend", str(tmp_path / "t.csv"), "--panel", "--bootstraps", "10", "--draws", "19", "-q"]
    assert run([*command, "--out", str(tmp_path / "run")]) == 0
    shown = capsys.readouterr().out
    page = (tmp_path / "run" / "report.html").read_text()
    for text in (shown, page):
        assert "the mean of the other metrics" in text
        assert "human score" not in text


def test_panel_needs_several_metrics_and_excludes_human_scores(table):
    with pytest.raises(InputError, match="only one metric"):
        metassay.depend(table.select("system", "seg_id", "a"), panel=True)
    with pytest.raises(InputError, match="replaces the human score"):
        metassay.depend(table.with_columns(mqm=pl.col("a")), human="mqm", panel=True)
    with pytest.raises(InputError, match="no human scores"):
        metassay.depend(table)
