"""What a task is: a value that answers what every room asks about the outputs it works on.

A task of one's own is such a value, announced under the entry point `metassay.tasks`; nothing else changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

TEXT_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "item": ("seg_id", "item", "id", "segment", "utt_id", "utterance"),
    "output": ("output", "hyp", "hypothesis", "mt", "translation"),
    "source": ("src", "source"),
    "system": ("system",),
}
"""Column names that people use for texts, by role, in lower case, best first."""


class OutputKind(Enum):
    """What one output is."""

    TEXT = "text"
    RANKING = "ranking"
    """A list of document ids, best first; relevance judgements stand where texts have references."""


@dataclass(frozen=True)
class Evidence:
    """What is known of a table before its task is: from this alone a task may recognise its own data."""

    columns: frozenset[str]
    """Names in lower case."""
    reader: str | None = None
    """The task of the format that the table was read from, where the format has one."""
    language: str | None = None
    """The target language, where the user named it."""
    judged: bool = False
    """Whether relevance judgements were given."""

    def has(self, *names: str) -> str | None:
        """The first of the columns that is there."""
        return next((name for name in names if name in self.columns), None)

    def plays(self, role: str) -> str | None:
        """The first column of texts that plays a role."""
        return self.has(*TEXT_COLUMNS[role])


@dataclass(frozen=True)
class Task:
    """One kind of data: what its outputs are, how its tables are read, what is at work by default."""

    name: str
    title: str
    """What people call it: `machine translation`."""
    one: str
    """One output: `translation`, as in "a better translation"."""
    many: str
    recognise: Callable[[Evidence], str | None]
    """Why a table is of this task, in words that follow "since"; None where it is not."""
    metrics: tuple[str, ...]
    """Specs of the metrics at work when none is named."""
    perturbations: tuple[str, ...]
    """Names of the perturbations that are made for it; those that are not on request are the default."""
    output: OutputKind = OutputKind.TEXT
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: TEXT_COLUMNS)
    aggregated: tuple[str, ...] = ()
    """Specs of the metrics that `aggregate` compares by default; none: corpus scores make no sense here."""
    criteria: tuple[str, ...] = ()
    """Names of human scores beside those of every task."""
    normalisation: str = "none"
    """The scheme under which both sides are written before anything is measured."""
    language: str | None = None
    """The language of outputs that do not say theirs."""
    written_alike: bool = False
    """Whether a difference in case or punctuation between the two sides is an accident, not an error."""
    aligned: bool = False
    """Whether people compare its outputs word by word with the reference."""
    valid_pairs_only: bool = False
    """Whether it can be told which worse copies are worse, and pairs of the others are dropped by default."""
    prompt: str | None = None
    """What a language model is asked for a slightly worse output; None: it cannot be asked."""

    def __str__(self) -> str:
        return self.name

    @property
    def ranked(self) -> bool:
        """Whether outputs are ranked lists."""
        return self.output is OutputKind.RANKING

    @property
    def text(self) -> bool:
        """Whether outputs are texts."""
        return self.output is OutputKind.TEXT
