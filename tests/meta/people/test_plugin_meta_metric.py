"""A meta-metric in another package takes one file and one entry point."""

from __future__ import annotations

import json

import pytest

from metassay import rank
from metassay.cli import run_command_line as run
from metassay.errors import InputError

SOURCE_CODE = '''
import metassay


class SameBest(metassay.MetaMetric):
    """1 if the metric prefers the system that people prefer, else 0."""

    name = "same_best"
    label = "same best system"
    summary = "whether metric and people prefer the same system"

    def evaluate_metrics(self, scores, settings=None):
        best_system = scores.human.mean(axis=-1).argmax()
        return (scores.metrics.mean(axis=-1).argmax(axis=-1) == best_system).astype(float)
'''
SYSTEMS = {"poor": -1.0, "fair": 0.0, "good": 1.0}
ROWS = [
    {
        "seg_id": item,
        "system": system,
        "mqm": quality + item % 3,
        "right": quality * (1 + item % 2),
        "wrong": -quality * (1 + item % 3),
    }
    for item in range(12)
    for system, quality in SYSTEMS.items()
]


@pytest.fixture
def same_best(install_plugin) -> None:
    install_plugin("same_best", SOURCE_CODE, "metassay.meta_metrics", "SameBest")


@pytest.mark.usefixtures("same_best")
def test_rank_uses_the_meta_metric_of_a_plugin() -> None:
    result = rank(ROWS, human="mqm", meta="spa,same_best", draws=20)
    ranking = result.rankings[1]
    values = {metric.metric: metric.value for metric in ranking.metrics}
    assert ranking.meta_metric == "same_best"
    assert (values["right"], values["wrong"]) == (1.0, 0.0)
    assert ranking.metrics[0].low == 1.0  # intervals come from resampled items
    assert ranking.comparisons == []  # it has no test
    assert "same best system" in result.build_page().lead[1]


@pytest.mark.usefixtures("same_best")
def test_the_meta_metric_of_a_plugin_is_listed(capsys) -> None:
    assert run(["list", "meta_metrics", "--json"]) == 0
    listed = {row["meta_metric"]: row for row in json.loads(capsys.readouterr().out)["meta_metrics"]}
    assert listed["same_best"]["what"] == "whether metric and people prefer the same system"
    assert listed["pearson"]["levels"] == "system, segment, item, per_system"
    assert "spans" in listed


@pytest.mark.usefixtures("same_best")
def test_the_help_of_rank_names_the_meta_metric_of_a_plugin(capsys) -> None:
    assert run(["rank", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "spa, pa, acc_eq, labels_saved, pearson, spearman, kendall, kendall_c, same_best, spans" in text


def test_a_plugin_that_is_no_meta_metric_is_refused(install_plugin) -> None:
    install_plugin("no_measure", "def measure(scores): return 1.0", "metassay.meta_metrics", "measure")
    with pytest.raises(InputError, match="is not a MetaMetric"):
        rank(ROWS, human="mqm", meta="no_measure")
