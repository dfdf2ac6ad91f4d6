"""Result of `depend`: which systems each metric favours or disadvantages."""

from __future__ import annotations

import msgspec

from metassay.results.base import Count, ResultStruct
from metassay.results.data_summary import DataSummary
from metassay.results.insufficient_data import InsufficientData
from metassay.results.verdict import Claim

# A number for each group (system, or value of another column).
ByGroup = dict[str, float | None]


class Rankings(msgspec.Struct, frozen=True):
    """Three rankings of the systems, or of other groups of outputs: by human score, by metric score and by
    predicted human score.
    """

    human: list[str]
    """By mean human score."""
    metric: list[str]
    """By mean metric score."""
    remapped: list[str]
    """By mean human score as predicted from the metric."""


class Inversion(msgspec.Struct, frozen=True):
    """Two systems, or other groups of outputs, that human scores and the metric rank in opposite order.

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
    """How differently a metric treats systems (its system dependence, SysDep) within one context, such as a
    domain.
    """

    column: str
    context: str
    outputs: Count
    sysdep: float
    low: float | None
    high: float | None
    constant: float
    residual_range: float


class Sensitivity(msgspec.Struct, frozen=True):
    """The system dependence (SysDep) of a metric after one change, such as fewer items. It is a mean over
    random draws.

    `sd` is the standard deviation of SysDep between the draws.
    """

    change: str
    value: str
    sysdep: float
    sd: float
    constant: float
    residual_range: float


class MetricDependence(msgspec.Struct, frozen=True):
    """How differently one metric treats the systems of a data set, measured by its system dependence
    (SysDep).

    The expected deviation of a group (a system, or a value of another column) is how much too high its mean
    human score is when it is predicted from the metric.
    """

    metric: str
    dataset: str
    sysdep: float
    """The range of the expected deviations, with its 95 % interval."""
    low: float | None
    high: float | None
    constant: float
    """SysDep of a metric that gives every output the same score."""
    ratio: float | None
    """`sysdep` divided by `constant`."""
    slope: float
    """Expected deviation per point of human mean: −1 for a constant metric, 0 without shrinkage."""
    residual_range: float
    p_equal: float
    """Tests whether the expected human score given the metric is the same for every group."""
    p_fair: float | None
    """Tests whether the metric is the human score plus noise that favours no group; None for two groups."""
    pearson: float
    """Correlation of metric and human scores over all outputs."""
    outputs: Count
    deviations: dict[str, float]
    """Expected deviation of each group: the sum of `shrinkage` and `residual`."""
    shrinkage: dict[str, float]
    residual: dict[str, float]
    inversions: list[Inversion]
    deviations_low: ByGroup
    deviations_high: ByGroup
    leave_one_out: ByGroup
    """SysDep without each group."""
    human_means: dict[str, float]
    metric_means: dict[str, float]
    remapped_means: dict[str, float]
    """Mean human score of each group as predicted from the metric."""
    rankings: Rankings
    estimators: dict[str, float]
    """SysDep with other ways to predict human scores than isotonic regression."""
    local: list[LocalDependence]
    sensitivity: list[Sensitivity]
    uninformed: bool = False
    """Whether the scores depend on nothing but the system or the item, or are a sentinel's."""
    unclear_because: InsufficientData | None = None
    """Why nothing is claimed about the metric, for example because there are too few items. Then there are
    no intervals and no `p_fair`. None if the data is sufficient.
    """

    @property
    def most_favoured(self) -> str:
        """The group, usually a system, that the metric favours most: the one with the largest residual."""
        return max(self.residual, key=self.residual.__getitem__)

    @property
    def most_disadvantaged(self) -> str:
        """The group, usually a system, that the metric disadvantages most: the one with the smallest
        residual.
        """
        return min(self.residual, key=self.residual.__getitem__)


class DependenceComparison(msgspec.Struct, frozen=True):
    """The difference between the system dependence (SysDep) of two metrics, a minus b, on the outputs that
    both metrics scored.
    """

    dataset: str
    a: str
    b: str
    difference: float
    low: float
    high: float
    p: float


class Correction(msgspec.Struct, frozen=True):
    """How well metric scores agree with human scores after they were converted to predicted human scores.

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
    """How differently each metric treats the systems of one or several data sets. The metric with the lowest
    system dependence comes first.
    """

    human: str
    by: str
    metrics: list[MetricDependence]
    comparisons: list[DependenceComparison]
    corrections: list[Correction] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)
    data: DataSummary | None = None
    verdict: list[Claim] = msgspec.field(default_factory=list)


class Curve(msgspec.Struct, frozen=True):
    """A fitted curve that predicts the human score from the metric score, with its 95 % band.

    None where the grid lies outside the scores that the function was fitted to.
    """

    mean: list[float | None]
    low: list[float | None]
    high: list[float | None]


class MetricCurves(msgspec.Struct, frozen=True):
    """Fitted curves that predict the human score from the metric score, for all outputs and for each system
    or other group.
    """

    grid: list[float]
    """Metric scores at which the functions are evaluated."""
    pooled: Curve = msgspec.field(name="global")
    """f_G: all outputs."""
    groups: dict[str, Curve]
    """f_k: the outputs of each group."""
