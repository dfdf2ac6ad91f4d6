"""How much a ranking of metrics owes to the systems and segments it happens to rest on.

Thompson et al. (2024), sections 4.1 and 4.2. Systems: rank the metrics on random subsets of the systems and
correlate (Pearson) their values with those on all systems; the closer to 1, the more stable. Segments: draw
fewer segments with replacement and see how wide the 95 % interval of each metric's value becomes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metassay.meta.people.intervals import bootstrap_values, percentile_interval
from metassay.meta.people.meta_metrics import Judged, MetaMetric
from metassay.stats.correlation import system_agreement
from metassay.stats.random import SYSTEM_SUBSETS, branch

SHARES_OF_SEGMENTS = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)


def stability_over_systems(
    meta: MetaMetric, judged: Judged, *, trials: int = 1000, seed: int = 0
) -> list[dict[str, Any]]:
    """For each number of systems kept, the mean correlation of the metrics' values with those on all."""
    systems = len(judged.human)
    full = meta.values(judged)
    rows = []
    for kept in range(3, systems):
        rng = branch(seed, SYSTEM_SUBSETS, kept)
        chosen = np.argsort(rng.random((trials, systems)), axis=1)[:, :kept]
        values = meta.on_subsets(judged, chosen)
        if values is None:
            return []
        r = system_agreement("pearson", full, values.T)
        defined = r[~np.isnan(r)]
        mean = float(defined.mean()) if len(defined) else None
        rows.append({"systems": kept, "correlation": mean, "trials": len(defined)})
    return rows


def stability_over_segments(
    meta: MetaMetric, judged: Judged, *, trials: int = 1000, seed: int = 0
) -> list[dict[str, Any]]:
    """For each number of segments, the 95 % interval of each metric, which is named by its index."""
    rows = []
    units = judged.per_unit(judged.human).shape[1]
    for size in sorted({max(2, round(share * units)) for share in SHARES_OF_SEGMENTS}):
        drawn = bootstrap_values(meta, judged, draws=trials, seed=seed, stream=size, size=size)
        if drawn is None:
            return []
        low, high = percentile_interval(drawn)
        rows += [
            {"segments": size, "metric": m, "low": float(low[m]), "high": float(high[m])}
            for m in range(len(judged.metrics))
            if not np.isnan(low[m])
        ]
    return rows
