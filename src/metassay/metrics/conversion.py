"""Convert what users pass as a metric: a class, a function, or an object of Hugging Face `evaluate`."""

from __future__ import annotations

from typing import Any

from metassay import plugins
from metassay.errors import InputError
from metassay.metrics.base import Metric
from metassay.metrics.compute_metric import ComputeMetric
from metassay.metrics.function_metric import REMEDY, FunctionMetric


def convert_to_metric(candidate: Any) -> Metric:
    """Convert what a user passes as a metric (a class, a function or an object with `compute`) to a
    `Metric`.
    """
    if isinstance(candidate, type):
        return _create_metric_from_class(candidate)
    if isinstance(candidate, Metric):
        return candidate
    if callable(getattr(candidate, "compute", None)):
        return ComputeMetric(candidate)
    if callable(candidate) and hasattr(candidate, "__name__"):
        return FunctionMetric(candidate)
    raise InputError(f"{candidate!r} is not a metric.", remedy=REMEDY)


def _create_metric_from_class(metric_class: type) -> Metric:
    """Create a metric with default parameters; raise an error if the class is not a complete metric."""
    place = plugins.find_source_location(metric_class)
    class_name = metric_class.__name__
    if not issubclass(metric_class, Metric):
        raise InputError(f"the class {class_name} is not a metric.", location=place, remedy=REMEDY)
    if not isinstance(getattr(metric_class, "name", None), str) or not metric_class.name:
        raise InputError(
            f"the metric {class_name} has no name.",
            location=place,
            remedy=f'Give it one: name = "{class_name.lower()}"',
        )
    try:
        return metric_class()
    except TypeError as error:
        raise InputError(f"the metric {class_name} cannot be created: {error}.", location=place) from error
