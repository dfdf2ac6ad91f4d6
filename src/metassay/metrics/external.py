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
    """A metric whose scores are not computed by metassay; users can set whether higher is better."""

    task: ClassVar[str] = "any"
    can_share_cache: ClassVar[bool] = False

    @property
    def parameters(self) -> Parameters:
        """Always empty: the name identifies the metric."""
        return {}

    def set_score_direction(self, *, higher_is_better: bool) -> Self:
        """Return the metric with `higher_is_better` set."""
        return self._copy_with_changed_attributes(higher_is_better=higher_is_better)

    def _copy_with_changed_attributes(self, **attributes: Any) -> Self:
        """Return a copy of the metric with some attributes changed."""
        changed = copy.copy(self)
        for name, value in attributes.items():
            object.__setattr__(changed, name, value)
        return changed


def set_score_directions_of_metrics(
    metrics: Sequence[Metric], requested: RequestedDirections
) -> tuple[Metric, ...]:
    """Return the metrics, with higher or lower is better set as the user requested.

    Only external metrics can be redirected: the direction of our own metrics is part of their definition.
    """
    redirectable = [metric.spec for metric in metrics if isinstance(metric, ExternalMetric)]
    requested.check_score_names(redirectable, "external metric")
    oriented: list[Metric] = []
    for metric in metrics:
        if isinstance(metric, ExternalMetric) and metric.spec in requested.named_scores:
            higher_is_better = metric.spec in requested.higher_is_better
            oriented.append(metric.set_score_direction(higher_is_better=higher_is_better))
        else:
            oriented.append(metric)
    return tuple(oriented)
