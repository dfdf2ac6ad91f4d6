"""`Context`: subsets of the outputs, named by the values of one or more columns.

The user requests contexts by a short text:

    system            any column
    year+domain       a crossing of columns
    mqm:250           250 buckets of equal frequency, within each language pair (`human:250` likewise)
    length:10         buckets of the output's length in words (in documents for rankings)
    mqm:-25..-5..0    ranges with these bounds

or by a Python function from a row (a dict) to a label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.buckets import assign_to_equal_frequency_buckets, find_range_of_each_number
from metassay.data.dataset import Dataset
from metassay.errors import InputError, UnknownName, join_with_commas

# A function from a row of the outputs to the label of its context.
RowLabel = Callable[[dict[str, Any]], str | None]
# Columns that are contexts of pairs by default, if they vary.
_PAIR_CONTEXTS = ("perturbation", "severity", "language", "system", "domain")
# A request for a billion buckets or more is refused as a typing error.
_MAXIMUM_COUNT_DIGITS = 9


@dataclass(frozen=True)
class Context:
    """A division of all outputs into groups called contexts, such as one context per domain.

    Output i is in context `values[codes[i]]`, or in none if the code is -1.
    """

    name: str
    """The request, such as `domain` or `year+domain`."""
    values: tuple[str, ...]
    """Names of the contexts, sorted."""
    codes: NDArray[np.int32]
    """Number of the context of each output."""
    notes: tuple[str, ...] = ()
    """Sentences for the user, such as how many outputs are in no context."""

    @property
    def has_several_contexts(self) -> bool:
        """Return whether there are at least two contexts, so that there is something to compare."""
        return len(self.values) > 1


def group_outputs_by_context(
    dataset: Dataset, context_definition: str | RowLabel, human_column: str | None = None
) -> Context:
    """Divide the outputs into groups called contexts, by a column, by several columns (`year+domain`) or by a
    function that labels each row.

    `human_column` is the human score that `human:250` divides; by default the only one.
    """
    if callable(context_definition):
        labels = [context_definition(row) for row in dataset.outputs.iter_rows(named=True)]
        texts = [None if label is None else str(label) for label in labels]
        name = getattr(context_definition, "__name__", "function")
        return _build_context_from_labels(name, pl.Series(texts, dtype=pl.String), ())
    columns = []
    notes: list[str] = []
    for number, part in enumerate(context_definition.split("+")):
        labels_of_part, notes_of_part = _label_outputs_by_column_or_ranges(
            dataset, part.strip(), human_column
        )
        columns.append(labels_of_part.alias(str(number)))
        notes += notes_of_part
    crossed = pl.DataFrame(columns).select(pl.concat_str(pl.all(), separator="+")).to_series()
    return _build_context_from_labels(context_definition, crossed, notes)


def group_outputs_by_all_contexts(
    dataset: Dataset,
    context_definitions: str | RowLabel | Sequence[str | RowLabel] | None,
    human_column: str | None = None,
) -> tuple[Context, ...]:
    """Divide the outputs into groups called contexts, once by each requested column. Without a request,
    default columns are used.

    `human_column` is the human score that `human:250` divides; by default the only one.
    """
    if isinstance(context_definitions, str) or callable(context_definitions):
        context_definitions = [context_definitions]
    contexts = tuple(
        group_outputs_by_context(dataset, request, human_column)
        for request in context_definitions or choose_default_context_columns(dataset)
    )
    # Pairs that someone else made can be assayed without any context.
    needs_contexts = bool(context_definitions) or not dataset.rows_are_pairs
    if needs_contexts and not any(context.has_several_contexts for context in contexts):
        raise _build_single_context_error(dataset, [context.name for context in contexts])
    return contexts


def _build_single_context_error(dataset: Dataset, context_names: Sequence[str]) -> InputError:
    """Return the error for contexts that have only one value. It suggests columns with several values."""
    verb = "has" if len(context_names) == 1 else "each have"
    columns = []
    for name in ("system", *dataset.metadata):
        values = dataset.outputs[name].drop_nulls()
        if values.n_unique() > 1 and not values.dtype.is_float():
            columns.append(name)
    if columns:
        remedy = f"Add --context COLUMN with one of these columns: {join_with_commas(columns)}."
    else:
        remedy = "Add outputs of another system, or a column that divides the outputs into contexts."
    return InputError(
        f"{' and '.join(context_names)} {verb} only one value, so there are no contexts to compare.",
        remedy=remedy,
    )


def choose_default_context_columns(dataset: Dataset) -> tuple[str, ...]:
    """Choose the columns by which outputs are grouped if the user names none: `system` and, if there is one,
    `domain`.

    Pairs that someone else made have other defaults.
    """
    if not dataset.rows_are_pairs:
        return ("system", "domain") if "domain" in dataset.metadata else ("system",)
    present = [name for name in _PAIR_CONTEXTS if name in dataset.outputs.columns]
    varying = [name for name in present if dataset.outputs[name].n_unique() > 1]
    return tuple(varying) or ("system",)


def _label_outputs_by_column_or_ranges(
    dataset: Dataset, context_definition: str, human_column: str | None
) -> tuple[pl.Series, list[str]]:
    """Label each output with its value in one column, or with the range of numbers that contains the value.
    Also returns notes for the user.

    `context_definition` is the name of a column, or a column of numbers that is divided: `length:20` into 20
    buckets, `length:0..10..20` into ranges.
    """
    column, colon, division = context_definition.partition(":")
    if not colon:
        return _label_outputs_by_column(dataset, column), []
    numbers = _get_number_column(dataset, column, human_column)
    if ".." in division:
        range_names = find_range_of_each_number(numbers, division, context_definition)
        return pl.Series(range_names, dtype=pl.String), []
    if not division.isdecimal() or len(division) > _MAXIMUM_COUNT_DIGITS or int(division) < 1:
        raise InputError(
            f"{context_definition!r} does not say how to divide {column}.",
            remedy=f"Write {column}:20 for 20 buckets, or {column}:0..10..20 for ranges.",
        )
    labels, notes = assign_to_equal_frequency_buckets(
        numbers, int(division), _list_language_pairs_of_outputs(dataset), column
    )
    return pl.Series(labels, dtype=pl.String), notes


def _label_outputs_by_column(dataset: Dataset, column_name: str) -> pl.Series:
    """Return the value that each output has in a column, as text."""
    columns = ("system", *dataset.metadata, *dataset.human)
    for column in columns:
        if column.lower() == column_name.lower():
            return dataset.outputs[column].cast(pl.String)
    raise UnknownName("context", column_name, columns)


def _get_number_column(dataset: Dataset, column_name: str, human_column: str | None) -> NDArray[np.float64]:
    """Return a column as an array of numbers. Missing numbers are NaN.

    `human` means `human_column` or else the only human score, `length` the number of words (of documents in
    rankings).
    """
    outputs = dataset.outputs
    if column_name == "length" and column_name not in outputs.columns:
        texts = outputs["output"]
        lengths = texts.list.len() if texts.dtype.is_nested() else texts.str.count_matches(r"\S+")
        return lengths.cast(pl.Float64).to_numpy()
    if column_name == "human" and column_name not in outputs.columns:
        if human_column is None and len(dataset.human) != 1:
            listing = ", ".join(dataset.human) or "none"
            raise InputError(
                f"a context by human scores needs one of them, but the data has: {listing}.",
                remedy="Name one with --human COLUMN." if dataset.human else None,
            )
        column_name = human_column or dataset.human[0]
    if column_name not in outputs.columns:
        raise UnknownName("context", column_name, (*dataset.metadata, *dataset.human, "length"))
    numbers = outputs[column_name].cast(pl.Float64, strict=False)
    if numbers.null_count() == len(numbers):
        raise InputError(f"column {column_name} holds no numbers that could be divided into buckets.")
    return numbers.fill_null(float("nan")).to_numpy()


def _list_language_pairs_of_outputs(dataset: Dataset) -> list[str]:
    """List the language pair of each output. The texts are empty if no column names a language pair."""
    for name in dataset.outputs.columns:
        if name.lower() == "lp":
            return dataset.outputs[name].cast(pl.String).fill_null("").to_list()
    return [""] * len(dataset)


def _build_context_from_labels(name: str, labels_of_outputs: pl.Series, notes: Sequence[str]) -> Context:
    """Build a `Context` from the label of each output, with a note on how many outputs have no label."""
    values = sorted(labels_of_outputs.drop_nulls().unique().sort().to_list(), key=_build_context_sort_key)
    codes = labels_of_outputs.cast(pl.Enum(values)).to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
    without_label = int((codes < 0).sum())
    if without_label:
        notes = [
            *notes,
            f"{without_label} outputs have no value of {name}, so they belong to none of its contexts.",
        ]
    return Context(name, tuple(values), codes, tuple(notes))


def _build_context_sort_key(context_label: str) -> tuple[tuple[int, float, str], ...]:
    """Build a key that sorts names of contexts by the numbers in them, so that year 9 comes before year
    10.
    """
    key: list[tuple[int, float, str]] = []
    for part in context_label.replace("[", "+").split("+"):
        beginning = part.split(",")[0].rstrip("]")
        try:
            key.append((0, float(beginning), part))
        except ValueError:
            key.append((1, 0.0, part))
    return tuple(key)
