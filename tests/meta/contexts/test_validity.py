"""What is known about each perturbation: shares, distances, disagreements with people."""

from __future__ import annotations

import polars as pl
import pytest

from metassay.data.dataset import Dataset
from metassay.meta.contexts.validity import perturbation_validity, to_frame
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
