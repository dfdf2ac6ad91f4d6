"""Pairs that metrics got wrong, for people to read."""

from __future__ import annotations

from typing import Any

import numpy as np

from metassay.data.dataset import Dataset
from metassay.meta.contexts.judgements import RIGHT
from metassay.metrics.base import Metric
from metassay.workflows.judging import JudgedPairs

PER_METRIC = 4
LONGEST = 400
"""Longer texts are no pleasure to compare by eye."""


def wrong_pairs(dataset: Dataset, metrics: tuple[Metric, ...], judged: JudgedPairs) -> list[dict[str, Any]]:
    """For each metric a few pairs where it preferred the worse copy, widest margin first, then ties.

    One pair per item and perturbation, so that the examples differ.
    """
    if dataset.kind.ranked:
        return []
    found = []
    for index, metric in enumerate(metrics):
        margin = judged.worse[index] - judged.better[index]
        wrong = np.flatnonzero((judged.judgements.outcome[index] < RIGHT) & ~np.isnan(margin))
        order = wrong[np.argsort(-margin[wrong], kind="stable")]
        found += _readable(dataset, metric, index, judged, order)
    return found


def _readable(
    dataset: Dataset, metric: Metric, index: int, judged: JudgedPairs, order: np.ndarray
) -> list[dict[str, Any]]:
    """The first few of the ordered pairs: short ones, no item and no perturbation twice."""
    sign = 1.0 if metric.higher_is_better else -1.0
    items: set[str] = set()
    methods: set[str] = set()
    examples: list[dict[str, Any]] = []
    for pair in order.tolist():
        row = judged.pairs.frame.row(pair, named=True)
        too_long = max(len(row["output"]), len(row["worse"])) > LONGEST
        if too_long or row["item"] in items or row["perturbation"] in methods:
            continue
        items.add(row["item"])
        methods.add(row["perturbation"])
        output = dataset.outputs.row(int(judged.rows[pair]), named=True)
        examples.append(
            {
                "metric": metric.spec,
                **row,
                "source": output.get("source"),
                "references": output.get("references") or [],
                "score": sign * float(judged.better[index, pair]),
                "score_worse": sign * float(judged.worse[index, pair]),
            }
        )
        if len(examples) == PER_METRIC:
            break
    return examples
