"""Result of `score`: scores of systems, and tests of the differences between them."""

from __future__ import annotations

import msgspec

from metassay.results.base import Count, ResultStruct, Share
from metassay.results.data_summary import DataSummary
from metassay.results.official_score import OfficialScore
from metassay.results.verdict import Claim


class ScoredSystem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The scores of one system by one metric. A kind of score that was not requested is None."""

    group: str | None = None
    """The test set, if the data has several."""
    system: str
    metric: str
    signature: str
    corpus: float | None
    """From statistics summed over segments; None for a metric without statistics."""
    segment: float | None
    """The mean of the segment scores."""
    bootstrap: float | None
    """The mean of corpus scores over resamples of segments."""
    low: float | None
    high: float | None
    """95 % interval of the first requested aggregation."""
    official: OfficialScore | None
    """What the official program prints with the corpus score, if it can compute this score."""


class SystemComparison(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The difference between the scores of two systems by one metric, a minus b, with a significance test."""

    group: str | None = None
    """The test set, if the data has several."""
    metric: str
    a: str
    b: str
    difference: float | None
    p: Share | None
    test: str
    """`bootstrap` or `randomization`."""
    p_holm: Share | None
    """p after Holm's correction over all pairs of systems."""
    segments: Count


class NoCurve(msgspec.Struct, frozen=True, tag_field="kind", tag="no_curve"):
    """The run of `rank` does not tell how often people agree with this metric on this data set."""


class OtherLanguagePair(msgspec.Struct, frozen=True, tag_field="kind", tag="other_language_pair"):
    """The run of `rank` is on another language pair than the data."""

    of_run: str
    of_data: str


class FewItems(msgspec.Struct, frozen=True, tag_field="kind", tag="few_items"):
    """The data has far fewer items than the run of `rank`."""

    items: Count
    items_of_run: Count


class DifferenceWithinNoise(msgspec.Struct, frozen=True, tag_field="kind", tag="difference_within_noise"):
    """The difference is smaller than the noise of the metric."""

    noise: float


class DifferenceBeyondRun(msgspec.Struct, frozen=True, tag_field="kind", tag="difference_beyond_run"):
    """The difference is larger than the largest one in the run of `rank`."""

    largest: float


# Why it is not known how often people agree with a difference.
UnknownAgreement = NoCurve | OtherLanguagePair | FewItems | DifferenceWithinNoise | DifferenceBeyondRun


class DifferenceMeaning(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How often people agree with the score difference between two systems, as estimated by a run
    of `rank`.
    """

    group: str | None = None
    """The test set, if the data has several."""
    metric: str
    better: str
    worse: str
    difference: float
    """Of the mean segment scores, not negative."""
    human: str
    """The human score of the run."""
    dataset: str | None
    """The data set of the run that this is known from; None if it has none with this metric."""
    agreement: Share | None
    """Share of pairs with such a difference in which people prefer `better`; None if it is not known."""
    low: Share | None
    high: Share | None
    reason: UnknownAgreement | None
    """Why the agreement is not known; None if it is."""


class ScoreContent(ResultStruct, frozen=True, kw_only=True):
    """Scores of every system by every metric, and comparisons of systems if a test was requested."""

    systems: list[ScoredSystem]
    comparisons: list[SystemComparison] = msgspec.field(default_factory=list)
    meanings: list[DifferenceMeaning] = msgspec.field(default_factory=list)
    """With `meaning`: what each difference between systems means to people."""
    notes: list[str] = msgspec.field(default_factory=list)
    data: DataSummary | None = None
    verdict: list[Claim] = msgspec.field(default_factory=list)
