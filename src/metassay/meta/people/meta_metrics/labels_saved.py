"""`labels_saved`: the share of human labels that a metric makes unnecessary (`metassay.stats.labels_saved`).

The value is the share saved when two systems are compared; the share saved for the mean of one system is
reported next to it. A metric that ranks systems well need not save many labels: for that it has to predict
the human scores of single outputs.
"""

from __future__ import annotations

import numpy as np

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.base import ITEM, MetaMetric, MetaMetricEstimates, MetricDetails
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.metric_differences import (
    MetricDifferences,
    compute_differences_of_all_row_pairs,
)
from metassay.stats.arrays import FloatArray
from metassay.stats.labels_saved import (
    JackknifedShare,
    estimate_labels_saved,
    jackknife_labels_saved,
)
from metassay.stats.resampling import map_bootstrap_resamples


class LabelsSavedShare(MetaMetric):
    """Meta-metric `labels_saved`: the share of human labels that a metric makes unnecessary when two
    systems are compared.

    It is cross-fitted over clusters of items, with jackknife intervals.
    """

    name = "labels_saved"
    label = "labels saved"
    summary = "share of human labels that the metric makes unnecessary when two systems are compared"
    levels = (ITEM,)

    def evaluate_metrics(self, scores: ScoreArrays, settings: ComparisonSettings | None = None) -> FloatArray:
        """Compute for each metric the share of human labels that it makes unnecessary when two systems are
        compared.
        """
        del settings
        return np.array([share.value for share in _compute_jackknife_estimates_of_labels_saved(scores)])

    def estimate_values(self, scores: ScoreArrays) -> MetaMetricEstimates:
        """Estimate for each metric the share of human labels that it makes unnecessary, with a jackknife
        interval.
        """
        estimates = [
            share.compute_confidence_interval()
            for share in _compute_jackknife_estimates_of_labels_saved(scores)
        ]
        return MetaMetricEstimates(
            np.array([estimate.value for estimate in estimates]),
            np.array([estimate.low for estimate in estimates]),
            np.array([estimate.high for estimate in estimates]),
        )

    def compute_metric_details(self, scores: ScoreArrays) -> MetricDetails:
        """Estimate the share of human labels that a metric makes unnecessary when the mean score of one
        system is estimated.
        """
        estimate = estimate_labels_saved(scores.human, scores.metrics[0], scores.cluster_index)
        return MetricDetails(for_mean=estimate.value, for_mean_low=estimate.low, for_mean_high=estimate.high)

    def build_resampling_function(self, scores: ScoreArrays) -> None:
        """Return None, because computing the share on every resample would take minutes."""
        del scores

    def compare_metrics(self, scores: ScoreArrays, settings: ComparisonSettings) -> MetricDifferences | None:
        """Compute the difference in the share of labels saved between every two metrics, as observed and
        on resamples.

        Draws are centred at 0, as under the hypothesis that both metrics save equally many labels.
        """
        shares = _compute_jackknife_estimates_of_labels_saved(scores)
        pseudo_values = np.stack([share.pseudo_values for share in shares])
        cluster_count = pseudo_values.shape[1]
        if cluster_count < 2:
            return None
        centred = pseudo_values - pseudo_values.mean(axis=1, keepdims=True)

        def average_resampled_differences(cluster_weights: FloatArray) -> FloatArray:
            """Average the differences between metrics over resampled clusters."""
            return compute_differences_of_all_row_pairs(centred @ cluster_weights.T / cluster_count)

        drawn = map_bootstrap_resamples(
            average_resampled_differences,
            cluster_count,
            draws=settings.draws,
            seed=settings.seed,
            stream=settings.stream,
            workers=settings.workers,
        )
        observed = compute_differences_of_all_row_pairs(np.array([share.value for share in shares]))
        return MetricDifferences(observed, drawn.astype(np.float32))


def _compute_jackknife_estimates_of_labels_saved(scores: ScoreArrays) -> list[JackknifedShare]:
    """Estimate for each metric the share of human labels that it makes unnecessary, with jackknife
    values, when two systems are compared.
    """
    human_differences = compute_differences_of_all_row_pairs(scores.human)
    return [
        jackknife_labels_saved(
            human_differences, compute_differences_of_all_row_pairs(metric), scores.cluster_index
        )
        for metric in scores.metrics
    ]
