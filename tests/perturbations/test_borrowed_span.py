"""Spans from worse outputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from metassay.data.dataset import Dataset
from metassay.errors import InputError
from metassay.perturbations.base import View
from metassay.perturbations.pairs import make_perturbed_output_pairs
from metassay.perturbations.sentences import BorrowedSpan
from metassay.stats.streams import Stream, compute_output_seed, derive_seed_from_name


def worse(text: str, *rivals: str, seed: int = 0, longest: int = 8) -> str | None:
    method = BorrowedSpan(longest)
    return method.apply(
        View(text, "1", rivals=rivals),
        Stream(derive_seed_from_name(compute_output_seed(seed, "1", text), method.name)),
    )


def test_one_differing_span_is_taken_and_the_rest_stays() -> None:
    text, rival = "The quick fox  jumped over a dog.", "The fast fox leapt over the old dog."
    results = {worse(text, rival, seed=seed) for seed in range(60)}
    assert results == {
        "The fast fox  jumped over a dog.",
        "The quick fox  leapt over a dog.",
        "The quick fox  jumped over the old dog.",
    }


def test_without_rivals_or_with_equal_ones_it_does_not_apply() -> None:
    assert worse("a b c") is None
    assert worse("a b c", "a b") is None  # something is missing there, but nothing stands in its place
    assert worse("a b c d", "x y z", longest=2) is None


def dataset(scores: list[float | None]) -> Dataset:
    rows = {
        "item": ["1", "1", "2", "2"],
        "system": ["good", "bad"] * 2,
        "output": ["a b", "a x", "c d", "c y"],
    }
    return Dataset("mt", pl.DataFrame(rows | {"mqm": scores}), human=("mqm",))


def test_lower_scored_outputs_lend_and_higher_scored_ones_do_not() -> None:
    pairs = make_perturbed_output_pairs(
        dataset([0.0, -5.0, -1.0, 0.0]), perturbations=["borrowed_span"]
    ).frame
    assert pairs.select("item", "system", "worse").rows() == [("1", "good", "a x"), ("2", "bad", "c d")]


def test_where_an_item_is_not_rated_the_systems_mean_decides() -> None:
    pairs = make_perturbed_output_pairs(
        dataset([0.0, -5.0, None, None]), perturbations=["borrowed_span"]
    ).frame
    assert pairs.select("item", "system").rows() == [("1", "good"), ("2", "good")]


def test_data_without_human_scores_is_refused() -> None:
    data = Dataset("mt", pl.DataFrame({"item": ["1"], "system": ["s"], "output": ["a b"]}))
    with pytest.raises(InputError, match="needs human scores"):
        make_perturbed_output_pairs(data, perturbations=["borrowed_span"])
    with pytest.raises(InputError, match="less than 1 word"):
        make_perturbed_output_pairs(data, perturbations=["borrowed_span(longest=0)"])


def test_on_wmt_most_rated_outputs_can_borrow(real_data: Callable[[str], Path]) -> None:
    frame = pl.read_parquet(real_data("wmt22/wmt22_en-de.parquet")).filter(pl.col("seg_id") <= 300)
    columns = frame.select(item=pl.col("seg_id").cast(str), system="system", output="hyp", lp="lp", mqm="mqm")
    pairs = make_perturbed_output_pairs(
        Dataset("mt", columns, human=("mqm",)), perturbations=["borrowed_span"]
    )
    count = pairs.counts["borrowed_span"]
    assert count.applied / (count.applied + count.not_applicable) > 0.4
    assert (pairs.frame["output"] != pairs.frame["worse"]).all()
