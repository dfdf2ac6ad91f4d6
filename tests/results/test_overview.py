"""The overview of runs: which runs are compared."""

from __future__ import annotations

from metassay.results.overview import RunSummary


def test_runs_with_other_tasks_or_other_pairs_are_not_in_one_group() -> None:
    groups = {
        RunSummary(name="run", folder="run", task=task, pairs_from=pairs_from).comparison_group
        for task in ("mt", "asr")
        for pairs_from in ("perturbed", "human", None)
    }
    assert len(groups) == 6
