"""From a table of scores to arrays that can be compared: which systems, which segments, for which metric.

A system without any human score, or without any metric score, is left out and named. Segments that lack the
human score of a system drop out for all metrics. A metric's own gaps drop segments for that metric alone, and
a comparison of two metrics uses the segments that both have. Matching is by id, never by position.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from metassay.data.scores import ScoreTable
from metassay.errors import InputError, UnknownName
from metassay.meta.people.meta_metrics import Judged
from metassay.stats.arrays import FloatArray
from metassay.stats.random import NOISE_METRIC, branch

CONSTANT, RANDOM = "constant", "random"
BASELINES = (CONSTANT, RANDOM)


@dataclass(frozen=True)
class Comparable:
    """Human scores without gaps, metrics with the segments each of them has in full.

    `human` is `[systems, segments]`, `scores` `[metrics, systems, segments]`, `complete` is
    `[metrics, segments]`. The last two metrics are the baselines `constant` and `random`.
    """

    dataset: str
    systems: tuple[str, ...]
    segment_ids: tuple[str, ...]
    names: tuple[str, ...]
    human: FloatArray
    scores: FloatArray
    complete: NDArray[np.bool_]
    dropped: int
    labels: dict[str, tuple[str | None, ...]]
    units: NDArray[np.int64] | None = None
    notes: tuple[str, ...] = ()
    pairwise: bool = False
    """Whether gaps are left in, for each pair of systems to be compared on what both have."""

    @property
    def segments(self) -> int:
        """Segments with every human score; with those of two systems at least under pairwise deletion."""
        return int(self.human.shape[1])

    @cached_property
    def ranked(self) -> NDArray[np.int64]:
        """Indices of the metrics proper, without the baselines."""
        return np.arange(len(self.names) - len(BASELINES))

    def judged(self, metrics: NDArray[np.int64], segments: NDArray[np.bool_]) -> Judged:
        """Complete arrays of some metrics on some segments."""
        units = None if self.units is None else np.unique(self.units[segments], return_inverse=True)[1]
        return Judged(self.human[:, segments], self.scores[metrics][:, :, segments], units)

    def used(self, metric: int) -> int:
        """How many segments a metric's value rests on."""
        if not self.pairwise:
            return int(self.complete[metric].sum())
        return int(((~np.isnan(self.scores[metric] + self.human)).sum(axis=0) >= 2).sum())

    def patterns(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.bool_]]]:
        """Metrics that have the same segments, with those segments."""
        patterns, which = np.unique(self.complete, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            yield np.flatnonzero(which.ravel() == number), pattern

    def within(self, segments: NDArray[np.bool_]) -> Comparable:
        """The same on a subset of the segments."""
        return replace(
            self,
            segment_ids=tuple(name for name, keep in zip(self.segment_ids, segments) if keep),
            human=self.human[:, segments],
            scores=self.scores[:, :, segments],
            complete=self.complete[:, segments],
            labels={name: _chosen(values, segments) for name, values in self.labels.items()},
            units=None if self.units is None else self.units[segments],
        )


def comparable(
    table: ScoreTable,
    *,
    human: str,
    metrics: Sequence[str] | None = None,
    lower_is_better: Sequence[str] = (),
    cluster: str | None = None,
    pairwise: bool = False,
    seed: int = 0,
) -> Comparable:
    """Arrays of one data set; `cluster` names the metadata column whose values are independent units.

    With `pairwise` deletion human scores keep their gaps; see `metassay.meta.people.pairwise_deletion`.
    """
    if human not in table.human:
        raise UnknownName("human score", human, table.human)
    names = _chosen_metrics(table, metrics)
    people = table.human[human] * (-1.0 if human in lower_is_better else 1.0)
    scores = np.stack([table.metrics[name] * (-1.0 if name in lower_is_better else 1.0) for name in names])
    kept, notes = _systems(table, people, scores)
    people, scores = people[kept], scores[:, kept]
    scored = ~np.isnan(people)
    rated = np.asarray(scored.sum(axis=0) >= 2 if pairwise else scored.all(axis=0))
    if not rated.any():
        raise InputError(
            f"{table.dataset}: no segment has a {human} score of every system.",
            remedy="Compare each pair of systems on what both have: --missing pairwise.",
        )
    scores = scores[:, :, rated]
    if not pairwise and (idle := [n for n, own in zip(names, scores) if np.isnan(own).any(axis=0).all()]):
        notes.append(f"{table.dataset}: no segment has a score of every system by {', '.join(idle)}.")
    scores = np.concatenate([scores, _baselines(int(kept.sum()), int(rated.sum()), seed)])
    labels = {name: _chosen(values, rated) for name, values in table.labels.items()}
    return Comparable(
        table.dataset,
        tuple(name for name, keep in zip(table.systems, kept) if keep),
        tuple(name for name, keep in zip(table.segments, rated) if keep),
        (*names, *BASELINES),
        people[:, rated],
        scores,
        np.asarray(~np.isnan(scores + people[:, rated]).any(axis=1)),
        int((~rated).sum()),
        labels,
        None if cluster is None else _units(labels, cluster),
        (*table.notes, *notes),
        pairwise,
    )


def label_codes(
    labels: dict[str, tuple[str | None, ...]], column: str
) -> tuple[list[str], NDArray[np.int64]]:
    """The values of a metadata column, sorted, and the number of each segment's; -1 where it has none."""
    if column not in labels:
        raise UnknownName("column with one value per segment", column, labels)
    values = sorted({value for value in labels[column] if value is not None})
    place = {value: number for number, value in enumerate(values)}
    return values, np.array([-1 if v is None else place[v] for v in labels[column]], dtype=np.int64)


def _chosen(values: tuple[str | None, ...], segments: NDArray[np.bool_]) -> tuple[str | None, ...]:
    return tuple(value for value, keep in zip(values, segments) if keep)


def _chosen_metrics(table: ScoreTable, metrics: Sequence[str] | None) -> list[str]:
    for name in metrics or ():
        if name not in table.metrics:
            raise UnknownName("metric", name, table.metrics)
    names = sorted(table.metrics if metrics is None else set(metrics))
    if not names:
        raise InputError(
            f"{table.dataset}: there is no metric to rank: no column of numbers beside the human scores.",
            remedy="Add scores with --join FILE, or compute them with: metassay score --per-segment FILE",
        )
    return names


def _systems(
    table: ScoreTable, people: FloatArray, scores: FloatArray
) -> tuple[NDArray[np.bool_], list[str]]:
    """Systems with human and metric scores, and a note on each kind of other ones."""
    rated = np.asarray(~np.isnan(people).all(axis=1))
    scored = np.asarray(~np.isnan(scores).all(axis=(0, 2)))
    notes = []
    for lacking, what in ((~rated, "human"), (rated & ~scored, "metric")):
        if lacking.any():
            names = ", ".join(name for name, gone in zip(table.systems, lacking) if gone)
            notes.append(f"{table.dataset}: left out, since they have no {what} scores: {names}.")
    kept = rated & scored
    if kept.sum() < 2:
        raise InputError(f"{table.dataset}: fewer than two systems have human and metric scores.")
    return kept, notes


def _baselines(systems: int, segments: int, seed: int) -> FloatArray:
    """A metric that never differs, and one that is noise."""
    rng = branch(seed, NOISE_METRIC)
    return np.stack([np.zeros((systems, segments)), rng.normal(size=(systems, segments))])


def _units(labels: dict[str, tuple[str | None, ...]], cluster: str) -> NDArray[np.int64]:
    values, codes = label_codes(labels, cluster)
    alone = codes < 0  # a segment without a cluster stands for itself
    codes[alone] = len(values) + np.arange(int(alone.sum()))
    return codes
