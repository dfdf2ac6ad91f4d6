"""Averages of a meta-metric over data sets, as in the WMT24 and WMT25 metrics tasks.

Every data set weighs the same. Correlations are mapped from [-1, 1] to [0, 1] first, accuracies are averaged
as they are. The tests are those of the data sets, averaged draw by draw: the draws of different data sets are
independent. Only metrics that every data set has take part; `COMET-refA` here and `COMET-refB` there are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from metassay.meta.people.meta_metrics import Differences, MetaMetric
from metassay.meta.people.ranking import GLOBAL, Ranking
from metassay.meta.people.significance import best_first, comparison_rows, ranks_of, shared_name
from metassay.stats.arrays import FloatArray, plain


def averages(rankings: Sequence[Ranking]) -> list[dict[str, Any]]:
    """One object per meta-metric that was computed on several data sets."""
    metas = dict.fromkeys(ranking.meta for ranking in rankings)
    whole = [ranking for ranking in rankings if ranking.context == GLOBAL]
    found = []
    for meta in metas:
        parts = [ranking for ranking in whole if ranking.meta == meta]
        if len(parts) > 1:
            found.append(_average(meta, parts))
    return found


def _average(meta: MetaMetric, parts: Sequence[Ranking]) -> dict[str, Any]:
    places = [_places(part) for part in parts]
    names = sorted(set.intersection(*(set(own) for own in places)))
    chosen = [np.array([own[name] for name in names], dtype=np.int64) for own in places]
    values = np.stack([part.values[index] for part, index in zip(parts, chosen)])
    mean = (values / 2 + 0.5 if meta.is_correlation else values).mean(axis=0)
    one, two = _tests(meta, parts, chosen, len(names))
    order = best_first(mean, names)
    ranks = ranks_of(order, mean, one, holm=parts[0].holm)
    pairs = np.array([len(part.data.cube.systems) * (len(part.data.cube.systems) - 1) / 2 for part in parts])
    pooled = meta.pooled(values, pairs)
    rows = []
    for m in order:
        row: dict[str, Any] = {"metric": names[m], "value": plain(mean[m]), "rank": ranks.get(m)}
        rows.append(row if pooled is None else row | {"pooled": plain(pooled[m])})
    return {
        "meta": str(meta),
        "datasets": [part.dataset for part in parts],
        "metrics": rows,
        "comparisons": comparison_rows(order, names, one, two, holm=parts[0].holm),
    }


def _places(part: Ranking) -> dict[str, int]:
    """Index by shared name; a name that would stand for two metrics stays as it is."""
    names = [part.data.names[m] for m in part.data.ranked]
    short = [shared_name(name) for name in names]
    return {name if short.count(own) > 1 else own: m for m, (name, own) in enumerate(zip(names, short))}


def _tests(
    meta: MetaMetric, parts: Sequence[Ranking], chosen: Sequence[Any], count: int
) -> tuple[FloatArray, FloatArray]:
    one, two = np.full((count, count), np.nan), np.full((count, count), np.nan)
    scale = 0.5 if meta.is_correlation else 1.0
    first, second = np.triu_indices(count, 1)
    observed = np.zeros(len(first))
    drawn: Any = 0.0
    for part, index in zip(parts, chosen):
        if part.differences is None or count < 2:
            return one, two
        seen, draws = _aligned(part.differences, index[first], index[second], len(part.data.ranked))
        observed += scale * seen / len(parts)
        drawn = drawn + np.float32(scale / len(parts)) * draws
    mean = Differences(observed, drawn, parts[0].differences is not None and parts[0].differences.resampled)
    for better in (True, False):
        p, both = mean.p_values(np.full(len(first), better))
        a, b = (first, second) if better else (second, first)
        one[a, b], two[a, b] = p, both
    undefined = np.isnan(observed)
    for a, b in ((first, second), (second, first)):
        one[a[undefined], b[undefined]] = two[a[undefined], b[undefined]] = np.nan
    return one, two


def _aligned(differences: Differences, a: Any, b: Any, n: int) -> tuple[FloatArray, Any]:
    """Differences of pairs (a, b) of metrics, with the sign turned where the data set lists b first."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    position = low * n - low * (low + 1) // 2 + high - low - 1
    sign = np.where(a < b, 1.0, -1.0)
    return differences.observed[position] * sign, differences.drawn[position] * sign[:, None].astype(
        np.float32
    )
