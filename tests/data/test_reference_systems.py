"""Systems that are the reference itself are found by their texts, separately for each test set."""

from __future__ import annotations

import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.reference_systems import drop_systems_equal_to_references, find_systems_equal_to_references
from metassay.workflows.read import read


def build_dataset(rows) -> Dataset:
    frame = pl.DataFrame(rows, schema=["item", "system", "output", "references", "lp"], orient="row")
    return Dataset("mt", frame)


def test_a_reference_is_recognised_by_its_texts_not_by_its_name() -> None:
    rows = [
        (f"{i}", system, text, ["same"], "en-de")
        for i in range(5)
        for system, text in [("refA", "x"), ("b", "same")]
    ]
    data = build_dataset(rows)
    assert find_systems_equal_to_references(data) == ("b",)
    kept = drop_systems_equal_to_references(data)
    assert kept.systems == ("refA",)
    assert dict(kept.left_out) == {"system is its own reference": 5}
    assert "b" in kept.notes[-1]


def test_a_system_is_checked_for_each_language_pair() -> None:
    rows = [(f"de/{i}", "refA", "r", ["r"], "en-de") for i in range(3)]
    rows += [(f"he/{i}", "refA", "r", ["other"], "he-en") for i in range(3)]
    kept = drop_systems_equal_to_references(build_dataset(rows))
    assert kept.outputs["lp"].unique().to_list() == ["he-en"]


def test_a_system_that_differs_in_one_percent_of_outputs_is_still_the_reference() -> None:
    def with_differences(count: int) -> Dataset:
        return build_dataset([(f"{i}", "s", "r" if i >= count else "x", ["r"], "a-b") for i in range(200)])

    assert find_systems_equal_to_references(with_differences(2)) == ("s",)
    assert find_systems_equal_to_references(with_differences(3)) == ()


def test_real_references_are_found(real_data) -> None:
    expected = {"wmt21/wmt21_en-de": ("ref-A",), "wmt22/wmt22_en-de": ("refA",), "wmt23/wmt23_he-en": ()}
    for name, systems in expected.items():
        found = find_systems_equal_to_references(read(real_data(f"{name}.parquet")))
        assert found == systems, name
