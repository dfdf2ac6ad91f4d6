"""`ScoreTable`: what people and metrics gave each output, as arrays of systems by segments.

Built from tables with a row per output. Wide tables have a column per metric, long ones the columns `metric`
and `score`. Known id, metadata, text and human columns are never metrics; every other column of numbers is,
under its exact name. The order of rows never matters: systems and segments are sorted by their ids.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np
import polars as pl

from metassay.data import cells
from metassay.data.columns import HUMAN, KEY_PREFIXES, TEXT_NAMES
from metassay.data.own_references import SHARE
from metassay.errors import InputError, Place, UnknownName
from metassay.stats.arrays import FloatArray

METADATA = (
    *("domain", "doc_id", "doc", "document", "document_id", "speaker", "speaker_id", "rater", "is_human"),
    *("ref_name", "hyp_source", "position", "line", "rank", "split", "language", "gender", "accent", "age"),
)
"""Columns that describe an output and measure nothing."""
WHOLE = "all"
"""The name of a data set that has no year, language pair or test set."""


@dataclass(frozen=True)
class ScoreTable:
    """Scores of one data set, each `[systems, segments]`, NaN where there is none.

    `labels` holds the metadata that are the same for all outputs of a segment (domain, document), and
    `system_labels` those that are the same for all outputs of a system (family, size).
    """

    dataset: str
    systems: tuple[str, ...]
    segments: tuple[str, ...]
    human: Mapping[str, FloatArray]
    metrics: Mapping[str, FloatArray]
    labels: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    system_labels: Mapping[str, tuple[str | None, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = (len(self.systems), len(self.segments))
        for name, scores in (*self.human.items(), *self.metrics.items()):
            if scores.shape != shape:
                raise InputError(f"the scores of {name} have shape {scores.shape}, not {shape}.")
        for name in ("human", "metrics", "labels", "system_labels"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def content_hash(self) -> str:
        """A hash of every name and score."""
        digest = hashlib.blake2b(digest_size=16)
        labels = [sorted(self.labels.items()), sorted(self.system_labels.items())]
        digest.update(repr((self.dataset, self.systems, self.segments, labels)).encode())
        for name, scores in (*sorted(self.human.items()), *sorted(self.metrics.items())):
            digest.update(name.encode())
            digest.update(scores.tobytes())
        return digest.hexdigest()


def score_tables(
    frame: pl.DataFrame, *, human: Sequence[str] = (), file: str = "", keep_references: bool = False
) -> list[ScoreTable]:
    """One table per data set (year, language pair, test set) in a frame of outputs; sorted by name.

    `human` names further columns that hold human scores. Systems whose output is the reference itself are
    left out and named, unless `keep_references`.
    """
    wide = widened(frame, file)
    item, system = _column(wide, "item", file), _column(wide, "system", file)
    groups = [name for name in _by_lower(wide, KEY_PREFIXES) if name != item]
    prepared = wide.with_columns(
        cells.ids(wide[item], file).alias("_item"),
        cells.ids(wide[system], file).alias("_system"),
        _dataset_name(wide, groups, file).alias("_dataset"),
    )
    people, metrics = score_columns(wide, human)
    numbers = {name: cells.scores(wide[name], file) for name in (*people, *metrics)}
    prepared = prepared.with_columns([series.alias(name) for name, series in numbers.items()])
    described = [name for name in wide.columns if name not in {*people, *metrics, item, system}]
    return [
        _table(part, str(name), people, metrics, described, file, keep_references=keep_references)
        for (name,), part in sorted(prepared.group_by("_dataset"), key=lambda pair: str(pair[0]))
    ]


def widened(frame: pl.DataFrame, file: str = "") -> pl.DataFrame:
    """A long table (`metric`, `score`) with a column per metric; any other table as it is."""
    lower = {name.lower(): name for name in frame.columns}
    if not {"metric", "score"} <= lower.keys():
        return frame
    metric, score = lower["metric"], lower["score"]
    keys = [lower[name] for name in (*KEY_PREFIXES, *TEXT_NAMES["item"], "system") if name in lower]
    numbers = frame.with_columns(cells.scores(frame[score], file))
    repeated = numbers.select([*keys, metric]).is_duplicated()
    if repeated.any():
        row = int(repeated.arg_max() or 0) + 1
        raise InputError(
            f"{', '.join(keys)} and {metric} name this score more than once.", place=Place(file or None, row)
        )
    return numbers.pivot(on=metric, index=keys, values=score)


def score_columns(frame: pl.DataFrame, human: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """The columns of human scores and those of metrics; `mqm:NAME` is the mqm of one rater."""
    for name in human:
        if name not in frame.columns:
            raise UnknownName("column", name, frame.columns)
    lower = {name.lower().replace("-", "_"): name for name in reversed(frame.columns)}
    raters = [name for name in frame.columns if name.partition(":")[0].lower() in HUMAN and ":" in name]
    people = list(dict.fromkeys([*human, *(lower[name] for name in HUMAN if name in lower), *raters]))
    if not people and "score" in lower:
        people = [lower["score"]]
    texts = {name for names in TEXT_NAMES.values() for name in names}
    known = {*KEY_PREFIXES, *METADATA, *texts}
    metrics = [
        name
        for name in frame.columns
        if name not in people and name.lower() not in known and _is_number(frame[name])
    ]
    return people, metrics


def _is_number(column: pl.Series) -> bool:
    """Whether a column holds numbers, or text that is numbers throughout, as in CSV files."""
    if column.dtype.is_numeric():
        return True
    if column.dtype != pl.String:
        return False
    filled = column.drop_nulls()
    filled = filled.filter(~filled.str.strip_chars().str.to_lowercase().is_in(list(cells.MISSING_SCORES)))
    return len(filled) > 0 and filled.cast(pl.Float64, strict=False).is_not_null().all()


def _column(frame: pl.DataFrame, role: str, file: str) -> str:
    found = _by_lower(frame, TEXT_NAMES[role])
    if not found:
        raise InputError(
            f"no column holds the {role} (looked for {', '.join(TEXT_NAMES[role])}).",
            place=Place(file or None),
            remedy=f"Name it with --column {role}=COLUMN.",
        )
    return found[0]


def _by_lower(frame: pl.DataFrame, names: Sequence[str]) -> list[str]:
    lower = {name.lower(): name for name in reversed(frame.columns)}
    return [lower[name] for name in names if name in lower]


def _dataset_name(frame: pl.DataFrame, groups: Sequence[str], file: str) -> pl.Series:
    if not groups:
        return pl.Series([WHOLE]).new_from_index(0, frame.height)
    parts = [cells.ids(frame[name], file).alias(str(i)) for i, name in enumerate(groups)]
    return pl.DataFrame(parts).select(pl.concat_str(pl.all(), separator="/"))["0"]


def _table(
    part: pl.DataFrame,
    name: str,
    people: Sequence[str],
    metrics: Sequence[str],
    described: Sequence[str],
    file: str,
    *,
    keep_references: bool,
) -> ScoreTable:
    repeated = part.select("_item", "_system").is_duplicated()
    if repeated.any():
        row = part.filter(repeated).row(0, named=True)
        raise InputError(
            f"item {row['_item']} of system {row['_system']} occurs more than once in {name}.",
            place=Place(file or None),
            remedy="A column year, lp or testset keeps the ids of files apart.",
        )
    notes = []
    if not keep_references and (own := _own_references(part)):
        part = part.filter(~pl.col("_system").is_in(own))
        notes.append(f"{name}: left out, since their output is the reference itself: {', '.join(own)}.")
    systems = part["_system"].unique().sort().to_list()
    segments = sorted_ids(part["_item"].unique().to_list())
    rows = part["_system"].replace_strict(systems, list(range(len(systems))), return_dtype=pl.Int64)
    columns = part["_item"].replace_strict(segments, list(range(len(segments))), return_dtype=pl.Int64)

    def array(column: str) -> FloatArray:
        scores = np.full((len(systems), len(segments)), np.nan)
        scores[rows.to_numpy(), columns.to_numpy()] = part[column].to_numpy()
        return scores

    filled = [column for column in (*people, *metrics) if part[column].is_not_null().any()]
    return ScoreTable(
        name,
        tuple(systems),
        tuple(segments),
        {column: array(column) for column in people if column in filled},
        {column: array(column) for column in metrics if column in filled},
        _labels(part, described, "_item", segments),
        tuple(notes),
        _labels(part, described, "_system", systems),
    )


def sorted_ids(ids: Sequence[str]) -> list[str]:
    """Ids in order: numbers inside them by size, everything else as text.

    >>> sorted_ids(["en-de/10", "en-de/9", "b"])
    ['b', 'en-de/9', 'en-de/10']
    """
    return sorted(ids, key=_natural)


def _natural(text: str) -> list[tuple[str, int, str]]:
    """Texts and numbers in turn; the digits last, so that 1 and 01 differ."""
    parts = re.split(r"([0-9]+)", text)
    numbers = [*parts[1::2], ""]
    return [(words, int(digits or -1), digits) for words, digits in zip(parts[::2], numbers)]


def _labels(
    part: pl.DataFrame, described: Sequence[str], key: str, names: Sequence[str]
) -> dict[str, tuple[str | None, ...]]:
    """Metadata with one value for each value of `key`, in the order of `names`."""
    plain = [name for name in described if not part.schema[name].is_nested()]
    if not plain:
        return {}
    counts = part.group_by(key).agg(pl.col(plain).n_unique())
    kept = [name for name in plain if (counts[name] == 1).all()]
    if not kept:
        return {}
    values = part.group_by(key).agg(pl.col(kept).first().cast(pl.String))
    place = {name: row for row, name in enumerate(values[key])}
    order = [place[name] for name in names]
    return {name: tuple(values[name].gather(order)) for name in kept}


def _own_references(part: pl.DataFrame) -> list[str]:
    """Systems that are their own reference, as `own_references` judges it."""
    output = _by_lower(part, TEXT_NAMES["output"])
    reference = _by_lower(part, ("ref", "reference"))
    if not output or not reference:
        return []
    same = (pl.col(output[0]) == pl.col(reference[0])).fill_null(value=False).mean()
    shares = part.group_by("_system").agg(same.alias("share"))
    return shares.filter(pl.col("share") >= SHARE)["_system"].sort().to_list()
