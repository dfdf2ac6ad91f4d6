"""Result of `estimate`: the human score of every system, from labels on some items and a metric on all."""

from __future__ import annotations

import msgspec

from metassay.results.base import Count, Interval, ResultStruct, Share
from metassay.results.data_summary import DataSummary
from metassay.results.verdict import Claim


class SystemEstimate(msgspec.Struct, frozen=True):
    """The mean human score of one system, estimated from labelled items and from a metric on all items."""

    system: str
    items: Count
    labelled: Count
    labels_only: Interval
    """The estimate without a metric."""
    estimate: Interval
    labels_saved: float | None
    """The share of labels that the metric makes unnecessary for this mean, cross-fitted; may be below 0."""
    rank_low: Count
    """The best rank that the system can have, by simultaneous 95 % intervals of all differences."""
    rank_high: Count


class SystemDifference(msgspec.Struct, frozen=True):
    """The mean human score of system a minus that of system b, with a 95 % interval that holds for all pairs
    of systems at once.

    Two systems are called different where this interval does not contain 0; ranks and sentences follow it.
    """

    a: str
    b: str
    difference: float | None
    low: float | None
    high: float | None
    p_holm: Share | None
    """Two-sided p-value after Holm's correction over all pairs of systems.

    Another method than the interval, so that the two may differ where p is near .05. It decides nothing.
    """


class ContextEstimate(msgspec.Struct, frozen=True):
    """The estimates within one context, such as a domain."""

    context: str
    items: Count
    labelled: Count
    systems: list[SystemEstimate]
    differences: list[SystemDifference]


class CandidateMetric(msgspec.Struct, frozen=True):
    """A metric that could make the estimates more precise, with the share of human labels that it
    would save.
    """

    metric: str
    for_mean: Interval
    for_difference: Interval
    copies_labels: bool
    """Whether the metric equals the labels, up to scale; such a metric is never used."""


class RandomSampleTest(msgspec.Struct, frozen=True):
    """Test of whether the labelled items are a random sample of all items.

    `metric` is the one whose mean scores on labelled and on all items differ most.
    """

    p: Share
    metric: str
    labelled_mean: float
    mean_of_all: float


class EstimateContent(ResultStruct, frozen=True, kw_only=True):
    """The estimated mean human score of every system, best first, and the differences between all systems."""

    human: str
    metric: str | None
    """The metric that the estimates use; None where labels alone are at least as good."""
    target: str
    """What is estimated: the mean over `these items`, or over `items like these`."""
    unit: str
    """What was drawn for labelling: `item`, or the column of documents that were labelled as a whole."""
    labelled_units: Count
    """Number of items, or documents, that were drawn for labelling."""
    systems: list[SystemEstimate]
    differences: list[SystemDifference]
    contexts: dict[str, list[ContextEstimate]] = msgspec.field(default_factory=dict)
    candidates: list[CandidateMetric] = msgspec.field(default_factory=list)
    sample: RandomSampleTest | None = None
    notes: list[str] = msgspec.field(default_factory=list)
    data: DataSummary | None = None
    verdict: list[Claim] = msgspec.field(default_factory=list)
