"""Results of assays for tests, written by hand: each test gives only the values that it is about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from metassay.meta.contexts.choice import Criteria, MetricAccuracyTable
from metassay.meta.contexts.robustness import (
    compute_distributionally_robust_accuracy,
    estimate_true_accuracy_variation,
)
from metassay.reporting.assay_report import prepare_assay_report
from metassay.reporting.assay_verdict import list_main_findings_of_assay
from metassay.results.assay import (
    GLOBAL,
    AssayContent,
    Claims,
    ClusterChoice,
    ContextColumn,
    GlobalAccuracy,
    MetricAccuracy,
    MetricConfounding,
    MetricRobustness,
    PerturbationStatistics,
    Recommendation,
    SharedErrors,
)


def make_accuracy(
    metric: str,
    accuracy: float | None,
    low: float | None = None,
    high: float | None = None,
    *,
    context: str = GLOBAL,
    **fields: Any,
) -> GlobalAccuracy:
    counts = {"items": 50, "outputs": 100, "pairs": 400, "clusters": 10}
    shares = {"micro": accuracy, "standardised": accuracy, "ties": 0.0}
    return GlobalAccuracy(
        context=context, metric=metric, accuracy=accuracy, low=low, high=high, **(counts | shares | fields)
    )


def make_column(local_accuracy: Sequence[MetricAccuracy], **fields: Any) -> ContextColumn:
    metrics = dict.fromkeys(row.metric for row in local_accuracy)
    defaults: dict[str, Any] = {
        "h1": None,
        "h1_exchanges": None,
        "h2": None,
        "perturbation_shares": {},
        "robustness": [make_robustness(metric) for metric in metrics],
        "trend": None,
        "trend_p": None,
        "regret": None,
        "sentinels": [],
    }
    return ContextColumn(local_accuracy=list(local_accuracy), **(defaults | fields))


def make_robustness(metric: str, **fields: Any) -> MetricRobustness:
    defaults: dict[str, Any] = {
        "stability": None,
        "worst_case": None,
        "worst_context": "",
        "robust_accuracy": None,
    }
    return MetricRobustness(metric=metric, **(defaults | fields))


def make_recommendation(
    choice: str | None, top_group: Sequence[str] = (), metrics: Sequence[str] = (), **fields: Any
) -> Recommendation:
    group = list(top_group) or ([] if choice is None else [choice])
    return Recommendation(
        choice=choice,
        top_group=group,
        metrics=list(metrics) or group,
        behind=fields.pop("behind", []),
        **fields,
    )


def make_claims(**fields: Any) -> Claims:
    defaults: dict[str, Any] = {
        "error_rate": 0.05,
        "tests": {},
        "small_contexts": {},
        "leads": [],
        "variations": [],
        "trends": [],
        "predictions": [],
        "perturbation_dependences": [],
        "order": {},
    }
    return Claims(**(defaults | fields))


def make_confounding(
    metric: str, by_perturbation: Mapping[str, float | None], **fields: Any
) -> MetricConfounding:
    defaults: dict[str, Any] = {
        "variance": 0.01,
        "low": 0.0,
        "high": 0.02,
        "flag": False,
        "by_k": [],
        "variance_net": 0.01,
        "share": 0.1,
        "share_low": 0.05,
        "p": 0.5,
        "p_holm": 0.5,
        "responsible": [],
        "overlooked": [],
        "sentinel": False,
    }
    return MetricConfounding(metric=metric, by_perturbation=dict(by_perturbation), **(defaults | fields))


def make_perturbation(name: str, **fields: Any) -> PerturbationStatistics:
    counts = dict.fromkeys(
        (
            "outputs",
            "applied",
            "not_applicable",
            "unchanged",
            "pairs",
            "human_scored",
            "disagreements",
            "ties",
        ),
        0,
    )
    return PerturbationStatistics(perturbation=name, **(counts | fields))


def make_content(
    overall: Sequence[GlobalAccuracy],
    contexts: Mapping[str, ContextColumn] | None = None,
    recommendation: Mapping[str, Mapping[str, Recommendation]] | None = None,
    **fields: Any,
) -> AssayContent:
    columns = dict(contexts or {})
    choices = {name: dict((recommendation or {}).get(name, {})) for name in columns}
    defaults: dict[str, Any] = {
        "sentinels": [],
        "confounding": [],
        "answer": None,
        "human_comparison": None,
        "cost_class": {},
        "same_decisions": [],
        "pareto": None,
        "shared_errors": SharedErrors(metrics=[], matrix=[]),
        "claims": make_claims(),
        "pairs_from": "rule",
        "task": "mt",
        "items": 50,
        "outputs": 100,
        "pairs": 400,
        "left_out": {},
        "named_left_out": {},
        "perturbations": {},
        "metrics": [],
        "price": {},
        "perturbation_statistics": [],
        "label_errors": [],
        "difficulty": None,
        "valid_pairs_only": False,
        "notes": [],
        "cluster": ClusterChoice(column="item", why="every item is its own cluster"),
        "warnings": [],
    }
    content = AssayContent(
        overall=list(overall), contexts=columns, recommendation=choices, **(defaults | fields)
    )
    return msgspec.structs.replace(
        content, verdict=list_main_findings_of_assay(prepare_assay_report(content))
    )


def make_choice_table(
    metric_names: Sequence[str],
    contexts: Sequence[str],
    accuracy: np.ndarray,
    context_shares: np.ndarray | None = None,
    *,
    cost_classes: Mapping[str, str] | None = None,
    criteria: Criteria | None = None,
) -> MetricAccuracyTable:
    """Build a choice table from accuracies without sampling error, [metrics, contexts].

    The accuracy over all outputs, "global", is the mean over contexts, weighted by `context_shares`.
    """
    accuracy = np.asarray(accuracy, dtype=np.float64)
    weights = (
        np.full(len(contexts), 1.0)
        if context_shares is None
        else np.asarray(context_shares, dtype=np.float64)
    )
    overall = np.round(accuracy @ (weights / weights.sum()), 12)
    with_global = np.column_stack([overall, accuracy])
    return MetricAccuracyTable(
        metrics=tuple(metric_names),
        contexts=(GLOBAL, *contexts),
        accuracy=with_global,
        may_be_best=with_global >= with_global.max(axis=0),
        is_worse_than_another=np.zeros(with_global.shape, dtype=np.bool_),
        spread=estimate_true_accuracy_variation(accuracy, np.zeros_like(accuracy)),
        robust_accuracy=compute_distributionally_robust_accuracy(accuracy, weights),
        worst_case=accuracy.min(axis=1),
        cost_classes=cost_classes or {},
        criteria=criteria or {},
    )
