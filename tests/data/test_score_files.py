"""Writing mt-metrics-eval's layout: what is written is read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from metassay.data.readers.mt_metrics_eval import read_language_pairs
from metassay.data.score_cube import ScoreCube
from metassay.data.score_files import write_score_files
from metassay.data.score_tables import build_score_cubes


def test_a_table_survives_the_round_trip(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    human, good = rng.normal(size=(2, 4)), rng.normal(size=(2, 4))
    human[1, 2] = good[0, 0] = np.nan
    table = ScoreCube(
        "en-de",
        ("a", "b"),
        ("1", "2", "3", "4"),
        {"mqm": human},
        {"bleu": good, "chrf(word_order=2)": rng.normal(size=(2, 4)), "Q-src": rng.normal(size=(2, 4))},
        {"domain": ("news", "news", "chat", "chat"), "doc_id": ("d1", "d1", "d2", "d2")},
    )
    files = write_score_files(table, tmp_path, lp="en-de")
    assert tmp_path / "metric-scores/en-de/bleu-refA.seg.score" in files
    (tree,) = read_language_pairs(tmp_path)
    (again,) = build_score_cubes(tree.frame)
    assert sorted(again.metric_scores) == ["Q-src", "bleu-refA", "chrf(word_order=2)-refA"]
    np.testing.assert_array_equal(again.metric_scores["bleu-refA"], good)
    np.testing.assert_array_equal(again.human_scores["mqm"], human)
    assert again.item_metadata["doc_id"] == table.item_metadata["doc_id"]
    with pytest.raises(ValueError, match="exists already"):
        write_score_files(table, tmp_path, lp="en-de")
