"""The human ceiling: the value of a meta-metric if one rater is taken as a metric for the others.

A metric that agrees with people as well as one more rater does is at the ceiling: data of this kind cannot
show that a metric is better than that.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.intervals import bootstrap_values, percentile_interval
from metassay.meta.people.meta_metrics.base import MetaMetric
from metassay.results.base import to_optional
from metassay.results.rank import HumanCeiling
from metassay.stats.arrays import FloatArray


def estimate_human_ceiling(
    dataset: str,
    meta_metric: MetaMetric,
    raters: Mapping[str, FloatArray],
    *,
    draws: int = 1000,
    seed: int = 0,
) -> list[HumanCeiling]:
    """Compare each rater with the mean of the others, on the items where both rated every system.

    `raters` maps the name of a rater to scores `[systems, items]`, NaN where there is none. A rater who
    shares no item with the others has no value.
    """
    rows = []
    for rater, scores in raters.items():
        other_scores = np.stack([other for name, other in raters.items() if name != rater])
        others_mean = _average_raters(other_scores)
        is_shared = ~(np.isnan(scores) | np.isnan(others_mean)).any(axis=0)
        value = low = high = None
        if is_shared.any():
            shared = ScoreArrays(others_mean[:, is_shared], scores[None][:, :, is_shared])
            value = to_optional(meta_metric.compute(shared)[0])
            resampled = bootstrap_values(meta_metric, shared, draws=draws, seed=seed)
            if resampled is not None:
                lows, highs = percentile_interval(resampled)
                low = to_optional(lows[0])
                high = to_optional(highs[0])
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


def _average_raters(scores: FloatArray) -> FloatArray:
    """Average over raters `[raters, systems, items]` where any has a score; NaN elsewhere."""
    counts = (~np.isnan(scores)).sum(axis=0)
    mean: FloatArray = np.where(counts > 0, np.nansum(scores, axis=0) / np.maximum(counts, 1), np.nan)
    return mean
