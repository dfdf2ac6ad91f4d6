"""The demo, for every task: the first thing a newcomer runs."""

from __future__ import annotations

import pytest

from metassay.sample import sample_tasks
from metassay.workflows.demo import demo


@pytest.mark.parametrize("task", sample_tasks())
def test_the_demo_leaves_a_report(task, tmp_path) -> None:
    result = demo(task=task, out=tmp_path / "demo").to_dict()
    assert result["task"] == task
    assert result["items"] >= 60
    assert (tmp_path / "demo" / "report.html").stat().st_size > 100_000
    sentinels = {row["metric"]: row["accuracy"] for row in result["sentinels"]}
    assert sentinels["constant"] == 0
    assert sentinels["random"] == pytest.approx(0.5, abs=0.06)
    best = result["recommendation"]["system"]["global"]["metrics"][0]
    accuracy = {row["metric"]: row["accuracy"] for row in result["global"]}
    assert accuracy[best] == max(accuracy.values()) > 0.6
