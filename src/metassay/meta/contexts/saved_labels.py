"""How many human labels each metric of an assay saves when two systems are compared.

The share of labels saved (`metassay.stats.labels_saved`) is averaged over pairs of systems, then over test
sets. Its standard error comes from the jackknife over clusters; a cluster that occurs in several test sets is
one cluster.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from metassay.data.score_arrays import ScoreArrays
from metassay.results.assay import SavingChoice
from metassay.results.base import none_if_nan
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.labels_saved import compute_system_differences, jackknife_labels_saved
from metassay.stats.levels import SIGNIFICANCE_LEVEL


@dataclass(frozen=True)
class SavedLabels:
    """Estimated share of human labels that each metric makes unnecessary when two systems are compared, with
    an interval.

    `contributions` [metrics, clusters] are deviations; n / (n - 1) · Σ of their squares over n clusters is
    the variance of the share. Those of two metrics can be subtracted.
    """

    values: FloatArray
    low: FloatArray
    high: FloatArray
    contributions: FloatArray

    def choose_metric_saving_most_human_labels(
        self, metrics: Sequence[str], eligible_metrics: Collection[str]
    ) -> SavingChoice | None:
        """Choose the metric that saves the most human labels. Also returns the metrics that save about as
        many: not significantly fewer.

        All p-values are Bonferroni-corrected: that the best saves anything, for the number of metrics, as it
        was chosen among them; that another saves fewer, for the number of ordered pairs of metrics.
        """
        is_eligible = np.array([metric in eligible_metrics for metric in metrics])
        values = np.where(is_eligible, self.values, np.nan)
        if np.isnan(values).all():
            return None
        best = int(np.nanargmax(values))
        candidates = np.flatnonzero(~np.isnan(values)).tolist()
        count = len(candidates)
        p_saves = _compute_p_value_of_positive_share(self.values[best], self.contributions[best])
        top_group = [metrics[best]]
        for m in sorted(candidates, key=lambda position: -values[position]):
            difference = self.contributions[best] - self.contributions[m]
            p_behind = _compute_p_value_of_positive_share(self.values[best] - self.values[m], difference)
            is_worse_than_best = (
                not np.isnan(p_behind) and p_behind * count * (count - 1) <= SIGNIFICANCE_LEVEL
            )
            if m != best and not is_worse_than_best:
                top_group.append(metrics[m])
        # np.minimum keeps NaN, which min() would turn into 1.
        p = float(np.minimum(p_saves * count, 1.0))
        return SavingChoice(metric=metrics[best], top_group=top_group, p=none_if_nan(p))


def estimate_share_of_human_labels_saved(
    test_sets: Sequence[ScoreArrays], competing_metrics: LongArray
) -> SavedLabels:
    """Estimate for each metric the share of human labels that it makes unnecessary when two systems are
    compared, averaged over test sets.

    Intervals come from a jackknife over clusters.
    """
    all_clusters = np.unique(np.concatenate([test_set.cluster_codes for test_set in test_sets]))
    values = np.zeros((len(test_sets), len(competing_metrics)))
    contributions = np.zeros((len(competing_metrics), len(all_clusters)))
    for number, test_set in enumerate(test_sets):
        clusters, cluster_index = np.unique(test_set.cluster_codes, return_inverse=True)
        positions = np.searchsorted(all_clusters, clusters)
        human_differences = compute_system_differences(test_set.human)
        for m, metric in enumerate(competing_metrics):
            metric_differences = compute_system_differences(test_set.metrics[metric])
            share = jackknife_labels_saved(human_differences, metric_differences, cluster_index.ravel())
            values[number, m] = share.value
            deviations = share.pseudo_values - share.pseudo_values.mean()
            contributions[m, positions] += deviations / len(clusters) / len(test_sets)
    means = values.mean(axis=0)
    cluster_count = len(all_clusters)
    if cluster_count < 2:
        undefined = np.full(len(competing_metrics), np.nan)
        return SavedLabels(means, undefined, undefined, contributions)
    quantile = float(stdtrit(cluster_count - 1, 0.975))
    margins = quantile * np.array([_compute_clustered_standard_error(row) for row in contributions])
    return SavedLabels(means, means - margins, means + margins, contributions)


def _compute_p_value_of_positive_share(share: float, contributions: FloatArray) -> float:
    """Test whether an estimated share, or a difference of two shares, is above 0. Returns the one-sided
    p-value, or NaN for a single cluster of items.
    """
    cluster_count = len(contributions)
    if cluster_count < 2:
        return float("nan")
    error = _compute_clustered_standard_error(contributions)
    if error == 0:
        return float(share <= 0)
    return float(stdtr(cluster_count - 1, -share / error))


def _compute_clustered_standard_error(contributions: FloatArray) -> float:
    """Compute the standard error of an estimated share from the contributions of clusters of items."""
    cluster_count = len(contributions)
    return float(np.sqrt(cluster_count / (cluster_count - 1) * np.square(contributions).sum()))
