"""`Cube`: what people and metrics gave each output, metric by system by segment, and where gaps are.

Built from tables with a row per output. Wide tables have a column per metric, long ones the columns `metric`
and `score`. The order of rows never matters: systems and segments are sorted by their ids.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data import cells
from metassay.data.columns import (
    KEY_PREFIXES,
    drop_repeated_rows,
    find_reference_columns,
    find_score_columns,
    item_names,
    output_names,
    system_names,
)
from metassay.data.reference_systems import mark_reference_rows
from metassay.errors import InputError, Place, UnknownName
from metassay.stats.arrays import FloatArray

Labels = Mapping[str, tuple[str | None, ...]]

WHOLE = "all"
"""The name of a data set that has no year, language pair or test set."""


@dataclass(frozen=True)
class Cube:
    """Scores of one data set, each `[systems, segments]`, NaN where there is none.

    `labels` holds the metadata that are the same for all outputs of a segment (domain, document), and
    `system_labels` those that are the same for all outputs of a system (family, size). `lower` names the
    scores of which lower is better. `statistics` are sufficient statistics, `[systems, segments, s]`, of
    metrics that have them.
    """

    dataset: str
    systems: tuple[str, ...]
    segments: tuple[str, ...]
    human: Mapping[str, FloatArray]
    metrics: Mapping[str, FloatArray]
    labels: Labels = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    system_labels: Labels = field(default_factory=dict)
    lower: frozenset[str] = frozenset()
    statistics: Mapping[str, FloatArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = (len(self.systems), len(self.segments))
        for name, scores in (*self.human.items(), *self.metrics.items()):
            if scores.shape != shape:
                raise InputError(f"the scores of {name} have shape {scores.shape}, not {shape}.")
            if np.isinf(scores).any():
                raise InputError(f"a score of {name} is infinite.", remedy="A missing score is NaN.")
        for name in ("human", "metrics", "labels", "system_labels", "statistics"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    @property
    def items(self) -> list[str]:
        """The segments as a data set of outputs names its items."""
        prefix = "" if self.dataset == WHOLE else f"{self.dataset}/"
        return [name if name.startswith(prefix) else prefix + name for name in self.segments]

    @property
    def content_hash(self) -> str:
        """A hash of every name, score and direction."""
        digest = hashlib.blake2b(digest_size=16)
        labels = [sorted(self.labels.items()), sorted(self.system_labels.items())]
        digest.update(repr((self.dataset, self.systems, self.segments, labels)).encode())
        for name, scores in (*sorted(self.human.items()), *sorted(self.metrics.items())):
            digest.update(name.encode())
            digest.update(scores.tobytes())
        for name in sorted(self.lower):
            digest.update(f"lower {name}".encode())
        return digest.hexdigest()

    def oriented(self, name: str) -> FloatArray:
        """A human score or a metric, turned so that higher is better."""
        known = {**self.metrics, **self.human}
        if name not in known:
            raise UnknownName("score", name, known)
        return -known[name] if name in self.lower else known[name]

    def chosen_metrics(self, names: Sequence[str] | None) -> tuple[str, ...]:
        """These metrics, or all of them, sorted; a name that is no metric here is refused."""
        for name in names or ():
            if name not in self.metrics:
                raise UnknownName("metric", name, self.metrics)
        return tuple(sorted(self.metrics if names is None else set(names)))

    def within(
        self, segments: NDArray[np.bool_] | None = None, systems: NDArray[np.bool_] | None = None
    ) -> Cube:
        """The same on some of the segments, of some of the systems."""
        rows = np.flatnonzero(np.ones(len(self.systems)) if systems is None else systems)
        columns = np.flatnonzero(np.ones(len(self.segments)) if segments is None else segments)

        def part(arrays: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
            return {name: array[np.ix_(rows, columns)] for name, array in arrays.items()}

        return replace(
            self,
            systems=tuple(self.systems[row] for row in rows),
            segments=tuple(self.segments[column] for column in columns),
            human=part(self.human),
            metrics=part(self.metrics),
            labels={name: tuple(values[k] for k in columns) for name, values in self.labels.items()},
            system_labels={
                name: tuple(values[k] for k in rows) for name, values in self.system_labels.items()
            },
            statistics=part(self.statistics),
        )

    def codes(self, column: str) -> tuple[list[str], NDArray[np.int64]]:
        """The values of a metadata column, sorted, and the number of each segment's; -1 where it has none."""
        if column not in self.labels:
            raise UnknownName("column with one value per segment", column, self.labels)
        values = sorted({value for value in self.labels[column] if value is not None})
        place = {value: number for number, value in enumerate(values)}
        return values, np.array([-1 if v is None else place[v] for v in self.labels[column]], dtype=np.int64)

    def units(self, cluster: str) -> NDArray[np.int64]:
        """The cluster of each segment as a number from 0; a segment without a cluster stands for itself."""
        values, codes = self.codes(cluster)
        alone = codes < 0
        codes[alone] = len(values) + np.arange(int(alone.sum()))
        return codes


@dataclass(frozen=True)
class Grid:
    """Where each row of a table stands in arrays of systems by segments; -1 where it has no place."""

    systems: tuple[str, ...]
    segments: tuple[str, ...]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]

    @classmethod
    def of(
        cls, system: pl.Series, item: pl.Series, order: Callable[[Sequence[str]], list[str]] | None = None
    ) -> Grid:
        """All systems and items that there are, items in natural order or in that of `order`."""
        items = (order or cells.sorted_ids)(item.unique().to_list())
        return cls.onto(system.unique().sort().to_list(), items, system, item)

    @classmethod
    def onto(
        cls, systems: Sequence[str], segments: Sequence[str], system: pl.Series, item: pl.Series
    ) -> Grid:
        """The places of rows among these systems and segments."""

        def places(labels: pl.Series, names: Sequence[str]) -> NDArray[np.int64]:
            numbers = list(range(len(names)))
            return labels.replace_strict(list(names), numbers, default=-1, return_dtype=pl.Int64).to_numpy()

        return cls(tuple(systems), tuple(segments), places(system, systems), places(item, segments))

    def array(self, values: FloatArray) -> FloatArray:
        """Values of rows, `[n, ...]`, as `[systems, segments, ...]`; NaN where there is no row."""
        found = np.full((len(self.systems), len(self.segments), *values.shape[1:]), np.nan)
        there = (self.rows >= 0) & (self.columns >= 0)
        found[self.rows[there], self.columns[there]] = values[there]
        return found


def cubes(
    frame: pl.DataFrame,
    *,
    human: Sequence[str] = (),
    metrics: Sequence[str] = (),
    described: Sequence[str] = (),
    lower_is_better: frozenset[str] = frozenset(),
    file: str = "",
    keep_references: bool = False,
) -> list[Cube]:
    """One cube per data set (year, language pair, test set) in a frame of outputs; sorted by name.

    `human` names further human scores, `metrics` metrics called like a human criterion, `described` metadata
    of numbers. Rows repeated to the byte are dropped with a note; systems whose output is
    the reference itself are left out.
    """
    frame, copies = drop_repeated_rows(frame)
    wide = widened(frame, file)
    item, system = _column(wide, "item", file), _column(wide, "system", file)
    groups = [name for name in _by_lower(wide, KEY_PREFIXES) if name != item]
    prepared = wide.with_columns(
        cells.ids(wide[item], file).alias("_item"),
        cells.ids(wide[system], file).alias("_system"),
        _dataset_name(wide, groups, file).alias("_dataset"),
    )
    people, measured = find_score_columns(wide, human, metrics, described)
    prepared = prepared.with_columns([cells.scores(wide[name], file) for name in (*people, *measured)])
    told = [name for name in wide.columns if name not in {*people, *measured, item, system}]
    return [
        replace(found, lower=lower_is_better & {*found.human, *found.metrics}, notes=(*copies, *found.notes))
        for (name,), part in sorted(prepared.group_by("_dataset"), key=lambda pair: str(pair[0]))
        for found in [_cube(part, str(name), people, measured, told, file, keep_references=keep_references)]
    ]


def widened(frame: pl.DataFrame, file: str = "") -> pl.DataFrame:
    """A long table (`metric`, `score`) with a column per metric; any other table as it is."""
    lower = {name.lower(): name for name in frame.columns}
    if not {"metric", "score"} <= lower.keys():
        return frame
    metric, score = lower["metric"], lower["score"]
    keys = [lower[name] for name in (*KEY_PREFIXES, *item_names(), *system_names()) if name in lower]
    numbers = frame.with_columns(cells.scores(frame[score], file))
    repeated = numbers.select([*keys, metric]).is_duplicated()
    if repeated.any():
        row = int(repeated.arg_max() or 0) + 1
        raise InputError(
            f"{', '.join(keys)} and {metric} name this score more than once.", place=Place(file or None, row)
        )
    return numbers.pivot(on=metric, index=keys, values=score)


def _column(frame: pl.DataFrame, role: str, file: str) -> str:
    names = item_names() if role == "item" else system_names()
    found = _by_lower(frame, names)
    if not found:
        raise InputError(
            f"no column holds the {role} (looked for {', '.join(names)}).",
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


def _cube(
    part: pl.DataFrame,
    name: str,
    people: Sequence[str],
    metrics: Sequence[str],
    described: Sequence[str],
    file: str,
    *,
    keep_references: bool,
) -> Cube:
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
    grid = Grid.of(part["_system"], part["_item"])
    filled = [column for column in (*people, *metrics) if part[column].is_not_null().any()]
    arrays = {column: grid.array(part[column].to_numpy()) for column in filled}
    return Cube(
        name,
        grid.systems,
        grid.segments,
        {column: arrays[column] for column in people if column in filled},
        {column: arrays[column] for column in metrics if column in filled},
        _labels(part, described, "_item", grid.segments),
        tuple(notes),
        _labels(part, described, "_system", grid.systems),
    )


def _labels(
    part: pl.DataFrame, described: Sequence[str], key: str, names: Sequence[str]
) -> dict[str, tuple[str | None, ...]]:
    """Metadata with one value for each value of `key`, in the order of `names`."""
    plain = [name for name in described if not part.schema[name].is_nested()]
    counts = part.group_by(key).agg(pl.col(plain).n_unique()) if plain else None
    kept = [name for name in plain if counts is not None and (counts[name] == 1).all()]
    if not kept:
        return {}
    values = part.group_by(key).agg(pl.col(kept).first().cast(pl.String))
    place = {name: row for row, name in enumerate(values[key])}
    order = [place[name] for name in names]
    return {name: tuple(values[name].gather(order)) for name in kept}


def _own_references(part: pl.DataFrame) -> list[str]:
    """Systems that are their own reference: the rule of `own_references`, on columns as they are written."""
    output, references = _by_lower(part, output_names()), find_reference_columns(part.columns)
    if not output or not references:
        return []
    own = mark_reference_rows(part, output[0], references, by=["_system"])
    return part.filter(own)["_system"].unique().sort().to_list()
