"""Kendall's tau-c with human scores."""

from __future__ import annotations

from metassay.meta.people.meta_metrics.correlation import CorrelationMetaMetric


class KendallC(CorrelationMetaMetric):
    """Meta-metric `kendall_c`: Kendall's (Stuart's) tau-c, for scores with different numbers of distinct
    values.
    """

    name = "kendall_c"
    label = "Kendall c"
    summary = "Kendall's tau-c with human scores"
