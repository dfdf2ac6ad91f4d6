"""Load metrics from files of the user: a class or function in a Python file (`FILE.py:NAME`), or
a program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from metassay.errors import MetassayError
from metassay.metrics.base import Metric
from metassay.metrics.conversion import convert_to_metric
from metassay.metrics.program_metric import ProgramMetric, is_executable_file
from metassay.metrics.registry import MetricChoice
from metassay.plugins import explain_error_in_user_code, load_object_from_python_file
from metassay.specs import split_metric_names


def collect_requested_metrics(
    metrics: MetricChoice, metric_files: Sequence[str]
) -> list[str | Metric | Callable[..., Any]] | None:
    """Return the requested metrics, followed by those that files of the user define. Returns None if there
    are none.
    """
    chosen: list[str | Metric | Callable[..., Any]] = []
    if metrics is not None:
        chosen += split_metric_names(metrics)
    chosen += [load_metric_from_file(location) for location in metric_files]
    return chosen or None


def load_metric_from_file(file_and_metric_name: str) -> Metric:
    """Load a metric of the user from a class or function in a Python file (`FILE.py:NAME`), or from a program
    that computes scores.

    Errors in the user's code are described with the line of that code.
    """
    if is_executable_file(file_and_metric_name) or not (
        ":" in file_and_metric_name or file_and_metric_name.endswith(".py")
    ):
        return ProgramMetric(file_and_metric_name)
    user_object = load_object_from_python_file(file_and_metric_name)
    try:
        return convert_to_metric(user_object)
    except MetassayError:
        raise
    except Exception as error:
        raise explain_error_in_user_code(error) or error from error
