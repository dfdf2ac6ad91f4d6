"""System dependence: which systems a metric favours or disadvantages, compared with human scores."""

from metassay.meta.dependence.deviations import SystemDependence, system_dependence

__all__ = ["SystemDependence", "system_dependence"]
