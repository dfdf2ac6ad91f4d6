"""Describe contexts, such as domains, by mean output length, mean human scores and constant columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from metassay.data.context import Context
from metassay.data.dataset import Dataset
from metassay.meta.contexts.agreement_prediction import ContextProperties
from metassay.stats.arrays import FloatArray
from metassay.workflows.output_weights import count_words


def summarize_outputs_by_context(
    dataset: Dataset, contexts: Sequence[Context]
) -> dict[str, ContextProperties]:
    """Summarise the outputs of each context, such as a domain, by mean length, mean human scores and constant
    columns. This may explain why some contexts rank metrics alike.
    """
    lengths = count_words(dataset.outputs["output"])
    return {context.name: _summarize_contexts_of_column(dataset, context, lengths) for context in contexts}


def _summarize_contexts_of_column(
    dataset: Dataset, context: Context, output_lengths: FloatArray
) -> ContextProperties:
    """Summarise the outputs of each context in one column, such as each domain: constant metadata, mean
    output length and mean human scores.
    """
    context_columns = set(context.name.replace(":", "+").split("+"))
    facts: dict[str, list[str | float]] = {}
    for name, values in _find_columns_constant_within_contexts(dataset, context, context_columns).items():
        facts[name] = list(values)
    numbers = {"output_length": output_lengths}
    for name in dataset.human:
        if name not in context_columns:
            numbers[f"mean_{name}"] = dataset.outputs[name].to_numpy()
    for name, values_by_output in numbers.items():
        means = _average_values_by_context(values_by_output, context)
        if means is not None:
            facts[name] = list(means)
    return facts


def _find_columns_constant_within_contexts(
    dataset: Dataset, context: Context, context_columns: set[str]
) -> dict[str, list[str]]:
    """Find the metadata columns that have one value within each context, such as a domain, but different
    values in different contexts.
    """
    codes = pl.Series("_code", context.codes)
    outputs = pl.DataFrame([codes, *(dataset.outputs[name] for name in dataset.metadata)])
    outputs = outputs.filter(pl.col("_code") >= 0)
    constant = {}
    for name in dataset.metadata:
        if name in context_columns:
            continue
        grouped = outputs.group_by("_code").agg(
            pl.col(name).n_unique().alias("distinct"), pl.col(name).first().cast(pl.String)
        )
        values = grouped.sort("_code")[name]
        if (grouped["distinct"] == 1).all() and not values.has_nulls() and values.n_unique() > 1:
            constant[name] = values.to_list()
    return constant


def _average_values_by_context(output_values: FloatArray, context: Context) -> list[float] | None:
    """Compute the mean of a value of outputs, such as their length, in each context. Returns None if a
    context has no values.
    """
    is_used = (context.codes >= 0) & ~np.isnan(output_values)
    codes = context.codes[is_used]
    counts = np.bincount(codes, minlength=len(context.values))
    if not (counts > 0).all():
        return None
    means: list[float] = (
        np.bincount(codes, output_values[is_used], minlength=len(context.values)) / counts
    ).tolist()
    return means
