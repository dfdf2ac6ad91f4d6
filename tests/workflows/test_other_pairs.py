"""Pairs from people, weights of outputs, and what is known of contexts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from metassay.data.context import make_context
from metassay.data.dataset import Dataset
from metassay.errors import InputError, UnknownName
from metassay.workflows.assay import assay
from metassay.workflows.pairs import context_metadata, human_column, human_pairs, output_weights
from metassay.workflows.read import read

FAST = {"resamples": 60, "permutations": 39}


@pytest.fixture
def data() -> Dataset:
    rows = [
        ("1", "a", "w x y", 0.0, 1.0), ("1", "b", "w x", -1.0, 2.0), ("1", "c", "w", -6.0, 1.0),
        ("2", "a", "p", -2.0, 3.0), ("2", "b", "q", -2.0, 1.0), ("2", "c", "q r", None, 1.0),
    ]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["item", "system", "output", "mqm", "views"], orient="row")
    return Dataset("mt", frame.with_columns(references=pl.lit(["w x y z"])), human=("mqm",))


def test_every_two_outputs_that_people_tell_apart(data) -> None:
    pairs = human_pairs(data, "mqm").frame.select("item", "system", "worse_system", "output", "worse").rows()
    assert pairs == [
        ("1", "a", "b", "w x y", "w x"),
        ("1", "a", "c", "w x y", "w"),
        ("1", "b", "c", "w x", "w"),
    ]
    assert human_pairs(data, "mqm", 1).frame.height == 2
    with pytest.raises(InputError, match="by more than 6"):
        human_pairs(data, "mqm", 6)


def test_the_human_score_must_be_clear(data) -> None:
    assert human_column(data, None) == "mqm"
    with pytest.raises(UnknownName, match="Did you mean mqm"):
        human_column(data, "mqn")
    with pytest.raises(InputError, match="not one human score but: none"):
        human_column(Dataset("mt", data.outputs), None)


def test_length_agrees_with_people_here(data) -> None:
    found = assay(data, metrics="length,chrf", pairs="human", contexts=["system"], **FAST).to_dict()
    assert {row["metric"]: row["accuracy"] for row in found["global"]} == {"length": 1.0, "chrf": 1.0}
    assert found["perturbations"] == {"human": 3}


def test_weights_from_a_column_shift_the_mean(data) -> None:
    weights = output_weights(data, "views", [make_context(data, "system")])
    assert weights.tolist() == [1, 2, 1, 3, 1, 1]
    assert output_weights(data, "uniform", []) is None
    with pytest.raises(InputError, match="weights are positive numbers"):
        output_weights(data, "mqm", [])
    with pytest.raises(UnknownName):
        output_weights(data, "vews", [])


def test_density_gives_typical_outputs_more_weight() -> None:
    lengths = [10] * 30 + [60]
    frame = pl.DataFrame(
        {"item": [f"{i:02d}" for i in range(31)], "system": "s", "output": ["w " * n for n in lengths]}
    )
    data = Dataset("mt", frame)
    weights = output_weights(data, "density", [make_context(data, "system")])
    assert weights[-1] < weights[0]
    assert weights.mean() == pytest.approx(1)


def test_metadata_of_contexts_is_what_is_constant_in_them(data) -> None:
    frame = data.outputs.with_columns(
        family=pl.col("system").replace_strict({"a": "x", "b": "x", "c": "y"}), nothing=pl.lit("same")
    )
    known = context_metadata(Dataset("mt", frame, human=("mqm",)), make_context(data, "system"))
    assert known["family"] == ["x", "x", "y"]
    assert known["output_length"] == [2.0, 1.5, 1.5]
    assert known["mean_mqm"] == [-1.0, -1.5, -6.0]
    assert "nothing" not in known
    assert "views" not in known


def test_real_people_prefer_what_chrf_prefers_more_often_than_not(real_data) -> None:
    dataset = read(real_data("wmt23/wmt23_en-de.parquet"))
    options = {"metrics": "chrf", "pairs": "human", "human": "mqm", "contexts": ["domain"], **FAST}
    close, wide = (
        assay(dataset, minimum_gap=gap, **options).to_dict()["global"][0]["accuracy"] for gap in (0.0, 10.0)
    )
    assert 0.55 < close < wide < 0.95
    assert np.isfinite(wide)
