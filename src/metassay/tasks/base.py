"""`Task`: everything that the rest of metassay needs to know about one kind of data.

To add a task, create a `Task` and announce it under the entry point `metassay.tasks`. No other code changes,
because nothing compares task names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

# Usual names of the columns of text data, by role. Lower case; the first name that a table has is used.
TEXT_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "item": ("seg_id", "item", "id", "segment", "utt_id", "utterance"),
    "output": ("output", "hyp", "hypothesis", "mt", "translation"),
    "source": ("src", "source"),
    "system": ("system", "model"),
}


class OutputKind(Enum):
    """What the systems of a task produce: texts or ranked lists of documents."""

    TEXT = "text"
    RANKING = "ranking"
    """A list of document ids, best first. Relevance judgements take the place of references."""


@dataclass(frozen=True)
class TableEvidence:
    """Facts about a table, such as the names of its columns, from which the task of the data is guessed."""

    columns: frozenset[str]
    """Column names in lower case."""
    format_task: str | None = None
    """Task of the file format, for formats that belong to one task."""
    language: str | None = None
    """Target language, if the user named it."""
    has_judgements: bool = False
    """Whether relevance judgements were given."""
    has_reference_files: bool = False
    """Whether outputs and references were given as text files (`--reference`), which have no columns."""
    has_source_file: bool = False
    """Whether a file of sources was given (`--source`), which people do for translations."""

    def find_column(self, *names: str) -> str | None:
        """Find the first of the given column names that the table has. Returns None if it has none of
        them.
        """
        for name in names:
            if name in self.columns:
                return name
        return None

    def find_text_column_of_role(self, role: str) -> str | None:
        """Find the column of the table for a role such as "output". Returns None if there is none."""
        return self.find_column(*TEXT_COLUMNS[role])


@dataclass(frozen=True)
class Task:
    """A kind of data, such as translation. It says which columns to expect, which metrics to use by default,
    and which words reports use.
    """

    name: str
    title: str
    """The name that people use, such as "machine translation"."""
    output_noun: str
    """What reports call one output: "translation", as in "a better translation"."""
    output_noun_plural: str
    explain_match: Callable[[TableEvidence], str | None]
    """Returns why a table belongs to this task, in words that follow "because", or None if it does not."""
    default_metrics: tuple[str, ...]
    """Specs of the metrics that are used when the user names none."""
    perturbations: tuple[str, ...]
    """Names of the perturbations that suit this task. Those that need no request are the default."""
    output_kind: OutputKind = OutputKind.TEXT
    column_names: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: TEXT_COLUMNS)
    """Usual column names by role, in lower case."""
    corpus_metrics: tuple[str, ...] = ()
    """Specs of the metrics that `aggregate` compares by default. Empty if corpus scores make no sense."""
    human_criteria: tuple[str, ...] = ()
    """Names of human scores, besides those that every task knows (`mqm`, `da` and so on)."""
    normalisation: str = "none"
    """Default scheme of `text.normalize` for outputs and references."""
    default_language: str | None = None
    """Language of the outputs if the data does not name one."""
    ignores_case_and_punctuation: bool = False
    """Whether differences in case and punctuation between output and reference are not errors."""
    shows_word_alignment: bool = False
    """Whether reports show outputs aligned with the reference word by word."""
    valid_pairs_only: bool = False
    """Whether pairs whose perturbed output is not certainly worse are dropped by default."""
    has_prior_evidence: bool = False
    """Whether our results on public test sets say which metrics rank systems of this task well."""
    perturbation_prompt: str | None = None
    """Prompt that asks a language model for a slightly worse output. None if there is none."""

    def __str__(self) -> str:
        return self.name

    @property
    def is_ranking(self) -> bool:
        """Whether systems of this task produce ranked lists of documents."""
        return self.output_kind is OutputKind.RANKING

    @property
    def is_text(self) -> bool:
        """Whether systems of this task produce texts."""
        return self.output_kind is OutputKind.TEXT
