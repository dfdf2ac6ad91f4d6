"""How much SPA by the procedure of mt-metrics-eval changes with the order of the systems."""

from __future__ import annotations

from typing import Any

import numpy as np

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.pairwise import soft_pairwise_accuracy

ORDERS = 50


def measure_system_orders(scores: ScoreArrays, names: list[str]) -> list[dict[str, Any]]:
    """Return the smallest and the largest SPA of each metric over random orders of the systems."""
    rng = np.random.default_rng(0)
    orders = [rng.permutation(len(scores.human)) for _ in range(ORDERS)]
    rows = []
    for name, metric in zip(names, scores.metrics):
        values = [
            soft_pairwise_accuracy(scores.human[order], metric[order], method="mtme") for order in orders
        ]
        rows.append({"metric": name, "low": min(values), "high": max(values)})
    return rows
