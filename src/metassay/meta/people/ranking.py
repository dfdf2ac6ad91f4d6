"""Metrics ranked by their agreement with people: values, intervals, tests between them, ranks, averages."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from metassay.data.scores import FloatArray, ScoreTable
from metassay.errors import InputError
from metassay.meta.people.comparable import BASELINES, Comparable, comparable, label_codes
from metassay.meta.people.intervals import bootstrap_values, percentile_interval, subsampled_values
from metassay.meta.people.meta_metrics import MetaMetric, meta_values, parse_meta
from metassay.meta.people.pairwise_deletion import pairwise_deletion
from metassay.meta.people.rank_order import (
    all_differences,
    all_p_values,
    best_first,
    comparison_rows,
    other_p_values,
    plain,
    ranks_of,
)
from metassay.meta.people.significance import (
    ANSWERS_FOR,
    Differences,
    Procedure,
)
from metassay.meta.people.ties import tie_calibrated_accuracy
from metassay.stats.sign_flip import normal_error

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
    data: Comparable
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
            "systems": len(self.data.systems),
            "segments": self.data.segments,
            "dropped_segments": self.data.dropped,
            "answers_for": ANSWERS_FOR.get(self.test),
            "method": self.method if self.meta.name == "spa" else None,
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
                **self._ties(m),
            }
            for m in (*self.order, *range(count, count + len(BASELINES)))
        ]

    def _ties(self, m: int) -> dict[str, Any]:
        """For acc_eq: the calibrated threshold, and what a metric that knows nothing reaches."""
        segments = self.data.complete[m]
        if self.meta.name != "acc_eq" or not segments.any():
            return {}
        found = tie_calibrated_accuracy(self.data.human[:, segments], self.data.scores[m][:, segments])
        return {"epsilon": found.epsilon, "chance": found.chance}


def rank_tables(
    tables: Sequence[ScoreTable],
    *,
    human: str,
    meta: str | Sequence[str] = ("spa",),
    procedure: Procedure | None = None,
    contexts: Sequence[str] = (),
    cluster: str | None = None,
    pairwise: bool = False,
    metrics: Sequence[str] | None = None,
    lower_is_better: Sequence[str] = (),
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
    if procedure.test == "williams" and any(str(m) != "pearson" for m in metas):
        raise InputError(
            "Williams' test is for --meta pearson only.", remedy="Use --significance perm-inputs."
        )
    found = []
    done = 0
    for table in tables:
        data = comparable(
            table,
            human=human,
            metrics=metrics,
            lower_is_better=lower_is_better,
            cluster=cluster,
            pairwise=pairwise,
            seed=procedure.seed,
        )
        data = replace(data, notes=(*data.notes, *_aside_notes(data, contexts, minimum_segments)))
        own = replace(procedure, stream=zlib.crc32(table.dataset.encode()))
        for one in metas:
            found.append(rank_data(data, one, own, holm=holm))
            for column in contexts:
                found.extend(_rank_contexts(data, one, own, column, minimum_segments, holm=holm))
            done += 1
            if progress is not None:
                progress(done, len(tables) * len(metas))
    return found


def rank_data(
    data: Comparable,
    meta: MetaMetric,
    procedure: Procedure,
    *,
    column: str | None = None,
    context: str = GLOBAL,
    equal_segments: int | None = None,
    holm: bool = False,
) -> Ranking:
    """Rank the metrics of one data set; with `equal_segments`, values are means over subsets of that size."""
    if equal_segments is None:
        procedure, data = _drawn_if_poor(data, meta, procedure)
    values, low, high = _values(data, meta, procedure, equal_segments)
    differences = all_differences(data, meta, procedure)
    one, two = all_p_values(data, procedure, values, differences)
    return Ranking(
        data.dataset,
        meta,
        column,
        context,
        data,
        values,
        low,
        high,
        differences,
        one,
        two,
        equal_segments,
        holm,
        procedure.test,
        procedure.method,
        other_p_values(data, meta, procedure, values),
    )


def _drawn_if_poor(data: Comparable, meta: MetaMetric, procedure: Procedure) -> tuple[Procedure, Comparable]:
    """SPA by draws, and a note that says so, where a few segments decide and the closed form is poor."""
    if meta.name != "spa" or procedure.method != "normal" or data.pairwise:
        return procedure, data
    worst = 0.0
    for metrics, segments in data.patterns():
        kept = metrics[metrics < len(data.ranked)]
        if segments.any() and len(kept):
            judged = data.judged(kept, segments)
            error = np.abs(
                normal_error(judged.per_unit(np.concatenate([judged.human[None], judged.metrics])))
            )
            worst = max(worst, float(error.mean(axis=-1).max()))
    if worst <= CLOSED_FORM:
        return procedure, data
    note = (
        f"{data.dataset}: a few segments carry most differences, so the closed form of SPA would be off by "
        f"{worst:.3f} per pair of systems; p-values are from {procedure.permutations} permutations instead."
    )
    return replace(procedure, method="permutation"), replace(data, notes=(*data.notes, note))


def _values(
    data: Comparable, meta: MetaMetric, procedure: Procedure, size: int | None
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
        values[metrics] = meta_values(
            meta, judged, method=procedure.method, permutations=procedure.permutations, seed=procedure.seed
        )
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


def _aside_notes(data: Comparable, columns: Sequence[str], minimum: int) -> list[str]:
    """Which values of the columns have too few segments to be ranked."""
    notes = []
    for column in columns:
        values, codes = label_codes(data.labels, column)
        small = [value for number, value in enumerate(values) if (codes == number).sum() < minimum]
        if small:
            named = ", ".join(small[:5]) + (f" and {len(small) - 5} more" if len(small) > 5 else "")
            notes.append(f"{data.dataset}: set aside, with fewer than {minimum} segments: {column} {named}.")
    return notes


def _rank_contexts(
    data: Comparable, meta: MetaMetric, procedure: Procedure, column: str, minimum: int, *, holm: bool
) -> list[Ranking]:
    """A ranking per value of the column that is large enough, all on as many segments as the smallest has."""
    values, codes = label_codes(data.labels, column)
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
