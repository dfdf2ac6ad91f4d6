"""The independent unit: which column is taken for it, why, and a warning where none is named."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from metassay.data.clusters import find_clusters, sort_items_naturally
from metassay.data.dataset import Dataset
from metassay.sample import sample_path
from metassay.workflows.assay import assay
from metassay.workflows.read import read

FAST = {"resamples": 60, "permutations": 39, "metrics": "chrf,ter", "perturbations": "removal,swapping"}


def dataset(**columns: list[str | None]) -> Dataset:
    """Six items of two systems; `columns` say more of each item."""
    items = [f"s{n}" for n in range(6)]
    rows = {
        "item": [item for item in items for _ in "AB"],
        "system": ["A", "B"] * 6,
        "output": ["a b c"] * 12,
        **{name: [value for value in values for _ in "AB"] for name, values in columns.items()},
    }
    return Dataset("mt", pl.DataFrame(rows))


DOCUMENTS = ["d1", "d1", "d2", "d2", "d3", "d3"]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ({"doc_id": DOCUMENTS, "speaker_id": ["x"] * 3 + ["y"] * 3}, "doc_id"),
        ({"speaker_id": ["x"] * 3 + ["y"] * 3, "session_id": DOCUMENTS}, "speaker_id"),
        ({"doc_id": [f"d{n}" for n in range(6)], "Chapter_ID": DOCUMENTS}, "Chapter_ID"),
        ({"doc_id": ["d1"] * 6, "domain": DOCUMENTS}, "item"),
        ({}, "item"),
    ],
    ids=["the document first", "the speaker", "one item each holds nothing", "one for all", "nothing named"],
)
def test_the_default_unit_is_the_first_named_one_that_holds_several_items(columns, expected) -> None:
    unit = find_clusters(dataset(**columns), None)
    assert unit.column == expected
    assert len(np.unique(unit.codes)) == (6 if expected == "item" else len(set(columns[expected])))
    assert unit.why


def test_a_column_that_divides_an_item_is_no_unit() -> None:
    data = dataset()
    divided = data.outputs.with_columns(pl.Series("speaker_id", ["x", "y"] * 6))
    assert find_clusters(Dataset("mt", divided), None).column == "item"


def test_what_is_asked_for_is_taken() -> None:
    unit = find_clusters(dataset(doc_id=DOCUMENTS), "item")
    assert (unit.column, unit.why) == ("item", "asked for")


def test_the_result_names_its_unit_and_rests_on_it() -> None:
    found = assay(read(sample_path("mt")), contexts=["system"], **FAST).to_dict()
    assert found["cluster"]["column"] == "doc_id"
    assert "162 items lie in 27" in found["cluster"]["why"]
    assert {row["clusters"] for row in found["global"]} == {27}


def test_neighbours_count_as_numbers() -> None:
    data = dataset()
    names = [f"talk-{n}" for n in (10, 9, 2, 1, 100, 3)]
    renamed = data.outputs.with_columns(pl.Series("item", [name for name in names for _ in "AB"]))
    made = Dataset("mt", renamed)
    ordered = [made.items[place] for place in sort_items_naturally(made)]
    assert ordered == [f"talk-{n}" for n in (1, 2, 3, 9, 10, 100)]


@pytest.mark.parametrize("runs", [True, False])
def test_runs_without_a_named_unit_are_warned_of(runs) -> None:
    """Ten stretches of items whose outputs are good or hopeless in turn; the same items shuffled."""
    rng = np.random.default_rng(0)
    good = np.repeat(np.arange(10) % 2 == 0, 12)
    good = good if runs else rng.permutation(good)
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    rows = {
        "item": [f"{n}" for n in range(120) for _ in "AB"],
        "system": ["A", "B"] * 120,
        "output": [" ".join(words) if fine else "x y z" for fine in good for _ in "AB"],
        "references": [[" ".join(words)]] * 240,
    }
    found = assay(Dataset("mt", pl.DataFrame(rows), language="en"), contexts=["system"], **FAST).to_dict()
    assert found["cluster"]["column"] == "item"
    assert any("in runs" in warning for warning in found["warnings"]) is runs


def test_documents_of_two_test_sets_are_two() -> None:
    """`d1` of en-de and `d1` of zh-en have nothing in common but their name."""
    pairs = ["en-de"] * 3 + ["zh-en"] * 3
    unit = find_clusters(dataset(doc_id=["d1", "d1", "d2", "d1", "d1", "d2"], lp=pairs), "doc_id")
    assert len(np.unique(unit.codes)) == 4
    assert (
        find_clusters(dataset(doc_id=["d1", "d1", "d2", "d1", "d1", "d2"], lp=pairs), None).column == "doc_id"
    )


def test_an_output_without_a_document_stands_for_its_item() -> None:
    unit = find_clusters(dataset(doc_id=["d1", "d1", None, None, "d2", "d2"]), "doc_id")
    assert len(np.unique(unit.codes)) == 4
    assert unit.notes == ("4 outputs have no doc_id: for them the item is the independent unit.",)
