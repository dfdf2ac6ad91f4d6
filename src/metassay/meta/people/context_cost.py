"""What it costs to use the metric that is best over all items in every context, by a meta-metric such as SPA.

The cost is the regret of `metassay.stats.regret`, with the values of the meta-metric in place of accuracies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from metassay.meta.people.intervals import evaluate_meta_metric_on_bootstrap_resamples
from metassay.meta.people.meta_metrics.comparison_settings import NORMAL
from metassay.meta.people.ranking import MetricRanking
from metassay.results.rank import ContextCost
from metassay.stats.arrays import LongArray
from metassay.stats.random import hash_name_to_integer
from metassay.stats.regret import ContextAccuracies, estimate_metric_regret


def estimate_cost_of_one_metric_for_all_contexts(rankings: Sequence[MetricRanking]) -> list[ContextCost]:
    """Estimate how much agreement with human scores is lost by using one metric in all contexts of a
    column, instead of the best metric of each context.
    """
    costs = []
    for overall in rankings:
        if overall.context_column is not None or overall.is_too_small or overall.data.pairwise:
            continue
        for column, contexts in _group_rankings_in_contexts_by_column(rankings, overall).items():
            cost = _estimate_cost_of_one_metric_in_column(overall, column, contexts)
            if cost is not None:
                costs.append(cost)
    return costs


def _group_rankings_in_contexts_by_column(
    rankings: Sequence[MetricRanking], overall_ranking: MetricRanking
) -> dict[str, list[MetricRanking]]:
    """Group the rankings of metrics in single contexts by column of contexts. Only rankings with the data set
    and meta-metric of the overall ranking are used.
    """
    by_column: dict[str, list[MetricRanking]] = {}
    for ranking in rankings:
        is_same_dataset = ranking.data.cube.dataset == overall_ranking.data.cube.dataset
        if ranking.context_column is None or not is_same_dataset or ranking.is_too_small:
            continue
        if str(ranking.meta_metric) == str(overall_ranking.meta_metric):
            by_column.setdefault(ranking.context_column, []).append(ranking)
    return by_column


def _estimate_cost_of_one_metric_in_column(
    overall_ranking: MetricRanking, column: str, context_rankings: Sequence[MetricRanking]
) -> ContextCost | None:
    """Estimate how much agreement with human scores is lost by using the overall best metric in every context
    of a column, instead of the best one of each context. Returns None if undefined.
    """
    names = overall_ranking.data.metric_names
    informed = []
    for position in overall_ranking.best_first:
        is_defined = not np.isnan(overall_ranking.values[position])
        if is_defined and names[position] not in overall_ranking.data.uninformed:
            informed.append(position)
    if len(context_rankings) < 2 or len(informed) < 2:
        return None
    evaluated = [
        _evaluate_metrics_on_context_resamples(ranking, np.array(informed)) for ranking in context_rankings
    ]
    known = [context for context in evaluated if context is not None]
    if len(known) < len(context_rankings):
        return None
    regret = estimate_metric_regret(known, metric=0)  # the best metric comes first
    if regret is None:
        return None
    return ContextCost(
        dataset=overall_ranking.data.cube.dataset,
        meta_metric=str(overall_ranking.meta_metric),
        column=column,
        metric=names[informed[0]],
        value=regret.value,
        low=regret.low,
        high=regret.high,
    )


def _evaluate_metrics_on_context_resamples(
    ranking: MetricRanking, metric_positions: LongArray
) -> ContextAccuracies | None:
    """Compute how well metrics agree with human scores in one context, in the data and on bootstrap
    resamples. Returns None if resampling is too slow.
    """
    data = ranking.data
    is_complete = data.is_scored_by_all_metrics
    if not is_complete.any():
        return None
    scores = data.scores.select_metrics(metric_positions).select_items_and_systems(items=is_complete)
    settings = replace(ranking.settings, method=NORMAL)  # as in the rankings of contexts
    resamples = evaluate_meta_metric_on_bootstrap_resamples(
        ranking.meta_metric,
        scores,
        draws=settings.draws,
        seed=settings.seed,
        stream=hash_name_to_integer(f"{data.cube.dataset} {ranking.context_column} {ranking.context}"),
        workers=settings.workers,
    )
    if resamples is None:
        return None
    return ContextAccuracies(
        ranking.meta_metric.evaluate_metrics(scores, settings),
        resamples,
        clusters=scores.cluster_count,
        items=int(is_complete.sum()),
    )
