"""Metrics that know only names of systems, items or lengths are never named best by `rank` and `depend`."""

import numpy as np
import polars as pl
import pytest

import metassay
from metassay.data.score_cube import ScoreCube
from metassay.data.uninformed_scores import find_metrics_that_ignore_output_text
from metassay.sample import get_bundled_sample_path


@pytest.fixture(scope="module")
def scores():
    """Four systems with different human means. `by_name` knows these means and nothing about the outputs."""
    rng = np.random.default_rng(3)
    rows = []
    for item in range(60):
        for system, mean in (("A", 0.0), ("B", -0.4), ("C", -0.8), ("D", -2.0)):
            human = mean + rng.normal()
            rows.append(
                {
                    "seg_id": item,
                    "system": system,
                    "mqm": human,
                    "useful": human + rng.normal(scale=3),
                    "by_name": 10 * mean,
                    "by_item": float(item * 7 % 11),
                }
            )
    return pl.DataFrame(rows)


def test_a_metric_of_system_names_is_never_best_in_rank(scores):
    result = metassay.rank(scores, human="mqm", significance="none")
    marks = {metric.metric: metric.uninformed for metric in result.rankings[0].metrics}
    assert marks == {
        "useful": False,
        "by_name": True,
        "by_item": True,
        "constant": False,
        "random": False,
    }
    values = {metric.metric: metric.value for metric in result.rankings[0].metrics}
    assert values["by_name"] > values["useful"]  # it would win
    assert result.verdict[0].metrics[0] == "useful"
    assert "by_name" not in result.verdict[0].metrics
    assert any("by_name" in note and "system" in note for note in result.notes)


def test_a_metric_of_system_names_is_never_best_in_depend(scores):
    result = metassay.depend(scores, human="mqm", bootstraps=5, draws=9)
    sysdep = {entry.metric: entry.sysdep for entry in result.metrics}
    assert sysdep["by_name"] < sysdep["useful"]  # it would win
    (answer,) = [claim for claim in result.verdict if claim.kind == "answer"]
    assert answer.metrics == ["useful"]


def test_without_an_informed_metric_none_is_named_best(scores):
    result = metassay.rank(scores, human="mqm", metrics="by_name,by_item", significance="none")
    assert result.verdict[0].kind == "unanswered"
    assert result.verdict[0].metrics == []


def test_missing_scores_do_not_hide_that_a_metric_knows_only_systems():
    by_name = np.repeat([[1.0], [2.0], [3.0]], 30, axis=1)
    by_name[0, ::4] = np.nan
    informed = (np.arange(90.0) ** 2).reshape(3, 30)
    human = {"mqm": np.zeros((3, 30))}
    cube = ScoreCube(
        "all", ("A", "B", "C"), tuple(map(str, range(30))), human, {"by_name": by_name, "informed": informed}
    )
    assert find_metrics_that_ignore_output_text(cube) == {"by_name": "system"}


def test_without_an_informed_metric_an_assay_names_none():
    data = metassay.read(get_bundled_sample_path("text"), language="en")
    result = metassay.assay(
        data, metrics="length,constant", perturbations="removal", resamples=20, permutations=19, workers=1
    )
    content = result.to_dict()
    assert content["answer"] is None
    choices = {
        entry["choice"] for by_context in content["recommendation"].values() for entry in by_context.values()
    }
    assert choices == {None}
    assert content["verdict"][0]["kind"] == "none"
    assert "none of them rates single outputs" in content["verdict"][0]["sentence"]
