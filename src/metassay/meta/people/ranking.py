"""Metrics ranked by their agreement with people: values, intervals, tests between them, ranks, averages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.data.cube import Cube
from metassay.errors import InputError
from metassay.meta.people.intervals import (
    bootstrap_values,
    pairwise_deletion,
    percentile_interval,
    subsampled_values,
)
from metassay.meta.people.meta_metrics import Differences, MetaMetric, Procedure, parse_meta
from metassay.meta.people.rated import BASELINES, Rated, rated
from metassay.meta.people.significance import (
    best_first,
    comparison_rows,
    metric_differences,
    ranks_of,
    williams_p_values,
)
from metassay.stats.arrays import FloatArray, plain
from metassay.stats.random import name_number

GLOBAL = "global"
SUBSAMPLES = 200
"""Random subsets over which a context's value is averaged when contexts differ in size."""


@dataclass(frozen=True)
class Ranking:
    """One data set, one meta-metric, one context."""

    dataset: str
    meta: MetaMetric
    column: str | None
    context: str
    data: Rated
    values: FloatArray
    low: FloatArray
    high: FloatArray
    differences: Differences | None
    one_sided: FloatArray
    """p-values `[metrics, metrics]` that the row metric beats the column metric by chance, NaN untested."""
    two_sided: FloatArray
    equal_segments: int | None = None
    holm: bool = False

    @property
    def order(self) -> list[int]:
        """Metrics proper, best first, then by name; undefined values last."""
        return best_first(self.values[: len(self.data.ranked)], self.data.names)

    def to_dict(self) -> dict[str, Any]:
        """The object of this ranking in the command's JSON."""
        found: dict[str, Any] = {
            "dataset": self.dataset,
            "meta": str(self.meta),
            "context": self.context,
            "context_column": self.column,
            "systems": len(self.data.cube.systems),
            "segments": self.data.segments,
            "dropped_segments": self.data.dropped,
        }
        if self.equal_segments is not None:
            found["equal_segments"] = self.equal_segments
        found["metrics"] = self._rows()
        found["comparisons"] = comparison_rows(
            self.order, self.data.names, self.one_sided, self.two_sided, holm=self.holm
        )
        return found

    def _rows(self) -> list[dict[str, Any]]:
        names, count = self.data.names, len(self.data.ranked)
        ranks = ranks_of(self.order, self.values, self.one_sided, holm=self.holm)
        return [
            {
                "metric": names[m],
                "value": plain(self.values[m]),
                "low": plain(self.low[m]),
                "high": plain(self.high[m]),
                "rank": ranks.get(m),
                "segments": self.data.used(m),
                "baseline": m >= count,
                **self._details(m),
            }
            for m in (*self.order, *range(count, count + len(BASELINES)))
        ]

    def _details(self, m: int) -> dict[str, Any]:
        segments = self.data.complete[m]
        if not segments.any():
            return {}
        return self.meta.details(self.data.human[:, segments], self.data.scores[m][:, segments])


def rank_cubes(
    cubes: Sequence[Cube],
    *,
    human: str,
    meta: str | Sequence[str] = ("spa",),
    procedure: Procedure | None = None,
    contexts: Sequence[str] = (),
    cluster: str | None = None,
    pairwise: bool = False,
    metrics: Sequence[str] | None = None,
    holm: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> list[Ranking]:
    """Every data set under every meta-metric: all segments first, then each value of each context column.

    `progress` is told (done, total) as data sets are done under meta-metrics.
    """
    procedure = procedure or Procedure()
    metas = parse_meta(meta)
    if procedure.test == "williams" and not all(one.has_williams_test for one in metas):
        raise InputError(
            "Williams' test is for --meta pearson only.", remedy="Use --significance perm-inputs."
        )
    found = []
    done = 0
    for cube in cubes:
        data = rated(
            cube, human=human, metrics=metrics, cluster=cluster, pairwise=pairwise, seed=procedure.seed
        )
        own = replace(procedure, stream=name_number(cube.dataset))
        for one in metas:
            found.append(rank_data(data, one, own, holm=holm))
            for column in contexts:
                found.extend(_rank_contexts(data, one, own, column, holm=holm))
            done += 1
            if progress is not None:
                progress(done, len(cubes) * len(metas))
    return found


def rank_data(
    data: Rated,
    meta: MetaMetric,
    procedure: Procedure,
    *,
    column: str | None = None,
    context: str = GLOBAL,
    equal_segments: int | None = None,
    holm: bool = False,
) -> Ranking:
    """Rank the metrics of one data set; with `equal_segments`, values are means over subsets of that size."""
    values, low, high = _values(data, meta, procedure, equal_segments)
    differences = _differences(data, meta, procedure)
    one_sided, two_sided = _p_values(data, procedure, values, differences)
    return Ranking(
        dataset=data.cube.dataset,
        meta=meta,
        column=column,
        context=context,
        data=data,
        values=values,
        low=low,
        high=high,
        differences=differences,
        one_sided=one_sided,
        two_sided=two_sided,
        equal_segments=equal_segments,
        holm=holm,
    )


def _values(
    data: Rated, meta: MetaMetric, procedure: Procedure, size: int | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Value and interval of each metric, each on the segments it has."""
    values, low, high = (np.full(len(data.names), np.nan) for _ in range(3))
    if data.pairwise:
        for m, scores in enumerate(data.scores):
            found = pairwise_deletion(meta, data.human, scores, draws=procedure.draws, seed=procedure.seed)
            values[m], low[m], high[m] = found.value, found.low, found.high
        return values, low, high
    for metrics, segments in data.patterns():
        if not segments.any():
            continue
        judged = data.judged(metrics, segments)
        values[metrics] = meta.values(judged, procedure)
        stream: dict[str, Any] = {
            "seed": procedure.seed,
            "stream": procedure.stream,
            "workers": procedure.workers,
        }
        if size is not None and size < segments.sum():
            subsets = subsampled_values(meta, judged, segments=size, draws=SUBSAMPLES, **stream)
            values[metrics] = values[metrics] if subsets is None else subsets.mean(axis=1)
        units = size if judged.units is None else None
        resampled = bootstrap_values(meta, judged, draws=procedure.draws, size=units, **stream)
        if resampled is not None:
            low[metrics], high[metrics] = percentile_interval(resampled)
    return values, low, high


def _differences(data: Rated, meta: MetaMetric, procedure: Procedure) -> Differences | None:
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


def _p_values(
    data: Rated, procedure: Procedure, values: FloatArray, differences: Differences | None
) -> tuple[FloatArray, FloatArray]:
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


def _rank_contexts(
    data: Rated, meta: MetaMetric, procedure: Procedure, column: str, *, holm: bool
) -> list[Ranking]:
    """A ranking per value of the column, all on the same number of segments: that of the smallest context."""
    values, codes = data.cube.codes(column)
    sizes = [int((codes == number).sum()) for number in range(len(values))]
    return [
        rank_data(
            data.within(codes == number),
            meta,
            procedure,
            column=column,
            context=value,
            equal_segments=min(sizes),
            holm=holm,
        )
        for number, value in enumerate(values)
    ]
