"""Find and drop systems whose outputs are the reference itself.

Test sets often list human references among the systems. They are recognised by their texts, never by their
names. Systems are checked for each test set (year, language pair), because a human translation may be a
system in one test set and the reference in another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from metassay.data.columns import TEST_SET_COLUMNS
from metassay.data.dataset import Dataset
from metassay.errors import InputError

# A system is the reference if at least this share of its outputs equals the reference.
MINIMUM_EQUAL_SHARE = 0.99
REFERENCE_SYSTEM_REASON = "system is its own reference"


def find_systems_equal_to_references(dataset: Dataset) -> tuple[str, ...]:
    """Find systems whose outputs equal the references, such as human references that are listed as
    systems.
    """
    return tuple(sorted(_find_reference_outputs(dataset)["name"].unique()))


def has_only_reference_systems(dataset: Dataset) -> bool:
    """Return whether the outputs of every system equal the references."""
    return _find_reference_outputs(dataset).height == len(dataset)


def drop_systems_equal_to_references(dataset: Dataset) -> Dataset:
    """Return the data set without systems whose outputs equal the references, with a note that names them."""
    references = _find_reference_outputs(dataset)
    if references.is_empty():
        return dataset
    if references.height == len(dataset):
        raise InputError(
            "the outputs of every system are the reference, so there is nothing to compare.",
            remedy="To keep systems that are the reference, add --keep-references.",
        )
    is_reference = pl.Series([False] * len(dataset)).scatter(references["row"], True)
    kept = dataset.filter_rows(~is_reference, reason=REFERENCE_SYSTEM_REASON)
    names = tuple(sorted(references["name"].unique()))
    return replace(kept, reference_systems=names).add_notes(
        f"Systems whose outputs are the reference were left out: {', '.join(names)} "
        f"({references.height:,} outputs). To keep them, add --keep-references."
    )


def find_rows_with_reference_as_output(
    table: pl.DataFrame, output_column: str, reference_columns: Sequence[str], *, group_columns: Sequence[str]
) -> pl.Series:
    """Return a Boolean column that is true for rows of systems whose outputs equal the references.

    `reference_columns` names columns of texts or of lists of texts; an output may equal any of them, up to
    white space at its ends. `group_columns` names the columns that identify a system within its test set.
    """
    if not reference_columns:
        return pl.Series("is_reference", [False]).new_from_index(0, table.height)
    has_outer_spaces = any(_has_outer_spaces(table[name]) for name in (output_column, *reference_columns))
    output_text = pl.col(output_column).str.strip_chars() if has_outer_spaces else pl.col(output_column)
    equals_reference = []
    for name in reference_columns:
        if table.schema[name].is_nested():
            texts = pl.col(name)
            if has_outer_spaces:
                texts = texts.list.eval(pl.element().str.strip_chars())
            equal = texts.list.contains(output_text)
        else:
            text = pl.col(name).cast(pl.String)
            equal = (text.str.strip_chars() if has_outer_spaces else text) == output_text
        equals_reference.append(equal.fill_null(value=False))
    share = pl.any_horizontal(equals_reference).mean().over(list(group_columns))
    return table.select((share >= MINIMUM_EQUAL_SHARE).alias("is_reference"))["is_reference"]


def _has_outer_spaces(column: pl.Series) -> bool:
    """Return whether any text of a column begins or ends with white space."""
    texts = column.explode() if column.dtype.is_nested() else column
    if texts.dtype != pl.String:
        return False
    return bool((texts.str.strip_chars() != texts).any())


def _find_reference_outputs(dataset: Dataset) -> pl.DataFrame:
    """Find all outputs of systems whose outputs equal the references. Returns row numbers and system
    names.
    """
    outputs = dataset.outputs
    if "references" not in outputs.columns or outputs["output"].dtype != pl.String:
        return pl.DataFrame(schema={"row": pl.UInt32, "name": pl.String})
    test_set = [name for name in outputs.columns if name.lower() in TEST_SET_COLUMNS]
    name = pl.col("system")
    if test_set and outputs.select(test_set).n_unique() > 1:
        name = pl.concat_str([*test_set, "system"], separator="/")
    is_reference = find_rows_with_reference_as_output(
        outputs, "output", ["references"], group_columns=[*test_set, "system"]
    )
    named = outputs.with_row_index("row").with_columns(name.alias("name"))
    return named.filter(is_reference).select("row", "name")
