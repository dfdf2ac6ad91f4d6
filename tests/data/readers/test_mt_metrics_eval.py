"""The folders of mt-metrics-eval."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from metassay.data.readers.mt_metrics_eval import has_test_sets, read_language_pairs
from metassay.data.score_tables import build_score_cubes


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {
        "documents/en-de.docs": "news\td1\nnews\td1\nchat\td2\n",
        "human-scores/en-de.mqm.seg.score": "a\t-1\na\tNone\na\t-3\nb\t0\nb\t-1\nb\t-2\nrefA\t0\nrefA\t0\nrefA\t0\n",
        "metric-scores/en-de/M-x-refA.seg.score": "b\t.1\nb\t.2\nb\t.3\na\t.4\na\t.5\na\t.6\n",
        "metric-scores/en-de/M-x-refB.seg.score": "b\t1\nb\t2\nb\t3\na\t4\na\t5\na\t6\n",
        "metric-scores/en-de/Q-src.seg.score": "b\t1\nb\t2\nb\t3\na\t4\na\t5\na\t6\n",
        "metric-scores/en-de/S-src.sys.score": "a\t1\nb\t2\n",
        "references/en-de.refA.txt": "x\ny\nz\n",
        "system-outputs/en-de/refA.txt": "x\ny\nz\n",
        "system-outputs/en-de/a.txt": "x\nq\nq\n",
    }
    for name, text in files.items():
        path = tmp_path / "wmt99" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "wmt99"


def test_a_small_tree_line_by_line(tree: Path) -> None:
    assert has_test_sets(tree)
    assert has_test_sets(tree.parent)
    assert not has_test_sets(tree / "documents")
    (found,) = read_language_pairs(tree)
    (table,) = build_score_cubes(found.frame)
    assert (table.dataset, table.systems, table.items) == ("en-de", ("a", "b"), ("1", "2", "3"))
    assert sorted(table.metric_scores) == ["M-x-refA", "Q-src"]
    np.testing.assert_array_equal(table.human_scores["mqm"], [[-1, np.nan, -3], [0, -1, -2]])
    np.testing.assert_array_equal(table.metric_scores["M-x-refA"], [[0.4, 0.5, 0.6], [0.1, 0.2, 0.3]])
    assert table.item_metadata["domain"] == ("news", "news", "chat")
    assert any("S-src" in note for note in found.notes)
    assert any("refA" in note for note in table.notes)
    (kept,) = build_score_cubes(found.frame, keep_references=True)
    assert "refA" in kept.systems


def test_other_references_on_request(tree: Path) -> None:
    (found,) = read_language_pairs(tree, reference=["refB"])
    assert "M-x-refB" in found.frame.columns
    assert "M-x-refA" not in found.frame.columns
    with pytest.raises(ValueError, match="unknown reference"):
        read_language_pairs(tree, reference=["refZ"])


def test_marked_errors_stand_in_for_missing_scores(tree: Path) -> None:
    (tree / "human-scores/en-de.mqm.seg.score").unlink()
    error = '{"errors": [{"category": "accuracy/omission", "severity": "major"}]}'
    lines = [f"{system}\t{rating}" for system in "ab" for rating in (error, "None", '{"errors": []}')]
    (tree / "human-scores/en-de.mqm.merged.seg.rating").write_text("\n".join(lines) + "\n")
    (table,) = build_score_cubes(read_language_pairs(tree)[0].frame)
    np.testing.assert_array_equal(table.human_scores["mqm"], [[-5, np.nan, 0], [-5, np.nan, 0]])


def test_a_wrong_number_of_scores_is_refused_with_its_file(tree: Path) -> None:
    (tree / "metric-scores/en-de/Q-src.seg.score").write_text("b\t1\nb\t2\n")
    with pytest.raises(ValueError, match=r"Q-src.*has 2 scores"):
        read_language_pairs(tree)


def test_the_real_tree_equals_the_table(real_data: Callable[[str], Path]) -> None:
    (found,) = read_language_pairs(real_data("mt-metrics-eval-v2/wmt23"))
    (ours,) = build_score_cubes(found.frame)
    (table,) = build_score_cubes(pl.read_parquet(real_data("wmt23/wmt23_en-de_metrics.parquet")))
    assert sorted(ours.metric_scores) == sorted(table.metric_scores)
    rows = [ours.systems.index(name) for name in table.systems]
    columns = [ours.items.index(name) for name in table.items]
    for name, scores in table.metric_scores.items():
        np.testing.assert_allclose(ours.metric_scores[name][np.ix_(rows, columns)], scores, rtol=1e-12)
    np.testing.assert_allclose(
        ours.human_scores["mqm"][np.ix_(rows, columns)], table.human_scores["mqm"], rtol=1e-12
    )
