"""Kendall's tau-b with human scores."""

from __future__ import annotations

from metassay.meta.people.meta_metrics.correlation import CorrelationMetaMetric


class Kendall(CorrelationMetaMetric):
    """Meta-metric `kendall`: Kendall's tau-b, which corrects for ties in human or metric scores."""

    name = "kendall"
    label = "Kendall"
    summary = "Kendall's tau-b with human scores"
