"""Metrics ranked by their agreement with people: values, intervals, tests between them, ranks, averages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

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
    ANSWERS_FOR,
    all_differences,
    all_p_values,
    best_first,
    comparison_rows,
    other_p_values,
    ranks_of,
)
from metassay.stats.arrays import FloatArray, plain
from metassay.stats.random import name_number

GLOBAL = "global"
FEW_SEGMENTS = 20
"""Contexts with fewer segments are set aside, by name."""
CLOSED_FORM = 0.003
"""SPA is drawn where its closed form is off by more per pair of systems: twice the noise of 1,000 draws."""
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
    test: str = "none"
    method: str = "normal"
    other: FloatArray | None = None
    """One-sided p-values of the test that answers for the other kind of systems, where there are enough."""
    drawn: bool = False
    """Whether the meta-metric has p-values inside, by `method`."""

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
            "answers_for": ANSWERS_FOR.get(self.test),
            "method": self.method if self.drawn else None,
        }
        if self.equal_segments is not None:
            found["equal_segments"] = self.equal_segments
        found["metrics"] = self._rows()
        found["comparisons"] = comparison_rows(
            self.order, self.data.names, self.one_sided, self.two_sided, holm=self.holm
        )
        if self.other is not None:
            place = {name: m for m, name in enumerate(self.data.names)}
            own, other = (
                ("p_inputs", "p_systems") if self.test == "perm-inputs" else ("p_systems", "p_inputs")
            )
            for row in found["comparisons"]:
                row[own], row[other] = row["p"], plain(self.other[place[row["a"]], place[row["b"]]])
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
    minimum_segments: int = FEW_SEGMENTS,
    progress: Callable[[int, int], None] | None = None,
) -> list[Ranking]:
    """Every data set under every meta-metric: all segments first, then each value of each context column.

    Values of a column with fewer than `minimum_segments` segments are set aside and named in a note.
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
        aside = _aside_notes(data.cube, contexts, minimum_segments)
        data = replace(data, cube=replace(data.cube, notes=(*data.cube.notes, *aside)))
        own = replace(procedure, stream=name_number(cube.dataset))
        for one in metas:
            found.append(rank_data(data, one, own, holm=holm))
            for column in contexts:
                found.extend(_rank_contexts(data, one, own, column, minimum_segments, holm=holm))
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
    checked, noted, drawn = _drawn_if_poor(data, meta, procedure)
    if equal_segments is None:
        procedure, data = checked, noted
    values, low, high = _values(data, meta, procedure, equal_segments)
    differences = all_differences(data, meta, procedure)
    one_sided, two_sided = all_p_values(data, procedure, values, differences)
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
        test=procedure.test,
        method=procedure.method,
        other=other_p_values(data, meta, procedure, values),
        drawn=drawn,
    )


def _drawn_if_poor(data: Rated, meta: MetaMetric, procedure: Procedure) -> tuple[Procedure, Rated, bool]:
    """By draws, and a note that says so, where a few segments decide and the closed form is poor.

    The last is whether the meta-metric has a closed form at all.
    """
    worst: float | None = None
    for metrics, segments in [] if data.pairwise else data.patterns():
        kept = metrics[metrics < len(data.ranked)]
        error = meta.closed_form_error(data.judged(kept, segments)) if segments.any() and len(kept) else None
        if error is not None:
            worst = max(worst or 0.0, error)
    if worst is None or worst <= CLOSED_FORM or procedure.method != "normal":
        return procedure, data, worst is not None
    note = (
        f"{data.cube.dataset}: a few segments carry most differences, so the closed form of "
        f"{meta.name.upper()} would be off by {worst:.3f} per pair of systems; p-values are from "
        f"{procedure.permutations} permutations instead."
    )
    noted = replace(data, cube=replace(data.cube, notes=(*data.cube.notes, note)))
    return replace(procedure, method="permutation"), noted, True


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


def _aside_notes(cube: Cube, columns: Sequence[str], minimum: int) -> list[str]:
    """Which values of the columns have too few segments to be ranked."""
    notes = []
    for column in columns:
        values, codes = cube.codes(column)
        small = [value for number, value in enumerate(values) if (codes == number).sum() < minimum]
        if small:
            named = ", ".join(small[:5]) + (f" and {len(small) - 5} more" if len(small) > 5 else "")
            notes.append(f"{cube.dataset}: set aside, with fewer than {minimum} segments: {column} {named}.")
    return notes


def _rank_contexts(
    data: Rated, meta: MetaMetric, procedure: Procedure, column: str, minimum: int, *, holm: bool
) -> list[Ranking]:
    """A ranking per value of the column that is large enough, all on as many segments as the smallest has."""
    values, codes = data.cube.codes(column)
    sizes = {number: int((codes == number).sum()) for number in range(len(values))}
    sizes = {number: size for number, size in sizes.items() if size >= minimum}
    return [
        rank_data(
            data.within(codes == number),
            meta,
            procedure,
            column=column,
            context=value,
            equal_segments=min(sizes.values()),
            holm=holm,
        )
        for number, value in enumerate(values)
        if number in sizes
    ]
