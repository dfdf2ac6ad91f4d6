"""Result of `depend`: which systems each metric favours or disadvantages."""

from __future__ import annotations

import msgspec

from metassay.results.base import ResultStruct

ByGroup = dict[str, float | None]
"""A number for each group (system, or value of another column)."""


class Rankings(msgspec.Struct, frozen=True):
    """Names of the groups, best first, by mean human score, mean metric score and mean f_G(m)."""

    human: list[str]
    metric: list[str]
    remapped: list[str]


class Inversion(msgspec.Struct, frozen=True):
    """Two groups that humans rank in one order and the metric in the other.

    `human_gap` (positive) and `metric_gap` (negative) are differences of means, better minus worse.
    `deviation_gap` is ED(worse) − ED(better); where it exceeds the human gap, the expected deviations explain
    the inversion.
    """

    better: str
    worse: str
    human_gap: float
    metric_gap: float
    deviation_gap: float
    explained: bool


class LocalDependence(msgspec.Struct, frozen=True):
    """SysDep of a metric within one context, such as a domain."""

    column: str
    context: str
    outputs: int
    sysdep: float
    low: float | None
    high: float | None
    constant: float
    residual_range: float


class Sensitivity(msgspec.Struct, frozen=True):
    """SysDep after one change of the data or of the bootstrap, averaged over repeated draws.

    `sd` is the standard deviation of SysDep between the draws.
    """

    change: str
    value: str
    sysdep: float
    sd: float
    constant: float
    residual_range: float


class MetricDependence(msgspec.Struct, frozen=True):
    """System dependence of one metric on one data set; see `docs/system-dependence.md` for the terms.

    `constant` is the SysDep of a metric without information and `ratio` the share of it that this metric has.
    `deviations` (ED) are the sum of `shrinkage` and `residual`. `p_fair` is None for two groups.
    """

    metric: str
    dataset: str
    sysdep: float
    low: float | None
    high: float | None
    constant: float
    ratio: float | None
    slope: float
    residual_range: float
    p_equal: float
    p_fair: float | None
    pearson: float
    outputs: int
    deviations: dict[str, float]
    shrinkage: dict[str, float]
    residual: dict[str, float]
    inversions: list[Inversion]
    deviations_low: ByGroup
    deviations_high: ByGroup
    leave_one_out: ByGroup
    human_means: dict[str, float]
    metric_means: dict[str, float]
    remapped_means: dict[str, float]
    rankings: Rankings
    estimators: dict[str, float]
    local: list[LocalDependence]
    sensitivity: list[Sensitivity]

    @property
    def most_favoured(self) -> str:
        """The group with the largest residual: favoured most beyond shrinkage."""
        return max(self.residual, key=self.residual.__getitem__)

    @property
    def most_disadvantaged(self) -> str:
        """The group with the smallest residual: disadvantaged most beyond shrinkage."""
        return min(self.residual, key=self.residual.__getitem__)


class DependenceComparison(msgspec.Struct, frozen=True):
    """SysDep of metric a minus that of metric b on the outputs that both have scored."""

    dataset: str
    a: str
    b: str
    difference: float
    low: float
    high: float
    p: float


class Correction(msgspec.Struct, frozen=True):
    """Agreement with human scores after a metric's scores were mapped to the human scale.

    `mapping` is `raw`, `f_G`, `f_G unseen` or `f_k`. Gains, with their 95 % intervals, are relative to `raw`.
    `tied` is the share of pairs of outputs that only the mapping makes equal.
    """

    dataset: str
    metric: str
    baseline: bool
    mapping: str
    segments: int
    spa: float | None
    spa_gain: float | None
    spa_low: float | None
    spa_high: float | None
    pa: float | None
    pa_gain: float | None
    pa_low: float | None
    pa_high: float | None
    kendall_item: float | None
    tied: float | None
    sysdep: float | None


class DependContent(ResultStruct, frozen=True, kw_only=True):
    """System dependence of every metric on one or several data sets, least dependent first."""

    human: str
    by: str
    metrics: list[MetricDependence]
    comparisons: list[DependenceComparison]
    corrections: list[Correction] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)


class Curve(msgspec.Struct, frozen=True):
    """A fitted function on a grid of metric scores: mean and pointwise 95 % band of its bootstrap fits.

    None where the grid lies outside the scores that the function was fitted to.
    """

    mean: list[float | None]
    low: list[float | None]
    high: list[float | None]


class MetricCurves(msgspec.Struct, frozen=True):
    """The function f_G (`pooled`) and the function f_k of each group, on one grid of metric scores."""

    grid: list[float]
    pooled: Curve = msgspec.field(name="global")
    groups: dict[str, Curve]
