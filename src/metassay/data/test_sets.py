"""Name the test set of every output, and compare which items of a test set the systems have."""

from __future__ import annotations

import polars as pl

from metassay.data.columns import TEST_SET_COLUMNS, select_columns_by_name
from metassay.data.dataset import Dataset
from metassay.errors import join_with_commas


def list_test_set_of_each_output(dataset: Dataset) -> pl.Series:
    """Return the name of the test set of each output, such as `2023/en-de`. The names are empty if no column
    names a test set.
    """
    names = select_columns_by_name(dataset.outputs.columns, TEST_SET_COLUMNS)
    if not names:
        return pl.Series("group", [""]).new_from_index(0, len(dataset))
    return dataset.outputs.select(pl.concat_str(names, separator="/").alias("group"))["group"]


def warn_of_systems_without_all_items(dataset: Dataset) -> list[str]:
    """Return a note if systems have outputs for different items of a test set, so that their scores cannot be
    compared.

    Rankings are left out: a query without documents counts as 0.
    """
    if dataset.task_definition.is_ranking:
        return []
    table = dataset.outputs.select("system", "item").with_columns(list_test_set_of_each_output(dataset))
    items = table.group_by("group").agg(pl.col("item").n_unique().alias("items_of_test_set"))
    counts = table.group_by("group", "system").agg(pl.col("item").n_unique().alias("items_of_system"))
    has_gaps = pl.col("items_of_system") < pl.col("items_of_test_set")
    incomplete = counts.join(items, on="group").filter(has_gaps).sort("group", "system")
    if incomplete.is_empty():
        return []
    systems = []
    for row in incomplete.iter_rows(named=True):
        test_set = f" in {row['group']}" if row["group"] else ""
        count = f"{row['items_of_system']:,} of {row['items_of_test_set']:,}"
        systems.append(f"{row['system']} {count}{test_set}")
    names = join_with_commas(systems)
    return [f"Systems were scored on different items, so their scores cannot be compared: {names}."]
