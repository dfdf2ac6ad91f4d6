"""The human ceiling: the value of a meta-metric if one rater is taken as a metric for the others.

A metric that agrees with people as well as one more rater does is at the ceiling: data of this kind cannot
show that a metric is better than that.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.intervals import (
    evaluate_meta_metric_on_bootstrap_resamples,
)
from metassay.meta.people.meta_metrics.base import MetaMetric
from metassay.results.base import none_if_nan
from metassay.results.rank import HumanCeiling
from metassay.stats.arrays import FloatArray, mean_ignoring_nan
from metassay.stats.intervals import percentile_interval_or_nan


def estimate_agreement_between_raters(
    dataset: str,
    meta_metric: MetaMetric,
    scores_by_rater: Mapping[str, FloatArray],
    *,
    draws: int = 1000,
    seed: int = 0,
) -> list[HumanCeiling]:
    """Estimate how well each human rater agrees with the mean of the other raters, according to a
    meta-metric.

    `scores_by_rater` maps the name of a rater to scores `[systems, items]`, NaN where there is none. A rater
    is compared on the items on which every system was rated by this rater and by another one. A rater who
    shares no item with the others has no value.
    """
    rows = []
    for rater, scores in scores_by_rater.items():
        other_scores = np.stack([other for name, other in scores_by_rater.items() if name != rater])
        others_mean = mean_ignoring_nan(other_scores, axis=0)
        is_shared = ~(np.isnan(scores) | np.isnan(others_mean)).any(axis=0)
        value = low = high = None
        if is_shared.any():
            shared = ScoreArrays(others_mean[:, is_shared], scores[None][:, :, is_shared])
            value = none_if_nan(meta_metric.evaluate_metrics(shared)[0])
            resampled = evaluate_meta_metric_on_bootstrap_resamples(
                meta_metric, shared, draws=draws, seed=seed
            )
            if resampled is not None:
                lows, highs = percentile_interval_or_nan(resampled)
                low = none_if_nan(lows[0])
                high = none_if_nan(highs[0])
        rows.append(
            HumanCeiling(
                dataset=dataset,
                meta_metric=str(meta_metric),
                rater=rater,
                items=int(is_shared.sum()),
                value=value,
                low=low,
                high=high,
            )
        )
    return rows
