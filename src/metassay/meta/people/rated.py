"""A cube held against one human score: which systems and segments a ranking of metrics rests on.

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

from metassay.data.cube import Cube
from metassay.errors import InputError, UnknownName
from metassay.meta.people.meta_metrics import Judged
from metassay.stats.arrays import FloatArray
from metassay.stats.random import NOISE_METRIC, branch

CONSTANT, RANDOM = "constant", "random"
BASELINES = (CONSTANT, RANDOM)


@dataclass(frozen=True)
class Rated:
    """The rated part of a cube, read against one human score.

    It has no scores of its own but those of the baselines `constant` and `random`, `[2, systems, segments]`,
    which come after the metrics in everything that goes by metric. `dropped` segments lacked a human score.
    With `cluster` the values of that column are the independent units. With `pairwise` gaps are left in, for
    each pair of systems to be compared on what both have.
    """

    cube: Cube
    people: str
    metrics: tuple[str, ...]
    baselines: FloatArray
    dropped: int
    cluster: str | None = None
    pairwise: bool = False

    @property
    def segments(self) -> int:
        """Segments with every human score; with those of two systems at least under pairwise deletion."""
        return len(self.cube.segments)

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics, sorted, and the baselines."""
        return (*self.metrics, *BASELINES)

    @cached_property
    def human(self) -> FloatArray:
        """Human scores `[systems, segments]`, higher is better."""
        return self.cube.oriented(self.people)

    @cached_property
    def scores(self) -> FloatArray:
        """Scores `[metrics, systems, segments]`, higher is better."""
        return np.stack([*(self.cube.oriented(name) for name in self.metrics), *self.baselines])

    @cached_property
    def complete(self) -> NDArray[np.bool_]:
        """Where a metric has the score of every system, `[metrics, segments]`."""
        return np.asarray(~np.isnan(self.scores + self.human).any(axis=1))

    @cached_property
    def ranked(self) -> NDArray[np.int64]:
        """Indices of the metrics proper, without the baselines."""
        return np.arange(len(self.metrics))

    def judged(self, metrics: NDArray[np.int64], segments: NDArray[np.bool_]) -> Judged:
        """Complete arrays of some metrics on some segments."""
        units = None
        if self.cluster is not None:
            units = np.unique(self.cube.units(self.cluster)[segments], return_inverse=True)[1]
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

    def within(self, segments: NDArray[np.bool_]) -> Rated:
        """The same on a subset of the segments."""
        return replace(self, cube=self.cube.within(segments), baselines=self.baselines[:, :, segments])


def rated(
    cube: Cube,
    *,
    human: str,
    metrics: Sequence[str] | None = None,
    cluster: str | None = None,
    pairwise: bool = False,
    seed: int = 0,
) -> Rated:
    """The part of a cube that people have rated.

    With `pairwise` deletion human scores keep their gaps; see `pairwise_deletion`.
    """
    if human not in cube.human:
        raise UnknownName("human score", human, cube.human)
    names = cube.chosen_metrics(metrics)
    if not names:
        raise InputError(
            f"{cube.dataset}: there is no metric to rank: no column of numbers beside the human scores.",
            remedy="Add scores with --join FILE, or compute them with: metassay score --per-segment FILE",
        )
    kept, notes = _systems(cube, human, names)
    scored = ~np.isnan(cube.human[human][kept])
    seen = np.asarray(scored.sum(axis=0) >= 2 if pairwise else scored.all(axis=0))
    if not seen.any():
        raise InputError(
            f"{cube.dataset}: no segment has a {human} score of every system.",
            remedy="Compare each pair of systems on what both have: --missing pairwise.",
        )
    part = cube.within(seen, kept)
    idle = [name for name in names if np.isnan(part.metrics[name]).any(axis=0).all()]
    if idle and not pairwise:
        notes.append(f"{cube.dataset}: no segment has a score of every system by {', '.join(idle)}.")
    part = replace(part, notes=(*cube.notes, *notes))
    if cluster is not None:
        part.codes(cluster)  # an unknown column is refused before anything is computed
    baselines = _baselines(len(part.systems), len(part.segments), seed)
    return Rated(part, human, names, baselines, int((~seen).sum()), cluster, pairwise)


def _systems(cube: Cube, human: str, metrics: Sequence[str]) -> tuple[NDArray[np.bool_], list[str]]:
    """Systems with human and metric scores, and a note on each kind of other ones."""
    seen = np.asarray(~np.isnan(cube.human[human]).all(axis=1))
    scored = np.any([~np.isnan(cube.metrics[name]).all(axis=1) for name in metrics], axis=0)
    notes = []
    for lacking, what in ((~seen, "human"), (seen & ~scored, "metric")):
        if lacking.any():
            names = ", ".join(name for name, gone in zip(cube.systems, lacking) if gone)
            notes.append(f"{cube.dataset}: left out, since they have no {what} scores: {names}.")
    kept = np.asarray(seen & scored)
    if kept.sum() < 2:
        raise InputError(f"{cube.dataset}: fewer than two systems have human and metric scores.")
    return kept, notes


def _baselines(systems: int, segments: int, seed: int) -> FloatArray:
    """A metric that never differs, and one that is noise."""
    rng = branch(seed, NOISE_METRIC)
    return np.stack([np.zeros((systems, segments)), rng.normal(size=(systems, segments))])
