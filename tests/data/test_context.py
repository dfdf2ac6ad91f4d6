"""Contexts: columns, crossings, buckets, ranges and functions."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest

from metassay.data.context import (
    choose_default_context_columns,
    group_outputs_by_all_contexts,
    group_outputs_by_context,
)
from metassay.data.dataset import Dataset
from metassay.errors import InputError, UnknownName
from metassay.meta.contexts.trend import parse_number_from_context_name
from metassay.workflows.read import read


@pytest.fixture
def data() -> Dataset:
    n = 12
    frame = pl.DataFrame(
        {
            "item": [f"{i:02d}" for i in range(n)],
            "system": ["a", "b"] * (n // 2),
            "output": ["w " * (i + 1) for i in range(n)],
            "year": [2022] * 6 + [2023] * 6,
            "domain": ["news", "chat", None] * 4,
            "mqm": [0.0] * 6 + [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0],
        }
    )
    return Dataset("mt", frame, human=("mqm",))


def test_a_column_and_its_gaps(data) -> None:
    context = group_outputs_by_context(data, "domain")
    assert context.values == ("chat", "news")
    assert context.codes.tolist() == [1, 0, -1] * 4
    assert context.notes == ("4 outputs have no value of domain, so they belong to none of its contexts.",)


def test_a_crossing_joins_in_the_order_asked(data) -> None:
    assert group_outputs_by_context(data, "year+system").values == (
        "2022+a",
        "2022+b",
        "2023+a",
        "2023+b",
    )
    assert group_outputs_by_context(data, "system+year").values[0] == "a+2022"


def test_equal_scores_share_a_bucket(data) -> None:
    context = group_outputs_by_context(data, "mqm:4")
    assert context.values == ("[-6,-4]", "[-3,-1]", "[0,0]")
    assert group_outputs_by_context(data, "human:4").values == context.values


def test_buckets_hold_equal_numbers_where_nothing_ties(data) -> None:
    context = group_outputs_by_context(data, "length:3")
    assert np.bincount(context.codes).tolist() == [4, 4, 4]
    assert context.values == ("[1,4]", "[5,8]", "[9,12]")


def scored(numbers: list[float]) -> Dataset:
    frame = pl.DataFrame(
        {
            "item": [f"{n:03d}" for n in range(len(numbers))],
            "system": "a",
            "output": "w",
            "mqm": numbers,
        }
    )
    return Dataset("mt", frame, human=("mqm",))


def test_labels_keep_close_buckets_apart() -> None:
    """Four buckets of scores that agree in their first seven digits are four contexts."""
    context = group_outputs_by_context(scored([0.5 + n * 1e-9 for n in range(40)]), "mqm:4")
    assert np.bincount(context.codes).tolist() == [10, 10, 10, 10]
    lows = [float(value[1:].split(",")[0]) for value in context.values]
    assert lows == sorted(lows)
    assert len(set(lows)) == 4


def test_close_numbers_do_not_lengthen_the_labels_of_others() -> None:
    """Sums of MQM weights differ in the last bit; only their own labels have all digits."""
    context = group_outputs_by_context(scored([-15.2, -6.1, 0.1 + 0.2, 0.3]), "mqm:4")
    assert context.values == (
        "[-15.2,-15.2]",
        "[-6.1,-6.1]",
        "[0.3,0.3]",
        "[0.30000000000000004,0.30000000000000004]",
    )


def test_human_buckets_of_several_scores_need_a_named_one(data) -> None:
    both = Dataset("mt", data.outputs.with_columns(da=pl.Series(range(12))), human=("mqm", "da"))
    by_name = group_outputs_by_context(both, "da:3")
    assert group_outputs_by_context(both, "human:3", human_column="da").values == by_name.values
    with pytest.raises(InputError, match=r"mqm, da\.\nName one with --human"):
        group_outputs_by_context(both, "human:3")


def test_large_numbers_sort_as_numbers() -> None:
    context = group_outputs_by_context(scored([n * 3e8 for n in range(12)]), "mqm:4")
    assert context.values == ("[0,6e08]", "[9e08,1.5e09]", "[1.8e09,2.4e09]", "[2.7e09,3.3e09]")
    assert context.codes.tolist() == sorted(context.codes.tolist())
    assert [parse_number_from_context_name(value) for value in context.values] == [0, 9e8, 1.8e9, 2.7e9]


def test_a_note_says_when_fewer_buckets_came_out(data) -> None:
    assert group_outputs_by_context(data, "length:3").notes == ()
    assert group_outputs_by_context(data, "mqm:4").notes == (
        "mqm has 3 buckets instead of 4, because equal values stay together.",
    )


def test_a_number_on_a_bound_belongs_to_the_range_whose_label_includes_it() -> None:
    context = group_outputs_by_context(scored([-6.0, -3.1, -3.0, 0.0, 0.1]), "mqm:-6..-3..0")
    assert context.values == ("[-6,-3)", "[-3,0]")
    assert context.codes.tolist() == [0, 0, 1, 1, -1]


def test_ranges_and_functions(data) -> None:
    assert group_outputs_by_context(data, "mqm:-6..-3..0").values == ("[-6,-3)", "[-3,0]")
    context = group_outputs_by_context(
        data, lambda row: row["system"].upper() if row["year"] == 2022 else None
    )
    assert context.values == ("A", "B")


@pytest.mark.parametrize(
    "wanted",
    ["mqm:none", "mqm:0", "mqm:nan..5", "mqm:" + "9" * 25, "mqm:" + "9" * 5000, "mqm:3..1", "domain:5"],
)
def test_bad_requests(data, wanted) -> None:
    with pytest.raises(InputError):
        group_outputs_by_context(data, wanted)


def test_unknown_columns_offer_the_nearest(data) -> None:
    with pytest.raises(UnknownName, match="Did you mean domain"):
        group_outputs_by_context(data, "domian")


def test_contexts_with_one_value_are_refused_and_others_are_offered(data) -> None:
    single = dataclasses.replace(data, outputs=data.outputs.filter(system="a", year=2022))
    with pytest.raises(InputError, match="system and year each have only one value") as error:
        group_outputs_by_all_contexts(single, ["system", "year"])
    assert error.value.remedy == "Add --context COLUMN with one of these columns: domain."
    undivided = dataclasses.replace(single, outputs=single.outputs.drop("domain"))
    with pytest.raises(InputError, match="system has only one value, so there are no contexts") as error:
        group_outputs_by_all_contexts(undivided, None)
    assert error.value.remedy.startswith("Add outputs of another system")


def test_defaults(data) -> None:
    assert choose_default_context_columns(data) == ("system", "domain")


def test_real_quality_buckets_are_few_since_scores_pile_up(real_data) -> None:
    for pair in ("en-de", "zh-en", "en-ru"):
        context = group_outputs_by_context(read(real_data(f"wmt22/wmt22_{pair}.parquet")), "mqm:250")
        assert 19 <= len(context.values) <= 33


def test_buckets_are_made_within_a_language_pair() -> None:
    """Raters of one pair are stricter than those of the other: each pair has its own halves."""
    frame = pl.DataFrame(
        {
            "item": [f"{n}" for n in range(8)],
            "system": ["s"] * 8,
            "output": ["x"] * 8,
            "lp": ["en-de"] * 4 + ["zh-en"] * 4,
            "mqm": [-1.0, -2.0, -3.0, -4.0, -10.0, -20.0, -30.0, -40.0],
        }
    )
    made = group_outputs_by_context(Dataset("mt", frame, human=("mqm",)), "mqm:2")
    labels = [made.values[code] for code in made.codes]
    assert labels == [
        *["en-de+[-2,-1]"] * 2,
        *["en-de+[-4,-3]"] * 2,
        *["zh-en+[-20,-10]"] * 2,
        *["zh-en+[-40,-30]"] * 2,
    ]
