"""Systems that are their own reference are found by their texts, per test set."""

from __future__ import annotations

import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.preparation import own_references, without_own_references
from metassay.workflows.read import read


def dataset(rows) -> Dataset:
    frame = pl.DataFrame(rows, schema=["item", "system", "output", "references", "lp"], orient="row")
    return Dataset("mt", frame)


def test_a_name_does_not_make_a_reference() -> None:
    rows = [
        (f"{i}", system, text, ["same"], "en-de")
        for i in range(5)
        for system, text in [("refA", "x"), ("b", "same")]
    ]
    data = dataset(rows)
    assert own_references(data) == ("b",)
    kept = without_own_references(data)
    assert kept.systems == ("refA",)
    assert dict(kept.left_out) == {"system is its own reference": 5}
    assert "b" in kept.notes[-1]


def test_a_system_is_judged_per_language_pair() -> None:
    rows = [(f"de/{i}", "refA", "r", ["r"], "en-de") for i in range(3)]
    rows += [(f"he/{i}", "refA", "r", ["other"], "he-en") for i in range(3)]
    kept = without_own_references(dataset(rows))
    assert kept.outputs["lp"].unique().to_list() == ["he-en"]


def test_one_percent_of_differences_is_forgiven_and_more_is_not() -> None:
    def with_differences(count: int) -> Dataset:
        return dataset([(f"{i}", "s", "r" if i >= count else "x", ["r"], "a-b") for i in range(200)])

    assert own_references(with_differences(2)) == ("s",)
    assert own_references(with_differences(3)) == ()


def test_real_references_are_found(real_data) -> None:
    expected = {"wmt21/wmt21_en-de": ("ref-A",), "wmt22/wmt22_en-de": ("refA",), "wmt23/wmt23_he-en": ()}
    for name, systems in expected.items():
        found = own_references(read(real_data(f"{name}.parquet")))
        assert found == systems, name
