"""Metrics in order of agreement with people: best first, in significance clusters, with their comparisons."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from metassay.meta.people.significance import cluster_ranks
from metassay.stats.arrays import FloatArray
from metassay.stats.multiplicity import holm as holm_adjusted

ALPHA = 0.05


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


def shared_name(name: str) -> str:
    """A metric's name without the reference it used, by which data sets with other references are averaged.

    >>> shared_name("COMET-refA"), shared_name("CometKiwi-src")
    ('COMET', 'CometKiwi-src')
    """
    return re.sub(r"-ref[A-Z]$", "", name)
