"""Systems that are their own reference are found by their texts, per test set; styles of sides that clash."""

from __future__ import annotations

import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.preparation import differs_in_style, own_references, without_own_references
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


def test_a_mismatch_of_case_or_punctuation_is_told():
    raw, plain = ["He hoped, there.", "Stew for dinner."], ["HE HOPED THERE", "STEW FOR DINNER"]
    assert "upper case" in (differs_in_style(raw, plain) or "")
    assert "punctuation" in (differs_in_style(raw, plain) or "")
    assert differs_in_style(raw, raw) is None
    assert differs_in_style(plain, plain) is None
    lowered = [normalize(text, "english") for text in raw]
    assert differs_in_style(lowered, [normalize(text, "english") for text in plain]) is None


def test_librispeech_sides_differ_until_normalised(real_data):
    table = pl.read_parquet(real_data("asr/asr_librispeech_test_clean.parquet"))
    outputs, references = table["hyp"].to_list(), table["ref"].to_list()
    assert differs_in_style(outputs, references) is not None
    english = [[normalize(text, "english") for text in side] for side in (outputs, references)]
    assert differs_in_style(*english) is None
    assert english[1] == [text.lower() for text in references]
