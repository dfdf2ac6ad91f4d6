"""Intervals of system scores: coverage, and none for a single segment."""

from __future__ import annotations

import numpy as np
import pytest

import metassay
from metassay.cli import run_command_line as run
from metassay.meta.aggregation.system_scores import ResamplingSettings, estimate_score_intervals
from metassay.results.aggregate import StandardErrors
from metassay.stats.sufficient_statistics import (
    compute_means_from_sums_and_counts,
    convert_scores_to_sums_and_counts,
)


@pytest.mark.parametrize("segments", [3, 5, 10, 30])
def test_intervals_of_few_segments_cover_the_true_mean(segments) -> None:
    """Means of normal numbers around 0; without the widening only 76, 83, 90 and 94 % contain 0."""
    scores = np.random.default_rng(segments).normal(0, 1, (1000, segments))
    low, high = estimate_score_intervals(
        convert_scores_to_sums_and_counts(scores),
        compute_means_from_sums_and_counts,
        "x",
        ResamplingSettings(resamples=500),
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


def test_intervals_of_very_many_segments_are_those_of_a_normal_mean() -> None:
    """Random groups are resampled there; neighbours are alike, which must not matter."""
    scores = np.sort(np.random.default_rng(0).normal(0, 1, (2, 40_000)))
    low, high = estimate_score_intervals(
        convert_scores_to_sums_and_counts(scores),
        compute_means_from_sums_and_counts,
        "x",
        ResamplingSettings(),
    )
    np.testing.assert_allclose((high - low) / 2, 1.96 / 200, rtol=0.08)
    np.testing.assert_allclose((high + low) / 2, scores.mean(axis=1), atol=0.001)


def test_bare_scores_are_the_same_without_intervals(tmp_path, capsys) -> None:
    (tmp_path / "ref.txt").write_text("a cat sat\na dog ran\n")
    (tmp_path / "hyp.txt").write_text("a cat sat down\nthe dog ran\n")
    files = ["--reference", str(tmp_path / "ref.txt"), str(tmp_path / "hyp.txt"), "--metrics", "ter"]
    assert run(["score", *files, "-b"]) == 0
    bare = capsys.readouterr().out
    assert run(["score", *files, "--resamples", "0"]) == 0
    table = capsys.readouterr().out
    assert bare == "33.3\n"
    assert "33.3" in table
    assert "±" not in table
    assert run(["score", *files, "--resamples", "1"]) == 2
