"""`Dataset`: the outputs of systems for items, with references, human scores and metadata."""

from __future__ import annotations

import hashlib
import html
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType

import polars as pl

from metassay.data.directions import ScoreDirection
from metassay.data.fingerprint import DataFingerprint, hash_outputs_and_human_scores, hash_rows
from metassay.data.languages import find_target_languages
from metassay.errors import InputError, UnknownName
from metassay.tasks import find_task
from metassay.tasks.base import Task
from metassay.text.languages import parse_target_language

# Columns with a fixed meaning. Every other column is a human score or metadata.
ROLE_COLUMNS = ("item", "system", "output", "source", "references")
# Cached properties that do not depend on `notes`.
_CACHED_PROPERTIES = ("systems", "items", "languages", "content_hash")


@dataclass(frozen=True, repr=False)
class Dataset:
    """Outputs of systems for items: one row per item and system, sorted by item and system.

    `outputs` has the columns `item`, `system` and `output` (a text; in rankings, a list of document ids, best
    first) and, if known, `source` and `references` (a list of texts). The columns named in `human` are human
    scores, null for unrated outputs. All other columns are metadata and can be used as contexts.

    >>> outputs = pl.DataFrame({"item": ["1", "2"], "system": "a", "output": ["x", "y"], "mine": [0, 1]})
    >>> data = Dataset("text", outputs).declare_human_column("mine").add_notes("rated by me")
    >>> data.filter_rows(data.outputs["mine"] > 0, reason="not rated").left_out["not rated"], data.human
    (1, ('mine',))
    >>> data.slice_rows(slice(1, 2)).items
    ('2',)
    """

    task: str
    """Name of the task."""
    outputs: pl.DataFrame
    human: tuple[str, ...] = ()
    """Columns of human scores, as they stand in the data until `reverse_human_scores_if_lower_is_better` is
    called.
    """
    language: str | None = None
    """Target language of all outputs. None if it differs by row or is unknown, see `languages`."""
    qrels: pl.DataFrame | None = None
    """Relevance judgements of a ranking task, with the columns `item`, `document` and `grade`."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Number of input rows that were left out, by reason."""
    reference_systems: tuple[str, ...] = ()
    """Systems that were left out because their outputs equal the reference."""
    notes: tuple[str, ...] = ()
    """Sentences for the user about how the data was read."""
    task_guess: str | None = None
    """Sentence that says how the task was guessed. None if the user named the task."""
    custom_task: Task | None = None
    """The task if it is not registered under its name."""
    rows_are_pairs: bool = False
    """Whether each row is a pair that someone else made, with the worse text in the column `worse`.

    An item and system may then occur in several rows.
    """
    input_files: tuple[str, ...] = ()
    """Files and folders that the data was read from. Nothing may overwrite them."""
    declared_metadata: tuple[str, ...] = ()
    """Columns that the file format declares to be metadata, so that their numbers are not metric scores."""
    ignored_columns: Mapping[str, str] = field(default_factory=dict)
    """Columns of the input that are not used, with the reason."""
    directions: tuple[ScoreDirection, ...] = ()
    """Direction that each human score had before `reverse_human_scores_if_lower_is_better`. Empty if that was
    not called.
    """

    def __post_init__(self) -> None:
        object.__setattr__(self, "task", self.task_definition.name)
        for name in ("item", "system", "output"):
            if name not in self.outputs.columns:
                raise InputError(f"a data set needs the column {name}.")
        if self.outputs.is_empty():
            raise InputError("there are no outputs: every row was left out or the file is empty.")
        if not _is_sorted_by_item(self.outputs["item"], self.outputs["system"]):
            object.__setattr__(self, "outputs", self.outputs.sort("item", "system", maintain_order=True))
        object.__setattr__(self, "left_out", MappingProxyType(dict(self.left_out)))

    def __repr__(self) -> str:
        counts = f"{len(self)} outputs of {len(self.systems)} systems for {len(self.items)} items"
        return f"Dataset ({self.task}): {counts}\n{', '.join(self.outputs.columns)}"

    def _repr_html_(self) -> str:
        paragraphs = "".join(f"<p>{html.escape(line)}</p>" for line in repr(self).split("\n"))
        return f"<div>{paragraphs}{self.outputs.head(10)._repr_html_()}</div>"

    def __len__(self) -> int:
        return self.outputs.height

    @property
    def task_definition(self) -> Task:
        """The `Task` object of the data set, with the column names and defaults of the task."""
        return find_task(self.task) if self.custom_task is None else self.custom_task

    @cached_property
    def systems(self) -> tuple[str, ...]:
        """The sorted names of all systems."""
        return tuple(sorted(self.outputs["system"].unique()))

    @cached_property
    def items(self) -> tuple[str, ...]:
        """The sorted ids of all items."""
        return tuple(sorted(self.outputs["item"].unique()))

    @property
    def metadata(self) -> tuple[str, ...]:
        """The names of columns that describe outputs, such as domain, by which results can be divided."""
        taken = {*ROLE_COLUMNS, *self.human}
        if self.rows_are_pairs:
            taken.add("worse")
        return tuple(name for name in self.outputs.columns if name not in taken)

    @cached_property
    def languages(self) -> tuple[str | None, ...]:
        """The target language of each row, as named by the user or by a column, or else the default of the
        task.
        """
        if self.language is not None:
            return (parse_target_language(self.language),) * len(self)
        languages = find_target_languages(self.outputs)
        if languages is None:
            return (self.task_definition.default_language,) * len(self)
        return tuple(languages)

    @cached_property
    def content_hash(self) -> str:
        """A hash of all data, which does not depend on the order of rows and columns."""
        digest = hashlib.blake2b(digest_size=16)
        for table in (self.outputs, self.qrels):
            if table is not None:
                ordered = table.select(sorted(table.columns))
                digest.update("\0".join(ordered.columns).encode())
                digest.update(hash_rows(ordered))
        digest.update(f"{self.task}\0{self.human}\0{self.language}".encode())
        return digest.hexdigest()

    @property
    def fingerprint(self) -> DataFingerprint:
        """Counts and hashes by which a later run recognises the same data."""
        return hash_outputs_and_human_scores(self.outputs, self.human)

    def filter_rows(self, keep: pl.Series, *, reason: str) -> Dataset:
        """Return the data set with only the rows for which `keep` is true. The number of other rows is added
        to `left_out` under the given reason.
        """
        dropped = int((~keep).sum())
        left_out = dict(self.left_out)
        if dropped:
            left_out[reason] = left_out.get(reason, 0) + dropped
        return replace(self, outputs=self.outputs.filter(keep), left_out=left_out)

    def slice_rows(self, row_slice: slice) -> Dataset:
        """Return the data set with only a slice of its rows. The other rows are not counted as left out."""
        return replace(self, outputs=self.outputs[row_slice])

    def declare_human_column(self, column_name: str) -> Dataset:
        """Return the data set with one more of its columns marked as a human score. Upper and lower case are
        not distinguished.
        """
        if column_name in self.human:
            return self
        columns = {column.lower(): column for column in self.metadata}
        column = columns.get(column_name.lower())
        if column is None or not self.outputs[column].dtype.is_numeric():
            numeric = [c for c in self.metadata if self.outputs[c].dtype.is_numeric()]
            raise UnknownName("human score", column_name, (*self.human, *numeric))
        scores = self.outputs[column].cast(pl.Float64).fill_nan(None)
        return replace(self, outputs=self.outputs.with_columns(scores), human=(*self.human, column))

    def add_notes(self, *notes: str) -> Dataset:
        """Return the data set with further notes for the user."""
        noted = replace(self, notes=(*self.notes, *notes))
        for name in _CACHED_PROPERTIES:
            if name in self.__dict__:
                noted.__dict__[name] = self.__dict__[name]
        return noted


def _is_sorted_by_item(items_of_rows: pl.Series, systems_of_rows: pl.Series) -> bool:
    """Return whether rows are sorted by item, and by system within an item."""
    next_item = items_of_rows[1:] > items_of_rows[:-1]
    next_system = (items_of_rows[1:] == items_of_rows[:-1]) & (systems_of_rows[1:] >= systems_of_rows[:-1])
    return bool((next_item | next_system).all())
