"""Weights of outputs, and what is known of contexts beside their names."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.context import Context
from metassay.data.dataset import Dataset
from metassay.errors import InputError, Place, UnknownName
from metassay.meta.contexts.prediction import Metadata
from metassay.meta.contexts.weighting import density_weights

DENSITY = "density"


def output_weights(
    dataset: Dataset, wanted: str | None, contexts: Sequence[Context]
) -> NDArray[np.float64] | None:
    """One weight per output: a column's numbers, or how typical the output is of its (first) context.

    `density` estimates the density of the context from the lengths of output, reference and source, so that
    odd outputs count less.
    """
    if wanted is None or wanted == "uniform":
        return None
    if wanted == DENSITY:
        return density_weights(_features(dataset), contexts[0].codes)
    if wanted not in dataset.outputs.columns:
        raise UnknownName("column of weights", wanted, (DENSITY, "uniform", *dataset.metadata))
    weights = dataset.outputs[wanted].cast(pl.Float64, strict=False)
    bad = (
        weights.is_null() | ~weights.is_finite().fill_null(value=False) | (weights <= 0).fill_null(value=True)
    )
    if bad.any():
        first = dataset.outputs.row(int(bad.arg_max() or 0), named=True)
        raise InputError(
            f"the weight of item {first['item']}, system {first['system']} is {first[wanted]}; "
            "weights are positive numbers.",
            place=Place(column=wanted),
        )
    return weights.to_numpy()


def context_metadata(dataset: Dataset, context: Context) -> Metadata:
    """What the data says of each context: columns with one value in it, mean length and human scores."""
    outputs = dataset.outputs.with_columns(pl.Series("_code", context.codes)).filter(pl.col("_code") >= 0)
    asked = set(context.name.replace(":", "+").split("+"))
    known: dict[str, list[str | float]] = {}
    for name in (column for column in dataset.metadata if column not in asked):
        grouped = outputs.group_by("_code").agg(
            pl.col(name).n_unique().alias("n"), pl.col(name).first().cast(pl.String)
        )
        values = grouped.sort("_code")[name]
        if (grouped["n"] == 1).all() and not values.has_nulls() and values.n_unique() > 1:
            known[name] = values.to_list()
    means = {"output_length": pl.Series(_lengths(dataset.outputs["output"]))}
    means |= {f"mean_{name}": dataset.outputs[name] for name in dataset.human if name not in asked}
    for name, numbers in means.items():
        table = pl.DataFrame({"_code": context.codes, "number": numbers}).filter(pl.col("_code") >= 0)
        mean = table.group_by("_code").agg(pl.col("number").mean()).sort("_code")["number"]
        if not mean.has_nulls():
            known[name] = mean.to_list()
    return known


def _features(dataset: Dataset) -> NDArray[np.float64]:
    outputs = dataset.outputs
    lengths = [_lengths(outputs["output"])]
    if "references" in outputs.columns:
        lengths.append(_lengths(outputs["references"].list.first()))
    if "source" in outputs.columns:
        lengths.append(_lengths(outputs["source"].fill_null("")))
    return np.log1p(np.column_stack(lengths))


def _lengths(column: pl.Series) -> NDArray[np.float64]:
    """Words of a text, documents of a list."""
    counted = column.list.len() if column.dtype.is_nested() else column.str.count_matches(r"\S+")
    return counted.cast(pl.Float64).to_numpy()
