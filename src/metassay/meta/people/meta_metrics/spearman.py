"""Spearman's correlation with human scores."""

from __future__ import annotations

from metassay.meta.people.meta_metrics.correlation import CorrelationMetaMetric


class Spearman(CorrelationMetaMetric):
    """Meta-metric `spearman`: Spearman's rank correlation rho."""

    name = "spearman"
    label = "Spearman"
    summary = "Spearman's rho with human scores"
