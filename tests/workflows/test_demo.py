"""The demo of every task."""

from __future__ import annotations

import pytest

from metassay.sample import list_sample_tasks
from metassay.workflows.assay import demo

ITEMS = {"mt": 162, "asr": 162, "ranking": 60, "text": 27}
BEST = {"mt": 0.6, "asr": 0.6, "ranking": 0.6, "text": 0.55}  # word overlap does worst on summaries


@pytest.mark.parametrize("task", list_sample_tasks())
def test_demo_writes_a_report(task, tmp_path) -> None:
    result = demo(task=task, out=tmp_path / "demo").to_dict()
    assert result["task"] == task
    assert result["items"] == ITEMS[task]
    assert (tmp_path / "demo" / "report.html").stat().st_size > 100_000
    sentinels = {row["metric"]: row["accuracy"] for row in result["sentinels"]}
    assert sentinels["constant"] == 0
    assert sentinels["random"] == pytest.approx(0.5, abs=0.06)
    best = result["recommendation"]["system"]["global"]["metrics"][0]
    accuracy = {row["metric"]: row["accuracy"] for row in result["global"]}
    assert accuracy[best] == max(accuracy.values()) > BEST[task]
