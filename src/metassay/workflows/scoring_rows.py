"""Select the part of a data set that metrics may see."""

from __future__ import annotations

import polars as pl

from metassay.data.dataset import Dataset
from metassay.engine.batches import FIELDS, OutputRows


def build_rows_for_metrics(dataset: Dataset) -> OutputRows:
    """Build a table with the columns that metrics may read, and the language of each output."""
    names = [name for name in FIELDS if name in dataset.outputs.columns]
    languages = pl.Series("language", dataset.languages, dtype=pl.String)
    return OutputRows(dataset.outputs.select(names).with_columns(languages), dataset.qrels)
