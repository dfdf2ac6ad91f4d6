"""Whether one metric agrees with people better than another by more than chance, and the order they stand in.

Both metrics are standardised and their scores exchanged at random (`metassay.stats.swaps`); the meta-metric
of both is recomputed each time. The p-value that A beats B is the share of draws in which the difference is
at least the observed one, the observed one counted among them. `bootstrap` resamples segments, with their
human scores, instead; it is cautious: resampled orders are noisier than ours, and of metrics that are
equally good it tells fewer apart than the level allows (1 % at 5 %). Metrics are then listed best first, in
significance clusters, with their comparisons.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metassay.meta.people.ranking_data import GLOBAL

if TYPE_CHECKING:
    from metassay.meta.people.ranking import Ranking

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.intervals import bootstrap_values
from metassay.meta.people.meta_metrics import Differences, MetaMetric, Procedure
from metassay.meta.people.meta_metrics.base import SYSTEM, pair_differences
from metassay.meta.people.ranking_data import RankingData
from metassay.stats.arrays import FloatArray
from metassay.stats.correlation import correlate, williams_test
from metassay.stats.multiplicity import adjust_holm

ALPHA = 0.05
MANY_SYSTEMS = 8
"""From this many systems on, a test for systems like these stands beside the one for these systems."""
ANSWERS_FOR = {
    "perm-inputs": "these systems",
    "perm-both": "these systems",
    "cells": "these systems",
    "bootstrap": "these systems",
    "perm-systems": "systems like these",
    "williams": "systems like these",
}
"""Whom a test answers for: metrics that differ on these systems may not on others."""


def metric_differences(meta: MetaMetric, judged: ScoreArrays, procedure: Procedure) -> Differences | None:
    """Observed and drawn differences of all pairs of metrics; None where there is no such test."""
    if procedure.test != "bootstrap":
        return meta.differences(judged, procedure)
    drawn = bootstrap_values(
        meta,
        judged,
        draws=procedure.draws,
        seed=procedure.seed,
        stream=procedure.stream,
        workers=procedure.workers,
    )
    if drawn is None:
        return None
    observed = pair_differences(meta.values(judged, procedure))
    return Differences(observed, pair_differences(drawn).astype(np.float32), resampled=True)


def williams_p_values(judged: ScoreArrays) -> FloatArray:
    """One-sided p-values that Pearson's r of A exceeds that of B, `[metrics, metrics]`, at system level."""
    human = judged.human.mean(axis=-1)
    means = judged.metrics.mean(axis=-1)
    r = np.array([correlate("pearson", human, metric) for metric in means])
    p = np.full((len(r), len(r)), np.nan)
    for a in range(len(r)):
        for b in range(len(r)):
            if a != b:
                p[a, b] = williams_test(r[a], r[b], correlate("pearson", means[a], means[b]), len(human))
    return p


def cluster_ranks(best_first: Sequence[int], differs: NDArray[np.bool_]) -> dict[int, int]:
    """Ranks from 1: a metric opens a new rank when it differs from any metric since the current rank's start.

    `best_first` lists metrics in order of value, `differs[a, b]` says whether two differ. Greedy, as in the
    WMT shared tasks: two metrics of different rank may well not differ from each other.
    """
    ranks: dict[int, int] = {}
    rank = 1
    members: list[int] = []
    for metric in best_first:
        if any(differs[other, metric] for other in members):
            rank, members = rank + 1, []
        members.append(metric)
        ranks[metric] = rank
    return ranks


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
    for (a, b), adjusted in zip(pairs, adjust_holm(tested) if holm else tested):
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
        for row, adjusted in zip(rows, adjust_holm([row["p"] for row in rows])):
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
    data: RankingData, meta: MetaMetric, procedure: Procedure, values: FloatArray
) -> FloatArray | None:
    """For these systems where the test answers for systems like them, and the other way round."""
    other = {"perm-inputs": "perm-systems", "perm-systems": "perm-inputs"}.get(procedure.test)
    if other is None or meta.level != SYSTEM or len(data.cube.systems) < MANY_SYSTEMS:
        return None
    asked = replace(procedure, test=other)
    differences = all_differences(data, meta, asked)
    return None if differences is None else all_p_values(data, asked, values, differences)[0]


def all_differences(data: RankingData, meta: MetaMetric, procedure: Procedure) -> Differences | None:
    """Differences between all metrics proper, each pair on the segments that both have."""
    count = data.metric_count
    if procedure.test in {"none", "williams"} or count < 2:
        return None
    first, second = np.triu_indices(count, 1)
    shared = data.scores.complete_items[first] & data.scores.complete_items[second]
    patterns, which = np.unique(shared, axis=0, return_inverse=True)
    observed = np.full(len(first), np.nan)
    drawn = np.full((len(first), procedure.draws), np.nan, dtype=np.float32)
    resampled = procedure.test == "bootstrap"
    for number, segments in enumerate(patterns):
        pairs = np.flatnonzero(which.ravel() == number)
        if not segments.any():
            continue
        metrics = np.unique(np.concatenate([first[pairs], second[pairs]]))
        part = metric_differences(
            meta, data.scores.select_metrics(metrics).restrict_to(items=segments), procedure
        )
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
    data: RankingData, procedure: Procedure, values: FloatArray, differences: Differences | None
) -> tuple[FloatArray, FloatArray]:
    """One- and two-sided p-values `[metrics, metrics]` that the row beats the column by chance."""
    count = data.metric_count
    one, two = np.full((count, count), np.nan), np.full((count, count), np.nan)
    if procedure.test == "williams":
        common = data.scores.select_metrics(data.metric_positions).restrict_to(
            items=data.items_of_all_metrics
        )
        one = williams_p_values(common)
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
    names = part.data.metric_names[: part.data.metric_count]
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
        seen, draws = _aligned(part.differences, index[first], index[second], part.data.metric_count)
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
