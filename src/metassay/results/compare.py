"""Result of `compare`: what changed between assays, and whether by more than chance."""

from __future__ import annotations

import msgspec

from metassay.results.base import Count, ResultStruct, Share
from metassay.results.verdict import Claim


class AccuracyChange(msgspec.Struct, frozen=True, kw_only=True):
    """The accuracies of one metric in one context (such as a domain) in an earlier and a later run, and their
    difference with a confidence interval.

    `moved`: the difference is significant after Holm's correction over everything compared.
    """

    column: str
    context: str
    metric: str
    before: float
    after: float
    difference: float
    low: float | None
    high: float | None
    p: Share | None
    p_holm: Share | None
    moved: bool


class MetricSwap(msgspec.Struct, frozen=True, kw_only=True):
    """Two metrics that swapped ranks between two runs: one was better in the earlier run, the other in the
    later run.
    """

    better_before: str
    better_after: str
    p: Share
    p_holm: Share | None
    is_significant: bool = msgspec.field(name="significant")


class OrderChange(msgspec.Struct, frozen=True, kw_only=True):
    """The rankings of the metrics in one context (such as a domain) in an earlier and a later run, and how
    similar they are.
    """

    column: str
    context: str
    before: list[str]
    after: list[str]
    agreement: float | None
    swapped: list[MetricSwap]


class ChoiceChange(msgspec.Struct, frozen=True, kw_only=True):
    """The metrics that an earlier and a later run recommend for one context, such as a domain."""

    column: str
    context: str
    before: str | None
    after: str | None
    changed: bool


class SharedOutputs(msgspec.Struct, frozen=True, kw_only=True):
    """How many outputs each of two runs has, how many of them are in both, and how many of these are
    identical: output, source and references, and with human pairs the human score.
    """

    before: Count
    after: Count
    in_both: Count
    identical: Count

    @property
    def have_same_items_and_systems(self) -> bool:
        """Whether both runs have outputs of the same systems for the same items."""
        return 0 < self.before == self.after == self.in_both

    @property
    def are_identical(self) -> bool:
        """Whether both runs have the same outputs, with the same sources and references."""
        return 0 < self.before == self.after == self.identical


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """What changed from one assay to the next: accuracies, rankings of the metrics and recommendations.

    `paired`: both are of the same items and systems and were compared cluster by cluster. `columns` are the
    context columns of both. `only_before` and `only_after` are contexts, as `column=value`, that only one of
    them has, `metrics_only_before` and `metrics_only_after` likewise metrics. `changed`: an accuracy moved or
    two metrics changed places by more than chance. `warnings` say where the runs are not comparable.
    """

    before: str = ""
    after: str = ""
    paired: bool
    shared_outputs: SharedOutputs | None = None
    columns: list[str]
    only_before: list[str]
    only_after: list[str]
    metrics_only_before: list[str]
    metrics_only_after: list[str]
    accuracies: list[AccuracyChange]
    orders: list[OrderChange]
    recommendation: list[ChoiceChange]
    changed: bool
    sentences: list[str] = []
    warnings: list[str] = []


class CompareContent(ResultStruct, frozen=True, kw_only=True):
    """The result of the command `metassay compare`: what changed from each assay run to the next."""

    runs: list[str]
    changed: bool
    comparisons: list[RunComparison]
    verdict: list[Claim] = msgspec.field(default_factory=list)
