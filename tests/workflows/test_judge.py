"""`judge`: published numbers of LLMBar, and tables of every kind of verdict."""

from __future__ import annotations

import json
import re

import jsonschema
import msgspec
import numpy as np
import polars as pl
import pytest
from scipy.stats import kendalltau

import metassay
from metassay.cli import run_command_line as run
from metassay.data.verdict_types import PAIRWISE
from metassay.data.verdicts import VerdictTable
from metassay.errors import InputError
from metassay.meta.judges.verdict_arrays import VerdictArrays, combine_repeated_judge_verdicts
from metassay.results.judge import JudgeContent

RIGHT = {"GPT-4": 0.845, "PaLM2": 0.705, "Falcon": 0.564, "ChatGPT": 0.400}
SAME = {"GPT-4": 0.928, "PaLM2": 0.723, "Falcon": 0.415, "ChatGPT": 0.659}


@pytest.fixture(scope="module")
def llmbar(real_data):
    files = [str(real_data(f"judges/llmbar_{name}.parquet")) for name in ("verdicts", "pairs")]
    return metassay.judge(files).to_dict()


def by_judge(content, key):
    return {row["judge"]: row[key] for row in content["judges"]}


def test_llmbar_gives_the_published_numbers(llmbar):
    accuracy, same = by_judge(llmbar, "accuracy"), by_judge(llmbar, "both_orders_same")
    assert {name: round(accuracy[name], 3) for name in RIGHT} == RIGHT
    assert {name: round(same[name], 3) for name in SAME} == SAME
    assert by_judge(llmbar, "missing") == {
        "GPT-4": 0, "PaLM2": 8, "Falcon": 0, "ChatGPT": 0, "ChatGPT-0301": 0, "LLaMA2": 2
    }  # fmt: skip
    jsonschema.validate(llmbar, msgspec.json.schema(JudgeContent))


def test_intervals_of_llmbar_subsets_contain_the_estimate(llmbar):
    rows = llmbar["contexts"]["subset"]
    assert len(rows) == 6 * 5
    assert all(row["low"] <= row["accuracy"] <= row["high"] for row in rows)
    natural = next(row for row in rows if (row["judge"], row["context"]) == ("GPT-4", "natural"))
    assert (natural["pairs"], natural["accuracy"]) == (100, pytest.approx(0.955))
    assert natural["low"] < 0.95 < natural["high"]


def test_position_and_length_bias_equal_manual_counts(real_data, llmbar):
    verdicts = pl.read_parquet(real_data("judges/llmbar_verdicts.parquet"))
    pairs = pl.read_parquet(real_data("judges/llmbar_pairs.parquet"))
    falcon = verdicts.filter(judge="Falcon").join(pairs, on="item")
    first = (falcon["winner"] == 1) != falcon["swapped"]
    assert by_judge(llmbar, "position_bias")["Falcon"] == pytest.approx(first.mean() - 0.5)
    lengths = falcon["output_1"].str.len_chars().cast(int) - falcon["output_2"].str.len_chars().cast(int)
    better_longer = pl.when(falcon["better"] == 1).then(lengths).otherwise(-lengths)
    marked = falcon.with_columns(right=falcon["winner"] == falcon["better"], gap=better_longer)
    long, short = (marked.filter(pl.col("gap") * side > 0)["right"].mean() for side in (1, -1))
    assert by_judge(llmbar, "length_bias")["Falcon"] == pytest.approx(long - short)


def preferences(items=60, seed=0, judges=("a", "b")):
    """Pairs asked in both orders, twice; judge a is right in four of five, judge b always names the first."""
    rng = np.random.default_rng(seed)
    rows = []
    for item in range(items):
        better = int(rng.integers(1, 3))
        for judge in judges:
            for repeat in (1, 2):
                for swapped in (False, True):
                    place = 2 if swapped else 1
                    winner = place if judge == "b" else better if rng.random() < 0.8 else 3 - better
                    rows.append(
                        {
                            "item": f"i{item}",
                            "judge": judge,
                            "repeat": repeat,
                            "swapped": swapped,
                            "winner": str(winner),
                            "better": better,
                            "domain": "news" if item % 2 else "chat",
                            "cost": 0.25,
                        }
                    )
    return pl.DataFrame(rows)


def test_order_of_rows_and_numbering_of_outputs_do_not_matter():
    frame = preferences()
    first = metassay.judge(frame).to_dict()
    assert metassay.judge(frame.sample(fraction=1.0, shuffle=True, seed=3)).to_dict() == first
    other = frame.with_columns(
        winner=3 - pl.col("winner").cast(int), better=3 - pl.col("better"), swapped=~pl.col("swapped")
    )
    turned = metassay.judge(other).to_dict()
    for key in ("accuracy", "both_orders_same", "position_bias", "repeats_same"):
        assert by_judge(turned, key) == pytest.approx(by_judge(first, key))


def test_judge_that_prefers_a_position_has_accuracy_zero_with_strict_ties():
    content = metassay.judge(preferences(), ties="strict").to_dict()
    b = next(row for row in content["judges"] if row["judge"] == "b")
    assert (b["accuracy"], b["both_orders_same"], b["position_bias"], b["repeats_same"]) == (0, 0, 0.5, 1)
    assert b["cost"] == 60
    assert b["corrected"] is None
    assert set(content["contexts"]) == {"domain"}


def test_winners_can_be_positions_letters_or_systems():
    frame = preferences(judges=("a",)).with_columns(system_1=pl.lit("X"), system_2=pl.lit("Y"))
    first = metassay.judge(frame).to_dict()["judges"]
    number = pl.col("winner").cast(int)
    spellings = {
        "letter": pl.when(number == 1).then(pl.lit("A")).otherwise(pl.lit("B")),
        "system": pl.when(number == 1).then(pl.lit("X")).otherwise(pl.lit("Y")),
        "place": pl.when((number == 1) != pl.col("swapped"))
        .then(pl.lit("first"))
        .otherwise(pl.lit("second")),
    }
    for spelling in spellings.values():
        assert metassay.judge(frame.with_columns(winner=spelling)).to_dict()["judges"] == first


def scores(seed=0, bias=1.0, people=True):
    """Three judges, four systems of two families; judge j0 adds `bias` to the systems of family F."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(4, 80)) + np.array([0.0, 1.0, 0.3, 0.7])[:, None]
    rows = [
        {
            "item": str(item),
            "system": f"s{system}",
            "family": "F" if system < 2 else "G",
            "judge": f"j{judge}",
            "judge_family": "F" if judge == 0 else "G",
            "score": quality[system, item] + rng.normal() * 0.4 + bias * (judge == 0 and system < 2),
            **({"human": quality[system, item]} if people else {}),
        }
        for judge in range(3)
        for system in range(4)
        for item in range(80)
    ]
    return pl.DataFrame(rows)


@pytest.mark.parametrize(("people", "yardstick"), [(True, "people"), (False, "panel")])
def test_self_preference_is_detected_with_either_yardstick(people, yardstick):
    result = metassay.judge(scores(people=people))
    content = result.to_dict()
    rows = {(row["judge"], row["family"]): row for row in content["self_preference"]}
    own = rows["j0", "F"]
    assert own["yardstick"] == yardstick
    assert own["low"] > 0
    assert own["p_holm"] < 0.05
    assert [key for key, row in rows.items() if row["own"]] == [("j0", "F"), ("j1", "G"), ("j2", "G")]
    assert rows["j0", "G"]["deviation"] == pytest.approx(-own["deviation"])
    assert rows["j0", "G"]["p_holm"] is None
    sentences = " ".join(result.describe())
    assert ("with equal human scores" in sentences) == people
    assert ("than the other judges do" in sentences) == (not people)
    assert (content["judges"][0]["accuracy"] is None) == (not people)
    jsonschema.validate(json.loads(result.to_json()), msgspec.json.schema(JudgeContent))


def test_fair_judge_is_tested_for_its_own_family_only_and_not_accused():
    result = metassay.judge(scores(bias=0.0))
    assert "No judge is shown to favour its own family (tested: j0, j1 and j2)." in result.describe()


def test_without_judge_family_nothing_is_claimed_about_families():
    result = metassay.judge(scores().drop("judge_family"))
    rows = result.to_dict()["self_preference"]
    assert all(row["p_holm"] is None and not row["own"] for row in rows)
    assert not any("family" in sentence for sentence in result.describe())


def test_judge_of_two_families_is_an_error():
    frame = scores().with_columns(judge_family=pl.Series(["F", "G"] * 480))
    with pytest.raises(InputError, match="j0 belongs to several families"):
        metassay.judge(frame)


def test_labels_have_a_corrected_share_and_cohens_base_rate():
    rng = np.random.default_rng(0)
    truth = rng.random(400) < 0.3
    said = np.where(truth, rng.random(400) < 0.9, rng.random(400) < 0.2)
    frame = pl.DataFrame(
        {
            "item": np.arange(400).astype(str),
            "judge": "j",
            "score": said.astype(int),
            "human": truth.astype(int),
        }
    )
    row = metassay.judge(frame).to_dict()["judges"][0]
    assert row["accuracy"] == pytest.approx((said == truth).mean())
    expected = said.mean() * truth.mean() + (1 - said.mean()) * (1 - truth.mean())
    assert row["base_rate"] == pytest.approx(expected)
    assert row["corrected"]["value"] == pytest.approx(truth.mean())  # all labelled: people's own share


def test_raters_can_be_columns_or_judges():
    rng = np.random.default_rng(1)
    truth = rng.integers(1, 3, 60)
    said = {
        name: np.where(rng.random(60) < 0.15, 3 - truth, truth) for name in ("ann", "bea", "cid", "model")
    }
    items = [f"i{i}" for i in range(60)]
    rows = pl.concat(pl.DataFrame({"item": items, "judge": name, "winner": said[name]}) for name in said)
    columns = pl.DataFrame({"item": items, "judge": "model", "winner": said["model"]}).with_columns(
        pl.Series(f"human:{name}", said[name]) for name in ("ann", "bea", "cid")
    )
    by_rows = metassay.judge(rows, people=("ann", "bea", "cid")).to_dict()
    by_columns = metassay.judge(columns).to_dict()
    assert [row["judge"] for row in by_rows["judges"]] == ["model"]
    assert by_rows["judges"][0]["accuracy"] == by_columns["judges"][0]["accuracy"]
    one, two = by_rows["alt_test"][0], by_columns["alt_test"][0]
    assert (one["winning_rate"], one["advantage"]) == (two["winning_rate"], two["advantage"])
    assert [*one["p_fdr"].values()] == [*two["p_fdr"].values()]


def test_context_that_differs_within_an_item_is_an_error_only_if_named():
    frame = scores().with_columns(domain=pl.col("system"))
    assert metassay.judge(frame).to_dict()["contexts"] == {}
    with pytest.raises(InputError, match="differ in domain"):
        metassay.judge(frame, context=["domain"])


def test_drift_between_two_dates_is_estimated():
    frame = pl.concat(
        preferences(judges=("a",)).with_columns(
            date=pl.lit(date), winner=pl.col("better").cast(str) if date == "2026-02-01" else pl.col("winner")
        )
        for date in ("2026-01-01", "2026-02-01")
    )
    (row,) = metassay.judge(frame).to_dict()["drift"]
    assert (row["from"], row["to"]) == ("2026-01-01", "2026-02-01")
    assert row["low"] > 0


def test_repeated_run_writes_the_same_bytes_and_escapes_names(tmp_path, capsys):
    table = tmp_path / "verdicts.csv"
    hostile = "<script>alert(1)</script>"
    preferences().with_columns(judge=pl.col("judge").replace("b", hostile)).write_csv(table)
    command = ["judge", str(table), "--out", str(tmp_path / "run"), "--json"]
    assert run(command) == 0
    printed = json.loads(capsys.readouterr().out)
    files = {str(f): f.read_bytes() for f in (tmp_path / "run").rglob("*") if f.is_file()}
    assert json.loads((tmp_path / "run" / "results" / "judge.json").read_text()) == printed
    page = (tmp_path / "run" / "report.html").read_text()
    assert hostile not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert not re.search(r"<[^>]+(?:src|href)=.?https?:", page)
    assert run(command) == 0
    assert {str(f): f.read_bytes() for f in (tmp_path / "run").rglob("*") if f.is_file()} == files
    capsys.readouterr()
    assert run(["judge", str(table)]) == 0
    assert "agrees with people in" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (pl.col("winner").replace("1", "the former").alias("winner"), "is not the name of an output"),
        (pl.lit(1).alias("repeat"), "nothing distinguishes them"),
        (pl.lit("perhaps").alias("swapped"), "true or false"),
        (pl.Series("better", [1, 2] * 240), "differ between rows"),
    ],
)
def test_invalid_tables_are_errors(change, message):
    with pytest.raises(InputError, match=message):
        metassay.judge(preferences().with_columns(change))


def test_errors_for_missing_columns_and_unknown_names_suggest_a_remedy():
    with pytest.raises(InputError, match="name the judge of each in a column judge"):
        metassay.judge(preferences().drop("judge"))
    with pytest.raises(InputError, match="no column holds the winner"):
        metassay.judge(preferences().drop("winner"))
    with pytest.raises(InputError, match="Did you mean domain"):
        metassay.judge(preferences(), context=["domian"])
    with pytest.raises(InputError, match="half, judgebench, strict"):
        metassay.judge(preferences(), ties="thirds")
    with pytest.raises(InputError, match="no rows"):
        metassay.judge(preferences().clear())
    assert run(["judge"]) == 2


def test_accuracy_is_null_without_human_labels():
    result = metassay.judge(preferences().drop("better"))
    row = result.to_dict()["judges"][0]
    assert (row["accuracy"], row["low"], row["base_rate"], row["length_bias"]) == (None, None, None, None)
    assert row["both_orders_same"] is not None
    assert "no human labels" in result.describe()[0]


def test_rows_of_verdicts_can_be_selected(tmp_path, capsys):
    """`--where` keeps rows also for `judge`; systems are not selected, and that is not ignored."""
    rows = [
        {"item": n, "judge": "j", "winner": 1, "better": 1 + (n >= 20), "subset": "ab"[n >= 20]}
        for n in range(40)
    ]
    assert metassay.judge(rows).judges[0].accuracy == 0.5
    assert metassay.judge(rows, where={"subset": "a"}).judges[0].accuracy == 1.0
    path = tmp_path / "verdicts.csv"
    pl.DataFrame(rows).write_csv(path)
    assert run(["judge", str(path), "--where", "subset=a", "--json"]) == 0
    assert '"pairs":20' in capsys.readouterr().out
    assert run(["judge", str(path), "--systems", "a"]) == 2
    assert "--where" in capsys.readouterr().err
    with pytest.raises(InputError, match="Did you mean subset"):
        metassay.judge(rows, where={"subsets": "a"})


def test_missing_human_labels_are_named_once_for_all_judges(tmp_path, capsys):
    rows = [{"item": n, "judge": f"judge {n % 6}", "winner": 1} for n in range(60)]
    (sentence,) = metassay.judge(rows).describe()
    assert sentence.startswith(
        "It is not known how often judge 0, judge 1, judge 2, judge 3 and 2 more are right"
    )
    assert "Add a column better" in sentence
    grades = [{"item": n, "judge": "j", "score": n} for n in range(60)]
    assert "Add a column human" in metassay.judge(grades).describe()[0]
    path = tmp_path / "verdicts.csv"
    pl.DataFrame(rows).write_csv(path)
    assert run(["judge", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "verdicts" in printed
    assert "compared with human labels" not in printed.split("Add a column")[1]


def test_human_scores_of_items_with_one_output_each_are_used():
    """Without two outputs of an item, outputs of different items are compared, also within contexts."""
    rng = np.random.default_rng(3)
    human = rng.normal(50, 15, size=60)
    domain = np.where(np.arange(60) < 30, "news", "law")
    frames = [
        pl.DataFrame(
            {
                "item": np.arange(60),
                "judge": judge,
                "score": human + rng.normal(0, noise, 60),
                "human": human,
                "domain": domain,
            }
        )
        for judge, noise in (("good", 5.0), ("poor", 40.0))
    ]
    result = metassay.judge(pl.concat(frames))
    for row, frame in zip(result.judges, frames):
        expected = kendalltau(frame["score"], frame["human"]).statistic
        assert (row.pairs, row.accuracy) == (60 * 59 / 2, pytest.approx((1 + expected) / 2))
        assert row.low < row.accuracy < row.high
    for entry in result.contexts["domain"]:
        rows = frames[entry.judge == "poor"].filter(pl.col("domain") == entry.context)
        expected = kendalltau(rows["score"], rows["human"]).statistic
        assert (entry.pairs, entry.accuracy) == (30 * 29 / 2, pytest.approx((1 + expected) / 2))
    assert result.describe()[0].startswith("Use good")
    assert "outputs of different items" in result.describe()[0]
    assert any("Each item has one output" in note for note in result.notes)


def test_human_labels_that_no_verdict_can_be_compared_with_are_not_called_missing():
    equal = scores().with_columns(human=pl.lit(3.0))
    sentence = metassay.judge(equal).describe()[0]
    assert "no human labels" not in sentence
    assert "can be compared with the human labels (human)" in sentence


def test_preference_is_a_score_of_both_systems():
    """Judge j calls a better than b on item 1, and cannot decide on item 2."""
    frame = pl.DataFrame(
        {
            "judge": ["j", "j"],
            "item": ["1", "2"],
            "system_1": ["a", "a"],
            "system_2": ["b", "b"],
            "value": [1.0, 0.5],
            "gold": [0.0, None],
        }
    )
    table = VerdictTable(PAIRWISE, frame, raters=(), metadata=(), gold=None)
    arrays = VerdictArrays(table)
    assert arrays.systems == ["a", "b"]
    np.testing.assert_array_equal(arrays.average_verdicts_by_output("j"), [[1.0, 0.5], [0.0, 0.5]])
    np.testing.assert_array_equal(arrays.human_score_matrix, [[0.0, np.nan], [1.0, np.nan]])


@pytest.mark.parametrize(
    ("said", "settled"), [([1, 1], 1), ([0, 0, 0], 0), ([1, 0], 0.5), ([1, 1, 0], 0.5), ([1, 0.5], 0.5)]
)
def test_repeated_verdicts_that_differ_are_a_tie(said, settled):
    frame = pl.DataFrame({"value": pl.Series(said, dtype=pl.Float64)})
    assert frame.select(combine_repeated_judge_verdicts(pl.col("value"))).item() == settled


def test_page_shows_only_measures_that_the_table_allows():
    """Judges best first; columns that nobody measured, and what they would mean, are absent."""
    page = metassay.judge(scores()).build_page()
    order = [row["0"] for row in page.sections[0].grids[0].rows]
    accuracies = by_judge(metassay.judge(scores()).to_dict(), "accuracy")
    assert order == sorted(accuracies, key=accuracies.__getitem__, reverse=True)
    first = page.sections[0]
    headings = [field.label for field in first.grids[0].fields]
    assert headings == ["judge", "pairs", "agrees with people", "base rate", "missing"]
    explanation = first.subsections[-1].sentences[0]
    assert "Base rate: " in explanation
    assert not any(text in explanation for text in ("Position bias", "both orders", "Corrected"))
    both = metassay.judge(pl.DataFrame(preferences())).build_page().sections[0]
    explanation = both.subsections[-1].sentences[0]
    assert "Position bias: " in explanation
    assert "both orders; else it is a tie" in explanation
    favours = next(section for section in page.sections if section.title == "Which families does it favour?")
    marked = {
        (cell["row"], cell["column"]) for cell in favours.charts[0].spec["data"]["values"] if cell["mark"]
    }
    clear = {
        (row["judge"], row["family"])
        for row in metassay.judge(scores()).to_dict()["self_preference"]
        if row["own"] and row["p_holm"] <= 0.05
    }
    assert marked == clear >= {("j0", "F")}


def test_winners_that_name_no_output_are_noted():
    """Such labels were compared as labels of single outputs without a message."""
    labels = ["much better", "better", "alike", "worse"]
    rows = [
        {"item": n, "judge": "j", "winner": labels[n % 4], "human": labels[n // 2 % 4]} for n in range(40)
    ]
    result = metassay.judge(pl.DataFrame(rows))
    assert result.kind == "label"
    assert any("winners name no output" in note for note in result.notes)
    said = metassay.judge(pl.DataFrame(rows), verdict_type="label")
    assert not any("winners name no output" in note for note in said.notes)
