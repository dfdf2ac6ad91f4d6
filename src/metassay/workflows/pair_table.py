"""The pairs of a run one by one, straight from its Parquet files: only what is asked for is read.

`results/explorer.parquet` has one row per pair, in the order of `pairs.parquet`, which holds the texts:

    item, system, perturbation      which pair it is (`worse_system` where people chose the pairs)
    output                          the row of its output in `outputs.parquet`
    in/COLUMN                       its context
    human/NAME, human_worse/NAME    what people scored both sides
    said/METRIC                     1 right, 0 tie, −1 wrong, null undefined
    score/METRIC, worse/METRIC      how the metric scored both sides
    margin/METRIC                   how much better it found the output, whichever way its scores run
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.errors import InputError, MetassayError, Place
from metassay.stats.arrays import pack_two_bits, unpack_two_bits
from metassay.store.run_folder import RunFolder, read_manifest

if TYPE_CHECKING:
    pass

EXPLORER, JUDGED, PAIRS, OUTPUTS, ACCURACY = (
    "results/explorer.parquet",
    "results/judgements.parquet",
    "pairs.parquet",
    "outputs.parquet",
    "results/local_accuracy.parquet",
)
COMPARED = 1_000_000
"""Runs of more pairs are not compared pair by pair."""
HELD = 30 * 2**20
"""Bytes of what metrics said that stay in memory."""
STRETCH = 2**20
"""Rows of a column that are read at a time."""
_KINDS = ("said", "score", "worse", "margin")
SAID = {"right": 1, "tie": 0, "wrong": -1, "undefined": None}
KEY = ("item", "system", "perturbation")
_AGAIN = "Run the command of this run again: it resumes from its scores."
_NEAR = 2048
"""Rows closer than this are read together."""
_TOGETHER = 3
"""So many stretches of a file are read at once: each takes a whole group of rows into memory."""


@contextmanager
def readable(file: Path) -> Iterator[None]:
    """For reading Parquet that somebody may have changed: what cannot be read is an error of the input."""
    try:
        yield
    except MetassayError:
        raise
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        OSError,
        ValueError,
        MemoryError,
    ) as error:
        reason = " ".join((str(error).splitlines() or [type(error).__name__])[0].split())
        raise InputError(
            f"this cannot be read ({reason}).", place=Place(file=str(file)), remedy=_AGAIN
        ) from None


class PairTable:
    """The pairs of one run, read as they are asked for."""

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self._values: dict[str, list[str]] = {}
        self._held: OrderedDict[str, NDArray[Any]] = OrderedDict()
        pairs = run.find_file(PAIRS)
        if pairs is None:
            raise InputError("this run left no pairs.", place=Place(file=str(run.path)))
        self.file = run.find_file(EXPLORER) or pairs
        self.judged = self.file != pairs
        """Whether the run left what metrics said; runs of other verbs and old ones did not."""
        with readable(self.file):
            self.texts = pl.scan_parquet(pairs, row_index_name="row", glob=False)
            self.index = pl.scan_parquet(self.file, row_index_name="row", glob=False)
            self.schema = self.index.collect_schema()
            self.total = _height(self.index)
            self._check()

    def _check(self) -> None:
        text, own = self.texts.collect_schema(), self.schema
        wrong = [n for n in KEY if not _is_name(own.get(n))]
        wrong += [n for n in ("output", "worse") if not _is_text(text.get(n))]
        wrong += [n for n in own if n.startswith("said/") and own[n] != pl.Int8]
        wrong += [n for n in own if n.startswith("in/") and not _is_name(own[n])]
        wrong += [n for n in own if n.startswith(_NUMBERS) and own[n] not in {pl.Float32, pl.Float64}]
        if self.judged and own.get("output") != pl.UInt32:
            wrong.append("output")
        if wrong:
            place = Place(file=str(self.file), column=wrong[0])
            raise InputError("this column is not as an assay leaves it.", place=place, remedy=_AGAIN)
        if self.total != _height(self.texts):
            place = Place(file=str(self.file))
            raise InputError("this has not one row per pair.", place=place, remedy=_AGAIN)

    def _of(self, prefix: str) -> list[str]:
        return [name.removeprefix(prefix) for name in self.schema if name.startswith(prefix)]

    @cached_property
    def assayed(self) -> list[str]:
        """The metrics without the sentinels."""
        named = read_manifest(self.run.path).get("metrics")
        every = self._of("said/")
        return [name for name in named if name in every] if isinstance(named, dict) else every

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics that were assayed, then the sentinels."""
        return list(dict.fromkeys([*self.assayed, *self._of("said/")]))

    @property
    def columns(self) -> list[str]:
        """The columns of contexts."""
        return self._of("in/")

    def values(self, column: str) -> list[str]:
        """What stands in a column of names."""
        kind = self.schema[column]
        if isinstance(kind, pl.Enum):
            return [str(name) for name in kind.categories]
        if column not in self._values:
            with readable(self.file):
                found = self.index.select(pl.col(column).unique()).collect().to_series()
            self._values[column] = sorted(name for name in found if name is not None)
        return self._values[column]

    def accuracies(self, column: str) -> list[dict[str, Any]]:
        """The local accuracies of a column as the assay has them, with intervals."""
        file = self.run.find_file(ACCURACY)
        wanted = {"context": pl.String, "metric": pl.String, "accuracy": pl.Float64, "low": pl.Float64}
        wanted |= {"high": pl.Float64, "pairs": pl.Int64}
        if file is None:
            return []
        with readable(file):
            kept = pl.scan_parquet(file, glob=False).filter(pl.col("column") == column)
            return kept.select(pl.col(name).cast(kind) for name, kind in wanted.items()).collect().to_dicts()

    def margins(self, metric: str) -> Iterator[NDArray[Any]]:
        """The margins of every pair, `STRETCH` rows at a time; NaN for none."""
        for first in range(0, self.total, STRETCH):
            part = self.index.slice(first, STRETCH).select(f"margin/{metric}").collect().to_series()
            yield part.fill_null(float("nan")).to_numpy()

    def said(self, metric: str) -> NDArray[np.int8]:
        """What a metric said of every pair, −2 for nothing; kept in memory, four to a byte."""
        if metric not in self._held:
            column = self.index.select(pl.col(f"said/{metric}").fill_null(-2)).collect().to_series()
            self._held[metric] = pack_two_bits(column.to_numpy() + 2)
        self._held.move_to_end(metric)
        while len(self._held) > 1 and sum(own.nbytes for own in self._held.values()) > HELD:
            self._held.popitem(last=False)
        return unpack_two_bits(self._held[metric], self.total) - np.int8(2)

    def where(self, column: str, value: str) -> NDArray[np.bool_]:
        """At which rows a name stands in a column."""
        kind, found = self.schema[column], np.zeros(self.total, dtype=np.bool_)
        if not isinstance(kind, pl.Enum) or value in set(kind.categories):
            rows = self.index.filter(pl.col(column) == value).select("row").collect()
            found[rows.to_series().to_numpy()] = True
        return found

    def read(self, rows: Sequence[int], metrics: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Everything about some pairs, in the order given; of metrics only what these say."""
        names = list(self.schema)[1:]
        if metrics is not None:
            of_metrics = {f"{kind}/{metric}" for kind in _KINDS for metric in self.metrics}
            kept = {f"{kind}/{metric}" for kind in _KINDS[:3] for metric in metrics}
            names = [name for name in names if name in kept or name not in of_metrics]
        with readable(self.file):
            own = _at(self.index, rows, names)
            texts = _at(self.texts, rows, ("output", "worse"))
            pairs = [{**one, **other} for one, other in zip(own, texts)]
        if self.judged:
            for pair, output in zip(pairs, self._outputs([pair_row["output"] for pair_row in own])):
                pair.update(output)
        return pairs

    def _outputs(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Source and references of outputs, as far as the run has them."""
        file = self.run.find_file(OUTPUTS)
        if file is None:
            return [{} for _ in rows]
        with readable(file):
            frame = pl.scan_parquet(file, row_index_name="row", glob=False)
            kinds = {"source": pl.String, "references": pl.List(pl.String)}
            there = [name for name, kind in kinds.items() if frame.collect_schema().get(name) == kind]
            found = _at(frame, rows, there) if there else [{} for _ in rows]
        return [{name: row[name] for name in there if name in row} for row in found]

    def matching(self, other: PairTable) -> NDArray[np.int64]:
        """For each pair its row in the other run; −1 where that has none of this item, system and method."""
        for table in (self, other):
            if table.total > COMPARED:
                raise InputError(
                    f"runs of more than {COMPARED:,} pairs are not compared pair by pair;"
                    f" this one has {table.total:,}.",
                    place=Place(file=str(table.run.path)),
                )
        here, there = (_keys(table) for table in (self, other))
        both = here.join(there, on=[*KEY, "worse_system", "nth"], how="left", maintain_order="left")
        return both["row_right"].cast(pl.Int64).fill_null(-1).to_numpy()


_NUMBERS = ("score/", "worse/", "margin/", "human/", "human_worse/")


def _is_name(kind: pl.DataType | None) -> bool:
    return isinstance(kind, pl.String | pl.Enum)


def _is_text(kind: pl.DataType | None) -> bool:
    """A text, or for rankings a list of the names of documents."""
    inner = kind.inner if isinstance(kind, pl.List) else kind
    return isinstance(inner, pl.String) or (kind is not inner and isinstance(inner, pl.Categorical | pl.Enum))


def _height(frame: pl.LazyFrame) -> int:
    return int(frame.select(pl.len()).collect().item())


def _keys(table: PairTable) -> pl.DataFrame:
    """What tells the pairs of a run apart; where several look alike, which of them it is."""
    people = "worse_system" in table.schema
    worse = pl.col("worse_system").cast(pl.String) if people else pl.lit("").alias("worse_system")
    names = [pl.col(name).cast(pl.String) for name in KEY]
    keys = table.index.select("row", *names, worse).collect()
    return keys.with_columns(pl.int_range(pl.len()).over(*KEY, "worse_system").alias("nth"))


def _at(frame: pl.LazyFrame, rows: Sequence[int], names: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Some rows of a scanned file, in the order given; a row that it has not is an empty one.

    Neighbours are read as one slice, others each on their own, so that few pages of the file are touched;
    the slice comes first, since columns chosen before it keep it from being pushed down.
    """
    stretches: list[tuple[int, int]] = []
    for row in sorted(set(rows)):
        if stretches and row - stretches[-1][1] < _NEAR:
            stretches[-1] = (stretches[-1][0], row)
        else:
            stretches.append((row, row))
    parts = [frame.slice(first, last - first + 1) for first, last in stretches]
    if names:
        parts = [part.select("row", *names) for part in parts]
    wanted = pl.Series(rows, dtype=pl.UInt32)
    together = [parts[n : n + _TOGETHER] for n in range(0, len(parts), _TOGETHER)]
    read = [
        part.filter(pl.col("row").is_in(wanted.implode()))
        for some in together
        for part in pl.collect_all(some)
    ]
    found = {row["row"]: row for part in read for row in part.iter_rows(named=True)}
    return [found.get(row, {}) for row in rows]
