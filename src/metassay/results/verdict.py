"""The verdict of a result: the main conclusions, with which page, terminal and notebook begin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

# What a claim says.
#
# `use`: which metric to use. `none`: no metric can be recommended. `avoid`: which metrics not to use. `data`:
# what the verdict rests on. `answer`: the best metric for one question. `unanswered`: a question that the
# data cannot answer. `prior`: what is known from other data. `next`: what to do next, with the command.
# `regret`: what it costs to use one metric in all contexts. `caveat`: the main reason for doubt. `finding`:
# another statement.
ClaimKind = Literal[
    "use",
    "none",
    "avoid",
    "data",
    "answer",
    "unanswered",
    "prior",
    "next",
    "regret",
    "caveat",
    "finding",
]

# What a user wants to do with a metric.
#
# `detect_errors`: detect an error in a single output (perturbed pairs). `prefer_better`: prefer the better
# output of pairs that the user made. `choose_outputs`: choose between two outputs as people do (human pairs).
# `rank_systems`: rank systems as people do (SPA). `save_labels`: replace human labels when two systems are
# compared (share of labels saved).
Question = Literal["detect_errors", "prefer_better", "choose_outputs", "rank_systems", "save_labels"]


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """One statement in the conclusions of a result (the verdict), as a sentence and as the numbers that
    support it.

    `metrics` are the metrics that it names; in an answer the best one, then those not shown to be behind it.
    `value` has the 95 % interval `low` to `high`. `baseline` is the value that needs no skill: of a coin,
    of a metric that scores all outputs the same, or of no metric at all. `p` is adjusted for all
    claims of the result.
    """

    kind: ClaimKind
    sentence: str
    question: Question | None = None
    metrics: list[str] = []
    scope: str | None = None
    """The data set or test set that the claim is limited to; None for all data."""
    context: str | None = None
    value: float | None = None
    low: float | None = None
    high: float | None = None
    baseline: float | None = None
    p: float | None = None


def convert_sentences_to_findings(sentences: Iterable[str]) -> list[Claim]:
    """Convert sentences to claims of the kind `finding` (other statements of a result)."""
    return [Claim(kind="finding", sentence=sentence) for sentence in sentences]


def select_claims_of_kinds(verdict: Sequence[Claim], *kinds: ClaimKind) -> list[Claim]:
    """Return the claims that are of one of the given kinds, in their order in the verdict."""
    return [claim for claim in verdict if claim.kind in kinds]
