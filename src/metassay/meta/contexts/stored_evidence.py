"""Evidence for a choice, from a result that was stored: so that cost and criteria can be weighed later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.meta.contexts.choice import GLOBAL, PAIRS, Evidence


def stored_evidence(
    result: Mapping[str, Any],
    column: str,
    *,
    cost: Mapping[str, float] | None = None,
    criteria: Mapping[str, Mapping[str, float]] | None = None,
) -> Evidence:
    """What `ContextualResult.to_dict` says of a column of contexts, with the user's preferences."""
    metrics = tuple(row["metric"] for row in result[GLOBAL])
    part = result["contexts"][column]
    contexts = (GLOBAL, *dict.fromkeys(row["context"] for row in part["local_accuracy"]))
    rows = {(row.get("context", GLOBAL), row["metric"]): row for row in part["local_accuracy"]}
    rows |= {(GLOBAL, row["metric"]): row for row in result[GLOBAL]}
    robustness = {row["metric"]: row for row in part["robustness"]}
    tops = {context: result["recommendation"][column][context]["top_group"] for context in contexts}

    def table(name: str) -> NDArray[np.float64]:
        return np.array([[_number(rows[c, m][name]) for c in contexts] for m in metrics])

    def per_metric(name: str) -> NDArray[np.float64]:
        return np.array([_number(robustness.get(metric, {}).get(name)) for metric in metrics])

    behind = {context: result["recommendation"][column][context].get("behind", ()) for context in contexts}
    return Evidence(
        metrics=metrics,
        contexts=contexts,
        accuracy=table("accuracy"),
        low=table("low"),
        high=table("high"),
        top=np.array([[metric in tops[context] for context in contexts] for metric in metrics]),
        behind=np.array([[metric in behind[context] for context in contexts] for metric in metrics]),
        spread=per_metric("stability"),
        robust=per_metric("robust_accuracy"),
        worst_case=per_metric("worst_case"),
        cost=cost or {},
        criteria=criteria or {},
        pairs=PAIRS.get(result.get("pairs_from", ""), "pairs"),
    )


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
