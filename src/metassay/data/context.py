"""`Context`: subsets of the outputs, named by the values of one or more columns.

A context is asked for by a short text:

    system            any column
    year+domain       a crossing
    mqm:250           equal-frequency buckets of a number, within a language pair (`human:250` likewise)
    length:10         buckets of the output's length in words (in documents for rankings)
    mqm:-25..-5..0    ranges with the given bounds

or by a Python function from a row (a dict) to a label.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.dataset import Dataset
from metassay.errors import InputError, UnknownName

RowLabel = Callable[[dict[str, Any]], str | None]


@dataclass(frozen=True)
class Context:
    """Which context each output is in: `values[codes[i]]`, or none where the code is −1."""

    name: str
    values: tuple[str, ...]
    codes: NDArray[np.int32]
    notes: tuple[str, ...] = ()

    @property
    def varies(self) -> bool:
        """Whether there is anything to compare."""
        return len(self.values) > 1


def build_context(dataset: Dataset, wanted: str | RowLabel) -> Context:
    """The context that a text or a function asks for."""
    if callable(wanted):
        name = getattr(wanted, "__name__", "function")
        labels = [wanted(row) for row in dataset.outputs.iter_rows(named=True)]
        texts = [None if label is None else str(label) for label in labels]
        return _coded(name, pl.Series(texts, dtype=pl.String))
    crossed = [_labels(dataset, part.strip()) for part in wanted.split("+")]
    columns = [labels.alias(str(place)) for place, (labels, _) in enumerate(crossed)]
    joined = pl.DataFrame(columns).select(pl.concat_str(pl.all(), separator="+")).to_series()
    notes = tuple(note for _, own in crossed for note in own)
    context = _coded(wanted, joined)
    return Context(context.name, context.values, context.codes, (*notes, *context.notes))


_DIGITS = 9
"""Nobody means more buckets than numbers of so many digits can count."""


def build_contexts(
    data: Dataset, wanted: str | RowLabel | Sequence[str | RowLabel] | None
) -> tuple[Context, ...]:
    """The one or those asked for, or the default ones; one at least must vary."""
    if isinstance(wanted, str) or callable(wanted):
        wanted = [wanted]
    made = tuple(build_context(data, context) for context in wanted or choose_default_contexts(data))
    if not any(context.varies for context in made) and not (data.rows_are_pairs and not wanted):
        names = ", ".join(context.name for context in made)
        raise InputError(
            f"no requested context varies ({names}), so there is nothing to compare.",
            remedy=f"Columns that could serve: {', '.join(('system', *data.metadata))}.",
        )
    return made


def choose_default_contexts(dataset: Dataset) -> tuple[str, ...]:
    """`system`, and `domain` where the data has it; of pairs, whatever is known to matter and varies."""
    if dataset.rows_are_pairs:
        usual = ("perturbation", "severity", "language", "system", "domain")
        there = (name for name in usual if name in dataset.outputs.columns)
        return tuple(name for name in there if dataset.outputs[name].n_unique() > 1) or ("system",)
    return ("system", "domain") if "domain" in dataset.metadata else ("system",)


def _labels(dataset: Dataset, part: str) -> tuple[pl.Series, tuple[str, ...]]:
    column, colon, how = part.partition(":")
    if not colon:
        known = ("system", *dataset.metadata, *dataset.human)
        found = next((name for name in known if name.lower() == column.lower()), None)
        if found is None:
            raise UnknownName("context", column, known)
        return dataset.outputs[found].cast(pl.String), ()
    numbers = _numbers(dataset, column)
    if ".." in how:
        return pl.Series(_ranges(numbers, how, part), dtype=pl.String), ()
    if not how.isdecimal() or len(how) > _DIGITS or int(how) < 1:
        raise InputError(
            f"{part!r} does not say how to cut {column}.",
            remedy=f"Write {column}:20 for 20 buckets, or {column}:0..10..20 for ranges.",
        )
    labels, notes = _buckets(numbers, int(how), _pairs(dataset), column)
    return pl.Series(labels, dtype=pl.String), notes


def _numbers(dataset: Dataset, column: str) -> NDArray[np.float64]:
    """A numeric column as float64, NaN where missing; `human` is the only human score, `length` the words."""
    if column == "human" and column not in dataset.outputs.columns:
        if len(dataset.human) != 1:
            listing = ", ".join(dataset.human) or "none"
            raise InputError(f"'human' is not one column here (human scores: {listing}).")
        column = dataset.human[0]
    if column == "length" and column not in dataset.outputs.columns:
        outputs = dataset.outputs["output"]
        lengths = outputs.list.len() if outputs.dtype.is_nested() else outputs.str.count_matches(r"\S+")
        return lengths.cast(pl.Float64).to_numpy()
    if column not in dataset.outputs.columns:
        raise UnknownName("context", column, (*dataset.metadata, *dataset.human, "length"))
    numbers = dataset.outputs[column].cast(pl.Float64, strict=False)
    if numbers.null_count() == len(numbers):
        raise InputError(f"column {column} holds no numbers to cut into buckets.")
    return numbers.fill_null(float("nan")).to_numpy()


def _pairs(dataset: Dataset) -> list[str]:
    """The language pair of each row: human scores are never pooled over language pairs."""
    lp = next((name for name in dataset.outputs.columns if name.lower() == "lp"), None)
    return [""] * len(dataset) if lp is None else dataset.outputs[lp].cast(pl.String).fill_null("").to_list()


def _buckets(
    numbers: NDArray[np.float64], count: int, groups: Sequence[str], column: str
) -> tuple[list[str | None], tuple[str, ...]]:
    """`count` buckets of equal frequency within each group; equal numbers never straddle two buckets."""
    labels: list[str | None] = [None] * len(numbers)
    names = sorted(set(groups))
    group_of = np.array(groups)
    notes = []
    for name in names:
        rows = np.flatnonzero((group_of == name) & ~np.isnan(numbers))
        values = numbers[rows]
        below = np.searchsorted(np.sort(values), values)
        bucket = below * count // max(len(values), 1)
        prefix = f"{name}+" if len(names) > 1 else ""
        made = np.unique(bucket)
        ends = [(values[bucket == code].min(), values[bucket == code].max()) for code in made]
        for code, label in zip(made, _interval_names(ends)):
            for row in rows[bucket == code]:
                labels[row] = prefix + label
        where = f" of {name}" if len(names) > 1 else ""
        if len(made) < count:
            notes.append(f"{column}{where}: {len(made)} buckets instead of {count}, since scores tie.")
    return labels, tuple(notes)


def _interval_names(ends: Sequence[tuple[float, float]]) -> list[str]:
    """`[0.1,0.25]` for each: as many digits as keep all ends apart, six at least.

    >>> _interval_names([(0.0, 0.1234561), (0.1234562, 1e9)])
    ['[0,0.1234561]', '[0.1234562,1e09]']
    """
    numbers = sorted({float(end) for each in ends for end in each})
    for digits in range(6, 18):  # 17 tell any two numbers apart
        names = [f"{number:.{digits}g}".replace("e+", "e") for number in numbers]
        if len(set(names)) == len(names):
            break
    known = dict(zip(numbers, names))
    return [f"[{known[float(low)]},{known[float(high)]}]" for low, high in ends]


def _ranges(numbers: NDArray[np.float64], how: str, part: str) -> list[str | None]:
    try:
        bounds = np.array([float(bound) for bound in how.split("..")])
    except ValueError:
        raise InputError(f"{part!r} has bounds that are not numbers.") from None
    if len(bounds) < 2 or not (np.diff(bounds) > 0).all():
        raise InputError(f"{part!r} needs two or more bounds that increase.")
    codes = np.searchsorted(bounds, numbers, side="right") - 1
    codes[numbers == bounds[-1]] = len(bounds) - 2
    inside = (codes >= 0) & (codes < len(bounds) - 1) & ~np.isnan(numbers)
    names = _interval_names(list(pairwise(bounds.tolist())))
    return [names[code] if ok else None for code, ok in zip(codes, inside)]


def _coded(name: str, labels: pl.Series) -> Context:
    values = sorted(labels.drop_nulls().unique().sort().to_list(), key=_natural)
    codes = labels.cast(pl.Enum(values)).to_physical().cast(pl.Int32).fill_null(-1).to_numpy()
    outside = int((codes < 0).sum())
    notes = (f"{outside} outputs have no value of {name} and are in no context of it.",) if outside else ()
    return Context(name, tuple(values), codes, notes)


def _natural(value: str) -> tuple[tuple[int, float, str], ...]:
    """Numbers inside labels sort as numbers: year 9 before 10, bucket [-5,-1] before [-1,0]."""
    key: list[tuple[int, float, str]] = []
    for part in value.replace("[", "+").split("+"):
        first = part.split(",")[0].rstrip("]")
        try:
            key.append((0, float(first), part))
        except ValueError:
            key.append((1, 0.0, part))
    return tuple(key)
