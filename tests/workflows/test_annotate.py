"""`annotate`: from the choice of items through the file for raters to the estimates."""

from __future__ import annotations

import json

import jsonschema
import numpy as np
import polars as pl
import pytest

import metassay
from metassay.cli import run_command_line as run
from metassay.data.annotation_file import format_annotation_file, read_annotation_file
from metassay.errors import InputError
from metassay.schemas import build_json_schema_of_output
from metassay.workflows.report import report


def build_table(items: int = 200, labelled: int = 0, seed: int = 0) -> tuple[pl.DataFrame, np.ndarray]:
    """Outputs of two systems with a metric; human scores on the first items only, and all human scores."""
    generator = np.random.default_rng(seed)
    human = -generator.exponential(size=(2, items)) * np.array([[1.0], [1.3]])
    system, item = (axis.ravel() for axis in np.indices(human.shape))
    table = pl.DataFrame(
        {
            "lp": "en-de",
            "system": [f"s{number}" for number in system],
            "seg_id": item,
            "hyp": [f"=text {number}" for number in item],
            "mqm": pl.Series(np.where(item < labelled, human.ravel(), np.nan)).fill_nan(None),
            "good": (human + 0.5 * generator.normal(size=human.shape)).ravel(),
        }
    )
    return table, human


def fill_in(path, human) -> None:
    """Rate the outputs in the file as people would."""
    lines = pl.read_csv(path, infer_schema=False)
    scores = [
        repr(float(human[int(system[1:]), int(item.partition("/")[2])]))
        for item, system in lines.select("item", "system").iter_rows()
    ]
    lines.with_columns(pl.Series("mqm", scores)).write_csv(path)


@pytest.mark.parametrize(
    ("labelled", "contents"),
    [
        (0, "lists their outputs. Fill in the column mqm, then run"),
        (
            1,
            "lists their outputs, and those of 1 item that has labels already. Fill in the empty cells of the column",
        ),
        (25, "lists their outputs, and those of 25 items that have labels already. Fill in the empty cells"),
    ],
)
def test_the_first_lines_say_which_outputs_the_file_lists(labelled, contents, tmp_path) -> None:
    table, _ = build_table(40, labelled)
    result = metassay.annotate(table, human="mqm", count=10, csv=tmp_path / "ratings.csv")
    assert result.verdict[-1].sentence.startswith(f"{tmp_path / 'ratings.csv'} {contents}")
    assert pl.read_csv(tmp_path / "ratings.csv")["item"].n_unique() == 10 + labelled


def test_from_the_choice_of_items_to_the_estimate_in_two_rounds(tmp_path) -> None:
    table, human = build_table(400)
    table = table.drop("mqm")
    first = metassay.annotate(table, human="mqm", count=60, csv=tmp_path / "first.csv")
    assert (first.needed, len(first.items), first.labelled) == (60, 60, 0)
    fill_in(tmp_path / "first.csv", human)
    estimates = metassay.estimate(table, labels=tmp_path / "first.csv")
    assert {entry.labelled for entry in estimates.systems} == {60}
    second = metassay.annotate(table, labels=tmp_path / "first.csv", count=40, csv=tmp_path / "second.csv")
    assert (second.needed, len(second.items), second.labelled) == (100, 40, 60)
    assert {entry.item for entry in second.items}.isdisjoint(entry.item for entry in first.items)
    fill_in(tmp_path / "second.csv", human)
    estimates = metassay.estimate(table, labels=tmp_path / "second.csv")
    assert estimates.human == "mqm"
    for entry in estimates.systems:
        assert entry.labelled == 100
        assert entry.estimate.low <= human[int(entry.system[1:])].mean() <= entry.estimate.high


def test_joining_the_filled_file_gives_the_same_estimates(tmp_path) -> None:
    table, human = build_table()
    table.drop("mqm").write_csv(tmp_path / "data.csv")
    metassay.annotate(tmp_path / "data.csv", human="mqm", count=50, csv=tmp_path / "ratings.csv")
    fill_in(tmp_path / "ratings.csv", human)
    with_labels = metassay.estimate(tmp_path / "data.csv", labels=tmp_path / "ratings.csv")
    joined = metassay.estimate(tmp_path / "data.csv", human="mqm", join=tmp_path / "ratings.csv")
    assert joined.systems == with_labels.systems


def test_the_file_is_the_same_after_reading_and_shows_texts(tmp_path) -> None:
    table, _ = build_table(labelled=25)
    metassay.annotate(table, human="mqm", count=10, csv=tmp_path / "ratings.csv")
    content = (tmp_path / "ratings.csv").read_bytes()
    parsed = read_annotation_file(tmp_path / "ratings.csv")
    assert format_annotation_file(parsed) == content
    assert parsed.text_columns == ("output",)
    assert len(parsed.rows) == 2 * (25 + 10)  # earlier items have new probabilities
    assert all(row.texts[0].startswith("=text") for row in parsed.rows)
    assert sum(row.score is not None for row in parsed.rows) == 2 * 25


def test_texts_of_a_data_set_are_written_with_the_first_reference(tmp_path) -> None:
    table, _ = build_table(items=30)
    data = metassay.read(table.with_columns(ref1=pl.lit("first"), ref2=pl.lit("second")))
    metassay.annotate(data, human="mqm", count=5, csv=tmp_path / "ratings.csv")
    ratings = pl.read_csv(tmp_path / "ratings.csv")
    assert set(ratings["reference"]) == {"first"}
    assert ratings["output"].str.contains("=text").all()


def test_a_file_that_is_mostly_empty_is_refused(tmp_path) -> None:
    table, _ = build_table(labelled=25)
    metassay.annotate(table, human="mqm", count=30, csv=tmp_path / "ratings.csv")
    with pytest.raises(InputError, match="30 of 55 chosen items have no rating yet"):
        metassay.estimate(table, human="mqm", labels=tmp_path / "ratings.csv")


def test_narrower_intervals_and_smaller_differences_need_more_items() -> None:
    table, _ = build_table(2000, labelled=60)
    table = table.sample(fraction=1, shuffle=True, seed=0)
    by_width = [metassay.annotate(table, human="mqm", width=width).needed for width in (0.5, 0.25)]
    assert by_width[0] < by_width[1]
    by_difference = [metassay.annotate(table, human="mqm", difference=size).needed for size in (0.4, 0.2)]
    assert by_difference[0] < by_difference[1]
    more_power = metassay.annotate(table, human="mqm", difference=0.4, power=0.95).needed
    assert more_power > by_difference[0]


def test_no_items_are_chosen_if_the_goal_is_reached() -> None:
    table, _ = build_table(labelled=60)
    result = metassay.annotate(table, human="mqm", width=50.0)
    assert result.items == []
    assert result.reason.startswith("You can stop")


@pytest.mark.parametrize("options", [{}, {"count": 5, "width": 1.0}])
def test_exactly_one_goal_must_be_named(options) -> None:
    table, _ = build_table()
    with pytest.raises(InputError, match="exactly one of count, width and difference"):
        metassay.annotate(table, **options)


def test_planning_needs_some_labels() -> None:
    table, _ = build_table(labelled=5)
    with pytest.raises(InputError, match="only 5 items have labels"):
        metassay.annotate(table, human="mqm", width=0.5)


def test_data_are_not_overwritten(tmp_path) -> None:
    table, _ = build_table()
    table.write_csv(tmp_path / "data.csv")
    with pytest.raises(InputError):
        metassay.annotate(tmp_path / "data.csv", count=5, csv=tmp_path / "data.csv")


def test_command_prints_json_that_follows_its_schema(tmp_path, capsys) -> None:
    table, _ = build_table(labelled=40)
    table.write_csv(tmp_path / "data.csv")
    command = ["annotate", str(tmp_path / "data.csv"), "--human", "mqm", "--count", "10"]
    assert run([*command, "--json", "--quiet"]) == 0
    content = json.loads(capsys.readouterr().out)
    jsonschema.validate(content, build_json_schema_of_output("annotate"))
    assert content["needed"] == 50
    assert set(content["items"][0]) == {"item", "probability"}
    assert run([*command, "--out", str(tmp_path / "run")]) == 0
    assert "Have 10 more items rated." in capsys.readouterr().out
    assert read_annotation_file(tmp_path / "run" / "ratings.csv").human == "mqm"
    page = (tmp_path / "run" / "report.html").read_text()
    assert report(tmp_path / "run").read_text() == page


@pytest.mark.parametrize("command", [metassay.annotate, metassay.estimate])
def test_a_partly_filled_column_must_be_named_a_human_score_or_left_out(command) -> None:
    table = build_table(200, labelled=40)[0].rename({"mqm": "rating"})
    options = {"count": 10} if command is metassay.annotate else {}
    with pytest.raises(InputError, match="rating has scores on 40 of 200 items") as error:
        command(table, **options)
    assert "human rating" in error.value.remedy
    assert command(table, human="rating", **options).human == "rating"


def test_named_metrics_answer_the_question_about_a_partly_filled_column() -> None:
    table = build_table(200, labelled=40)[0].rename({"mqm": "rating"})
    assert metassay.annotate(table, metrics="good", count=10).labelled == 0
