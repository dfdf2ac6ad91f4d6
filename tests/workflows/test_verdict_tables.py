"""`judge` reads verdicts as people have them: spellings, orders, types and directions."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import metassay
from metassay.errors import InputError, UnknownName


def build_pairs(items=60, *, swapped=(False, True), right=1.0, seed=0):
    """Pairs with the better output, asked in each order; the judge is right in `right` of askings."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        better = int(rng.integers(1, 3))
        for is_swapped in swapped:
            winner = better if rng.random() < right else 3 - better
            rows.append(
                {
                    "item": f"i{item}",
                    "judge": "j",
                    "swapped": is_swapped,
                    "winner": winner,
                    "better": better,
                }
            )
    return pl.DataFrame(rows)


def get_judge(frame, **options):
    return metassay.judge(frame, **options).to_dict()["judges"][0]


def test_letters_that_name_positions_are_recognised_by_the_human_labels():
    frame = build_pairs(right=0.9)
    expected = get_judge(frame)
    is_first = (pl.col("winner") == 1) != pl.col("swapped")
    positions = frame.with_columns(winner=pl.when(is_first).then(pl.lit("A")).otherwise(pl.lit("B")))
    result = metassay.judge(positions)
    assert result.to_dict()["judges"][0] == expected
    assert any("the position shown" in note for note in result.notes)
    as_outputs = get_judge(positions, letters="output")
    assert as_outputs["accuracy"] == pytest.approx(0.5, abs=0.1)


def test_letters_that_name_outputs_stay_outputs():
    frame = build_pairs(right=0.9)
    letters = frame.with_columns(winner=pl.col("winner").replace_strict({1: "A", 2: "B"}))
    result = metassay.judge(letters)
    assert result.to_dict()["judges"][0] == get_judge(frame)
    assert any("the output, in whichever position it was shown" in note for note in result.notes)


@pytest.mark.parametrize(
    "names",
    [
        ("left", "right"),
        ("A>B", "B>>A"),
        ("[[A>>B]]", "[[B > A]]"),
        ("Response A", "Response B"),
        ("assistant-a", "assistant-b"),
    ],
    ids="/".join,
)
def test_other_spellings_of_winners(names):
    frame = build_pairs(swapped=(False,), right=0.9)
    renamed = frame.with_columns(winner=pl.col("winner").replace_strict({1: names[0], 2: names[1]}))
    assert get_judge(renamed) == get_judge(frame)


@pytest.mark.parametrize("names", [("left", "right"), ("first", "second")])
def test_positions_follow_the_order_of_outputs(names):
    frame = build_pairs(right=0.9)
    is_first = (pl.col("winner") == 1) != pl.col("swapped")
    named = frame.with_columns(winner=pl.when(is_first).then(pl.lit(names[0])).otherwise(pl.lit(names[1])))
    assert get_judge(named) == get_judge(frame)


@pytest.mark.parametrize("names", [("1", "2"), ("model_a", "model_b")])
def test_numbers_that_seem_to_be_positions_are_noted_and_read_so_on_request(names):
    frame = build_pairs(right=0.9)
    is_first = (pl.col("winner") == 1) != pl.col("swapped")
    positions = frame.with_columns(
        winner=pl.when(is_first).then(pl.lit(names[0])).otherwise(pl.lit(names[1])),
        better=pl.col("better").cast(pl.String),
    )
    note = "The winners in winner contradict the human labels where the outputs were swapped"
    assert [text for text in metassay.judge(positions).notes if text.startswith(note)]
    assert not [text for text in metassay.judge(frame).notes if text.startswith(note)]
    assert get_judge(positions, letters="position") == get_judge(frame)


def test_letters_are_noted_without_human_labels_too():
    frame = build_pairs(right=0.9).drop("better")
    letters = frame.with_columns(winner=pl.col("winner").replace_strict({1: "A", 2: "B"}))
    assert any("add --letters position" in note for note in metassay.judge(letters).notes)


def test_a_judge_that_prefers_the_first_position_is_not_taken_for_a_perfect_one():
    """If output 1 is always the better one, A and B as positions would make this judge perfect."""
    frame = build_pairs().with_columns(better=pl.lit(1))
    is_first_shown = pl.when("swapped").then(pl.lit("B")).otherwise(pl.lit("A"))
    assert get_judge(frame.with_columns(winner=is_first_shown))["accuracy"] == 0.5


@pytest.mark.parametrize(
    ("column", "orders"),
    [
        ("repeat", ("AB", "BA")),
        ("repeat", ("original", "swapped")),
        ("repeat", ("forward", "reverse")),
        ("is_swapped", (False, True)),
        ("flipped", ("N", "Y")),
        ("swapped", (0.0, 1.0)),
    ],
)
def test_other_columns_that_tell_the_order(column, orders):
    frame = build_pairs(right=0.9)
    order = frame["swapped"].replace_strict(dict(zip((False, True), orders)))
    assert get_judge(frame.drop("swapped").with_columns(order.alias(column))) == get_judge(frame)


def test_unknown_meaning_of_letters_is_an_error():
    with pytest.raises(UnknownName, match="auto, output, position"):
        metassay.judge(build_pairs(), letters="place")


def test_winners_zero_and_one_number_the_outputs_from_zero():
    frame = build_pairs(right=0.8)
    zero_based = frame.with_columns(winner=pl.col("winner") - 1)
    result = metassay.judge(zero_based)
    assert result.to_dict()["judges"][0] == get_judge(frame)
    assert any("0 is read as the first output" in note for note in result.notes)


def test_repeat_that_numbers_the_orders_does_not_double_the_pairs():
    frame = build_pairs(right=0.9)
    numbered = frame.with_columns(repeat=pl.col("swapped").cast(int) + 1)
    assert get_judge(numbered) == get_judge(frame)
    assert get_judge(numbered)["pairs"] == 60


@pytest.mark.parametrize("numbers", [(0, 1), (1, 2)])
def test_repeated_verdicts_do_not_double_the_pairs(numbers):
    frame = build_pairs(right=0.9).filter(~pl.col("swapped")).drop("swapped")
    repeated = pl.concat([frame.with_columns(repeat=pl.lit(number)) for number in numbers])
    judge = get_judge(repeated)
    assert judge["pairs"] == get_judge(frame)["pairs"] == 60
    assert judge["accuracy"] == get_judge(frame)["accuracy"]
    assert judge["repeats_same"] == 1


def test_json_lines_may_mix_numbers_and_the_word_tie(tmp_path):
    winners = [1, 2, "tie"]
    rows = [{"item": str(i), "judge": "j", "winner": winners[i % 3], "better": 1} for i in range(30)]
    path = tmp_path / "verdicts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert get_judge(str(path))["accuracy"] == pytest.approx((1 + 0 + 0.5) / 3)


def test_people_are_the_human_labels_if_the_human_column_is_empty():
    rows = [
        {"item": str(i), "judge": judge, "pair": None, "winner": 1 + i % 2, "human": None}
        for i in range(40)
        for judge in ("model", "ann", "bob")
    ]
    frame = pl.DataFrame(rows, schema_overrides={"pair": pl.String, "human": pl.Float64})
    result = metassay.judge(frame, people="ann,bob")
    assert [entry.accuracy for entry in result.judges] == [1.0]
    assert "the majority of ann, bob" in result.describe()[0]


def test_arena_table_has_one_judge_and_a_pair_for_every_two_models():
    rng = np.random.default_rng(0)
    rows = []
    for question in range(40):
        for first, second in (("x", "y"), ("y", "z")):
            better = rng.choice(["model_a", "model_b"])
            rows += [
                {
                    "question_id": question,
                    "model_a": first,
                    "model_b": second,
                    "winner": better,
                    "order": order,
                    "human_winner": better,
                }
                for order in ("AB", "BA")
            ]
    entry = get_judge(pl.DataFrame(rows))
    assert (entry["judge"], entry["pairs"], entry["accuracy"]) == ("judge", 80, 1.0)
    assert entry["both_orders_same"] == 1.0
    assert entry["position_bias"] == 0.0


def test_table_of_judge_scores_and_human_scores_is_read():
    rng = np.random.default_rng(0)
    rows = []
    for item in range(50):
        for model in ("a", "b"):
            human = float(rng.normal())
            rows.append({"id": item, "model": model, "judge_score": 2 * human, "human_score": human})
    entry = get_judge(pl.DataFrame(rows))
    assert (entry["judge"], entry["pairs"], entry["accuracy"]) == ("judge", 50, 1.0)


def test_direction_of_grades_follows_from_the_name_or_the_option():
    rng = np.random.default_rng(0)
    rows = []
    for item in range(50):
        for system in ("a", "b"):
            quality = float(rng.normal())
            rows.append({"item": item, "judge": "j", "system": system, "score": quality, "human": -quality})
    frame = pl.DataFrame(rows)
    assert get_judge(frame)["accuracy"] == 0
    assert get_judge(frame, lower_is_better="human")["accuracy"] == 1
    named = metassay.judge(
        frame.rename({"human": "errors"}).with_columns(pl.col("errors") + 9), human="errors"
    )
    assert named.judges[0].accuracy == 1
    assert any("errors" in note for note in named.notes)
    with pytest.raises(UnknownName, match="column of grades"):
        metassay.judge(frame, lower_is_better="hmuan")
    with pytest.raises(InputError, match="only grades have a direction"):
        metassay.judge(build_pairs(), lower_is_better="winner")


def test_folder_without_tables_is_an_error():
    with pytest.raises(InputError, match="holds no table"):
        metassay.judge("/")


def build_labels(labels=17, items=200, seed=0):
    """Three people and a judge who choose one of several labels and mostly agree."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, labels, items)
    columns = {}
    for name, right in (("score", 0.75), ("human:ann", 0.8), ("human:bea", 0.7), ("human:cid", 0.75)):
        columns[name] = np.where(rng.random(items) < right, truth, rng.integers(0, labels, items))
    return pl.DataFrame({"item": np.arange(items), "judge": "j", **columns})


def test_verdicts_without_a_human_label_are_counted():
    frame = build_pairs(right=0.9)
    number = pl.int_range(pl.len())
    unlabelled = frame.with_columns(better=pl.when(number % 3 > 0).then("better"))
    unlabelled = unlabelled.with_columns(winner=pl.when(number > 0).then("winner"))
    result = metassay.judge(unlabelled)
    # The first row has neither a verdict nor a label.
    count = unlabelled["better"].null_count() - 1
    assert result.data.left_out == {"no verdict": 1, "no human label": count}
    note = f"{count} verdicts are not compared with people: there is no human label."
    assert note in result.notes
    assert metassay.judge(frame).data.left_out == {}


def test_labels_on_which_raters_are_divided_are_counted():
    labels = {
        "verdict": ["x", "x", "y", "y"],
        "human:ann": ["x", "x", "y", None],
        "human:bea": ["x", "y", "y", None],
        "human:cid": ["y", "z", "y", None],
    }
    result = metassay.judge(pl.DataFrame({"item": [1, 2, 3, 4], "judge": "j", **labels}))
    assert result.data.left_out == {"no human label": 1, "raters are divided equally": 1}
    assert "1 verdict is not compared with people: no label has a majority among the raters." in result.notes


def test_renumbering_labels_changes_nothing():
    frame = build_labels()
    first = metassay.judge(frame).to_dict()
    assert first["kind"] == "label"
    columns = ["score", "human:ann", "human:bea", "human:cid"]
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(17)
        renumbered = frame.with_columns([pl.Series(name, order[frame[name].to_numpy()]) for name in columns])
        content = metassay.judge(renumbered).to_dict()
        assert content["alt_test"] == first["alt_test"]
        assert content["judges"] == first["judges"]


def test_text_labels_give_the_same_result_as_their_codes():
    frame = build_labels()
    columns = ["score", "human:ann", "human:bea", "human:cid"]
    words = frame.with_columns([pl.format("label {}", name).alias(name) for name in columns])
    assert metassay.judge(words).to_dict()["alt_test"] == metassay.judge(frame).to_dict()["alt_test"]


def test_ordered_numbers_are_grades_and_the_type_can_be_declared():
    rng = np.random.default_rng(0)
    quality = rng.normal(size=300)
    columns = {
        name: np.clip(np.round(3 + quality + 0.7 * rng.normal(size=300)), 1, 5).astype(int)
        for name in ("score", "human:ann", "human:bea")
    }
    frame = pl.DataFrame({"item": np.arange(300), "judge": "j", **columns})
    assert metassay.judge(frame).kind == "grade"
    assert metassay.judge(frame, verdict_type="label").kind == "label"
    assert metassay.judge(build_labels(), verdict_type="grade").kind == "grade"
    with pytest.raises(UnknownName, match="grade, label, pairwise"):
        metassay.judge(frame, verdict_type="number")


def test_good_and_bad_as_words_have_a_corrected_share():
    rng = np.random.default_rng(0)
    truth = rng.random(200) < 0.5
    verdicts = np.where(rng.random(200) < 0.9, truth, ~truth)
    frame = pl.DataFrame({"item": np.arange(200), "judge": "j", "label": verdicts, "human": truth})
    words = frame.with_columns(
        [pl.col(name).replace_strict({True: "yes", False: "no"}) for name in ("label", "human")]
    )
    assert get_judge(words)["corrected"]["value"] == pytest.approx(truth.mean())
    assert get_judge(frame) == get_judge(words)


@pytest.mark.parametrize(
    ("verdicts", "accuracy"),
    [(("1", "tie"), 1.0), (("tie", "1"), 1.0), (("1", "2"), 0.0), (("tie", "tie"), 0.0), (("2", "tie"), 0.0)],
)
def test_judgebench_counts_one_right_and_one_tie_as_right(verdicts, accuracy):
    rows = [
        {"item": str(item), "judge": "j", "swapped": is_swapped, "winner": winner, "better": "1"}
        for item in range(30)
        for is_swapped, winner in zip((False, True), verdicts)
    ]
    assert get_judge(pl.DataFrame(rows), ties="judgebench")["accuracy"] == accuracy


def build_grades(items=80, seed=0):
    """Grades of one judge for three systems, and human grades from which they differ by noise."""
    rng = np.random.default_rng(seed)
    human = rng.integers(1, 6, 3 * items)
    score = np.clip(human + rng.integers(-1, 2, 3 * items), 1, 5)
    item, system = np.divmod(np.arange(3 * items), 3)
    return pl.DataFrame({"item": item, "system": system, "judge": "j", "score": score, "human": human})


@pytest.mark.parametrize(
    "write",
    [
        lambda grade: grade.cast(pl.String) + " %",
        lambda grade: grade.cast(pl.Float64).cast(pl.String).str.replace(".", ",", literal=True),
        lambda grade: grade.cast(pl.Float64).cast(pl.String),
    ],
    ids=["percent", "comma", "text"],
)
def test_grades_that_are_written_as_text_are_numbers(write):
    """Percentages and decimal commas were compared as labels: accuracy 0."""
    frame = build_grades()
    written = frame.with_columns(write(pl.col("human")).alias("human"))
    assert metassay.judge(written).kind == "grade"
    assert get_judge(written) == get_judge(frame)


def test_grades_that_are_missing_may_be_written_nan():
    frame = build_grades()
    with_gaps = frame.with_columns(pl.when(pl.col("item") % 9 > 0).then("score").alias("score"))
    text = pl.col("score").cast(pl.String).fill_null("NaN")
    for written in (with_gaps.with_columns(text), with_gaps.with_columns(pl.col("score").fill_null(np.nan))):
        result = metassay.judge(written, verdict_type="grade")
        assert result.judges[0].accuracy == get_judge(with_gaps, verdict_type="grade")["accuracy"]
        assert result.data.left_out == {"no verdict": 27}
    labels = with_gaps.with_columns(text)
    assert get_judge(labels, verdict_type="label") == get_judge(with_gaps, verdict_type="label")


@pytest.mark.parametrize("verdict", ["4/5", "Score: 4", "excellent"])
def test_labels_that_people_never_use_are_an_error(verdict):
    frame = build_grades().with_columns(score=pl.lit(verdict))
    with pytest.raises(InputError, match=f"labels of the judges .{verdict!r}.*have no value in common"):
        metassay.judge(frame)


def test_a_code_of_missing_grades_is_named():
    frame = build_grades().with_columns(score=pl.when(pl.col("item") % 9 > 0).then("score").otherwise(-1))
    notes = metassay.judge(frame, verdict_type="grade").notes
    assert [note for note in notes if note.startswith("score is -1 in 27 rows")]


def test_directions_of_grades_are_reported_and_doubted():
    frame = build_grades().with_columns(score=6 - pl.col("score"))
    result = metassay.judge(frame, verdict_type="grade")
    assert [(score.score, score.better) for score in result.data.scores] == [
        ("score", "higher"),
        ("human", "higher"),
    ]
    assert "add --lower-is-better NAME" in result.describe()[1]
    assert not [claim for claim in result.verdict if claim.kind == "avoid"]
    turned = metassay.judge(frame, verdict_type="grade", lower_is_better="score")
    assert turned.judges[0].accuracy == get_judge(build_grades())["accuracy"]
    assert turned.data.scores[0].better == "lower"
    assert not [line for line in turned.describe() if "find worse" in line]
    known = metassay.judge(frame, verdict_type="grade", higher_is_better="score")
    assert known.describe()[1].startswith("Avoid ")


def test_grades_of_which_1_is_best_are_not_read_as_labels():
    frame = build_grades().with_columns(score=6 - pl.col("score"))
    assert metassay.judge(frame).kind == "grade"
    turned = metassay.judge(frame, lower_is_better="score")
    assert turned.judges[0].accuracy == get_judge(build_grades())["accuracy"]
    # A direction says that numbers are grades, also if there are few of them.
    few = frame.head(20)
    assert metassay.judge(few).kind == "label"
    assert metassay.judge(few, lower_is_better="score").kind == "grade"


def test_whole_numbers_named_mqm_are_grades():
    penalties = build_grades().with_columns(mqm=5 - pl.col("human")).drop("human")
    assert metassay.judge(penalties).kind == "grade"
    assert get_judge(penalties, lower_is_better="mqm")["accuracy"] == get_judge(build_grades())["accuracy"]
