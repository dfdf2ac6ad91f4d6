"""What several verbs do before their own work: take a path or a data set, normalise, drop own references."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import metassay
from metassay.data.columns import KEY_PREFIXES
from metassay.data.dataset import Dataset
from metassay.data.own_references import without_own_references
from metassay.data.speech import normalised
from metassay.engine.batches import FIELDS, Rows
from metassay.errors import MetassayError, UnknownName
from metassay.metrics.base import Metric
from metassay.metrics.outside import OutsideMetric, ProgramMetric, is_program
from metassay.metrics.own import as_metric
from metassay.metrics.registry import parse_metrics
from metassay.metrics.sentinels import METRICS as SENTINELS
from metassay.plugins import from_file, own_error
from metassay.text.words import is_spaceless
from metassay.workflows.read import Source, read

MetricChoice = str | Metric | Callable[..., Any] | Sequence[str | Metric | Callable[..., Any]] | None
_SAMPLE = 1000


def as_dataset(data: Dataset | Source) -> Dataset:
    """A data set as it is; anything else, read."""
    return data if isinstance(data, Dataset) else read(data)


def prepared(dataset: Dataset, *, normalize: str | None, keep_references: bool) -> Dataset:
    """Speech normalised on both sides; systems that are their own reference left out."""
    dataset = dataset if keep_references else without_own_references(dataset)
    return normalised(dataset, normalize).with_notes(*unknown_language(dataset))


def unknown_language(dataset: Dataset) -> list[str]:
    """A note where texts are written without spaces and no language says so, on which tokenisers depend."""
    if dataset.kind.ranked or None not in dataset.languages:
        return []
    texts = dataset.outputs["output"].head(_SAMPLE).drop_nulls().to_list()
    if 2 * sum(map(is_spaceless, texts)) <= len(texts):
        return []
    said = "Most texts are written without spaces, and their language is not known"
    return [f"{said}, so that metrics split them at spaces all the same: name it with --language."]


def chosen_metrics(dataset: Dataset, metrics: MetricChoice, *changes: str) -> tuple[Metric, ...]:
    """The metrics asked for, by default those of the data's task, as they are used on this data.

    `changes` are what was done to the texts (`none` is nothing): signatures name them, and what was chosen by
    language.
    """
    chosen = parse_metrics(dataset.kind.metrics if metrics is None else metrics)
    if dataset.kind.ranked:
        return chosen
    text = "+".join(change for change in changes if change != "none")
    bound = (metric.on(dataset.languages, text) for metric in chosen)
    columns = dataset.outputs.columns
    return tuple(m.reading(columns) if isinstance(m, OutsideMetric) else m for m in bound)


def sentinels_beside(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """The metrics that know nothing, but for those that were asked for as metrics."""
    asked = {metric.spec for metric in metrics}
    return tuple(sentinel for kind in SENTINELS if (sentinel := kind()).spec not in asked)


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


def normalisation(dataset: Dataset, normalize: str | None) -> str:
    """The scheme that `prepared` uses."""
    return normalize or dataset.kind.normalisation


def scoring_rows(dataset: Dataset) -> Rows:
    """What metrics may read of each output, with its language."""
    names = [name for name in FIELDS if name in dataset.outputs.columns]
    languages = pl.Series("language", dataset.languages, dtype=pl.String)
    return Rows(dataset.outputs.select(names).with_columns(languages), dataset.qrels)


def clusters(dataset: Dataset, column: str | None) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """The independent unit of each output as codes: the item, or a column within its test set.

    Outputs without a value of the column are their item's cluster; a note says for how many.
    """
    outputs = dataset.outputs
    if column is None or column == "item":
        return _codes(outputs["item"]), ()
    if column not in outputs.columns:
        raise UnknownName("cluster column", column, ("item", *dataset.metadata))
    prefixes = [name for name in outputs.columns if name.lower() in KEY_PREFIXES and name != column]
    joined = pl.concat_str([*prefixes, column], separator="/").cast(pl.String)
    labels = outputs.select(
        pl.when(pl.col(column).is_null())
        .then("item:" + pl.col("item"))
        .otherwise("cluster:" + joined)
        .alias("label")
    )["label"]
    missing = outputs[column].null_count()
    note = f"{missing} outputs have no {column}: for them the item is the independent unit."
    return _codes(labels), ((note,) if missing else ())


def groups(dataset: Dataset) -> pl.Series:
    """The test set of each output, as `2023/en-de`; empty text where the data has no such columns."""
    names = [name for name in dataset.outputs.columns if name.lower() in KEY_PREFIXES]
    names.sort(key=lambda name: KEY_PREFIXES.index(name.lower()))
    if not names:
        return pl.Series("group", [""]).new_from_index(0, len(dataset))
    return dataset.outputs.select(pl.concat_str(names, separator="/").alias("group"))["group"]


def versions(packages: Sequence[str] = ("numpy", "polars", "sacrebleu", "scipy")) -> dict[str, Any]:
    """The versions that a result depends on."""
    return {
        "metassay": metassay.__version__,
        "python": platform.python_version(),
        **{name: version(name) for name in packages},
    }


def _codes(labels: pl.Series) -> NDArray[np.int32]:
    return labels.rank("dense").cast(pl.Int32).to_numpy() - np.int32(1)
