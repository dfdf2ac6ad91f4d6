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
    """A metric computed outside metassay: it is known by a name, and users may set its direction."""

    task: ClassVar[str] = "any"
    can_share_cache: ClassVar[bool] = False

    @property
    def parameters(self) -> Parameters:
        """None: the name is the whole spec."""
        return {}

    def with_direction(self, *, higher_is_better: bool) -> Self:
        """Return the metric with the given direction."""
        return self._copy_with(higher_is_better=higher_is_better)

    def _copy_with(self, **attributes: Any) -> Self:
        changed = copy.copy(self)
        for name, value in attributes.items():
            object.__setattr__(changed, name, value)
        return changed


def orient_metrics(metrics: Sequence[Metric], requested: RequestedDirections) -> tuple[Metric, ...]:
    """Return the metrics with the directions that the user requested.

    Only external metrics can be redirected: the direction of our own metrics is part of their definition.
    """
    redirectable = [metric.spec for metric in metrics if isinstance(metric, ExternalMetric)]
    requested.check(redirectable, "external metric")
    oriented: list[Metric] = []
    for metric in metrics:
        if isinstance(metric, ExternalMetric) and metric.spec in requested.names:
            higher_is_better = metric.spec in requested.higher_is_better
            oriented.append(metric.with_direction(higher_is_better=higher_is_better))
        else:
            oriented.append(metric)
    return tuple(oriented)
