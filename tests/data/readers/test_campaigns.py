"""Exports of pearmut and Appraise, written here in the form that the two tools document."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import metassay
from metassay.data.readers.base import RawTable, ReaderOptions
from metassay.data.readers.registry import read_tables
from metassay.errors import InputError


def segment(number: int, **more: Any) -> dict[str, Any]:
    return {
        "doc_id": f"en-de_#_news_#_a.1_#_{number}",
        "src": f"source {number}",
        "tgt": {"A": f"output A {number}", "B": f"output B {number}"},
        "speaker": "x",
    } | more


def said(user: str, item: int, a: float | None, b: float | None, segments: int = 2) -> dict[str, Any]:
    one = {"A": {"score": a, "error_spans": []}, "B": {"score": b, "error_spans": [{"start_i": 0, "end_i": 5, "severity": "minor", "category": None}]}}  # fmt: skip
    return {
        "item": [segment(n) for n in range(segments)],
        "annotation": [one] * segments,
        "actions": [{"time": 1.0}],
        "user_id": user,
        "item_i": item,
    }


def table_of(path: Path) -> RawTable:
    (table,) = read_tables([path], ReaderOptions())
    return table


def test_pearmut_scores_are_means_over_people_the_last_word_of_each(tmp_path: Path) -> None:
    log = [said("u1", 0, 10, 50), said("u2", 4, 70, None), said("u1", 0, 90, 60)]
    check = {"item": [segment(7, validation={"A": [{"score": [0, 10]}]})], "annotation": [{"A": {"score": 3}, "B": {"score": 4}}]}  # fmt: skip
    log.append(check | {"user_id": "u1", "item_i": 9})
    path = tmp_path / "annotations.json"
    path.write_text(json.dumps({"my campaign": log}))
    table = table_of(path)
    frame = table.frame
    assert frame.height == 4
    first = frame.filter((pl.col("system") == "A") & (pl.col("src") == "source 0")).row(0, named=True)
    assert (first["human"], first["human:u1"], first["human:u2"]) == (80, 90, 70)
    assert (first["hyp"], first["doc_id"]) == ("output A 0", "en-de_#_news_#_a.1")
    second = frame.filter((pl.col("system") == "B") & (pl.col("src") == "source 1")).row(0, named=True)
    assert (second["human"], second["human:u2"]) == (60, None)
    assert any("1 annotations of tutorials and checks" in note for note in table.notes)
    data = metassay.read(path)
    assert (data.human[0], len(data.items)) == ("human", 2)


def test_one_campaigns_log_and_the_download_of_all_are_the_same(tmp_path: Path) -> None:
    log = [said("u1", 0, 10, 50), said("u2", 4, 70, 20)]
    (tmp_path / "demo.jsonl").write_text("".join(json.dumps(one) + "\n" for one in log))
    (tmp_path / "all.json").write_text(json.dumps({"demo": log}))
    assert table_of(tmp_path / "demo.jsonl").frame.equals(table_of(tmp_path / "all.json").frame)


def test_segments_without_ids_are_the_same_for_all_users(tmp_path: Path) -> None:
    log = [said("u1", 3, 10, 50), said("u2", 0, 30, 70)]
    for entry in log:
        for own in entry["item"]:
            del own["doc_id"]
    (tmp_path / "demo.jsonl").write_text("".join(json.dumps(one) + "\n" for one in log))
    frame = table_of(tmp_path / "demo.jsonl").frame
    assert frame["human"].to_list() == [20, 60, 20, 60]
    assert frame["seg_id"].n_unique() == 2


def test_an_annotation_that_misses_a_segment_is_refused_with_its_place(tmp_path: Path) -> None:
    entry = said("u1", 0, 1, 2)
    entry["annotation"].pop()
    (tmp_path / "demo.jsonl").write_text(json.dumps(entry) + "\n")
    with pytest.raises(InputError, match=r"demo\.jsonl, row 1.*every segment"):
        table_of(tmp_path / "demo.jsonl")


def appraise(path: Path, rows: list[tuple[Any, ...]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    return path


DIRECT = [
    ("engdeu01", "A", 1, "TGT", "eng", "deu", 80, 1.0, 2.0),
    ("engdeu02", "A", 1, "CHK", "eng", "deu", 60, 1.0, 2.0),
    ("engdeu01", "A+B", 2, "TGT", "eng", "deu", 40, 1.0, 2.0),
    ("engdeu01", "B", 1, "BAD", "eng", "deu", 3, 1.0, 2.0),
    ("engdeu01", "B", 1, "TGT", "eng", "deu", 90, 1.0, 2.0),
    ("engdeu01", "B", 1, "TGT", "eng", "deu", 70, 1.0, 2.0),
]


def test_appraise_means_over_annotators_and_no_item_that_tests_them(tmp_path: Path) -> None:
    table = table_of(appraise(tmp_path / "scores.csv", DIRECT))
    rows = {(row["seg_id"], row["system"]): row for row in table.frame.iter_rows(named=True)}
    assert {key: row["da"] for key, row in rows.items()} == {
        ("1", "A"): 70,  # 80 and 60 of two people
        ("1", "B"): 70,  # the last of two scores of one person
        ("2", "A"): 40,  # equal outputs of two systems, rated once
        ("2", "B"): 40,
    }
    assert rows[("1", "A")]["da:engdeu02"] == 60
    assert set(table.frame["lp"]) == {"en-de"}
    assert table.left_out == {"tests the raters: BAD or REF": 1}
    assert table.notes[-1] == "scores: 1 output was scored again by the same person; the last score counts."
    # Rows left out are reported with the summary of the data.
    assert not any("left out" in note for note in table.notes)


def test_appraise_leaves_out_tutorials_and_repeated_or_incomplete_documents(tmp_path: Path) -> None:
    spans = '[{"start_i": 1, "end_i": 4, "severity": "major"}]'
    documents = (
        ("A", "news_1", 70),
        ("B", "news_1", 50),
        ("A", "news_1#dup", 10),
        ("B", "news_2#incomplete", 20),
        ("B", "news_1#bad", 1),
        ("tutorial-en-de", "tutorial", 99),
    )
    rows = [
        ("u", system, number, "TGT", "ces", "ukr", score, document, False, spans, 1.0, 2.0)
        for system, document, score in documents
        for number in range(2)
    ]
    table = table_of(appraise(tmp_path / "scores.csv", rows))
    assert set(table.frame.select("system", "doc_id", "esa").rows()) == {
        ("A", "news_1", 70),
        ("B", "news_1", 50),
    }
    assert table.left_out == {
        "document shown again: #dup": 2,
        "incomplete document: #incomplete": 2,
        "tests the raters: BAD or REF": 2,
        "tutorial": 2,
    }


def test_appraise_documents_and_marked_errors(tmp_path: Path) -> None:
    spans = '[{"start_i": 1, "end_i": 4, "severity": "major"}]'
    rows = [
        ("u", name, number, "TGT", "ces", "ukr", score, document, False, spans, 1.0, 2.0)
        for name, score in (("A", 70), ("B", 50))
        for number, document in ((0, "d1"), (1, "d1"), (0, "d2"))
    ]
    frame = table_of(appraise(tmp_path / "scores.csv", rows)).frame
    assert "esa" in frame.columns
    assert sorted(frame["seg_id"].unique()) == ["d1/0", "d1/1", "d2/0"]  # 0 is in both documents
    assert sorted(frame["doc_id"].unique()) == ["d1", "d2"]


def test_appraise_joins_to_scores_of_metrics(tmp_path: Path) -> None:
    people = appraise(tmp_path / "people.csv", DIRECT)
    metrics = pl.DataFrame(
        {"lp": "en-de", "seg_id": [1, 2, 1, 2], "system": ["A", "A", "B", "B"], "M": [0.7, 0.4, 0.7, 0.4]}
    )
    metrics.write_csv(tmp_path / "metrics.csv")
    found = metassay.rank(
        tmp_path / "metrics.csv", join=[people], meta="pearson:segment", significance="none"
    )
    (row,) = (row for row in found.to_dict()["results"][0]["metrics"] if not row["baseline"])
    assert row["value"] == pytest.approx(1)


def test_a_row_of_another_kind_is_refused_with_its_line(tmp_path: Path) -> None:
    path = appraise(tmp_path / "scores.csv", [*DIRECT, ("a", "b")])
    with pytest.raises(InputError, match=r"scores\.csv, line 7"):
        table_of(path)


def test_check_describes_an_appraise_export_and_what_it_needs(tmp_path: Path) -> None:
    people = appraise(tmp_path / "people.csv", DIRECT)
    alone = metassay.check(people)
    assert alone.verdict[0].sentence.startswith(
        "Human scores without outputs and metrics: 2 systems, 2 items"
    )
    assert alone.left_out == {"tests the raters: BAD or REF": 1}
    assert all(question.missing for question in alone.questions)
    metrics = pl.DataFrame({"seg_id": [1, 2] * 2, "system": ["A", "A", "B", "B"], "M": [0.7, 0.4, 0.6, 0.3]})
    metrics.write_csv(tmp_path / "metrics.csv")
    joined = metassay.check(people, join=[tmp_path / "metrics.csv"])
    assert joined.metric_columns == ["M"]
    assert (joined.items, joined.outputs) == (2, 4)
