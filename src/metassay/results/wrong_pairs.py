"""Examples of pairs that metrics got wrong, stored in the run folder for the report."""

from __future__ import annotations

import msgspec

from metassay.results.base import Count, ResultStruct

# A text, or for rankings the ids of the first documents.
Text = str | list[str]


class ScoredOutcome(msgspec.Struct, frozen=True, array_like=True):
    """The scores that a metric gave to both outputs of a pair, and whether it ordered them correctly: 1
    right, 0 tie, -1 wrong.
    """

    score: float
    worse_score: float
    outcome: int


class WrongPair(msgspec.Struct, frozen=True, kw_only=True):
    """A pair of outputs in which at least one metric did not prefer the better output.

    `is_doubtful`: the worse output is nearer to a reference than the output is, so the label may be wrong.
    `grades` are relevance grades of the documents of a ranking.
    """

    item: str
    system: str
    perturbation: str
    output: Text
    worse: Text
    worse_system: str | None = None
    contexts: dict[str, str] = {}
    outcomes: dict[str, ScoredOutcome] = {}
    is_doubtful: bool = False
    source: str | None = None
    references: list[str] = []
    grades: dict[str, int] = {}


class WrongPairs(ResultStruct, frozen=True, kw_only=True):
    """Examples of pairs in which some metric did not prefer the better output. Pairs whose label may be wrong
    come last.

    `checked` pairs, evenly spaced over all, tell how many labels are `doubtful`; None for rankings and human
    pairs.
    """

    pairs: list[WrongPair]
    checked: Count | None = None
    doubtful: Count | None = None
