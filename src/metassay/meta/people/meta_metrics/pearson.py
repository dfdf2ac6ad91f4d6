"""Pearson's correlation with human scores."""

from __future__ import annotations

from metassay.meta.people.meta_metrics.base import SYSTEM
from metassay.meta.people.meta_metrics.correlation import CorrelationMetaMetric


class Pearson(CorrelationMetaMetric):
    """Meta-metric `pearson`: Pearson's correlation coefficient r."""

    name = "pearson"
    label = "Pearson"
    summary = "Pearson's r with human scores"

    @property
    def has_williams_test(self) -> bool:
        """Whether Williams' test (1959) of two correlations over the same systems applies."""
        return self.level == SYSTEM
