"""How far SPA by the public tool's procedure moves with the order of the systems."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from metassay.meta.pairwise import soft_pairwise_accuracy

METRICS = ("GEMBA-MQM-src", "XCOMET-Ensemble-refA", "COMET-refA", "chrF-refA")
ORDERS = 50


def orders(path: Path) -> dict[str, tuple[float, float]]:
    """Least and greatest SPA of each metric over random orders of the systems."""
    table = pl.read_parquet(path).sort("system", "seg_id")
    systems = sorted(table["system"].unique())

    def cube(column: str) -> np.ndarray:
        return np.array([table.filter(system=name)[column].to_numpy() for name in systems])

    human, rng = cube("mqm"), np.random.default_rng(0)
    shuffled = [rng.permutation(len(systems)) for _ in range(ORDERS)]
    found = {}
    for metric in METRICS:
        scores = cube(metric)
        own = [soft_pairwise_accuracy(human[order], scores[order], method="mtme") for order in shuffled]
        found[metric.rsplit("-", 1)[0]] = (min(own), max(own))
    return found
