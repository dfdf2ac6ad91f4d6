"""Which pairs count: those that people's scores make, and of reordered lists those that lost gain."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import polars as pl

from metassay.data.dataset import Dataset
from metassay.errors import InputError, UnknownName
from metassay.perturbations.pairs import Pairs, PerturbationCount
from metassay.perturbations.ranking_pairs import GainChange, RankedPairs, gain_change

METHOD = "human"
"""Stands where the perturbation stands in pairs that were made worse."""


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


def checked(pairs: Pairs, *, valid_only: bool) -> Pairs:
    """The pairs with a note on how many copies lost gain, and `validity` by method; for texts, as they are.

    With `valid_only` the pairs whose copy did not lose gain are dropped: their label is wrong.
    """
    if not isinstance(pairs, RankedPairs):
        if valid_only:
            raise InputError("only of rankings can it be told which pairs are valid.")
        return pairs
    found = gain_change(pairs.lists.take(pairs.rows), pairs.copies)
    methods = pairs.frame["perturbation"].to_numpy()
    validity = {name: found.take(methods == name).counts() for name in pairs.counts}
    noted = replace(pairs, notes=(*pairs.notes, _note(found, valid_only=valid_only)), validity=validity)
    if valid_only and not found.worse.any():
        raise InputError("no reordered list lost gain, so no pair is valid.")
    return noted.where(found.worse) if valid_only else noted


def _note(found: GainChange, *, valid_only: bool) -> str:
    total = len(found.change)
    counts = Counter(np.sign(found.change).astype(int).tolist())
    shares = {sign: f"{100 * counts[sign] / max(total, 1):.1f} %" for sign in (-1, 0, 1)}
    clear = f"{100 * found.clear.mean():.1f} %" if total else "0 %"
    fate = (
        "The last two are dropped."
        if valid_only
        else "Their labels are wrong: --valid-pairs drops the last two."
    )
    return (
        f"Of {total} reordered lists {shares[-1]} lost discounted gain "
        f"({clear} hold more than before at no rank), {shares[0]} kept it and {shares[1]} won. {fate}"
    )
