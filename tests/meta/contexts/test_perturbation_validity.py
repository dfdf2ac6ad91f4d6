"""What is known about each perturbation: shares, distances, disagreements with people."""

from __future__ import annotations

from itertools import pairwise
from statistics import median, quantiles

import numpy as np
import polars as pl
import pytest

from metassay.data.dataset import Dataset
from metassay.meta.contexts.pair_outcomes import Judgements
from metassay.meta.contexts.perturbation_validity import (
    BINS,
    Parts,
    difficulty,
    perturbation_validity,
    to_frame,
)
from metassay.perturbations.pairs import make_pairs


def dataset() -> Dataset:
    rows = [
        ("1", "a", "not good for us", 0.0),
        ("1", "b", "good for us", -9.0),  # what removing the negation makes of a's output, and people hate it
        ("2", "a", "not very nice", -9.0),
        ("2", "b", "very nice", 0.0),  # the same, and people love it
        ("3", "a", "fine", -1.0),
        ("3", "b", "", None),
        ("4", "a", "not bad here", 0.0),
        ("4", "b", "bad here", -5.0),
    ]
    frame = pl.DataFrame(rows, schema=["item", "system", "output", "mqm"], orient="row")
    return Dataset("mt", frame, human=("mqm",), language="en")


def test_shares_distances_and_disagreements() -> None:
    pairs = make_pairs(dataset(), perturbations=["negation_removal", "removal"], per_output=None)
    rows = {row.perturbation: row for row in perturbation_validity(pairs, dataset())}
    negation = rows["negation_removal"]
    assert (negation.outputs, negation.pairs, negation.applied, negation.unchanged) == (8, 3, 3 / 8, 0)
    assert negation.edit_distance == 4  # "not "
    assert negation.edit_share == pytest.approx((4 / 15 + 4 / 13 + 4 / 12) / 3)
    assert (negation.judged, negation.disagreements, negation.ties) == (3, 1, 0)
    assert rows["removal"].pairs == 6
    assert to_frame(list(rows.values())).height == 2


def test_without_human_scores_nothing_is_judged() -> None:
    data = Dataset("mt", dataset().outputs.drop("mqm"), language="en")
    rows = perturbation_validity(make_pairs(data, perturbations=["removal"]), data)
    assert [(row.judged, row.disagreements) for row in rows] == [(0, 0)]


def test_a_method_that_never_applies_has_no_distance() -> None:
    data = Dataset("mt", pl.DataFrame({"item": ["1"], "system": ["s"], "output": ["word"]}))
    (row,) = perturbation_validity(make_pairs(data, perturbations=["removal"]), data)
    assert (row.applied, row.pairs, row.edit_distance) == (0, 0, None)


def judged(seed: int = 0, pairs: int = 400) -> tuple[Judgements, np.ndarray]:
    """Two metrics on pairs of 40 items: one that is right where much was edited, one that tosses a coin."""
    rng = np.random.default_rng(seed)
    shares = rng.integers(1, 60, pairs) / 100
    right = np.stack([rng.random(pairs) < 0.3 + shares, rng.random(pairs) < 0.5])
    item = rng.integers(0, 40, pairs)
    methods = np.zeros(pairs, dtype=int)
    outcome = np.where(right, 1, -1)
    return Judgements(("sees", "tosses"), ("removal",), outcome, item, item, item, methods), shares


def test_accuracy_by_difficulty_is_that_of_each_part_counted_by_hand() -> None:
    judgements, shares = judged()
    found = difficulty(judgements, Parts.of(shares), None, ties="strict", resamples=200, seed=0)
    assert found is not None
    assert len(found["bins"]) == BINS
    assert sum(part["pairs"] for part in found["bins"]) == len(shares)
    ends = [(part["low"], part["high"]) for part in found["bins"]]
    assert all(here[1] < there[0] for here, there in pairwise(ends))  # equal shares lie in one part
    for row in found["accuracy"]:
        low, high = ends[row["bin"]]
        own = (shares >= low) & (shares <= high)
        m = judgements.metrics.index(row["metric"])
        frame = pl.DataFrame({"item": judgements.item[own], "right": judgements.outcome[m][own] == 1})
        by_item = frame.group_by("item").agg(pl.col("right").mean())
        assert row["accuracy"] == pytest.approx(by_item["right"].mean(), abs=1e-12)
        assert (row["pairs"], row["items"]) == (own.sum(), by_item.height)
        assert row["low"] <= row["accuracy"] <= row["high"]
    sees = [row["accuracy"] for row in found["accuracy"] if row["metric"] == "sees"]
    assert sees[-1] - sees[0] > 0.3


def test_pairs_of_one_difficulty_have_no_curve() -> None:
    judgements, shares = judged(pairs=60)
    assert (
        difficulty(judgements, Parts.of(np.full(60, 0.2)), None, ties="strict", resamples=9, seed=0) is None
    )
    few = difficulty(judgements, Parts.of(shares), None, ties="strict", resamples=9, seed=0)
    assert few is not None
    assert len(few["bins"]) == 3  # twenty pairs each
    few_pairs = judgements.take(np.arange(39)), Parts.of(shares[:39])
    assert difficulty(*few_pairs, None, ties="strict", resamples=9, seed=0) is None


def test_people_stand_on_the_same_axis() -> None:
    judgements, shares = judged()
    apart = np.random.default_rng(1).random(101)
    found = difficulty(judgements, Parts.of(shares), ("mqm", apart), ties="strict", resamples=9, seed=0)
    assert found is not None
    quarters = quantiles(apart.tolist(), n=4, method="inclusive")
    people = found["people"]
    assert [people[key] for key in ("low", "median", "high")] == pytest.approx(quarters)
    assert (people["human"], people["pairs"]) == ("mqm", 101)
    assert found["median"] == pytest.approx(median(shares.tolist()))
