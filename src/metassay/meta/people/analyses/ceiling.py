"""How well people agree with each other: one rater's scores taken as a metric for the others.

A metric that agrees with people as well as one more rater would is at the ceiling: no data of this kind can
show that it is better than that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from metassay.meta.people.intervals import bootstrap_values, percentile_interval
from metassay.meta.people.meta_metrics import Judged, MetaMetric, meta_values
from metassay.stats.arrays import FloatArray, plain


def human_ceiling(
    meta: MetaMetric, raters: Mapping[str, FloatArray], *, draws: int = 1000, seed: int = 0
) -> list[dict[str, Any]]:
    """Each rater against the mean of the others, on the segments where both rated every system.

    `raters` maps a rater to scores `[systems, segments]`, NaN where there is none. A rater who shares no
    segment with the others has no value.
    """
    rows = []
    for name, scores in raters.items():
        others = np.stack([other for rater, other in raters.items() if rater != name])
        counts = (~np.isnan(others)).sum(axis=0)
        mean = np.where(counts > 0, np.nansum(others, axis=0) / np.maximum(counts, 1), np.nan)
        both = ~(np.isnan(scores) | np.isnan(mean)).any(axis=0)
        row: dict[str, Any] = {
            "rater": name,
            "segments": int(both.sum()),
            "value": None,
            "low": None,
            "high": None,
        }
        if both.any():
            judged = Judged(mean[:, both], scores[None][:, :, both])
            row["value"] = plain(meta_values(meta, judged)[0])
            drawn = bootstrap_values(meta, judged, draws=draws, seed=seed)
            if drawn is not None:
                low, high = percentile_interval(drawn)
                row |= {"low": plain(low[0]), "high": plain(high[0])}
        rows.append(row)
    return rows
