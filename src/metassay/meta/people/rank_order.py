"""Metrics in order of agreement with people: best first, in significance clusters, with their comparisons."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.meta.people.comparable import Comparable
from metassay.meta.people.meta_metrics import SYSTEM, MetaMetric
from metassay.meta.people.significance import (
    Differences,
    Procedure,
    cluster_ranks,
    metric_differences,
    williams_p_values,
)
from metassay.stats.multiplicity import holm as holm_adjusted
from metassay.stats.sign_flip import FloatArray

ALPHA = 0.05
MANY_SYSTEMS = 8
"""From this many systems on, a test for systems like these stands beside the one for these systems."""


def best_first(values: FloatArray, names: Sequence[str]) -> list[int]:
    """Indices by falling value, equal ones by name, undefined ones last."""
    undefined = np.isnan(values)
    size = np.where(undefined, 0.0, -np.round(values, 12))
    return sorted(range(len(values)), key=lambda m: (undefined[m], size[m], names[m]))


def ranks_of(
    order: Sequence[int], values: FloatArray, one_sided: FloatArray, *, holm: bool = False
) -> dict[int, int]:
    """The significance cluster of each metric with a value; none at all where nothing was tested."""
    defined = [m for m in order if not np.isnan(values[m])]
    p = np.full(one_sided.shape, np.nan)
    pairs = [(a, b) for place, a in enumerate(defined) for b in defined[place + 1 :]]
    tested = np.array([one_sided[pair] for pair in pairs])
    if pairs and np.isnan(tested).all():
        return {}
    for (a, b), adjusted in zip(pairs, holm_adjusted(tested) if holm else tested):
        p[a, b] = p[b, a] = adjusted
    return cluster_ranks(defined, np.nan_to_num(p, nan=1.0) <= ALPHA)


def comparison_rows(
    order: Sequence[int],
    names: Sequence[str],
    one_sided: FloatArray,
    two_sided: FloatArray,
    *,
    holm: bool = False,
) -> list[dict[str, Any]]:
    """All tested pairs, the better scored first."""
    pairs = [
        (a, b) for place, a in enumerate(order) for b in order[place + 1 :] if not np.isnan(one_sided[a, b])
    ]
    rows: list[dict[str, Any]] = [
        {"a": names[a], "b": names[b], "p": float(one_sided[a, b]), "p_two_sided": float(two_sided[a, b])}
        for a, b in pairs
    ]
    if holm and rows:
        for row, adjusted in zip(rows, holm_adjusted([row["p"] for row in rows])):
            row["p_holm"] = float(adjusted)
    return rows


def plain(value: float) -> float | None:
    """A number for JSON: null where undefined."""
    return None if np.isnan(value) else float(value)


def shared_name(name: str) -> str:
    """A metric's name without the reference it used, by which data sets with other references are averaged.

    >>> shared_name("COMET-refA"), shared_name("CometKiwi-src")
    ('COMET', 'CometKiwi-src')
    """
    return re.sub(r"-ref[A-Z]$", "", name)


def other_p_values(
    data: Comparable, meta: MetaMetric, procedure: Procedure, values: FloatArray
) -> FloatArray | None:
    """For these systems where the test answers for systems like them, and the other way round."""
    other = {"perm-inputs": "perm-systems", "perm-systems": "perm-inputs"}.get(procedure.test)
    if other is None or meta.level != SYSTEM or len(data.systems) < MANY_SYSTEMS:
        return None
    asked = replace(procedure, test=other)
    differences = all_differences(data, meta, asked)
    return None if differences is None else all_p_values(data, asked, values, differences)[0]


def all_differences(data: Comparable, meta: MetaMetric, procedure: Procedure) -> Differences | None:
    """Differences between all metrics proper, each pair on the segments that both have."""
    count = len(data.ranked)
    if procedure.test in {"none", "williams"} or count < 2:
        return None
    first, second = np.triu_indices(count, 1)
    shared = data.complete[first] & data.complete[second]
    patterns, which = np.unique(shared, axis=0, return_inverse=True)
    observed = np.full(len(first), np.nan)
    drawn = np.full((len(first), procedure.draws), np.nan, dtype=np.float32)
    resampled = procedure.test == "bootstrap"
    for number, segments in enumerate(patterns):
        pairs = np.flatnonzero(which.ravel() == number)
        if not segments.any():
            continue
        metrics = np.unique(np.concatenate([first[pairs], second[pairs]]))
        part = metric_differences(meta, data.judged(metrics, segments), procedure)
        if part is None:
            return None
        position = _pair_positions(metrics, first[pairs], second[pairs])
        observed[pairs], drawn[pairs] = part.observed[position], part.drawn[position]
    return Differences(observed, drawn, resampled)


def _pair_positions(
    metrics: NDArray[np.int64], first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Where pairs of metrics stand among all pairs of `metrics`."""
    a, b = np.searchsorted(metrics, first), np.searchsorted(metrics, second)
    n = len(metrics)
    return a * n - a * (a + 1) // 2 + b - a - 1


def all_p_values(
    data: Comparable, procedure: Procedure, values: FloatArray, differences: Differences | None
) -> tuple[FloatArray, FloatArray]:
    """One- and two-sided p-values `[metrics, metrics]` that the row beats the column by chance."""
    count = len(data.ranked)
    one, two = np.full((count, count), np.nan), np.full((count, count), np.nan)
    if procedure.test == "williams":
        everywhere = np.asarray(data.complete[:count].all(axis=0))
        one = williams_p_values(data.judged(data.ranked, everywhere))
        return one, 2 * np.minimum(one, one.T)
    if differences is None:
        return one, two
    first, second = np.triu_indices(count, 1)
    defined = ~(np.isnan(differences.observed) | np.isnan(values[first]) | np.isnan(values[second]))
    for better in (True, False):
        p, both = differences.p_values(np.full(len(first), better))
        a, b = (first, second) if better else (second, first)
        one[a[defined], b[defined]] = p[defined]
        two[a[defined], b[defined]] = both[defined]
    return one, two
