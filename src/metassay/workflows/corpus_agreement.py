"""Compare corpus scores and mean item scores by their agreement with human scores (`rank --analysis corpus`),
measured by pairwise accuracy (PA) and soft pairwise accuracy (SPA).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metassay.data.dataset import Dataset
from metassay.data.score_grid import ScoreGrid
from metassay.engine.batches import build_table_of_outputs_to_score
from metassay.errors import InputError
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.pairwise_accuracy import pairwise_accuracy
from metassay.meta.people.meta_metrics.soft_pairwise_accuracy import (
    corpus_soft_pairwise_accuracy,
    soft_pairwise_accuracy,
)
from metassay.meta.people.ranking_data import RankingData
from metassay.metrics.base import StatisticsMetric
from metassay.metrics.registry import parse_metrics
from metassay.results.rank import CorpusAgreement
from metassay.stats.arrays import FloatArray
from metassay.stats.correlation import correlate_system_scores
from metassay.workflows.read import Source, read

DEFAULT_METRICS = ("bleu", "chrf")


def compare_corpus_scores_with_segment_means(
    source: Source,
    datasets: Sequence[RankingData],
    comparison_settings: ComparisonSettings,
    metrics: Sequence[str] = DEFAULT_METRICS,
) -> list[CorpusAgreement]:
    """Measure how well metrics agree with human scores about systems, once by corpus scores and once by the
    means of segment scores.
    """
    texts = read(source)
    rows = []
    for metric in parse_metrics(metrics):
        if not isinstance(metric, StatisticsMetric):
            raise InputError(f"{metric.spec} has no sufficient statistics, so it has no corpus score.")
        bound_metric = metric.copy_metric_for_languages(texts.languages)
        statistics = _compute_sufficient_statistics_of_outputs(bound_metric, texts)
        for data in datasets:
            arranged = _arrange_statistics_by_system_and_item(texts, data, statistics)
            rows.append(_compare_corpus_and_segment_scores(data, bound_metric, arranged, comparison_settings))
    return rows


def _compute_sufficient_statistics_of_outputs(metric: StatisticsMetric, text_dataset: Dataset) -> FloatArray:
    """Compute the counts that corpus scores are computed from, such as matching n-grams. Returns one row per
    output and one column per count.
    """
    batches = build_table_of_outputs_to_score(text_dataset).split_into_batches()
    return np.concatenate([metric.statistics(batch.build_metric_batch(metric.needs)) for batch in batches])


def _arrange_statistics_by_system_and_item(
    text_dataset: Dataset, ranking_data: RankingData, output_statistics: FloatArray
) -> FloatArray:
    """Arrange the counts of all outputs in an array [systems, items, counts]. Missing outputs get NaN."""
    outputs = text_dataset.outputs
    grid = ScoreGrid.find_row_positions(
        outputs["system"], outputs["item"], ranking_data.cube.systems, ranking_data.cube.qualified_items
    )
    return grid.arrange_as_system_by_item_matrix(output_statistics)


def _compare_corpus_and_segment_scores(
    ranking_data: RankingData,
    metric: StatisticsMetric,
    output_statistics: FloatArray,
    comparison_settings: ComparisonSettings,
) -> CorpusAgreement:
    """Compute how often the scores of one metric order two systems as people do, for corpus scores and for
    means of segment scores.
    """

    def convert_statistics_to_corpus_scores(summed_statistics: FloatArray) -> FloatArray:
        """Compute corpus scores from summed counts, reversed if lower is better."""
        scores = np.asarray(metric.from_statistics(summed_statistics), dtype=np.float64)
        return metric.orient_scores(scores)

    is_complete = ~np.isnan(output_statistics).any(axis=(0, 2))
    if not is_complete.any():
        raise InputError(f"{ranking_data.cube.dataset}: no rated item has an output of every system.")
    human = ranking_data.scores.human[:, is_complete]
    complete_statistics = output_statistics[:, is_complete]
    item_scores = convert_statistics_to_corpus_scores(complete_statistics)
    corpus_scores = convert_statistics_to_corpus_scores(complete_statistics.sum(axis=1))
    return CorpusAgreement(
        dataset=ranking_data.cube.dataset,
        metric=metric.spec,
        items=int(is_complete.sum()),
        spa_corpus=corpus_soft_pairwise_accuracy(
            human,
            complete_statistics,
            convert_statistics_to_corpus_scores,
            permutations=comparison_settings.permutations,
            seed=comparison_settings.seed,
        ),
        spa_item_means=soft_pairwise_accuracy(
            human,
            item_scores,
            method="permutation",
            permutations=comparison_settings.permutations,
            seed=comparison_settings.seed,
        ),
        pa_corpus=float(correlate_system_scores("pa", human.mean(axis=1), corpus_scores)),
        pa_item_means=pairwise_accuracy(human, item_scores),
    )
