"""Measures which evaluation metric can be trusted, here.

The verbs `read check assay score align perturb rank depend aggregate judge recommend compare report` are
functions of this package, and what they take and return are its types; each is imported when it is first
used. What is not named in `__all__`, here or in `metassay.meta.pairwise`, `metassay.meta.dependence` and
`metassay.stats.rank_correlation`, is internal and may change.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

VERBS = (
    *(
        "aggregate",
        "align",
        "assay",
        "check",
        "compare",
        "demo",
        "depend",
        "judge",
        "perturb",
        "rank",
        "read",
        "recommend",
    ),
    *("report", "score"),
)
TYPES = {
    "AggregateResult": "workflows.aggregate",
    "AlignResult": "workflows.score",
    "AssayResult": "workflows.assay_result",
    "Batch": "metrics.base",
    "CheckResult": "workflows.check",
    "Context": "data.context",
    "Dataset": "data.dataset",
    "DependResult": "workflows.depend",
    "TableEvidence": "tasks.base",
    "InputError": "errors",
    "JudgeResult": "workflows.judge",
    "MetassayError": "errors",
    "Metric": "metrics.base",
    "MetricFailure": "errors",
    "MissingBackend": "errors",
    "OutputKind": "tasks.base",
    "PerturbResult": "workflows.perturb",
    "Perturbation": "perturbations.base",
    "RankResult": "workflows.rank",
    "ScoreResult": "workflows.score",
    "StatisticsMetric": "metrics.base",
    "Stream": "stats.random",
    "Task": "tasks.base",
    "TiedScores": "errors",
    "UnknownName": "errors",
    "View": "perturbations.base",
}
"""The public types, and the module that each is in."""
SHARED = {
    "align": "score",
    "compare": "overview",
    "demo": "assay",
    "report": "recommend",
}
"""Verbs that are in another verb's module."""

__all__ = [
    "AggregateResult",
    "AlignResult",
    "AssayResult",
    "Batch",
    "CheckResult",
    "Context",
    "Dataset",
    "DependResult",
    "InputError",
    "JudgeResult",
    "MetassayError",
    "Metric",
    "MetricFailure",
    "MissingBackend",
    "OutputKind",
    "PerturbResult",
    "Perturbation",
    "RankResult",
    "ScoreResult",
    "StatisticsMetric",
    "Stream",
    "TableEvidence",
    "Task",
    "TiedScores",
    "UnknownName",
    "View",
    "aggregate",
    "align",
    "assay",
    "check",
    "compare",
    "demo",
    "depend",
    "judge",
    "perturb",
    "rank",
    "read",
    "recommend",
    "report",
    "score",
]

if TYPE_CHECKING:
    from metassay.data.context import Context
    from metassay.data.dataset import Dataset
    from metassay.errors import (
        InputError,
        MetassayError,
        MetricFailure,
        MissingBackend,
        TiedScores,
        UnknownName,
    )
    from metassay.metrics.base import Batch, Metric, StatisticsMetric
    from metassay.perturbations.base import Perturbation, View
    from metassay.stats.random import Stream
    from metassay.tasks.base import OutputKind, TableEvidence, Task
    from metassay.workflows.aggregate import AggregateResult, aggregate
    from metassay.workflows.assay import assay, demo
    from metassay.workflows.assay_result import AssayResult
    from metassay.workflows.check import CheckResult, check
    from metassay.workflows.depend import DependResult, depend
    from metassay.workflows.judge import JudgeResult, judge
    from metassay.workflows.overview import compare
    from metassay.workflows.perturb import PerturbResult, perturb
    from metassay.workflows.rank import RankResult, rank
    from metassay.workflows.read import read
    from metassay.workflows.recommend import recommend, report
    from metassay.workflows.score import AlignResult, ScoreResult, align, score


def __getattr__(name: str) -> Any:
    module = TYPES.get(name) or (f"workflows.{SHARED.get(name, name)}" if name in VERBS else None)
    if module is None:
        raise AttributeError(f"module 'metassay' has no attribute {name!r}")
    found = getattr(importlib.import_module(f"metassay.{module}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
