"""Name the test set of every output."""

from __future__ import annotations

import polars as pl

from metassay.data.columns import TEST_SET_COLUMNS, select_columns_by_name
from metassay.data.dataset import Dataset


def list_test_set_of_each_output(dataset: Dataset) -> pl.Series:
    """Return the name of the test set of each output, such as `2023/en-de`. The names are empty if no column
    names a test set.
    """
    names = select_columns_by_name(dataset.outputs.columns, TEST_SET_COLUMNS)
    if not names:
        return pl.Series("group", [""]).new_from_index(0, len(dataset))
    return dataset.outputs.select(pl.concat_str(names, separator="/").alias("group"))["group"]
