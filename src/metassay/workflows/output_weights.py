"""Compute weights of outputs: from a column of the data, or from how typical an output is of its context."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from metassay.data.context import Context
from metassay.data.dataset import Dataset
from metassay.errors import InputError, InputLocation, UnknownName
from metassay.meta.contexts.density_weights import weight_outputs_by_density_in_context
from metassay.stats.arrays import FloatArray

DENSITY = "density"
UNIFORM = "uniform"


def compute_weight_of_each_output(
    dataset: Dataset, weight_option: str | None, contexts: Sequence[Context]
) -> FloatArray | None:
    """Return a weight for each output, from a column of the data or by how typical the output is of its
    context, such as its domain. Returns None if all outputs count the same.

    `density` weighs an output by the density of its (first) context, estimated from the lengths of output,
    reference and source, so that odd outputs count less.
    """
    if weight_option is None or weight_option == UNIFORM:
        return None
    if weight_option == DENSITY:
        return weight_outputs_by_density_in_context(
            _compute_logarithms_of_text_lengths(dataset), contexts[0].codes
        )
    if weight_option not in dataset.outputs.columns:
        raise UnknownName("column of weights", weight_option, (DENSITY, UNIFORM, *dataset.metadata))
    weights = dataset.outputs[weight_option].cast(pl.Float64, strict=False)
    is_finite = weights.is_finite().fill_null(value=False)
    is_positive = (weights > 0).fill_null(value=False)
    is_invalid = ~(is_finite & is_positive)
    if is_invalid.any():
        first = dataset.outputs.row(int(is_invalid.arg_max() or 0), named=True)
        raise InputError(
            f"the weight of item {first['item']}, system {first['system']} is {first[weight_option]}; "
            "weights are positive numbers.",
            location=InputLocation(column=weight_option),
        )
    return weights.to_numpy()


def _compute_logarithms_of_text_lengths(dataset: Dataset) -> FloatArray:
    """Compute the logarithms of the lengths, in words, of each output, its reference and its source."""
    outputs = dataset.outputs
    lengths = [count_words(outputs["output"])]
    if "references" in outputs.columns:
        lengths.append(count_words(outputs["references"].list.first()))
    if "source" in outputs.columns:
        lengths.append(count_words(outputs["source"].fill_null("")))
    return np.log1p(np.column_stack(lengths))


def count_words(texts: pl.Series) -> FloatArray:
    """Count the words of each text, or the documents of each ranked list. Missing texts get NaN."""
    if texts.dtype.is_nested():
        return texts.list.len().cast(pl.Float64).to_numpy()
    counts = (np.nan if text is None else len(text.split()) for text in texts)
    return np.fromiter(counts, np.float64, len(texts))
