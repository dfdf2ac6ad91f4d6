"""Pairs that no perturbation made: of two systems' outputs, told apart by human scores, or brought along."""

from __future__ import annotations

import numpy as np
import polars as pl

from metassay.data.dataset import Dataset
from metassay.errors import InputError, UnknownName
from metassay.perturbations.pairs import Pairs, PerturbationCount

METHOD = "human"
"""Stands where the perturbation stands in pairs that were made worse."""
UNNAMED = "unnamed"
"""Stands there in pairs of which nobody says how they were made."""
EQUAL_SIDES = "both sides of the pair are equal"


def human_column(dataset: Dataset, named: str | None) -> str:
    """The human score to use: the one named, or the only one."""
    if named is not None:
        if named not in dataset.human:
            raise UnknownName("human score", named, dataset.human)
        return named
    if len(dataset.human) != 1:
        listing = ", ".join(dataset.human) or "none"
        raise InputError(
            f"the data has not one human score but: {listing}.", remedy="Name one with --human COLUMN."
        )
    return dataset.human[0]


def human_pairs(dataset: Dataset, human: str, minimum_gap: float = 0.0) -> Pairs:
    """Every two outputs of an item whose human scores differ by more than `minimum_gap`, the better first.

    `frame` has the columns of perturbed pairs, and `worse_system`. Outputs of equal text are no pair.
    """
    if minimum_gap < 0:
        raise InputError(f"a minimum gap of {minimum_gap} is negative.")
    rated = dataset.outputs.select("item", "system", "output", human).drop_nulls(human)
    both = rated.join(rated, on="item", suffix="_worse")
    better = both.filter(
        (pl.col(human) - pl.col(f"{human}_worse") > minimum_gap)
        & (pl.col("output") != pl.col("output_worse"))
    )
    frame = better.select(
        "item",
        "system",
        pl.lit(METHOD).alias("perturbation"),
        "output",
        pl.col("output_worse").alias("worse"),
        pl.col("system_worse").alias("worse_system"),
    ).sort("item", "system", "worse_system")
    if frame.is_empty():
        raise InputError(f"no two outputs of an item differ in {human} by more than {minimum_gap:g}.")
    count = PerturbationCount(applied=frame.height, pairs=frame.height)
    unrated = len(dataset) - rated.height
    notes = (f"{unrated} outputs without {human} are in no pair.",) if unrated else ()
    return Pairs(frame, {METHOD: count}, notes)


def told_apart(dataset: Dataset) -> Dataset:
    """The pairs whose two sides differ; the others are counted."""
    return dataset.where(dataset.outputs["output"] != dataset.outputs["worse"], reason=EQUAL_SIDES)


def given_pairs(dataset: Dataset) -> Pairs:
    """The pairs that a data set of pairs holds, one per row, in its order."""
    outputs = dataset.outputs
    named = "perturbation" in outputs.columns
    method = pl.col("perturbation").fill_null(UNNAMED) if named else pl.lit(UNNAMED).alias("perturbation")
    frame = outputs.select("item", "system", method, "output", "worse")
    held = dict(frame["perturbation"].value_counts().iter_rows())
    counts = {name: PerturbationCount(applied=count, pairs=count) for name, count in held.items()}
    distinct = outputs.select("item", "system", "output").n_unique()
    notes = _hopeless(outputs)
    if distinct < len(dataset):
        notes = [
            f"{distinct:,} distinct outputs are in {len(dataset):,} pairs; each pair counts as one output.",
            *notes,
        ]
    return Pairs(frame, counts, tuple(notes), rows=np.arange(len(dataset)))


def _hopeless(outputs: pl.DataFrame) -> list[str]:
    """A note on pairs whose worse side is a reference and whose better side is none."""
    if "references" not in outputs.columns:
        return []
    own, worse = (pl.col("references").list.contains(pl.col(side)) for side in ("output", "worse"))
    count = outputs.filter(worse & ~own).height
    said = "the worse text is the reference itself: a metric that rewards likeness to it must be wrong there."
    return [f"In {count:,} pairs {said}"] if count else []
