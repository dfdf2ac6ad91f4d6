"""Whom a metric flatters: system dependence."""

from metassay.meta.dependence.deviations import SystemDependence, system_dependence

__all__ = ["SystemDependence", "system_dependence"]
