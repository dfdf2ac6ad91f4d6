"""Content of the dashboard page on which users search the pairs of a run: a query, the matching pairs and
counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

PAIRS_PER_PAGE = 20
# How a metric can judge a pair. `undefined`: it has no score for one of the outputs.
OUTCOMES = ("right", "tie", "wrong", "undefined")
# A text, or for rankings the list of document names.
Text = str | list[str]
_PAGE_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


@dataclass(frozen=True)
class PairQuery:
    """The query by which a user searches the pairs of a run. Each field is a filter, and an empty field does
    not filter.
    """

    metric: str = ""
    outcome: str = ""
    other_run: str = ""
    """The run in which the other metric is looked up; empty for the same run."""
    other_metric: str = ""
    other_outcome: str = ""
    column: str = ""
    context: str = ""
    perturbation: str = ""
    system: str = ""
    item: str = ""
    text: str = ""
    order: str = ""
    """`worst` or `best`: by the margin of the metric. Empty: in the order of the run."""
    part: int = 1
    """Text is searched in parts of a large run, one after the other."""
    page: int = 1
    shown: tuple[str, ...] = ()
    """The metrics whose scores are shown; empty for a few of the assayed ones."""

    @classmethod
    def from_query_values(cls, values: Mapping[str, Sequence[str]]) -> Self:
        """Create a query from the parameters of a web address. Unknown parameters are ignored."""
        arguments: dict[str, Any] = {}
        for query_field in fields(cls):
            name = query_field.name
            given = [value for value in values.get(name, ()) if value]
            if not given:
                continue
            if name == "shown":
                arguments[name] = tuple(dict.fromkeys(given))
            elif name in {"part", "page"}:
                arguments[name] = int(given[0]) if _PAGE_NUMBER.fullmatch(given[0]) else 1
            else:
                arguments[name] = given[0]
        return cls(**arguments)

    def to_query_values(self) -> list[tuple[str, str]]:
        """Return the query as parameters of a web address, without those that have their default value."""
        values: list[tuple[str, str]] = []
        for query_field in fields(self):
            value = getattr(self, query_field.name)
            if query_field.name == "shown":
                values += [("shown", metric) for metric in value]
            elif value != query_field.default:
                values.append((query_field.name, str(value)))
        return values

    @property
    def filters_without_page(self) -> Self:
        """The query without its order, its page number and the metrics to show, which do not change which
        pairs match.
        """
        return replace(self, order="", page=1, shown=())


@dataclass(frozen=True)
class MetricPairScores:
    """The scores that a metric gave to the two outputs of a pair, and whether the metric ordered the pair
    correctly.
    """

    outcome: int | None
    """1 right, 0 tie, −1 wrong, None undefined."""
    output: float | None
    worse_output: float | None


@dataclass(frozen=True)
class StoredPair:
    """A pair of a better and a worse output, as read from a run folder, with its scores."""

    row: int
    item: str
    system: str
    perturbation: str
    output: Text
    worse_output: Text
    worse_system: str | None = None
    """The system of the worse output, where the pair was chosen by human scores."""
    source: str | None = None
    references: Sequence[str] = ()
    contexts: Mapping[str, str] = field(default_factory=dict)
    human_scores: Mapping[str, tuple[float, float | None]] = field(default_factory=dict)
    """By name, the human scores of the output and of the worse output."""
    metric_scores: Mapping[str, MetricPairScores] = field(default_factory=dict)


@dataclass(frozen=True)
class MatchingPairs:
    """The pairs of a run that match a query, and how often each metric is right and wrong on them."""

    count: int
    rows: NDArray[np.uint32] | None
    """Their rows in ascending order; None if all pairs of the run match."""
    outcome_counts: dict[str, dict[str, int]]
    """By metric, how many of them it judged right, tie, wrong or undefined."""
    searched_rows: tuple[int, int] | None = None
    """The first and last row that were searched for a text; None if the query has no text."""


@dataclass(frozen=True)
class PairPage:
    """One page of the pairs that match a query, with counts over all matching pairs."""

    query: PairQuery
    matching: MatchingPairs
    listed: int
    """How many of the matching pairs can be paged through; ordered by margin, only the first are."""
    pairs: list[StoredPair]
    pairs_in_other_run: list[StoredPair] = field(default_factory=list)
    """The same pairs in the other run, in the same order, where the query names one."""
    joint_outcomes: dict[tuple[str, str], int] = field(default_factory=dict)
    """Counts of (own outcome, other outcome), over pairs that pass all other filters."""
    common_pairs: int | None = None
    """How many pairs of the run the other run has too."""

    @property
    def page_count(self) -> int:
        """The number of pages over which the matching pairs are spread."""
        return max(1, -(-self.listed // PAIRS_PER_PAGE))


@dataclass(frozen=True)
class ContextAccuracy:
    """The accuracy of a metric in one context, such as a domain, with its 95 % interval."""

    context: str
    metric: str
    accuracy: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class RunNotes:
    """The notes that users wrote about a run, and what the form for editing them needs."""

    text: str
    version: str
    """A digest of the text, so that nobody overwrites notes that they have not seen."""
    token: str
    writable: bool
    maximum_length: int


@dataclass(frozen=True)
class ExplorerContent:
    """Everything that the dashboard page with the pairs of a run shows."""

    run: str
    path: str
    report_path: str | None
    task: str | None
    page: PairPage
    total: int
    has_outcomes: bool
    """Whether the run stored outcomes. Runs of `perturb` have pairs only."""
    metrics: Sequence[str]
    """The assayed metrics, then the sentinels."""
    assayed_metrics: Sequence[str]
    shown_metrics: Sequence[str]
    context_columns: Sequence[str]
    context_values: Sequence[str]
    systems: Sequence[str]
    perturbations: Sequence[str]
    accuracies: Sequence[ContextAccuracy]
    search_parts: int
    other_runs: Sequence[str]
    other_metrics: Sequence[str]
    notes: RunNotes
