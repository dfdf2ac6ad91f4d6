"""MQM recomputed from marked errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from metassay.data.readers.mqm_ratings import (
    compute_mqm_scores_by_rater,
    compute_mqm_scores_by_segment,
    find_error_weight,
    is_mqm_table,
    read_mqm_rating_file,
)
from metassay.data.readers.mt_metrics_eval import read_language_pairs


@pytest.mark.parametrize(
    ("category", "severity", "weight"),
    [
        ("Accuracy/Mistranslation", "Major", 5),
        ("Accuracy/Mistranslation", "Minor", 1),
        ("Fluency/Punctuation", "Minor", 0.1),
        ("Fluency/Punctuation", "Major", 5),
        ("Non-translation!", "Major", 25),
        ("No-error", "no-error", 0),
        ("Style/Awkward", "Neutral", 0),
        ("Source error", "Major", 0),
        ("accuracy/creative reinterpretation", "major", 0),
        ("Accuracy/Omission", "critical", 10),
    ],
)
def test_published_weights(category: str, severity: str, weight: float) -> None:
    assert find_error_weight(category, severity) == weight


def test_errors_add_up_per_rater_and_raters_are_averaged() -> None:
    table = pl.DataFrame(
        {
            "system": ["a", "a", "a", "b"],
            "seg_id": [1, 1, 1, 1],
            "rater": ["r1", "r1", "r2", "r1"],
            "category": ["Accuracy/Omission", "Fluency/Punctuation", "No-error", "No-error"],
            "severity": ["Major", "Minor", "No-error", "No-error"],
        }
    )
    assert is_mqm_table(table)
    assert compute_mqm_scores_by_rater(table)["mqm"].to_list() == [-5.1, 0.0, 0.0]
    found = compute_mqm_scores_by_segment(table)
    assert found.columns == ["seg_id", "system", "mqm", "mqm:r1", "mqm:r2"]
    assert found.rows() == [(1, "a", -2.55, -5.1, 0.0), (1, "b", 0.0, 0.0, None)]


def test_an_unknown_severity_is_refused() -> None:
    table = pl.DataFrame({"system": ["a"], "seg_id": [1], "category": ["x"], "severity": ["terrible"]})
    with pytest.raises(ValueError, match="unknown severity 'terrible'"):
        compute_mqm_scores_by_segment(table)


def test_recomputed_mqm_equals_the_published_scores_of_wmt23(real_data: Callable[[str], Path]) -> None:
    folder = real_data("mt-metrics-eval-v2/wmt23")
    ours = read_mqm_rating_file(folder / "human-scores" / "en-de.mqm.merged.seg.rating")
    (tree,) = read_language_pairs(folder)
    both = tree.frame.select("system", "seg_id", published="mqm").join(ours, on=["system", "seg_id"])
    assert both["mqm"].null_count() == both["published"].null_count()
    rated = both.drop_nulls()
    assert rated.height == 460 * 13
    assert (rated["mqm"] - rated["published"]).abs().max() < 1e-9
