"""Convert what users pass as a metric: a class, a function, or an object of Hugging Face `evaluate`."""

from __future__ import annotations

from typing import Any

from metassay import plugins
from metassay.errors import InputError
from metassay.metrics.base import Metric
from metassay.metrics.compute_metric import ComputeMetric
from metassay.metrics.function_metric import REMEDY, FunctionMetric


def convert_to_metric(class_or_object: Any) -> Metric:
    """Convert a class, a function or an object with the method `compute` to a metric."""
    if isinstance(class_or_object, type):
        return _create_metric_from_class(class_or_object)
    if isinstance(class_or_object, Metric):
        return class_or_object
    if callable(getattr(class_or_object, "compute", None)):
        return ComputeMetric(class_or_object)
    if callable(class_or_object) and hasattr(class_or_object, "__name__"):
        return FunctionMetric(class_or_object)
    raise InputError(f"{class_or_object!r} is not a metric.", remedy=REMEDY)


def _create_metric_from_class(metric_class: type) -> Metric:
    """Create a metric of a class with default parameters; raise an error if the class is not a complete
    metric.
    """
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
