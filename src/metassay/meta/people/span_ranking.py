"""Metrics ranked by how far they mark the same characters as people: the F1 of error spans.

A rating is what one person marked in one output. Totals over all ratings give precision, recall and F1; the
macro average, a mean over ratings, stands beside them. Whether one metric is ahead of another is tested like
any meta-metric: whole segments change sides (`perm-inputs`), systems, single outputs (`cells`), or segments
are resampled.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.errors import InputError, UnknownName
from metassay.meta.people.meta_metrics import Differences, Procedure
from metassay.meta.people.metric_comparison import ANSWERS_FOR, best_first, comparison_rows, plain, ranks_of
from metassay.meta.people.ranking_data import GLOBAL
from metassay.meta.people.spans import Spans, from_totals, mean_over_segments, segment_totals
from metassay.stats.arrays import FloatArray
from metassay.stats.random import RESAMPLED_UNITS, SPAN_SWAPS, hash_name, make_branch_generator

SPANS = "spans"
"""The name among meta-metrics."""
TESTED = ("perm-inputs", "perm-systems", "cells", "bootstrap", "none")
_KEYS = ("testset", "lp", "doc_id", "seg_id", "system")
_NO_LABEL = ("seg_id", "system", "hyp", "src", "rater", "source_segment", "reference_segment")


@dataclass(frozen=True)
class SpanRatings:
    """Ratings of outputs by people, one per output and rater, and what each metric marks in these outputs.

    `totals` is `[metrics, ratings, 3]`: characters shared, marked by the metric, marked by people; NaN where
    a metric did not look at an output. `nothing` and `everything`, which marks each output whole where its
    text is known, are baselines and come last. `labels` has metadata of each rating.
    """

    dataset: str
    metrics: tuple[str, ...]
    totals: FloatArray
    system: tuple[str, ...]
    segment: tuple[str, ...]
    labels: Mapping[str, tuple[str | None, ...]]
    baselines: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def content_hash(self) -> str:
        """A hash of every name and number."""
        digest = blake2b(digest_size=16)
        names = (self.dataset, self.metrics, self.system, self.segment, sorted(self.labels.items()))
        digest.update(repr(names).encode())
        digest.update(self.totals.tobytes())
        return digest.hexdigest()

    def within(self, keep: NDArray[np.bool_]) -> SpanRatings:
        """The same on some of the ratings."""

        def part(values: tuple[Any, ...]) -> tuple[Any, ...]:
            return tuple(value for value, kept in zip(values, keep) if kept)

        labels = {name: part(values) for name, values in self.labels.items()}
        return replace(
            self,
            totals=self.totals[:, keep],
            system=part(self.system),
            segment=part(self.segment),
            labels=labels,
        )

    def units(self, test: str, cluster: str | None) -> NDArray[np.int64]:
        """The number of what each rating is swapped or drawn with: segment, document, system or output."""
        if test == "perm-systems":
            names: Sequence[str] = self.system
        elif test == "cells":
            names = [f"{system}\t{segment}" for system, segment in zip(self.system, self.segment)]
        elif cluster is None:
            names = self.segment
        else:
            if cluster not in self.labels:
                raise UnknownName("column of segments", cluster, self.labels)
            names = [own or f"segment {item}" for own, item in zip(self.labels[cluster], self.segment)]
        return np.unique(np.array(names), return_inverse=True)[1].astype(np.int64)


def span_ratings(people: pl.DataFrame, metrics: Mapping[str, pl.DataFrame], *, dataset: str) -> SpanRatings:
    """Match what people and metrics marked, output by output, by the keys that both have.

    Frames have `system, seg_id, spans`, and any of `testset, lp, doc_id, rater, hyp`; a document belongs to
    the key where the ids of segments repeat over documents.
    """
    if not metrics:
        raise InputError("no metric marks spans here.", remedy="Name a file of them: --spans METRIC=FILE.")
    human = [_pairs(own) for own in people["spans"]]
    totals, notes = [], []
    for name, frame in metrics.items():
        marked, keys = _by_key(frame, people, name)
        said = [marked.get(key) for key in people.select(keys).iter_rows()]
        missing = sum(own is None for own in said)
        if missing == len(said):
            raise InputError(
                f"{dataset}: no output that people rated is among those of {name} (matched by "
                f"{', '.join(keys)}: {'/'.join(map(str, people.select(keys).row(0)))} is not there)."
            )
        if missing:
            notes.append(f"{dataset}: {name} marks {len(said) - missing} of {len(said)} ratings' outputs.")
        totals.append(
            [(np.nan,) * 3 if own is None else segment_totals(h, own) for h, own in zip(human, said)]
        )
    baselines = {"nothing": [segment_totals(own, []) for own in human]}
    if "hyp" in people.columns and people["hyp"].is_not_null().all():
        whole = [[(0, len(text))] if text else [] for text in people["hyp"]]
        baselines["everything"] = [segment_totals(own, all_of) for own, all_of in zip(human, whole)]
    flat = [name for name, kind in people.schema.items() if not kind.is_nested() and name not in _NO_LABEL]
    return SpanRatings(
        dataset,
        (*metrics, *baselines),
        np.array([*totals, *baselines.values()], dtype=np.float64),
        tuple(people["system"]),
        tuple(people["seg_id"]),
        {name: tuple(people[name].cast(pl.String)) for name in flat},
        tuple(baselines),
        tuple(notes),
    )


def _pairs(spans: Any) -> list[tuple[int, int]]:
    return [(own["start"], own["end"]) for own in spans]


def _by_key(frame: pl.DataFrame, people: pl.DataFrame, name: str) -> tuple[dict[Any, Spans], list[str]]:
    """The metric's spans by the keys it shares with people's table."""
    shared = [key for key in _KEYS if key in frame.columns and key in people.columns]
    if "doc_id" in shared and not frame.select(set(shared) - {"doc_id"}).is_duplicated().any():
        shared.remove("doc_id")
    if (again := frame.select(shared).is_duplicated()).any():
        row = int(again.arg_max() or 0) + 1
        raise InputError(f"{name} marks one output twice: {', '.join(shared)} repeat in row {row}.")
    keys = frame.select(shared).iter_rows()
    return {key: _pairs(own) for key, own in zip(keys, frame["spans"])}, shared


@dataclass(frozen=True)
class SpanRanking:
    """Metrics ranked by the F1 of their spans with people's, on one data set or in one context of it."""

    data: SpanRatings
    column: str | None
    context: str
    values: FloatArray
    low: FloatArray
    high: FloatArray
    differences: Differences | None
    test: str
    holm: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The object of this ranking in the command's JSON."""
        count = len(self.data.metrics) - len(self.data.baselines)
        order = best_first(self.values[:count], self.data.metrics)
        one, two = self._p_values(count)
        ranks = ranks_of(order, self.values, one, holm=self.holm)
        return {
            "dataset": self.data.dataset,
            "meta": SPANS,
            "context": self.context,
            "context_column": self.column,
            "systems": len({*self.data.system}),
            "segments": len({*self.data.segment}),
            "dropped_segments": 0,
            "answers_for": ANSWERS_FOR.get(self.test),
            "method": None,
            "metrics": [
                self._row(m, ranks.get(m), m >= count) for m in (*order, *range(count, len(self.values)))
            ],
            "comparisons": comparison_rows(order, self.data.metrics, one, two, holm=self.holm),
        }

    def _row(self, m: int, rank: int | None, baseline: bool) -> dict[str, Any]:
        known = ~np.isnan(self.data.totals[m]).any(axis=-1)
        totals = self.data.totals[m][known]
        micro, macro = from_totals(totals.sum(axis=0)), mean_over_segments(totals)
        return {
            "metric": self.data.metrics[m],
            "value": plain(self.values[m]),
            "low": plain(self.low[m]),
            "high": plain(self.high[m]),
            "rank": rank,
            "segments": len({own for own, there in zip(self.data.segment, known) if there}),
            "baseline": baseline,
            "precision": plain(micro.precision),
            "recall": plain(micro.recall),
            "macro_precision": plain(macro.precision),
            "macro_recall": plain(macro.recall),
            "macro_f1": plain(macro.f1),
        }

    def _p_values(self, count: int) -> tuple[FloatArray, FloatArray]:
        """One- and two-sided p-values that the row beats the column by chance."""
        one, two = np.full((count, count), np.nan), np.full((count, count), np.nan)
        if self.differences is not None:
            first, second = np.triu_indices(count, 1)
            for better, (a, b) in ((True, (first, second)), (False, (second, first))):
                defined = ~np.isnan(self.differences.observed)
                p, both = self.differences.p_values(np.full(len(first), better))
                one[a[defined], b[defined]], two[a[defined], b[defined]] = p[defined], both[defined]
        return one, two


def rank_spans(
    data: SpanRatings,
    procedure: Procedure,
    *,
    contexts: Sequence[str] = (),
    cluster: str | None = None,
    holm: bool = False,
    minimum_segments: int = 0,
) -> list[SpanRanking]:
    """The ranking over all ratings, and one per value of each context column with segments enough."""
    if procedure.test not in TESTED:
        raise InputError(f"{procedure.test} is no test for spans.", remedy=f"Use one of {', '.join(TESTED)}.")
    found = [_ranked(data, procedure, None, GLOBAL, cluster, holm=holm)]
    for column in contexts:
        if column not in data.labels:
            raise UnknownName("column with one value per segment", column, data.labels)
        for value in sorted({own for own in data.labels[column] if own is not None}):
            part = data.within(np.array([own == value for own in data.labels[column]]))
            if len({*part.segment}) >= minimum_segments:
                found.append(_ranked(part, procedure, column, value, cluster, holm=holm))
    return found


def _ranked(
    data: SpanRatings,
    procedure: Procedure,
    column: str | None,
    context: str,
    cluster: str | None,
    *,
    holm: bool,
) -> SpanRanking:
    sums = _per_unit(data.totals, data.units("perm-inputs", cluster))
    weights = _weights(data, procedure, sums.shape[1])
    resampled = _f1(np.einsum("du,muk->mdk", weights, sums))
    low, high = np.nanquantile(resampled, [0.025, 0.975], axis=1)
    differences = None
    if procedure.test != "none" and len(data.metrics) - len(data.baselines) > 1:
        differences = _differences(data, procedure, cluster)
    values = _f1(sums.sum(axis=1))
    return SpanRanking(data, column, context, values, low, high, differences, procedure.test, holm)


def _weights(data: SpanRatings, procedure: Procedure, units: int) -> FloatArray:
    """How often each resample holds each unit."""
    rng = make_branch_generator(procedure.seed, hash_name(data.dataset), RESAMPLED_UNITS)
    return rng.multinomial(units, np.full(units, 1 / units), size=procedure.draws).astype(np.float64)


def _differences(data: SpanRatings, procedure: Procedure, cluster: str | None) -> Differences:
    """F1 of A less that of B on the ratings that both have: observed, and after random changes.

    Units change sides under the null hypothesis, or are resampled with their ratings by people (`bootstrap`).
    """
    resampled = procedure.test == "bootstrap"
    units = data.units("perm-inputs" if resampled else procedure.test, cluster)
    size = int(units.max()) + 1
    if resampled:
        drawing = _weights(data, procedure, size)
    else:
        rng = make_branch_generator(procedure.seed, hash_name(data.dataset), SPAN_SWAPS)
        drawing = (rng.random((procedure.draws, size)) < 0.5).astype(np.float64)
    pairs = list(itertools.combinations(range(len(data.metrics) - len(data.baselines)), 2))
    observed, drawn = np.empty(len(pairs)), np.empty((len(pairs), procedure.draws), dtype=np.float32)
    for place, (a, b) in enumerate(pairs):
        own = data.totals[[a, b]]
        both = np.asarray(~np.isnan(own).any(axis=(0, 2)))
        sums = _per_unit(np.where(both[None, :, None], own, np.nan), units)
        total = sums.sum(axis=1)
        observed[place] = float(_f1(total[0]) - _f1(total[1]))
        moved = drawing @ (sums[1] - sums[0])
        sides = drawing @ sums if resampled else np.stack([total[0] + moved, total[1] - moved])
        drawn[place] = _f1(sides[0]) - _f1(sides[1])
    return Differences(observed, drawn, resampled)


def _per_unit(totals: FloatArray, units: NDArray[np.int64]) -> FloatArray:
    """Sums over each unit's ratings, `[metrics, units, 3]`; what a metric did not look at adds nothing."""
    sums = np.zeros((len(totals), int(units.max()) + 1, 3))
    for own, sum_of in zip(totals, sums):
        there = np.asarray(~np.isnan(own).any(axis=-1))
        np.add.at(sum_of, units[there], own[there])
    return sums


def _f1(totals: FloatArray) -> FloatArray:
    """F1 from totals in the last axis; NaN where nobody marks anything."""
    shared, marked = totals[..., 0], totals[..., 1] + totals[..., 2]
    return np.asarray(np.divide(2 * shared, marked, out=np.full(shared.shape, np.nan), where=marked > 0))
