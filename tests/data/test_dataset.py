"""What a data set is: every part of it is part of its identity, the order of rows and columns is not."""

from __future__ import annotations

import polars as pl
import pytest

from metassay.data.columns import find_reference_columns
from metassay.data.dataset import Dataset
from metassay.workflows.read import read

ROWS = {
    "item": ["1", "1", "2", "2"],
    "system": ["a", "b", "a", "b"],
    "output": ["x", "y", "z", "w"],
    "domain": ["news", "news", "talk", "talk"],
    "mqm": [0.0, -1.0, -2.0, None],
}


def made(*, human=("mqm",), language="en", task="mt", **changes) -> Dataset:
    return Dataset(task, pl.DataFrame(ROWS | changes), human=human, language=language)


@pytest.mark.parametrize(
    "change",
    [
        {"language": "de"},
        {"language": None},
        {"task": "asr"},
        {"human": ()},
        {"output": ["x", "y", "z", "v"]},
        {"mqm": [0.0, -1.0, -2.0, -3.0]},
        {"domain": ["news", "talk", "news", "talk"]},
        {"item": ["1", "1", "3", "3"]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_differs_in_anything_is_another_data_set(change) -> None:
    assert made(**change).content_hash != made().content_hash


def test_the_order_of_rows_and_columns_is_no_part_of_it() -> None:
    plain = made()
    frame = pl.DataFrame(ROWS).reverse().select(sorted(ROWS))
    assert Dataset("mt", frame, human=("mqm",), language="en").content_hash == plain.content_hash
    qrels = pl.DataFrame({"item": ["1", "1", "2"], "document": ["d", "e", "d"], "grade": [1, 0, 2]})
    lists = pl.DataFrame({"item": ["1", "2"], "system": ["a", "a"], "output": [["d", "e"], ["e"]]})
    one, other = (Dataset("ranking", lists, qrels=table).content_hash for table in (qrels, qrels.reverse()))
    assert one == other
    changed = qrels.with_columns(grade=pl.Series([1, 0, 1]))
    assert Dataset("ranking", lists, qrels=changed).content_hash != one


def test_what_is_left_out_is_counted_by_reason() -> None:
    data = made()
    kept = data.filter_rows(data.outputs["domain"] == "news", reason="talk")
    assert (len(kept), dict(kept.left_out)) == (2, {"talk": 2})
    again = kept.filter_rows(kept.outputs["system"] == "a", reason="talk")
    assert dict(again.left_out) == {"talk": 3}
    assert dict(data.filter_rows(data.outputs["item"] != "", reason="nothing").left_out) == {}


def test_the_target_language_is_behind_the_hyphen() -> None:
    languages = made(language=None, lp=["en-de", "en-de", "zh-en", None]).languages
    assert languages == ("de", "de", "en", None)


def test_rows_without_an_output_or_a_reference_are_left_out_and_counted() -> None:
    rows = [
        {"id": 1, "system": "s", "hyp": "a", "ref": "r"},
        {"id": 2, "system": "s", "hyp": None, "ref": "r"},
        {"id": 3, "system": "s", "hyp": "", "ref": "r"},  # nothing said is an output
        {"id": 4, "system": "s", "hyp": "b", "ref": None},
        {"id": 5, "system": "s", "hyp": "c", "ref": ""},
    ]
    data = read(rows)
    assert data.outputs["item"].to_list() == ["1", "3"]
    assert dict(data.left_out) == {"no output": 1, "no reference": 2}


def test_references_come_in_the_order_of_their_numbers() -> None:
    assert find_reference_columns(["ref10", "x", "ref2", "ref", "ref1"]) == ["ref", "ref1", "ref2", "ref10"]
