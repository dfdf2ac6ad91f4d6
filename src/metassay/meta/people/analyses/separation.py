"""How finely a meta-metric tells metrics apart (Thompson et al. 2024, sections 4.3 and 4.4, table 1).

Counted are the distinct values it gives, the comparisons that come out significant, and the significance
clusters. Metrics with exactly the same scores are one metric here; `significant_..._with_copies` counts each
of them, as the table of the paper does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metassay.meta.people.meta_metrics.base import Judged, MetaMetric, meta_values
from metassay.meta.people.rank_order import ALPHA, best_first
from metassay.meta.people.significance import Procedure, cluster_ranks, metric_differences


def discrimination(meta: MetaMetric, judged: Judged, procedure: Procedure) -> dict[str, Any]:
    """The counts of table 1, with one- and two-sided tests."""
    copies = _copies(judged)
    different = Judged(judged.human, judged.metrics[list(copies)], judged.units)
    options = {"method": procedure.method, "permutations": procedure.permutations, "seed": procedure.seed}
    values = meta_values(meta, different, **options)  # type: ignore[arg-type]
    found: dict[str, Any] = {
        "metrics": len(judged.metrics),
        "different_metrics": len(values),
        "distinct_values": len(np.unique(np.round(values[~np.isnan(values)], 10))),
        "comparisons": len(values) * (len(values) - 1) // 2,
    }
    differences = metric_differences(meta, different, procedure)
    if differences is None:
        return found
    order = best_first(values, [str(m) for m in range(len(values))])
    first, second = np.triu_indices(len(values), 1)
    times = np.array(list(copies.values()))
    for side, p in zip(("one_sided", "two_sided"), differences.p_values()):
        significant = np.zeros((len(values), len(values)), dtype=np.bool_)
        significant[first, second] = p <= ALPHA
        ranks = cluster_ranks(order, significant | significant.T)
        found[f"significant_{side}"] = int((p <= ALPHA).sum())
        found[f"significant_{side}_with_copies"] = int((times[first] * times[second])[p <= ALPHA].sum())
        found[f"clusters_{side}"] = max(ranks.values(), default=0)
    return found


def _copies(judged: Judged) -> dict[int, int]:
    """The first metric with each set of scores, and how many metrics have these scores."""
    seen: dict[bytes, int] = {}
    count: dict[int, int] = {}
    for m, metric in enumerate(judged.metrics):
        first = seen.setdefault(metric.tobytes(), m)
        count[first] = count.get(first, 0) + 1
    return count
