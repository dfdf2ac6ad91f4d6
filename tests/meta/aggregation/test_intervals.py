"""Intervals of system scores: coverage, and none for a single segment."""

from __future__ import annotations

import numpy as np
import pytest

import metassay
from metassay.cli import run
from metassay.meta.aggregation.system_scores import ResamplingSettings, estimate_score_intervals
from metassay.results.aggregate import StandardErrors
from metassay.stats.sufficient_statistics import make_mean_statistics, mean_from_statistics


@pytest.mark.parametrize("segments", [3, 5, 10, 30])
def test_intervals_of_few_segments_cover_the_true_mean(segments) -> None:
    """Means of normal numbers around 0; without the widening only 76, 83, 90 and 94 % contain 0."""
    scores = np.random.default_rng(segments).normal(0, 1, (1000, segments))
    low, high = estimate_score_intervals(
        make_mean_statistics(scores), mean_from_statistics, "x", ResamplingSettings(resamples=500)
    )
    assert 0.925 < np.mean((low <= 0) & (high >= 0)) < 0.975


def test_a_single_segment_has_no_interval(tmp_path, capsys) -> None:
    rows = [{"seg_id": 1, "system": name, "hyp": f"a cat sat {name}", "ref": "a cat sat"} for name in "ab"]
    scored = metassay.score(rows, metrics="chrf,wer")
    assert [(system.low, system.high) for system in scored.systems] == [(None, None)] * 4
    for system in metassay.aggregate(rows, metrics="chrf").systems:
        assert system.corpus is not None
        assert system.standard_errors == StandardErrors(None, None, None)
    (tmp_path / "ref.txt").write_text("a cat sat\n")
    (tmp_path / "hyp.txt").write_text("a cat sat down\n")
    assert run(["score", "--reference", str(tmp_path / "ref.txt"), str(tmp_path / "hyp.txt")]) == 0
    assert "±" not in capsys.readouterr().out
