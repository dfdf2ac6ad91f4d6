"""`Dataset`: the outputs of systems for items, with references and whatever else the file says of them."""

from __future__ import annotations

import hashlib
import html
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from metassay.errors import InputError, UnknownName
from metassay.tasks import find_task
from metassay.tasks.base import Task
from metassay.text.tokenizers import language_code

TARGETS = ("tgt_lang", "target_lang", "target_language", "tgt", "target")
LANGUAGES = ("language", "lang", "language_code", "lang_code")
"""Columns that may name the language of outputs where there is no language pair; beside a source, the second
kind may mean that one's, and is not believed."""
_AT_ONCE = 2**16
"""Rows that are hashed together."""
_KNOWN = ("systems", "items", "languages", "content_hash")
"""What is found out once, and does not depend on notes."""
FIXED = ("item", "system", "output", "source", "references")
"""Columns with a meaning of their own; every other column is a human score or metadata."""


@dataclass(frozen=True, repr=False)
class Dataset:
    """One row per (item, system), sorted by item and system, so that the order of the input never matters.

    With `rows_are_pairs`, each row is a pair that someone else made: the column `worse` holds the worse text,
    and an item and system may occur in several rows.

    `outputs` has `item` (text), `system` (text), `output` (text; for rankings a list of document ids, best
    first), and where known `source` (text) and `references` (list of text). The columns named in `human` are
    human scores, higher is better, null where unrated. All others are metadata, hence possible contexts.
    `qrels`, for rankings alone, has `item`, `document`, `grade`.

    >>> outputs = pl.DataFrame({"item": ["1", "2"], "system": "a", "output": ["x", "y"], "mine": [0, 1]})
    >>> data = Dataset("text", outputs).with_human_column("mine").with_notes("rated by me")
    >>> data.filter_rows(data.outputs["mine"] > 0, reason="not rated").left_out["not rated"], data.human
    (1, ('mine',))
    >>> data.slice_rows(slice(1, 2)).items
    ('2',)
    """

    task: str
    outputs: pl.DataFrame
    human: tuple[str, ...] = ()
    language: str | None = None
    """Target language of all outputs; None where it differs by row (then `languages` reads `lp`)."""
    qrels: pl.DataFrame | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Rows of the input that are not here, counted by reason."""
    reference_systems: tuple[str, ...] = ()
    """Systems that were left out because their outputs are the reference itself."""
    notes: tuple[str, ...] = ()
    """What a reader of the results should know about how the data was read."""
    task_guess: str | None = None
    """How the task was guessed, as a sentence; None where it was named."""
    custom_task: Task | None = None
    """The task as a value, where it is not one of the known ones."""
    rows_are_pairs: bool = False
    """Whether the rows are pairs: a column `worse` holds the worse text of each."""
    input_files: tuple[str, ...] = ()
    """The files and folders it was read from, which nothing may write over."""
    declared_metadata: tuple[str, ...] = ()
    """Columns of metadata that are no metrics, numbers though they may hold."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "task", self.task_definition.name)
        missing = [name for name in ("item", "system", "output") if name not in self.outputs.columns]
        if missing:
            raise InputError(f"a data set needs the column {missing[0]}.")
        if self.outputs.is_empty():
            raise InputError("there is no output to work on: every row was left out or the file is empty.")
        if not _is_sorted(self.outputs["item"], self.outputs["system"]):
            object.__setattr__(self, "outputs", self.outputs.sort("item", "system", maintain_order=True))
        object.__setattr__(self, "left_out", MappingProxyType(dict(self.left_out)))

    def __repr__(self) -> str:
        """Two lines: how much of what, and its columns."""
        held = f"{len(self)} outputs of {len(self.systems)} systems for {len(self.items)} items"
        return f"Dataset ({self.task}): {held}\n{', '.join(self.outputs.columns)}"

    def _repr_html_(self) -> str:
        said = "".join(f"<p>{html.escape(line)}</p>" for line in repr(self).split("\n"))
        return f"<div>{said}{self.outputs.head(10)._repr_html_()}</div>"

    def __len__(self) -> int:
        return self.outputs.height

    @property
    def task_definition(self) -> Task:
        """The task as a value; `task` is its name."""
        return find_task(self.task) if self.custom_task is None else self.custom_task

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """The systems, sorted."""
        return tuple(sorted(self.outputs["system"].unique()))

    @cached_property
    def items(self) -> tuple[str, ...]:
        """The items, sorted."""
        return tuple(sorted(self.outputs["item"].unique()))

    @property
    def metadata(self) -> tuple[str, ...]:
        """Columns that can serve as contexts beside `system`."""
        fixed = (*FIXED, "worse") if self.rows_are_pairs else FIXED
        return tuple(c for c in self.outputs.columns if c not in fixed and c not in self.human)

    @cached_property
    def languages(self) -> tuple[str | None, ...]:
        """Target language of each row: `language`, else what `lp` has after the hyphen, else what another
        column of languages says (`tgt`, `lang` and the like), else that of the task, or unknown.
        """
        if self.language is not None:
            return (language_code(self.language) or self.language,) * len(self)
        lower = {name.lower(): name for name in reversed(self.outputs.columns)}
        if "lp" in lower:
            pairs = self.outputs[lower["lp"]].cast(pl.String).to_list()
            after = [lp.rpartition("-")[2].lower() if lp and "-" in lp else None for lp in pairs]
            tags = (tag and tag.replace("_", "-") for tag in after)  # of en-ja_JP: ja-jp
            return tuple(tag and (language_code(tag) or tag) for tag in tags)
        names = TARGETS if "source" in self.outputs.columns else (*TARGETS, *LANGUAGES)
        for column in (lower[name] for name in names if name in lower):
            named = self.outputs[column].cast(pl.String)
            codes = {name: language_code(name) for name in named.drop_nulls().unique()}
            if codes and None not in codes.values():  # else it holds something else, such as texts
                return tuple(codes.get(name) for name in named)
        return (self.task_definition.default_language,) * len(self)

    @cached_property
    def content_hash(self) -> str:
        """A hash of everything in the data set, independent of the order of its rows and columns."""
        digest = hashlib.blake2b(digest_size=16)
        for frame in (self.outputs, self.qrels):
            if frame is None:
                continue
            ordered = frame.select(sorted(frame.columns))
            digest.update("\0".join(ordered.columns).encode())
            digest.update(_row_hashes(ordered).tobytes())
        digest.update(f"{self.task}\0{self.human}\0{self.language}".encode())
        return digest.hexdigest()

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What tells this data set from others, see `fingerprint_data`."""
        return fingerprint_data(self.outputs, self.human)

    def filter_rows(self, keep: pl.Series, *, reason: str) -> Dataset:
        """The rows where `keep` is true; the others are counted under `reason`."""
        dropped = int((~keep).sum())
        left_out = (
            {**self.left_out, reason: self.left_out.get(reason, 0) + dropped} if dropped else self.left_out
        )
        return replace(self, outputs=self.outputs.filter(keep), left_out=left_out)

    def slice_rows(self, rows: slice) -> Dataset:
        """The outputs in a stretch of rows; nothing is counted as left out."""
        return replace(self, outputs=self.outputs[rows])

    def with_human_column(self, name: str) -> Dataset:
        """The same data with one more column declared a human score; one that is declared stays so."""
        if name in self.human:
            return self
        found = {column.lower(): column for column in self.metadata}.get(name.lower())
        if found is None or not self.outputs[found].dtype.is_numeric():
            numbers = [c for c in self.metadata if self.outputs[c].dtype.is_numeric()]
            raise UnknownName("human score", name, (*self.human, *numbers))
        scores = self.outputs[found].cast(pl.Float64).fill_nan(None)
        return replace(self, outputs=self.outputs.with_columns(scores), human=(*self.human, found))

    def with_notes(self, *notes: str) -> Dataset:
        """The same data with further notes."""
        found = replace(self, notes=(*self.notes, *notes))
        found.__dict__.update({name: self.__dict__[name] for name in _KNOWN if name in self.__dict__})
        return found


def _is_sorted(item: pl.Series, system: pl.Series) -> bool:
    ordered = (item[1:] > item[:-1]) | ((item[1:] == item[:-1]) & (system[1:] >= system[:-1]))
    return bool(ordered.all())


def _row_hashes(frame: pl.DataFrame) -> np.ndarray:
    """Sorted 128-bit digests of the rows, from their JSON form: stable over versions and row orders."""
    digests = [hashlib.blake2b(digest_size=16).digest()]  # of what follows the last line: nothing
    for part in frame.iter_slices(_AT_ONCE):
        written = io.BytesIO()
        part.write_ndjson(written)
        lines = written.getvalue().split(b"\n")[:-1]
        digests.append(b"".join(hashlib.blake2b(line, digest_size=16).digest() for line in lines))
    found = np.frombuffer(b"".join(digests), dtype=">u8").reshape(-1, 2)
    return found[np.lexsort((found[:, 1], found[:, 0]))]


def fingerprint_data(frame: pl.DataFrame, human: Sequence[str]) -> dict[str, Any]:
    """Counts and hashes that runs of one data set share, whatever they do with it.

    `keys` is a hash of all items and systems, `human` one of each human score with its outputs. Rows count in
    no order, and scores without their signs, since some verbs turn a score around.
    """
    names = {key: frame[key].unique().sort() for key in ("item", "system")}
    return {
        "items": len(names["item"]),
        "systems": len(names["system"]),
        "keys": _digest(names["item"]) + _digest(names["system"]),
        "human": {name: _digest(_scored_rows(frame, name)) for name in sorted(human)},
    }


def _scored_rows(frame: pl.DataFrame, name: str) -> pl.Series:
    scores = frame.select("item", "system", pl.col(name).cast(pl.Float64).fill_nan(None).abs()).drop_nulls()
    return scores.select(pl.concat_str(pl.all().cast(pl.String), separator="\0")).to_series().sort()


def _digest(lines: pl.Series, step: int = 2**16) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for start in range(0, len(lines), step):
        digest.update("".join(f"{line}\n" for line in lines[start : start + step]).encode())
    return digest.hexdigest()


def pivot(dataset: Dataset, column: str, systems: Sequence[str] | None = None) -> np.ndarray:
    """A numeric column as float64[systems, items] in sorted order, NaN where there is no value."""
    systems = dataset.systems if systems is None else tuple(systems)
    table = np.full((len(systems), len(dataset.items)), np.nan)
    rows = {name: i for i, name in enumerate(systems)}
    columns = {name: i for i, name in enumerate(dataset.items)}
    for item, system, value in dataset.outputs.select("item", "system", column).iter_rows():
        if system in rows and value is not None:
            table[rows[system], columns[item]] = value
    return table
