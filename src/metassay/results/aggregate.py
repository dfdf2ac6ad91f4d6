"""Result of `aggregate`: scores of systems computed in three ways, and how well these ways agree."""

from __future__ import annotations

import msgspec

from metassay.results.base import Count, ResultStruct
from metassay.results.data_summary import DataSummary
from metassay.results.verdict import Claim

# Names of the ways in which segment scores become a system score.
CORPUS = "corpus"
SEGMENT = "segment"
BOOTSTRAP = "bootstrap"
AGGREGATIONS = (CORPUS, SEGMENT, BOOTSTRAP)
# Name of the row that averages over test sets.
MEAN_GROUP = "mean"


class StandardErrors(msgspec.Struct, frozen=True):
    """The standard errors of the three scores of one system, from a bootstrap over segments. None if there is
    only one segment.
    """

    corpus: float | None
    segment: float | None
    bootstrap: float | None


class AggregatedSystem(msgspec.Struct, frozen=True):
    """The scores of one system on one test set by one metric, computed from segments in three ways. None if a
    score is undefined.
    """

    group: str
    """The test set, such as `2023/en-de`."""
    system: str
    metric: str
    corpus: float | None
    """From statistics summed over segments."""
    segment: float | None
    """The mean of the segment scores."""
    bootstrap: float | None
    """The mean of corpus scores over resamples of segments."""
    standard_errors: StandardErrors

    def get_score_of_aggregation(self, aggregation: str) -> float | None:
        """Return the score that was computed in one of three ways: `corpus`, `segment` or `bootstrap`."""
        return {CORPUS: self.corpus, SEGMENT: self.segment, BOOTSTRAP: self.bootstrap}[aggregation]


class AggregationPair(msgspec.Struct, frozen=True):
    """The correlation over all systems of two kinds of system scores. Each kind is a metric with one way to
    compute its system scores, such as corpus BLEU.
    """

    x: str
    """A metric with the prefix of an aggregation, such as `m-bleu`."""
    y: str
    groups: Count
    """Number of systems, counted per test set, that have both scores."""
    pearson: float | None


class DownsampledAgreement(msgspec.Struct, frozen=True):
    """The correlation over systems of scores that are computed in two ways, on random samples of the
    segments.
    """

    metric: str
    aggregation: str
    against: str
    segments: Count
    """Number of segments that were drawn."""
    median: float | None
    low: float | None
    high: float | None


class HumanCorrelation(msgspec.Struct, frozen=True):
    """The correlation over systems of one kind of system scores with mean human scores, on one test set or as
    a mean over all.
    """

    human: str
    metric: str
    aggregation: str
    group: str
    """The test set, or `mean`."""
    systems: Count
    pearson: float | None


class AggregateContent(ResultStruct, frozen=True, kw_only=True):
    """Scores of systems, computed from segments in three ways, and how well these ways agree with each other
    and with human scores.
    """

    systems: list[AggregatedSystem]
    between: list[AggregationPair]
    downsampled: list[DownsampledAgreement]
    human: list[HumanCorrelation]
    notes: list[str] = msgspec.field(default_factory=list)
    data: DataSummary | None = None
    verdict: list[Claim] = msgspec.field(default_factory=list)
