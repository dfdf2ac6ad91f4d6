"""Tables of scores: which columns are metrics, how rows become arrays."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from metassay.data.columns import find_score_columns, is_human_score_column, is_row_number_column
from metassay.data.score_cube import ScoreCube
from metassay.data.score_grid import ScoreGrid
from metassay.data.score_tables import build_score_cubes, pivot_long_scores
from metassay.errors import UnknownName


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
    assert find_score_columns(wide) == (["mqm"], ["BLEU-refA", "COMET"])
    assert find_score_columns(wide, ["COMET"]) == (["COMET", "mqm"], ["BLEU-refA"])


def test_rows_become_arrays_by_id_whatever_their_order(wide: pl.DataFrame) -> None:
    for frame in (wide, wide.reverse(), wide.sample(fraction=1, shuffle=True, seed=3)):
        (table,) = build_score_cubes(frame)
        assert table.dataset == "2023/en-de"
        assert table.systems == ("a", "b")
        assert table.items == ("9", "10")
        np.testing.assert_array_equal(table.metric_scores["COMET"], [[2, 3], [np.nan, 1]])
        np.testing.assert_array_equal(table.human_scores["mqm"], [[-2, -3], [np.nan, -1]])
        assert table.item_metadata["domain"] == ("chat", "news")
        assert "is_human" in table.item_metadata


def test_a_long_table_is_the_same_as_a_wide_one(wide: pl.DataFrame) -> None:
    keys = ["lp", "year", "system", "seg_id"]
    long = wide.select([*keys, "mqm", "BLEU-refA", pl.col("COMET").cast(pl.Float64)]).unpivot(
        index=keys, variable_name="metric", value_name="score"
    )
    (one,), (other,) = build_score_cubes(long), build_score_cubes(wide)
    assert one.metric_scores.keys() == other.metric_scores.keys()
    for name in one.metric_scores:
        np.testing.assert_array_equal(one.metric_scores[name], other.metric_scores[name])
    np.testing.assert_array_equal(one.human_scores["mqm"], other.human_scores["mqm"])


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
    (table,) = build_score_cubes(frame)
    assert list(table.metric_scores) == ["X"]
    np.testing.assert_array_equal(table.human_scores["mqm"], [[-1], [np.nan]])


def test_score_is_human_only_when_nothing_else_is() -> None:
    frame = pl.DataFrame({"system": ["a"], "seg_id": [1], "score": [1.0], "X": [2.0]})
    assert find_score_columns(frame) == (["score"], ["X"])
    assert find_score_columns(frame.with_columns(mqm=pl.lit(0.0))) == (["mqm"], ["score", "X"])


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
    (table,) = build_score_cubes(frame)
    assert table.systems == ("x",)
    assert "refA" in table.notes[0]
    assert build_score_cubes(frame, keep_references=True)[0].systems == ("refA", "x")


def test_data_sets_are_kept_apart(wide: pl.DataFrame) -> None:
    both = pl.concat([wide, wide.with_columns(lp=pl.lit("zh-en"), COMET=pl.lit(None, pl.Int64))])
    tables = build_score_cubes(both)
    assert [table.dataset for table in tables] == ["2023/en-de", "2023/zh-en"]
    assert "COMET" not in tables[1].metric_scores


def test_a_repeated_output_or_score_is_refused(wide: pl.DataFrame) -> None:
    with pytest.raises(ValueError, match="more than once"):
        build_score_cubes(pl.concat([wide, wide.with_columns(COMET=pl.lit(7, pl.Int64))]))
    long = pl.DataFrame({"system": ["a", "a"], "seg_id": [1, 1], "metric": ["X", "X"], "score": [1.0, 2.0]})
    with pytest.raises(ValueError, match="several scores with the same seg_id, system and metric"):
        pivot_long_scores(long)


def test_infinite_scores_and_missing_columns_are_refused(wide: pl.DataFrame) -> None:
    with pytest.raises(ValueError, match="infinite"):
        build_score_cubes(wide.with_columns(X=pl.lit(float("inf"))))
    with pytest.raises(ValueError, match="holds the system"):
        build_score_cubes(wide.drop("system"))


def test_rows_repeated_to_the_byte_are_dropped_with_a_note(wide: pl.DataFrame) -> None:
    indexed = pl.concat([wide, wide[:3]]).with_row_index("__index_level_0__")
    (found,), (expected,) = build_score_cubes(indexed), build_score_cubes(wide)
    assert found.content_hash == expected.content_hash
    assert found.notes == ("3 rows are exact copies of others and were left out.",)
    long = pl.DataFrame({"system": ["a", "a"], "seg_id": [1, 1], "metric": ["X", "X"], "score": [1.0, 1.0]})
    (twice,), (once,) = build_score_cubes(long), build_score_cubes(long[:1])
    np.testing.assert_array_equal(twice.metric_scores["X"], once.metric_scores["X"])


@pytest.mark.parametrize("name", ["__index_level_0__", "Unnamed: 0", "Unnamed: 0.1", ""])
def test_a_row_number_is_neither_metric_nor_label(wide: pl.DataFrame, name: str) -> None:
    assert is_row_number_column(name)
    (table,) = build_score_cubes(wide.with_columns(pl.Series(name, range(4))))
    assert list(table.metric_scores) == ["BLEU-refA", "COMET"]
    assert name not in {*table.item_metadata, *table.system_metadata, *table.human_scores}


@pytest.mark.parametrize(
    ("name", "human"),
    [
        *(
            (name, True)
            for name in ("mqm", "MQM", "DA-SQM", "esa", "human", "human1", "mqm-human2", "da:ann")
        ),
        *((name, True) for name in ("coherence", "Relevance", "fluency_2", "overall:rater 1")),
        *((name, False) for name in ("COMET", "is_human", "humanity", "mqm_model", "BLEU-refA", "data")),
    ],
)
def test_one_rule_says_which_columns_are_human(name: str, human: bool) -> None:
    assert is_human_score_column(name) is human


def test_criteria_are_human_unless_a_metric_is_called_so() -> None:
    columns = ("coherence", "relevance", "X")
    frame = pl.DataFrame({"system": ["a"], "seg_id": [1], **{name: [1.0] for name in columns}})
    assert find_score_columns(frame) == (["coherence", "relevance"], ["X"])
    assert find_score_columns(frame, known_metrics=["relevance"]) == (["coherence"], ["relevance", "X"])
    assert find_score_columns(frame, ["X"]) == (["X", "coherence", "relevance"], [])


def test_the_direction_travels_with_the_scores(wide: pl.DataFrame) -> None:
    (table,) = build_score_cubes(wide, lower_is_better_metrics=["COMET", "elsewhere"])
    assert table.lower_is_better == {"COMET"}
    np.testing.assert_array_equal(table.get_higher_is_better_scores("COMET"), -table.metric_scores["COMET"])
    np.testing.assert_array_equal(table.get_higher_is_better_scores("mqm"), table.human_scores["mqm"])
    assert table.content_hash != build_score_cubes(wide)[0].content_hash
    with pytest.raises(UnknownName, match="Did you mean COMET"):
        table.get_higher_is_better_scores("COMT")


def test_a_part_of_a_cube_keeps_what_belongs_to_it(wide: pl.DataFrame) -> None:
    (whole,) = build_score_cubes(wide, lower_is_better_metrics=["COMET"])
    part = whole.select_items_and_systems(items=np.array([False, True]), systems=np.array([True, False]))
    (expected,) = build_score_cubes(
        wide.filter(pl.col("seg_id") == 10, pl.col("system") == "a"), lower_is_better_metrics=["COMET"]
    )
    assert (part.systems, part.items, part.lower_is_better) == (("a",), ("10",), {"COMET"})
    for name in ("BLEU-refA", "COMET"):
        np.testing.assert_array_equal(part.metric_scores[name], expected.metric_scores[name])
    assert part.item_metadata["domain"] == ("news",)


def test_a_segment_without_a_cluster_is_a_unit_of_its_own() -> None:
    scores = np.zeros((1, 4))
    cube = ScoreCube("x", ("a",), tuple("1234"), {"mqm": scores}, {}, {"doc": ("b", None, "a", None)})
    assert cube.encode_metadata_as_integers("doc")[1].tolist() == [1, -1, 0, -1]
    assert cube.assign_items_to_clusters("doc").tolist() == [1, 2, 0, 3]


def test_rows_that_have_no_place_in_a_grid_are_passed_over() -> None:
    grid = ScoreGrid.find_row_positions(
        pl.Series(["b", "c", "a"]), pl.Series(["1", "1", "3"]), ["a", "b"], ["1", "2"]
    )
    np.testing.assert_array_equal(
        grid.arrange_as_system_by_item_matrix(np.array([5.0, 6.0, 7.0])), [[np.nan, np.nan], [5.0, np.nan]]
    )
    statistics = grid.arrange_as_system_by_item_matrix(np.arange(6.0).reshape(3, 2))
    assert statistics.shape == (2, 2, 2)
    assert statistics[1, 0].tolist() == [0.0, 1.0]


def test_every_score_name_and_direction_is_part_of_a_cube_s_identity() -> None:
    def cube(score: float = 1.0, **changes: object) -> ScoreCube:
        arrays = {
            "human_scores": {"mqm": np.array([[0.0, 1.0]])},
            "metric_scores": {"bleu": np.array([[score, 2.0]])},
        }
        return ScoreCube(**({"dataset": "d", "systems": ("s",), "items": ("1", "2")} | arrays | changes))

    same = cube().content_hash
    assert cube().content_hash == same
    others = [
        cube(1.5),
        cube(human_scores={"mqm": np.array([[0.0, 2.0]])}),
        cube(metric_scores={"chrf": np.array([[1.0, 2.0]])}),
        cube(systems=("t",)),
        cube(items=("1", "3")),
        cube(lower_is_better=frozenset({"bleu"})),
        cube(item_metadata={"domain": ("a", "b")}),
    ]
    hashes = {each.content_hash for each in others}
    assert same not in hashes
    assert len(hashes) == len(others)
