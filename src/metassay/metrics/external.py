"""Metrics that metassay does not compute itself."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from metassay.data.directions import RequestedDirections
from metassay.metrics.base import Metric, Parameters


@dataclass(frozen=True)
class ExternalMetric(Metric):
    """Base class of metrics that are computed outside metassay. The user can say whether higher or lower
    scores are better.
    """

    task: ClassVar[str] = "any"
    can_share_cache: ClassVar[bool] = False

    @property
    def non_default_parameters(self) -> Parameters:
        """Always empty. Such a metric is identified by its name alone."""
        return {}

    def copy_with_direction(self, *, higher_is_better: bool) -> Self:
        """Return a copy of the metric for which either higher or lower scores are better."""
        return self._copy_with(higher_is_better=higher_is_better)

    def _copy_with(self, **attributes: Any) -> Self:
        """Return a copy of the metric with some of its attributes changed."""
        changed = copy.copy(self)
        for name, value in attributes.items():
            object.__setattr__(changed, name, value)
        return changed


def apply_score_directions(
    metrics: Sequence[Metric], requested_directions: RequestedDirections
) -> tuple[Metric, ...]:
    """Set whether higher or lower scores are better, for the metrics for which the user said so. Returns all
    metrics.

    Only external metrics can be redirected: the direction of our own metrics is part of their definition.
    """
    redirectable = [metric.spec for metric in metrics if isinstance(metric, ExternalMetric)]
    requested_directions.check_score_names(redirectable, "external metric")
    oriented: list[Metric] = []
    for metric in metrics:
        if isinstance(metric, ExternalMetric) and metric.spec in requested_directions.named_scores:
            higher_is_better = metric.spec in requested_directions.higher_is_better
            oriented.append(metric.copy_with_direction(higher_is_better=higher_is_better))
        else:
            oriented.append(metric)
    return tuple(oriented)
