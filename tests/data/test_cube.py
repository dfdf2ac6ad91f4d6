"""Tables of scores: which columns are metrics, how rows become arrays."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from metassay.data.cube import score_columns, score_tables, widened


@pytest.fixture
def wide() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "lp": ["en-de"] * 4,
            "year": [2023] * 4,
            "system": ["b", "a", "a", "b"],
            "seg_id": [10, 9, 10, 9],
            "domain": ["news", "chat", "news", "chat"],
            "is_human": [False] * 4,
            "mqm": [-1.0, -2.0, -3.0, None],
            "BLEU-refA": [0.1, 0.2, 0.3, 0.4],
            "COMET": [1, 2, 3, None],
        }
    )


def test_known_columns_are_never_metrics_and_all_other_numbers_are(wide: pl.DataFrame) -> None:
    assert score_columns(wide) == (["mqm"], ["BLEU-refA", "COMET"])
    assert score_columns(wide, ["COMET"]) == (["COMET", "mqm"], ["BLEU-refA"])


def test_rows_become_arrays_by_id_whatever_their_order(wide: pl.DataFrame) -> None:
    for frame in (wide, wide.reverse(), wide.sample(fraction=1, shuffle=True, seed=3)):
        (table,) = score_tables(frame)
        assert table.dataset == "2023/en-de"
        assert table.systems == ("a", "b")
        assert table.segments == ("9", "10")
        np.testing.assert_array_equal(table.metrics["COMET"], [[2, 3], [np.nan, 1]])
        np.testing.assert_array_equal(table.human["mqm"], [[-2, -3], [np.nan, -1]])
        assert table.labels["domain"] == ("chat", "news")
        assert "is_human" in table.labels


def test_a_long_table_is_the_same_as_a_wide_one(wide: pl.DataFrame) -> None:
    keys = ["lp", "year", "system", "seg_id"]
    long = wide.select([*keys, "mqm", "BLEU-refA", pl.col("COMET").cast(pl.Float64)]).unpivot(
        index=keys, variable_name="metric", value_name="score"
    )
    (one,), (other,) = score_tables(long), score_tables(wide)
    assert one.metrics.keys() == other.metrics.keys()
    for name in one.metrics:
        np.testing.assert_array_equal(one.metrics[name], other.metrics[name])
    np.testing.assert_array_equal(one.human["mqm"], other.human["mqm"])


def test_numbers_written_as_text_are_numbers() -> None:
    frame = pl.DataFrame(
        {
            "system": ["a", "b"],
            "seg_id": ["1", "1"],
            "mqm": ["-1", "None"],
            "X": ["0.5", "NA"],
            "comment": ["good", "1"],
        }
    )
    (table,) = score_tables(frame)
    assert list(table.metrics) == ["X"]
    np.testing.assert_array_equal(table.human["mqm"], [[-1], [np.nan]])


def test_score_is_human_only_when_nothing_else_is() -> None:
    frame = pl.DataFrame({"system": ["a"], "seg_id": [1], "score": [1.0], "X": [2.0]})
    assert score_columns(frame) == (["score"], ["X"])
    assert score_columns(frame.with_columns(mqm=pl.lit(0.0))) == (["mqm"], ["score", "X"])


def test_a_system_that_is_the_reference_is_left_out_and_named() -> None:
    frame = pl.DataFrame(
        {
            "system": ["refA", "x", "refA", "x"],
            "seg_id": [1, 1, 2, 2],
            "hyp": ["one", "uno", "two", "dos"],
            "ref": ["one", "one", "two", "two"],
            "mqm": [0.0, -1.0, 0.0, -2.0],
            "X": [1.0, 0.5, 1.0, 0.2],
        }
    )
    (table,) = score_tables(frame)
    assert table.systems == ("x",)
    assert "refA" in table.notes[0]
    assert score_tables(frame, keep_references=True)[0].systems == ("refA", "x")


def test_data_sets_are_kept_apart(wide: pl.DataFrame) -> None:
    both = pl.concat([wide, wide.with_columns(lp=pl.lit("zh-en"), COMET=pl.lit(None, pl.Int64))])
    tables = score_tables(both)
    assert [table.dataset for table in tables] == ["2023/en-de", "2023/zh-en"]
    assert "COMET" not in tables[1].metrics


def test_a_repeated_output_or_score_is_refused(wide: pl.DataFrame) -> None:
    with pytest.raises(ValueError, match="more than once"):
        score_tables(pl.concat([wide, wide]))
    long = pl.DataFrame({"system": ["a", "a"], "seg_id": [1, 1], "metric": ["X", "X"], "score": [1.0, 2.0]})
    with pytest.raises(ValueError, match="more than once"):
        widened(long)


def test_infinite_scores_and_missing_columns_are_refused(wide: pl.DataFrame) -> None:
    with pytest.raises(ValueError, match="infinite"):
        score_tables(wide.with_columns(X=pl.lit(float("inf"))))
    with pytest.raises(ValueError, match="holds the system"):
        score_tables(wide.drop("system"))
