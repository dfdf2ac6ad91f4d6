"""Find out which evaluation metrics can be trusted on your data.

The functions and types in `__all__` are public; each is imported when it is first used. The
functions on arrays in `metassay.meta.pairwise`, `metassay.meta.dependence` and
`metassay.stats.rank_correlation` are public, too. Everything else is internal and may change.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# The public functions, and the module of each.
VERBS = {
    "aggregate": "metassay.workflows.aggregate",
    "align": "metassay.workflows.align",
    "annotate": "metassay.workflows.annotate",
    "assay": "metassay.workflows.assay",
    "check": "metassay.workflows.check",
    "compare": "metassay.workflows.compare",
    "demo": "metassay.workflows.assay",
    "depend": "metassay.workflows.depend",
    "estimate": "metassay.workflows.estimate",
    "judge": "metassay.workflows.judge",
    "perturb": "metassay.workflows.perturb",
    "rank": "metassay.workflows.rank",
    "read": "metassay.workflows.read",
    "recommend": "metassay.workflows.recommend",
    "report": "metassay.workflows.report",
    "score": "metassay.workflows.score",
    "watch": "metassay.workflows.watch",
}

# The public types, and the module of each.
TYPES = {
    "AggregateResult": "metassay.workflows.aggregate",
    "AlignResult": "metassay.workflows.align",
    "AnnotateResult": "metassay.workflows.annotate",
    "AssayResult": "metassay.workflows.assay_result",
    "Batch": "metassay.metrics.base",
    "CheckResult": "metassay.workflows.check",
    "CompareResult": "metassay.workflows.compare",
    "Context": "metassay.data.context",
    "Dataset": "metassay.data.dataset",
    "DependResult": "metassay.workflows.depend",
    "EstimateResult": "metassay.workflows.estimate",
    "InputError": "metassay.errors",
    "JudgeResult": "metassay.workflows.judge",
    "MetaMetric": "metassay.meta.people.meta_metrics.base",
    "MetassayError": "metassay.errors",
    "Metric": "metassay.metrics.base",
    "MetricFailure": "metassay.errors",
    "MissingBackend": "metassay.errors",
    "OutputKind": "metassay.tasks.base",
    "PerturbResult": "metassay.workflows.perturb",
    "Perturbation": "metassay.perturbations.base",
    "RankResult": "metassay.workflows.rank",
    "RecommendResult": "metassay.workflows.recommend",
    "ScoreArrays": "metassay.data.score_arrays",
    "ScoreResult": "metassay.workflows.score",
    "StatisticsMetric": "metassay.metrics.base",
    "Stream": "metassay.stats.streams",
    "TableEvidence": "metassay.tasks.base",
    "Task": "metassay.tasks.base",
    "TiedScores": "metassay.errors",
    "UnknownName": "metassay.errors",
    "View": "metassay.perturbations.base",
    "WatchResult": "metassay.workflows.watch",
}

__all__ = [  # a literal, because type checkers cannot read it from the tables above
    "AggregateResult",
    "AlignResult",
    "AnnotateResult",
    "AssayResult",
    "Batch",
    "CheckResult",
    "CompareResult",
    "Context",
    "Dataset",
    "DependResult",
    "EstimateResult",
    "InputError",
    "JudgeResult",
    "MetaMetric",
    "MetassayError",
    "Metric",
    "MetricFailure",
    "MissingBackend",
    "OutputKind",
    "PerturbResult",
    "Perturbation",
    "RankResult",
    "RecommendResult",
    "ScoreArrays",
    "ScoreResult",
    "StatisticsMetric",
    "Stream",
    "TableEvidence",
    "Task",
    "TiedScores",
    "UnknownName",
    "View",
    "WatchResult",
    "aggregate",
    "align",
    "annotate",
    "assay",
    "check",
    "compare",
    "demo",
    "depend",
    "estimate",
    "judge",
    "perturb",
    "rank",
    "read",
    "recommend",
    "report",
    "score",
    "watch",
]

if TYPE_CHECKING:
    from metassay.data.context import Context
    from metassay.data.dataset import Dataset
    from metassay.data.score_arrays import ScoreArrays
    from metassay.errors import (
        InputError,
        MetassayError,
        MetricFailure,
        MissingBackend,
        TiedScores,
        UnknownName,
    )
    from metassay.meta.people.meta_metrics.base import MetaMetric
    from metassay.metrics.base import Batch, Metric, StatisticsMetric
    from metassay.perturbations.base import Perturbation, View
    from metassay.stats.streams import Stream
    from metassay.tasks.base import OutputKind, TableEvidence, Task
    from metassay.workflows.aggregate import AggregateResult, aggregate
    from metassay.workflows.align import AlignResult, align
    from metassay.workflows.annotate import AnnotateResult, annotate
    from metassay.workflows.assay import assay, demo
    from metassay.workflows.assay_result import AssayResult
    from metassay.workflows.check import CheckResult, check
    from metassay.workflows.compare import CompareResult, compare
    from metassay.workflows.depend import DependResult, depend
    from metassay.workflows.estimate import EstimateResult, estimate
    from metassay.workflows.judge import JudgeResult, judge
    from metassay.workflows.perturb import PerturbResult, perturb
    from metassay.workflows.rank import RankResult, rank
    from metassay.workflows.read import read
    from metassay.workflows.recommend import RecommendResult, recommend
    from metassay.workflows.report import report
    from metassay.workflows.score import ScoreResult, score
    from metassay.workflows.watch import WatchResult, watch


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    module = VERBS.get(name) or TYPES.get(name)
    if module is None:
        raise AttributeError(f"module 'metassay' has no attribute {name!r}")
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, also those that are not imported yet."""
    return sorted([*globals(), *__all__])
