"""Systems that are their own reference are found by their texts, per test set; styles of sides that clash."""

from __future__ import annotations

import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.preparation import (
    describe_style_difference,
    drop_reference_systems,
    find_reference_systems,
)
from metassay.text.normalize import normalize
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
    assert find_reference_systems(data) == ("b",)
    kept = drop_reference_systems(data)
    assert kept.systems == ("refA",)
    assert dict(kept.left_out) == {"system is its own reference": 5}
    assert "b" in kept.notes[-1]


def test_a_system_is_judged_per_language_pair() -> None:
    rows = [(f"de/{i}", "refA", "r", ["r"], "en-de") for i in range(3)]
    rows += [(f"he/{i}", "refA", "r", ["other"], "he-en") for i in range(3)]
    kept = drop_reference_systems(dataset(rows))
    assert kept.outputs["lp"].unique().to_list() == ["he-en"]


def test_one_percent_of_differences_is_forgiven_and_more_is_not() -> None:
    def with_differences(count: int) -> Dataset:
        return dataset([(f"{i}", "s", "r" if i >= count else "x", ["r"], "a-b") for i in range(200)])

    assert find_reference_systems(with_differences(2)) == ("s",)
    assert find_reference_systems(with_differences(3)) == ()


def test_real_references_are_found(real_data) -> None:
    expected = {"wmt21/wmt21_en-de": ("ref-A",), "wmt22/wmt22_en-de": ("refA",), "wmt23/wmt23_he-en": ()}
    for name, systems in expected.items():
        found = find_reference_systems(read(real_data(f"{name}.parquet")))
        assert found == systems, name


def test_a_mismatch_of_case_or_punctuation_is_told():
    raw, plain = ["He hoped, there.", "Stew for dinner."], ["HE HOPED THERE", "STEW FOR DINNER"]
    assert "upper case" in (describe_style_difference(raw, plain) or "")
    assert "punctuation" in (describe_style_difference(raw, plain) or "")
    assert describe_style_difference(raw, raw) is None
    assert describe_style_difference(plain, plain) is None
    lowered = [normalize(text, "english") for text in raw]
    assert describe_style_difference(lowered, [normalize(text, "english") for text in plain]) is None


def test_librispeech_sides_differ_until_normalised(real_data):
    table = pl.read_parquet(real_data("asr/asr_librispeech_test_clean.parquet"))
    outputs, references = table["hyp"].to_list(), table["ref"].to_list()
    assert describe_style_difference(outputs, references) is not None
    english = [[normalize(text, "english") for text in side] for side in (outputs, references)]
    assert describe_style_difference(*english) is None
    assert english[1] == [text.lower() for text in references]
