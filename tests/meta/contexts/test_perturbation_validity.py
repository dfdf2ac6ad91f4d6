"""What is known about each perturbation: shares, distances, disagreements with people."""

from __future__ import annotations

from itertools import pairwise
from statistics import median, quantiles

import numpy as np
import polars as pl
import pytest

from metassay.data.dataset import Dataset
from metassay.meta.contexts.difficulty import (
    compute_edit_distance_quartiles,
    group_pairs_by_share_of_edited_characters,
    measure_accuracy_by_difficulty,
)
from metassay.meta.contexts.pair_outcomes import PairOutcomes
from metassay.meta.contexts.perturbation_validity import (
    average_edits_by_perturbation,
    compute_human_score_differences,
    measure_edit_distances,
    summarize_perturbations,
)
from metassay.perturbations.pairs import Pairs, make_perturbed_output_pairs
from metassay.results.assay import PerturbationStatistics


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


def summarize_pairs(pairs: Pairs, dataset: Dataset) -> list[PerturbationStatistics]:
    """Count and describe the pairs of every perturbation."""
    names = sorted(pairs.counts)
    edits = measure_edit_distances(pairs.frame["output"], pairs.frame["worse"])
    codes = pairs.frame["perturbation"].cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int32)
    return summarize_perturbations(
        pairs.counts,
        average_edits_by_perturbation(edits, names, codes),
        compute_human_score_differences(pairs.frame, dataset),
        pairs.validity,
    )


def test_shares_distances_and_disagreements() -> None:
    pairs = make_perturbed_output_pairs(
        dataset(), perturbations=["negation_removal", "removal"], per_output=None
    )
    rows = {row.perturbation: row for row in summarize_pairs(pairs, dataset())}
    negation = rows["negation_removal"]
    assert (negation.outputs, negation.pairs, negation.applied, negation.unchanged) == (8, 3, 3, 0)
    assert negation.edit_distance == 4  # "not "
    assert negation.edit_share == pytest.approx((4 / 15 + 4 / 13 + 4 / 12) / 3)
    assert (negation.human_scored, negation.disagreements, negation.ties) == (3, 1, 0)
    assert rows["removal"].pairs == 6


def test_without_human_scores_nothing_is_judged() -> None:
    data = Dataset("mt", dataset().outputs.drop("mqm"), language="en")
    rows = summarize_pairs(make_perturbed_output_pairs(data, perturbations=["removal"]), data)
    assert [(row.human_scored, row.disagreements) for row in rows] == [(0, 0)]


def test_a_method_that_never_applies_has_no_distance() -> None:
    data = Dataset("mt", pl.DataFrame({"item": ["1"], "system": ["s"], "output": ["word"]}))
    (row,) = summarize_pairs(make_perturbed_output_pairs(data, perturbations=["removal"]), data)
    assert (row.applied, row.pairs, row.edit_distance) == (0, 0, None)


def judged(seed: int = 0, pairs: int = 400) -> tuple[PairOutcomes, np.ndarray]:
    """Two metrics on pairs of 40 items: one that is right where much was edited, one that tosses a coin."""
    rng = np.random.default_rng(seed)
    shares = rng.integers(1, 60, pairs) / 100
    right = np.stack([rng.random(pairs) < 0.3 + shares, rng.random(pairs) < 0.5])
    item = rng.integers(0, 40, pairs)
    methods = np.zeros(pairs, dtype=int)
    outcome = np.where(right, 1, -1)
    return PairOutcomes(("sees", "tosses"), ("removal",), outcome, item, item, item, methods), shares


def test_accuracy_by_difficulty_is_that_of_each_part_counted_by_hand() -> None:
    judgements, shares = judged()
    found = measure_accuracy_by_difficulty(
        judgements,
        group_pairs_by_share_of_edited_characters(shares),
        None,
        ties="strict",
        resamples=200,
        seed=0,
    )
    assert found is not None
    assert len(found.bins) == 5
    assert sum(part.pairs for part in found.bins) == len(shares)
    ends = [(part.low, part.high) for part in found.bins]
    assert all(here[1] < there[0] for here, there in pairwise(ends))  # equal shares lie in one part
    for row in found.accuracy:
        low, high = ends[row.bin]
        own = (shares >= low) & (shares <= high)
        m = judgements.metrics.index(row.metric)
        frame = pl.DataFrame({"item": judgements.items[own], "right": judgements.outcomes[m][own] == 1})
        by_item = frame.group_by("item").agg(pl.col("right").mean())
        assert row.accuracy == pytest.approx(by_item["right"].mean(), abs=1e-12)
        assert (row.pairs, row.items) == (own.sum(), by_item.height)
        assert row.low <= row.accuracy <= row.high
    sees = [row.accuracy for row in found.accuracy if row.metric == "sees"]
    assert sees[-1] - sees[0] > 0.3


def test_pairs_of_one_difficulty_have_no_curve() -> None:
    judgements, shares = judged(pairs=60)
    assert (
        measure_accuracy_by_difficulty(
            judgements,
            group_pairs_by_share_of_edited_characters(np.full(60, 0.2)),
            None,
            ties="strict",
            resamples=9,
            seed=0,
        )
        is None
    )
    few = measure_accuracy_by_difficulty(
        judgements,
        group_pairs_by_share_of_edited_characters(shares),
        None,
        ties="strict",
        resamples=9,
        seed=0,
    )
    assert few is not None
    assert len(few.bins) == 3  # twenty pairs each
    few_pairs = judgements.select_pairs(np.arange(39)), group_pairs_by_share_of_edited_characters(shares[:39])
    assert measure_accuracy_by_difficulty(*few_pairs, None, ties="strict", resamples=9, seed=0) is None


def test_people_stand_on_the_same_axis() -> None:
    judgements, shares = judged()
    apart = np.random.default_rng(1).random(101)
    bins = group_pairs_by_share_of_edited_characters(shares)
    distances = compute_edit_distance_quartiles("mqm", apart)
    found = measure_accuracy_by_difficulty(judgements, bins, distances, ties="strict", resamples=9, seed=0)
    assert found is not None
    quarters = quantiles(apart.tolist(), n=4, method="inclusive")
    people = found.human_pairs
    assert people is not None
    assert [people.low, people.median, people.high] == pytest.approx(quarters)
    assert (people.human, people.pairs) == ("mqm", 101)
    assert found.median == pytest.approx(median(shares.tolist()))
