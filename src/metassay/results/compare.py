"""Result of `compare`: what changed between assays, and whether by more than chance."""

from __future__ import annotations

import msgspec

from metassay.results.base import Count, ResultStruct, Share


class AccuracyChange(msgspec.Struct, frozen=True, kw_only=True):
    """The accuracy of one metric in one context before and after, and their difference with its interval.

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
    """Two metrics that changed places: which was better before, and which is better after."""

    better_before: str
    better_after: str
    p: Share
    p_holm: Share | None
    is_significant: bool = msgspec.field(name="significant")


class OrderChange(msgspec.Struct, frozen=True, kw_only=True):
    """The ranking of the metrics in one context in two runs, and how well both rankings agree."""

    column: str
    context: str
    before: list[str]
    after: list[str]
    agreement: float | None
    swapped: list[MetricSwap]


class ChoiceChange(msgspec.Struct, frozen=True, kw_only=True):
    """The metric recommended for one context before and after."""

    column: str
    context: str
    before: str | None
    after: str | None
    changed: bool


class SharedOutputs(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of outputs of two runs, and of outputs that both have."""

    before: Count
    after: Count
    in_both: Count
    identical: Count

    @property
    def have_same_items_and_systems(self) -> bool:
        """Return whether both runs are of the same items and systems."""
        return 0 < self.before == self.after == self.in_both

    @property
    def have_same_texts(self) -> bool:
        """Return whether both runs are of the same outputs, text by text."""
        return 0 < self.before == self.after == self.identical


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One assay against the assay before it.

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
    """The whole JSON object of `metassay compare`."""

    runs: list[str]
    changed: bool
    comparisons: list[RunComparison]
