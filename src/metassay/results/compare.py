"""Result of `compare`: what changed between assays, and whether by more than chance."""

from __future__ import annotations

import msgspec

from metassay.results.base import ResultStruct, Share


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
    """The order of the metrics in one context before and after, best first, and how far both agree."""

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


class RunComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One assay against the assay before it.

    `columns` are the context columns of both; `only_before` and `only_after` are contexts, as `column=value`,
    that only one of them has. `changed`: an accuracy moved or two metrics changed places by more than chance.
    """

    before: str = ""
    after: str = ""
    columns: list[str]
    only_before: list[str]
    only_after: list[str]
    accuracies: list[AccuracyChange]
    orders: list[OrderChange]
    recommendation: list[ChoiceChange]
    changed: bool
    sentences: list[str] = []


class CompareContent(ResultStruct, frozen=True, kw_only=True):
    """The whole JSON object of `metassay compare`."""

    runs: list[str]
    changed: bool
    comparisons: list[RunComparison]
