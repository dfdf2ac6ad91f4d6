"""Rank metrics by their agreement with human scores: values, intervals, tests between metrics, clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from metassay.data.score_cube import ScoreCube
from metassay.errors import InputError
from metassay.meta.people.caveats import ReplacedMetaMetrics, SmallContexts, TooLittleData
from metassay.meta.people.downsampling import evaluate_metrics_on_item_subsets
from metassay.meta.people.intervals import (
    choose_p_value_methods,
    estimate_meta_metric_values,
    find_insufficient_data,
)
from metassay.meta.people.meta_metrics.base import MetaMetric, MetricDetails
from metassay.meta.people.meta_metrics.comparison_settings import WILLIAMS, ComparisonSettings
from metassay.meta.people.meta_metrics.metric_differences import MetricDifferences
from metassay.meta.people.meta_metrics.registry import parse_meta_metric
from metassay.meta.people.metric_comparison import (
    OTHER_TEST,
    POPULATION_OF_TEST,
    PValueMatrices,
    compare_all_metrics_on_shared_items,
    compute_p_value_matrices,
    compute_p_values_for_other_population,
)
from metassay.meta.people.pair_p_values import list_p_values_of_system_pairs
from metassay.meta.people.ranking_data import BASELINES, GLOBAL, RankingData
from metassay.meta.people.significance_clusters import (
    assign_significance_clusters_by_p_values,
    list_metric_comparisons,
    sort_metrics_best_first,
)
from metassay.results.base import none_if_nan
from metassay.results.rank import DownsampledValue, RankedMetric, Ranking, SystemPairPValues
from metassay.stats.arrays import FloatArray
from metassay.stats.random import hash_name_to_integer

# Contexts with fewer items are not ranked, and named in a note.
FEWEST_ITEMS = 20
# The meta-metric for data with one system, where systems cannot be compared.
ITEM_CORRELATION = "pearson:segment"
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class RankingPlan:
    """Settings for ranking metrics: the meta-metrics (measures of agreement with human scores), the
    contexts and the statistical tests.
    """

    meta_metrics: tuple[MetaMetric, ...]
    settings: ComparisonSettings = field(default_factory=ComparisonSettings)
    context_columns: tuple[str, ...] = ()
    """Columns for whose values metrics are ranked, too."""
    fewest_items: int = FEWEST_ITEMS
    holm: bool = False
    """Whether p-values are corrected for the number of comparisons."""


@dataclass(frozen=True)
class MetricRanking:
    """Ranking of metrics by how well they agree with human scores according to one meta-metric, on a data set
    or in one context of it (such as a domain).
    """

    data: RankingData
    meta_metric: MetaMetric
    settings: ComparisonSettings
    values: FloatArray
    """`[metrics + baselines]`, as `low` and `high`, the ends of 95 % intervals."""
    low: FloatArray
    high: FloatArray
    differences: MetricDifferences | None
    p_values: PValueMatrices
    other_one_sided: FloatArray | None
    """One-sided p-values of the test that generalises the other way, where it was made."""
    holm: bool
    context_column: str | None = None
    context: str = GLOBAL
    equal_items: int | None = None
    p_value_method: str | None = None
    """How the p-values inside the meta-metric were computed; None where it has none."""
    is_too_small: bool = False
    """Whether systems or items are too few for intervals, and to name a best metric."""
    pair_p_values: SystemPairPValues | None = None
    downsampled: Sequence[DownsampledValue] = ()

    @property
    def best_first(self) -> list[int]:
        """Positions of the metrics from best to worst, without the baselines."""
        return sort_metrics_best_first(self.values[: self.data.metric_count], self.data.metric_names)

    def to_result(self) -> Ranking:
        """Convert the ranking to its JSON form."""
        one_sided_by_test = {}
        if self.other_one_sided is not None:
            test = self.settings.test
            one_sided_by_test = {test: self.p_values.one_sided, OTHER_TEST[test]: self.other_one_sided}
        return Ranking(
            dataset=self.data.cube.dataset,
            meta_metric=str(self.meta_metric),
            context=self.context,
            context_column=self.context_column,
            systems=len(self.data.cube.systems),
            items=len(self.data.cube.items),
            dropped_items=self.data.dropped_items,
            answers_for=POPULATION_OF_TEST.get(self.settings.test),
            method=self.p_value_method,
            is_too_small=self.is_too_small,
            equal_items=self.equal_items,
            metrics=self._list_ranked_metrics(),
            comparisons=list_metric_comparisons(
                self.best_first,
                self.data.metric_names,
                self.p_values,
                holm=self.holm,
                one_sided_by_test=one_sided_by_test,
            ),
            pair_p_values=self.pair_p_values,
            downsampled=list(self.downsampled),
        )

    def _list_ranked_metrics(self) -> list[RankedMetric]:
        """List the values of all metrics from best to worst, followed by those of the baselines."""
        count = self.data.metric_count
        baselines = range(count, count + len(BASELINES))
        clusters = assign_significance_clusters_by_p_values(
            self.best_first, self.values, self.p_values.one_sided, holm=self.holm
        )
        rows = []
        for metric in (*self.best_first, *baselines):
            items = self.data.scores.has_all_scores[metric]
            details = MetricDetails()
            if items.any():
                scores = self.data.scores.select_metrics(np.array([metric])).select_items_and_systems(
                    items=items
                )
                details = self.meta_metric.compute_metric_details(scores)
            rows.append(
                RankedMetric(
                    metric=self.data.metric_names[metric],
                    value=none_if_nan(self.values[metric]),
                    low=none_if_nan(self.low[metric]),
                    high=none_if_nan(self.high[metric]),
                    rank=clusters.get(metric),
                    items=self.data.count_items_scored_by_metric(metric),
                    baseline=metric >= count,
                    uninformed=metric < count and self.data.metric_names[metric] in self.data.uninformed,
                    epsilon=none_if_nan(details.epsilon),
                    chance=none_if_nan(details.chance),
                    for_mean=none_if_nan(details.for_mean),
                    for_mean_low=none_if_nan(details.for_mean_low),
                    for_mean_high=none_if_nan(details.for_mean_high),
                )
            )
        return rows


def rank_metrics(
    datasets: Sequence[RankingData], plan: RankingPlan, progress: Progress | None = None
) -> list[MetricRanking]:
    """Rank the metrics of every data set by each meta-metric (measure of agreement with human scores), on
    all items and in each context.
    """
    _check_williams_test_is_applicable(plan)
    rankings: list[MetricRanking] = []
    total = len(datasets) * len(plan.meta_metrics)
    for number, dataset in enumerate(datasets):
        cube = dataset.cube
        data = dataset.add_caveats(*_list_small_contexts(cube, plan.context_columns, plan.fewest_items))
        settings = replace(plan.settings, stream=hash_name_to_integer(cube.dataset))
        meta_metrics, replaced = replace_undefined_meta_metrics(plan.meta_metrics, len(cube.systems))
        if replaced:
            data = data.add_caveats(ReplacedMetaMetrics(tuple(map(str, replaced)), ITEM_CORRELATION))
        for position, meta_metric in enumerate(meta_metrics):
            rankings.append(rank_metrics_of_dataset(data, meta_metric, settings, holm=plan.holm))
            for column in plan.context_columns:
                rankings += _rank_metrics_in_contexts(data, meta_metric, settings, column, plan)
            if progress is not None:
                progress("comparing", number * len(plan.meta_metrics) + position + 1, total)
    return rankings


def replace_undefined_meta_metrics(
    meta_metrics: Sequence[MetaMetric], system_count: int
) -> tuple[list[MetaMetric], list[MetaMetric]]:
    """Replace meta-metrics that compare systems by a correlation over items, if there are too few systems.
    Also returns the meta-metrics that were replaced.
    """
    defined = [meta_metric for meta_metric in meta_metrics if meta_metric.fewest_systems <= system_count]
    undefined = [meta_metric for meta_metric in meta_metrics if meta_metric.fewest_systems > system_count]
    if undefined:
        defined = list(dict.fromkeys([*defined, parse_meta_metric(ITEM_CORRELATION)]))
    return defined, undefined


def rank_metrics_of_dataset(
    ranking_data: RankingData,
    meta_metric: MetaMetric,
    settings: ComparisonSettings,
    *,
    holm: bool = False,
    context_column: str | None = None,
    context: str = GLOBAL,
    equal_items: int | None = None,
) -> MetricRanking:
    """Rank the metrics by one meta-metric (measure of agreement with human scores), on a data set or on
    one context of it.

    With `equal_items` values are means over random subsets of that size.
    """
    methods = choose_p_value_methods(ranking_data, meta_metric, settings)
    if equal_items is None:
        ranking_data = ranking_data.add_caveats(*methods.caveats)
    else:  # values on subsets are always in closed form
        methods = replace(methods, is_permuted=np.zeros_like(methods.is_permuted))
    insufficient_data = find_insufficient_data(ranking_data, meta_metric)
    if insufficient_data is not None:
        ranking_data = ranking_data.add_caveats(TooLittleData(str(meta_metric), insufficient_data))
    estimates = estimate_meta_metric_values(
        ranking_data, meta_metric, methods, equal_items, with_intervals=insufficient_data is None
    )
    differences = compare_all_metrics_on_shared_items(ranking_data, meta_metric, methods)
    is_global = context_column is None
    return MetricRanking(
        data=ranking_data,
        meta_metric=meta_metric,
        settings=settings,
        values=estimates.values,
        low=estimates.low,
        high=estimates.high,
        differences=differences,
        p_values=compute_p_value_matrices(ranking_data, settings, estimates.values, differences),
        other_one_sided=compute_p_values_for_other_population(
            ranking_data, meta_metric, methods, estimates.values
        ),
        holm=holm,
        context_column=context_column,
        context=context,
        equal_items=equal_items,
        p_value_method=methods.name,
        is_too_small=insufficient_data is not None,
        pair_p_values=list_p_values_of_system_pairs(ranking_data, meta_metric, methods)
        if is_global
        else None,
        downsampled=evaluate_metrics_on_item_subsets(ranking_data, meta_metric, settings)
        if is_global
        else (),
    )


def _rank_metrics_in_contexts(
    ranking_data: RankingData,
    meta_metric: MetaMetric,
    settings: ComparisonSettings,
    column: str,
    plan: RankingPlan,
) -> list[MetricRanking]:
    """Rank the metrics in each context of a column (such as each domain), on equal numbers of items. Contexts
    with too few items are skipped.
    """
    values, codes = ranking_data.cube.encode_metadata_as_integers(column)
    sizes = {code: int((codes == code).sum()) for code in range(len(values))}
    sizes = {code: size for code, size in sizes.items() if size >= plan.fewest_items}
    rankings = []
    for code in sizes:
        rankings.append(
            rank_metrics_of_dataset(
                ranking_data.select_items_of_context(column, values[code]),
                meta_metric,
                settings,
                holm=plan.holm,
                context_column=column,
                context=values[code],
                equal_items=min(sizes.values()),
            )
        )
    return rankings


def _check_williams_test_is_applicable(plan: RankingPlan) -> None:
    """Raise an error if Williams' test is requested for anything but Pearson's correlation."""
    if plan.settings.test != WILLIAMS:
        return
    if not all(meta_metric.has_williams_test for meta_metric in plan.meta_metrics):
        raise InputError(
            "Williams' test works only with --meta pearson.", remedy="Use --significance perm-inputs."
        )


def _list_small_contexts(
    score_cube: ScoreCube, columns: Sequence[str], fewest_items: int
) -> list[SmallContexts]:
    """Find the contexts with too few items to be ranked, for each column that has any."""
    caveats = []
    for column in columns:
        values, codes = score_cube.encode_metadata_as_integers(column)
        small = tuple(value for code, value in enumerate(values) if (codes == code).sum() < fewest_items)
        if small:
            caveats.append(SmallContexts(column, small, fewest_items))
    return caveats
