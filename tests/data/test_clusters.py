"""Which column names the clusters, why, and a warning if neighbouring items are alike without one."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from metassay.data.clusters import assign_outputs_to_clusters, find_sort_order_of_items
from metassay.data.dataset import Dataset
from metassay.sample import get_bundled_sample_path
from metassay.workflows.assay import assay
from metassay.workflows.read import read

FAST = {"resamples": 60, "permutations": 39, "metrics": "chrf,ter", "perturbations": "removal,swapping"}


def build_dataset(**columns: list[str | None]) -> Dataset:
    """Six items of two systems, with further columns of items."""
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
    ids=["document first", "speaker", "one item each", "one for all items", "no column"],
)
def test_the_first_column_that_groups_items_is_the_default(columns, expected) -> None:
    clusters = assign_outputs_to_clusters(build_dataset(**columns), None)
    assert clusters.column == expected
    assert len(np.unique(clusters.codes)) == (6 if expected == "item" else len(set(columns[expected])))
    assert clusters.why


def test_a_column_that_divides_an_item_does_not_name_clusters() -> None:
    data = build_dataset()
    divided = data.outputs.with_columns(pl.Series("speaker_id", ["x", "y"] * 6))
    assert assign_outputs_to_clusters(Dataset("mt", divided), None).column == "item"


def test_a_requested_column_is_used() -> None:
    clusters = assign_outputs_to_clusters(build_dataset(doc_id=DOCUMENTS), "item")
    assert (clusters.column, clusters.why) == ("item", "asked for")


def test_an_assay_reports_and_resamples_its_clusters() -> None:
    result = assay(read(get_bundled_sample_path("mt")), contexts=["system"], **FAST).to_dict()
    assert result["cluster"]["column"] == "doc_id"
    assert "162 items belong to 27" in result["cluster"]["why"]
    assert {row["clusters"] for row in result["global"]} == {27}


def test_items_are_sorted_by_the_numbers_in_their_ids() -> None:
    data = build_dataset()
    names = [f"talk-{n}" for n in (10, 9, 2, 1, 100, 3)]
    renamed = data.outputs.with_columns(pl.Series("item", [name for name in names for _ in "AB"]))
    renamed_data = Dataset("mt", renamed)
    ordered = [renamed_data.items[index] for index in find_sort_order_of_items(renamed_data)]
    assert ordered == [f"talk-{n}" for n in (1, 2, 3, 9, 10, 100)]


@pytest.mark.parametrize("neighbours_are_alike", [True, False])
def test_a_warning_says_that_neighbouring_items_are_alike(neighbours_are_alike) -> None:
    """Ten blocks of items with good or bad outputs in turn, and the same items shuffled."""
    rng = np.random.default_rng(0)
    good = np.repeat(np.arange(10) % 2 == 0, 12)
    good = good if neighbours_are_alike else rng.permutation(good)
    words = ["one", "two", "three", "four", "five", "six", "seven", "eight"]
    rows = {
        "item": [f"{n}" for n in range(120) for _ in "AB"],
        "system": ["A", "B"] * 120,
        "output": [" ".join(words) if is_good else "x y z" for is_good in good for _ in "AB"],
        "references": [[" ".join(words)]] * 240,
    }
    result = assay(Dataset("mt", pl.DataFrame(rows), language="en"), contexts=["system"], **FAST).to_dict()
    assert result["cluster"]["column"] == "item"
    has_warning = any("Neighbouring items are alike" in warning for warning in result["warnings"])
    assert has_warning is neighbours_are_alike


def test_equal_documents_of_two_test_sets_are_two_clusters() -> None:
    """`d1` of en-de and `d1` of zh-en have nothing in common but their name."""
    pairs = ["en-de"] * 3 + ["zh-en"] * 3
    clusters = assign_outputs_to_clusters(
        build_dataset(doc_id=["d1", "d1", "d2", "d1", "d1", "d2"], lp=pairs), "doc_id"
    )
    assert len(np.unique(clusters.codes)) == 4
    assert (
        assign_outputs_to_clusters(
            build_dataset(doc_id=["d1", "d1", "d2", "d1", "d1", "d2"], lp=pairs), None
        ).column
        == "doc_id"
    )


def test_an_output_without_a_document_belongs_to_the_cluster_of_its_item() -> None:
    clusters = assign_outputs_to_clusters(
        build_dataset(doc_id=["d1", "d1", None, None, "d2", "d2"]), "doc_id"
    )
    assert len(np.unique(clusters.codes)) == 4
    assert clusters.notes == ("4 outputs have no doc_id. Each of them is in the cluster of its item.",)
