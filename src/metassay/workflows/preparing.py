"""What several verbs do before their own work: take a path or a data set, normalise, drop own references."""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import metassay
from metassay.data.columns import KEY_PREFIXES
from metassay.data.dataset import Dataset
from metassay.data.preparation import normalised, without_own_references
from metassay.engine.batches import FIELDS, Rows
from metassay.errors import MetassayError, UnknownName
from metassay.metrics.base import Metric
from metassay.metrics.outside import ProgramMetric, is_program
from metassay.metrics.own import as_metric
from metassay.metrics.registry import parse_metrics
from metassay.metrics.sentinels import METRICS as SENTINELS
from metassay.plugins import from_file, own_error
from metassay.text.words import is_spaceless
from metassay.workflows.read import Source, read

UNITS = ("doc_id", "document", "chapter_id", "speaker_id", "session_id")
"""Columns that name the independent unit, in the order in which they are taken for it."""
_NUMBERS = re.compile(r"([0-9]{1,15})")

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
    return tuple(metric.on(dataset.languages, text) for metric in chosen)


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


@dataclass(frozen=True)
class Unit:
    """The independent unit of every output: codes, the column that names it, and why it is that one."""

    codes: NDArray[np.int32]
    column: str
    why: str
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, str]:
        """What a result says of its unit."""
        return {"column": self.column, "why": self.why}


def clusters(dataset: Dataset, column: str | None) -> Unit:
    """The unit that was asked for; by default the first of `UNITS` that holds several items, else the item.

    A column counts within its test set. Outputs without a value of it are their item's cluster; a note says
    for how many.
    """
    outputs = dataset.outputs
    asked = "asked for" if column is not None else ""
    column = _holding(dataset) if column is None else column
    if column is None or column == "item":
        why = asked or "no column names a document, chapter, speaker or session that holds several items"
        return Unit(_codes(outputs["item"]), "item", why)
    if column not in outputs.columns:
        raise UnknownName("cluster column", column, ("item", *dataset.metadata))
    codes = _codes(_cluster_labels(outputs, column))
    missing = outputs[column].null_count()
    note = f"{missing} outputs have no {column}: for them the item is the independent unit."
    why = (
        asked
        or f"{len(dataset.items)} items lie in {len(np.unique(codes))} of them, and items of one go together"
    )
    return Unit(codes, column, why, (note,) if missing else ())


def _cluster_labels(outputs: pl.DataFrame, column: str) -> pl.Series:
    prefixes = [name for name in outputs.columns if name.lower() in KEY_PREFIXES and name != column]
    joined = pl.concat_str([*prefixes, column], separator="/").cast(pl.String)
    alone = pl.col(column).is_null()
    label = pl.when(alone).then("item:" + pl.col("item")).otherwise("cluster:" + joined)
    return outputs.select(label.alias("label"))["label"]


def _holding(dataset: Dataset) -> str | None:
    """The column that names a unit larger than the item: every item lies in one of it, some share one."""
    known = {name.lower(): name for name in reversed(dataset.metadata)}
    for column in (known[name] for name in UNITS if name in known):
        units = pl.DataFrame(
            {"item": dataset.outputs["item"], "of": _cluster_labels(dataset.outputs, column)}
        )
        single = units.unique().height == len(dataset.items)
        if single and 1 < units["of"].n_unique() < len(dataset.items):
            return column
    return None


def neighbours(dataset: Dataset) -> NDArray[np.int64]:
    """Places of the items in the order their names count: `talk-2` before `talk-10`."""

    def key(place: int) -> list[tuple[bool, int, str]]:
        parts = _NUMBERS.split(dataset.items[place])
        return [(part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts]

    return np.array(sorted(range(len(dataset.items)), key=key), dtype=np.int64)


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
