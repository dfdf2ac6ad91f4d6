"""Result of `rank`: how well each metric agrees with human scores.

JSON keys that differ from the names here (`segments`, `meta`, `a`, `b` …) are fixed by the interface.
"""

from __future__ import annotations

import bisect

import msgspec
from msgspec import UNSET, UnsetType

from metassay.results.base import Count, ResultStruct, Share
from metassay.results.data_summary import DataSummary
from metassay.results.verdict import Claim

# A share that only rankings by error spans have; None where it is undefined.
SpanShare = Share | None | UnsetType


class RankedMetric(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One metric or baseline in a ranking, with its agreement with human scores and the 95 % interval."""

    metric: str
    value: float | None
    low: float | None
    high: float | None
    rank: int | None
    """Number of the significance cluster, from 1; None for baselines and where nothing was tested."""
    items: Count = msgspec.field(name="segments")
    """Items that the value is computed from."""
    baseline: bool
    uninformed: bool = False
    """Whether the scores depend on nothing but the system or the item, or are a sentinel's."""
    epsilon: float | None = None
    """acc_eq only: the largest difference that counts as a tie."""
    chance: Share | None = None
    """acc_eq only: the value of a metric without information."""
    for_mean: float | None = None
    """labels_saved only: the share saved for the mean of a system; `value` is that for a difference."""
    for_mean_low: float | None = None
    for_mean_high: float | None = None
    precision: SpanShare = UNSET
    """Error spans only, as the following: from the characters of all ratings together."""
    recall: SpanShare = UNSET
    macro_precision: SpanShare = UNSET
    """Averaged over ratings."""
    macro_recall: SpanShare = UNSET
    macro_f1: SpanShare = UNSET


class MetricComparison(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A one-sided test of whether the metric `a` agrees better with people than the metric `b`."""

    better: str = msgspec.field(name="a")
    worse: str = msgspec.field(name="b")
    p: Share
    p_two_sided: Share
    p_holm: Share | None = None
    """`p` after Holm's correction over all comparisons of the ranking."""
    p_inputs: Share | None = None
    """With eight systems or more: p for these systems (items are exchanged)."""
    p_systems: Share | None = None
    """With eight systems or more: p for systems like these (systems are exchanged)."""


class MetricPairPValues(msgspec.Struct, frozen=True, kw_only=True):
    """The one-sided p-values of the difference between every two systems, by human scores and by
    one metric.
    """

    metric: str
    human: list[Share]
    metric_p_values: list[Share] = msgspec.field(name="own")


class SystemPairPValues(msgspec.Struct, frozen=True, kw_only=True):
    """The p-values of differences between systems from which soft pairwise accuracy (SPA) is computed.
    Systems are sorted by human score, best first.
    """

    systems: list[str]
    rows: list[MetricPairPValues]


class DownsampledValue(msgspec.Struct, frozen=True, kw_only=True):
    """How well a metric agrees with human scores on random subsets of the items: the median and the central
    95 % of the values.
    """

    items: Count = msgspec.field(name="segments")
    metric: str
    median: float
    low: float
    high: float
    first: Share | None
    """Share of subsets on which no other metric has a higher value; None for the baseline."""


class Ranking(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Metrics ranked by one measure of agreement with human scores (a meta-metric), on a data set or in one
    context, such as a domain.
    """

    dataset: str
    meta_metric: str = msgspec.field(name="meta")
    context: str
    """A value of `context_column`, or `global`."""
    context_column: str | None
    systems: Count
    items: Count = msgspec.field(name="segments")
    dropped_items: Count = msgspec.field(name="dropped_segments")
    """Items left out because they lack a human score."""
    answers_for: str | None
    """What the test generalises to: `these systems` or `systems like these`; None without a test."""
    method: str | None
    """How the p-values inside the meta-metric were computed; None where it has none."""
    equal_items: Count | None = msgspec.field(name="equal_segments", default=None)
    """In contexts: values are means over random subsets of this size, so that contexts can be compared."""
    is_too_small: bool = msgspec.field(name="too_small", default=False)
    """Whether systems or items are too few for intervals, and to name a best metric."""
    metrics: list[RankedMetric]
    comparisons: list[MetricComparison]
    pair_p_values: SystemPairPValues | None = msgspec.field(name="preferences", default=None)
    downsampled: list[DownsampledValue] = []

    @property
    def is_global(self) -> bool:
        """Whether the ranking is over all items, not only those of one context such as a domain."""
        return self.context_column is None

    @property
    def constant_value(self) -> float | None:
        """The agreement with human scores of a metric that gives all outputs the same score. None if it is
        undefined.
        """
        for metric in self.metrics:
            if metric.baseline and metric.metric == "constant":
                return metric.value
        return None

    @property
    def defined_metrics(self) -> list[RankedMetric]:
        """The metrics that may be named best, sorted from best to worst. Baselines, undefined values and
        metrics that ignore quality are left out.
        """
        metrics = []
        for metric in self.metrics:
            if metric.value is not None and not metric.baseline and not metric.uninformed:
                metrics.append(metric)
        return metrics


class AveragedMetric(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The agreement of one metric with human scores, averaged over data sets. Correlations are first mapped
    to the range from 0 to 1.
    """

    metric: str
    value: float | None
    rank: int | None
    pooled: float | None = None
    """PA only: over the system pairs of all data sets together."""


class AverageRanking(msgspec.Struct, frozen=True, kw_only=True):
    """Metrics ranked by agreement with human scores, averaged over several data sets, best first."""

    meta_metric: str = msgspec.field(name="meta")
    datasets: list[str]
    metrics: list[AveragedMetric]
    comparisons: list[MetricComparison]


class ContextCost(msgspec.Struct, frozen=True, kw_only=True):
    """How much agreement with human scores is lost by using the overall best metric in all contexts, such as
    domains, instead of the best metric in each.

    `value` is the mean loss of the meta-metric against the best metric of each context, weighted by items,
    with the 95 % interval `low` to `high`.
    """

    dataset: str
    meta_metric: str = msgspec.field(name="meta")
    column: str
    metric: str
    value: float
    low: float
    high: float


class StabilityRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How much a ranking of metrics changes with fewer systems, or with fewer items.

    With fewer `systems`: mean Pearson `correlation` of the metrics' values with those on all systems, over
    `trials` random subsets. With fewer `items`: the 95 % interval of one metric's value.
    """

    dataset: str
    meta_metric: str = msgspec.field(name="meta")
    ablated: str
    """`systems` or `segments`: what was left out."""
    systems: Count | None = None
    correlation: float | None = None
    trials: Count | None = None
    items: Count | None = msgspec.field(name="segments", default=None)
    metric: str | None = None
    low: float | None = None
    high: float | None = None


class DiscriminationRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many of the compared metrics one meta-metric, a measure of agreement with human scores, can tell
    apart (Thompson et al., 2024, table 1).

    Metrics with exactly the same scores count once, except where the name says `with_copies`.
    """

    dataset: str
    meta_metric: str = msgspec.field(name="meta")
    systems: Count
    metrics: Count
    different_metrics: Count
    distinct_values: Count
    comparisons: Count
    significant_one_sided: Count | None = None
    significant_one_sided_with_copies: Count | None = None
    clusters_one_sided: Count | None = None
    significant_two_sided: Count | None = None
    significant_two_sided_with_copies: Count | None = None
    clusters_two_sided: Count | None = None


class HumanCeiling(msgspec.Struct, frozen=True, kw_only=True):
    """How well one human rater agrees with the mean of the other raters. This is an upper bound
    for metrics.
    """

    dataset: str
    meta_metric: str = msgspec.field(name="meta")
    rater: str
    items: Count = msgspec.field(name="segments")
    value: float | None
    low: float | None
    high: float | None


class AgreementPoint(msgspec.Struct, frozen=True, kw_only=True):
    """How often people agree with a metric when its scores differ by a given amount, with a 95 % interval."""

    difference: float
    probability: Share
    low: Share
    high: Share


class AgreementThreshold(msgspec.Struct, frozen=True, kw_only=True):
    """The smallest difference between metric scores with which people agree in a given share of pairs.

    `difference` is None if no difference in the data is large enough, `high` if the data cannot exclude that.
    """

    agreement: Share
    difference: float | None
    low: float | None
    high: float | None
    coverage: Share | None = None
    """Outputs only: the share of pairs whose difference is at least as large."""


class AgreementCurve(msgspec.Struct, frozen=True, kw_only=True):
    """How often people agree with one metric about which of two outputs or systems is better, by the
    difference of the metric's scores.
    """

    dataset: str
    context: str
    context_column: str | None
    between: str
    """`systems`: differences of mean scores; `outputs`: of single outputs of an item."""
    metric: str
    items: Count = msgspec.field(name="segments")
    pairs: Count
    """Pairs in which people prefer one side."""
    accuracy: Share | None
    """Share of these pairs that the metric orders as people do; its ties count half."""
    smallest_difference: float
    """Smaller differences have no meaning: at system level they are within the noise of the metric."""
    largest_difference: float
    """The largest difference in the data; nothing is known about larger ones."""
    points: list[AgreementPoint]
    """The curve, by ascending difference."""
    thresholds: list[AgreementThreshold]

    @property
    def is_global(self) -> bool:
        """Whether the curve is for all items, not for one context such as a domain."""
        return self.context_column is None

    def find_human_agreement_with_difference(self, difference: float) -> AgreementPoint | None:
        """Return how often people agree with a difference in metric score, or None if the difference is
        outside the range of the data.

        Between two points of the curve it is interpolated.
        """
        size = abs(difference)
        if not self.smallest_difference <= size <= self.largest_difference:
            return None
        sizes = [point.difference for point in self.points]
        position = min(max(bisect.bisect_right(sizes, size), 1), len(self.points) - 1)
        before = self.points[position - 1]
        after = self.points[position]
        span = after.difference - before.difference
        share = min(max((size - before.difference) / span, 0.0), 1.0) if span > 0 else 0.0
        return AgreementPoint(
            difference=size,
            probability=before.probability + share * (after.probability - before.probability),
            low=before.low + share * (after.low - before.low),
            high=before.high + share * (after.high - before.high),
        )


class RequiredItems(msgspec.Struct, frozen=True, kw_only=True):
    """How many items are needed to tell two systems, or two metrics, apart with a power of 80 %."""

    dataset: str
    separates: str
    """`systems` or `metrics`."""
    by: str
    """The human score, the metric or the meta-metric that separates them."""
    median_items: float | None = msgspec.field(name="median_segments")
    separable_now: Share | None
    """Share of pairs for which the present items suffice."""


class CorpusAgreement(msgspec.Struct, frozen=True, kw_only=True):
    """How well two kinds of system scores agree with human scores: the corpus score of a metric, and the mean
    of the metric's item scores.

    `spa` is soft pairwise accuracy, `pa` pairwise accuracy, both over pairs of systems.
    """

    dataset: str
    metric: str
    items: Count = msgspec.field(name="segments")
    spa_corpus: float
    spa_item_means: float = msgspec.field(name="spa_segment")
    pa_corpus: float
    pa_item_means: float = msgspec.field(name="pa_segment")


class RankAnalyses(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The results of further analyses of `rank`. A field is None if its analysis was not requested."""

    stability: list[StabilityRow] | None = None
    discrimination: list[DiscriminationRow] | None = None
    ceiling: list[HumanCeiling] | None = None
    thresholds: list[AgreementCurve] | None = None
    power: list[RequiredItems] | None = None
    corpus: list[CorpusAgreement] | None = None


class RankContent(ResultStruct, frozen=True, kw_only=True):
    """Rankings of metrics by agreement with human scores, for each data set, meta-metric (measure of
    agreement) and context.
    """

    human: str
    rankings: list[Ranking] = msgspec.field(name="results")
    averages: list[AverageRanking] = msgspec.field(name="average")
    context_costs: list[ContextCost] = msgspec.field(default_factory=list)
    analyses: RankAnalyses = msgspec.field(name="analysis", default=RankAnalyses())
    notes: list[str]

    @property
    def global_rankings(self) -> list[Ranking]:
        """The rankings over all items. If there are none, all rankings."""
        return [ranking for ranking in self.rankings if ranking.is_global] or self.rankings

    data: DataSummary | None = None
    verdict: list[Claim] = msgspec.field(default_factory=list)
