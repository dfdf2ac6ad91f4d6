"""Kendall's tau-b with human scores."""

from __future__ import annotations

from metassay.meta.people.meta_metrics.correlation import CorrelationMetaMetric


class Kendall(CorrelationMetaMetric):
    """`kendall`: Kendall's tau-b, which corrects for ties on either side."""

    name = "kendall"
    label = "Kendall"
    summary = "Kendall's tau-b with human scores"
