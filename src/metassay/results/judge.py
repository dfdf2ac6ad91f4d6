"""Result of `judge`: how far judges can be trusted, and which families of systems they favour."""

from __future__ import annotations

import msgspec

from metassay.results.base import Count, ResultStruct, Share
from metassay.results.data_summary import DataSummary
from metassay.results.verdict import Claim

# Yardsticks for self-preference: human scores, or the other judges.
HUMANS = "people"
PANEL = "panel"


class CorrectedShare(msgspec.Struct, frozen=True):
    """The share of outputs that a judge calls good, or of pairs in which it prefers the first output,
    corrected for the errors of the judge.
    """

    value: float
    low: float | None
    high: float | None
    judged: float | None
    """The share before the correction."""
    sensitivity: float | None
    specificity: float | None
    labelled: Count
    """Number of outputs or pairs with a human label."""


class JudgeEntry(msgspec.Struct, frozen=True):
    """The accuracy, consistency and biases of one judge. A field is None if the data cannot tell."""

    judge: str
    pairs: Count
    """Number of verdicts that accuracy is computed from."""
    accuracy: Share | None
    low: float | None
    high: float | None
    base_rate: Share | None
    """Accuracy of the same verdicts if they were assigned at random."""
    both_orders_same: Share | None
    position_bias: float | None
    """Share of verdicts that prefer the output shown first, minus ½."""
    length_bias: float | None
    """Accuracy where the better output is the longer one, minus where it is the shorter one."""
    repeats_same: Share | None
    missing: Count
    """Number of verdicts that could not be read."""
    corrected: CorrectedShare | None
    cost: float | None
    verdicts: Count
    intervals: dict[str, tuple[float, float]]
    """95 % intervals of the other measures, by name."""


class JudgeContextAccuracy(msgspec.Struct, frozen=True):
    """The accuracy of a judge in one context, such as a domain."""

    judge: str
    context: str
    accuracy: Share | None
    low: float | None
    high: float | None
    pairs: Count


class AlternativeTestEntry(msgspec.Struct, frozen=True):
    """Whether one judge can replace human raters, by the alternative annotator test. Values for raters with
    too few items are None.
    """

    judge: str
    winning_rate: Share | None
    """Share of raters whom the judge can replace."""
    advantage: Share | None
    """Probability that the judge is at least as close to the other raters as a rater is."""
    epsilon: float
    p_fdr: dict[str, float | None]
    advantages: dict[str, float | None]
    items: dict[str, Count]
    passes: bool | None


class SelfPreference(msgspec.Struct, frozen=True):
    """How much higher a judge rates the systems of one model family than the systems of other families.

    With human scores: between outputs with equal human scores, in standard deviations of the judge's scores.
    """

    judge: str
    family: str
    deviation: float | None
    low: float | None
    high: float | None
    p_holm: Share | None
    """Only for the judge's own family, the one that is tested; corrected over judges."""
    yardstick: str
    """`people` or `panel` (the other judges)."""
    own: bool
    """Whether the judge itself belongs to the family (column `judge_family`)."""


class AccuracyDrift(msgspec.Struct, frozen=True):
    """How much the accuracy of a judge changed from its first to its last date."""

    judge: str
    first_date: str = msgspec.field(name="from")
    last_date: str = msgspec.field(name="to")
    change: float | None
    low: float | None
    high: float | None
    pairs: Count


class AskedModel(msgspec.Struct, frozen=True):
    """The language model that was asked for verdicts, with the prompt and the cost."""

    judge: str
    signature: str
    prompt: str
    cost: float | None


class JudgeContent(ResultStruct, frozen=True, kw_only=True):
    """How well judges agree with human labels, with each other, and with their own repeated verdicts."""

    kind: str
    """Type of the verdicts: `pairwise`, `grade` or `label`."""
    gold: str | None
    """Where the human labels come from."""
    ties: str
    """Whether a tie counts `half` or is wrong (`strict`), or both orders are added up (`judgebench`)."""
    items: Count
    compares_items: bool = False
    """Whether each item has one output, so that grades of outputs of different items are compared."""
    judges: list[JudgeEntry]
    contexts: dict[str, list[JudgeContextAccuracy]]
    alt_test: list[AlternativeTestEntry]
    self_preference: list[SelfPreference]
    drift: list[AccuracyDrift]
    asked: AskedModel | None = None
    notes: list[str] = msgspec.field(default_factory=list)
    data: DataSummary | None = None
    verdict: list[Claim] = msgspec.field(default_factory=list)
