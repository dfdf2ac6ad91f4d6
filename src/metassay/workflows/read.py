"""`read` and `read_plain`: from what a person names to a `Dataset`.

What several verbs do before their own work: take a path or a data set, normalise, drop own references.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from metassay.data.columns import KEY_PREFIXES
from metassay.data.dataset import Dataset
from metassay.data.reading import Paths, Source, Where, read, read_plain
from metassay.engine.batches import FIELDS, Rows
from metassay.errors import MetassayError
from metassay.metrics.base import Metric
from metassay.metrics.outside import ProgramMetric, is_program
from metassay.metrics.own import as_metric
from metassay.plugins import from_file, own_error

__all__ = ["Paths", "Source", "Where", "read", "read_plain"]


def as_dataset(data: Dataset | Source) -> Dataset:
    """A data set as it is; anything else, read."""
    return data if isinstance(data, Dataset) else read(data)


def named_metrics(named: str | None, files: Sequence[str]) -> list[str | Metric] | None:
    """Metrics by name and in files of the user's (`FILE.py:NAME`, or a program); None where there is none."""
    made = [_in_file(location) for location in files]
    return [*([] if named is None else [named]), *made] or None


def _in_file(location: str) -> Metric:
    """The metric that `FILE.py:NAME` names, or a program; what the user's code raises is theirs."""
    if is_program(location) or not (":" in location or location.endswith(".py")):
        return ProgramMetric(location)
    thing = from_file(location)
    try:
        return as_metric(thing)
    except MetassayError:
        raise
    except Exception as error:
        raise own_error(error) or error from error


def scoring_rows(dataset: Dataset) -> Rows:
    """What metrics may read of each output, with its language."""
    names = [name for name in FIELDS if name in dataset.outputs.columns]
    languages = pl.Series("language", dataset.languages, dtype=pl.String)
    return Rows(dataset.outputs.select(names).with_columns(languages), dataset.qrels)


def groups(dataset: Dataset) -> pl.Series:
    """The test set of each output, as `2023/en-de`; empty text where the data has no such columns."""
    names = [name for name in dataset.outputs.columns if name.lower() in KEY_PREFIXES]
    names.sort(key=lambda name: KEY_PREFIXES.index(name.lower()))
    if not names:
        return pl.Series("group", [""]).new_from_index(0, len(dataset))
    return dataset.outputs.select(pl.concat_str(names, separator="/").alias("group"))["group"]
