"""Metrics ranked by their agreement with people: values, intervals, tests between them, ranks, averages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from metassay.data.score_cube import ScoreCube
from metassay.errors import InputError
from metassay.meta.people.intervals import drawn_if_poor, values_with_intervals
from metassay.meta.people.meta_metrics import Differences, MetaMetric, Procedure, parse_meta
from metassay.meta.people.metric_comparison import (
    ANSWERS_FOR,
    all_differences,
    all_p_values,
    averages,
    best_first,
    comparison_rows,
    other_p_values,
    plain,
    ranks_of,
)
from metassay.meta.people.ranking_data import BASELINES, GLOBAL, RankingData, prepare_ranking_data
from metassay.meta.people.stability import downsampled, preferences
from metassay.stats.arrays import FloatArray
from metassay.stats.random import hash_name

FEW_SEGMENTS = 20
"""Contexts with fewer segments are set aside, by name."""


@dataclass(frozen=True)
class Ranking:
    """One data set, one meta-metric, one context."""

    dataset: str
    meta: MetaMetric
    column: str | None
    context: str
    data: RankingData
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
    preferences: dict[str, Any] | None = None
    """The p-values of every pair of systems, by people and by each metric."""
    downsampled: Sequence[dict[str, Any]] = ()
    """Values on fewer segments."""

    @property
    def order(self) -> list[int]:
        """Metrics proper, best first, then by name; undefined values last."""
        return best_first(self.values[: self.data.metric_count], self.data.metric_names)

    def to_dict(self) -> dict[str, Any]:
        """The object of this ranking in the command's JSON."""
        return self._content

    @cached_property
    def _content(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "dataset": self.dataset,
            "meta": str(self.meta),
            "context": self.context,
            "context_column": self.column,
            "systems": len(self.data.cube.systems),
            "segments": len(self.data.cube.items),
            "dropped_segments": self.data.dropped_items,
            "answers_for": ANSWERS_FOR.get(self.test),
            "method": self.method if self.drawn else None,
        }
        if self.equal_segments is not None:
            found["equal_segments"] = self.equal_segments
        found["metrics"] = self._rows()
        found["comparisons"] = comparison_rows(
            self.order, self.data.metric_names, self.one_sided, self.two_sided, holm=self.holm
        )
        if self.other is not None:
            place = {name: m for m, name in enumerate(self.data.metric_names)}
            own, other = (
                ("p_inputs", "p_systems") if self.test == "perm-inputs" else ("p_systems", "p_inputs")
            )
            for row in found["comparisons"]:
                row[own], row[other] = row["p"], plain(self.other[place[row["a"]], place[row["b"]]])
        if self.preferences is not None:
            found["preferences"] = self.preferences
        if self.downsampled:
            found["downsampled"] = list(self.downsampled)
        return found

    def _rows(self) -> list[dict[str, Any]]:
        names, count = self.data.metric_names, self.data.metric_count
        ranks = ranks_of(self.order, self.values, self.one_sided, holm=self.holm)
        return [
            {
                "metric": names[m],
                "value": plain(self.values[m]),
                "low": plain(self.low[m]),
                "high": plain(self.high[m]),
                "rank": ranks.get(m),
                "segments": self.data.count_items(m),
                "baseline": m >= count,
                **self._details(m),
            }
            for m in (*self.order, *range(count, count + len(BASELINES)))
        ]

    def _details(self, m: int) -> dict[str, Any]:
        segments = self.data.scores.complete_items[m]
        if not segments.any():
            return {}
        return self.meta.details(
            self.data.scores.human[:, segments], self.data.scores.metrics[m][:, segments]
        )


@dataclass(frozen=True)
class Compared:
    """Rankings of metrics, and their averages over data sets."""

    rankings: tuple[Ranking, ...]
    averages: list[dict[str, Any]]


def compare_metrics(
    datasets: Sequence[RankingData],
    *,
    meta: str | Sequence[str] = ("spa",),
    procedure: Procedure | None = None,
    contexts: Sequence[str] = (),
    holm: bool = False,
    minimum_segments: int = FEW_SEGMENTS,
    progress: Callable[[str, int, int], None] | None = None,
) -> Compared:
    """Every data set under every meta-metric: all segments first, then each value of each context column.

    Values of a column with fewer than `minimum_segments` segments are set aside and named in a note.
    `progress` is told how many data sets are done under meta-metrics.
    """
    procedure = procedure or Procedure()
    metas = parse_meta(meta)
    if procedure.test == "williams" and not all(one.has_williams_test for one in metas):
        raise InputError(
            "Williams' test is for --meta pearson only.", remedy="Use --significance perm-inputs."
        )
    found: list[Ranking] = []
    done, total = 0, len(datasets) * len(metas)
    for dataset in datasets:
        own = replace(procedure, stream=hash_name(dataset.cube.dataset))
        data = dataset.add_notes(*_aside_notes(dataset.cube, contexts, minimum_segments))
        for one in metas:
            found.append(rank_data(data, one, own, holm=holm))
            for column in contexts:
                found.extend(_rank_contexts(data, one, own, column, minimum_segments, holm=holm))
            done += 1
            if progress is not None and done < total:
                progress("comparing", done, total)
    compared = Compared(tuple(found), averages(found))
    for ranking in found:
        ranking.to_dict()
    if progress is not None:
        progress("comparing", total, total)
    return compared


def rank_cubes(
    cubes: Sequence[ScoreCube],
    *,
    human: str,
    metrics: Sequence[str] | None = None,
    cluster: str | None = None,
    pairwise: bool = False,
    procedure: Procedure | None = None,
    **options: Any,
) -> list[Ranking]:
    """The rankings of `compare_metrics` on the rated parts of cubes."""
    procedure = procedure or Procedure()
    datasets = [
        prepare_ranking_data(
            cube, human=human, metrics=metrics, cluster=cluster, pairwise=pairwise, seed=procedure.seed
        )
        for cube in cubes
    ]
    return list(compare_metrics(datasets, procedure=procedure, **options).rankings)


def rank_data(
    data: RankingData,
    meta: MetaMetric,
    procedure: Procedure,
    *,
    column: str | None = None,
    context: str = GLOBAL,
    equal_segments: int | None = None,
    holm: bool = False,
) -> Ranking:
    """Rank the metrics of one data set; with `equal_segments`, values are means over subsets of that size."""
    checked, noted, drawn = drawn_if_poor(data, meta, procedure)
    if equal_segments is None:
        procedure, data = checked, noted
    values, low, high = values_with_intervals(data, meta, procedure, equal_segments)
    differences = all_differences(data, meta, procedure)
    one_sided, two_sided = all_p_values(data, procedure, values, differences)
    whole = context == GLOBAL
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
        preferences=preferences(data, meta, procedure) if whole else None,
        downsampled=downsampled(data, meta, procedure) if whole else (),
    )


def _aside_notes(cube: ScoreCube, columns: Sequence[str], minimum: int) -> list[str]:
    """Which values of the columns have too few segments to be ranked."""
    notes = []
    for column in columns:
        values, codes = cube.encode_metadata(column)
        small = [value for number, value in enumerate(values) if (codes == number).sum() < minimum]
        if small:
            named = ", ".join(small[:5]) + (f" and {len(small) - 5} more" if len(small) > 5 else "")
            notes.append(f"{cube.dataset}: set aside, with fewer than {minimum} segments: {column} {named}.")
    return notes


def _rank_contexts(
    data: RankingData, meta: MetaMetric, procedure: Procedure, column: str, minimum: int, *, holm: bool
) -> list[Ranking]:
    """A ranking per value of the column that is large enough, all on as many segments as the smallest has."""
    values, codes = data.cube.encode_metadata(column)
    sizes = {number: int((codes == number).sum()) for number in range(len(values))}
    sizes = {number: size for number, size in sizes.items() if size >= minimum}
    return [
        rank_data(
            data.restrict_to(codes == number),
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
