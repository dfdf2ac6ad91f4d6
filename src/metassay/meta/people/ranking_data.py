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

from metassay.data.rated import RatedPart, rated_part
from metassay.data.score_cube import Cube
from metassay.meta.people.meta_metrics import Judged
from metassay.stats.arrays import FloatArray
from metassay.stats.random import NOISE_METRIC, branch

GLOBAL = "global"
"""The context of all segments."""
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
    noise = branch(seed, NOISE_METRIC)
    return rated_beside(rated_part(cube, human, metrics, pairwise=pairwise), human, noise, cluster, pairwise)


def rated_beside(
    part: RatedPart, human: str, noise: np.random.Generator, cluster: str | None, pairwise: bool
) -> Rated:
    """The rated part with the baselines: a metric that never differs, and one that is `noise`."""
    if cluster is not None:
        part.cube.codes(cluster)  # an unknown column is refused before anything is computed
    shape = (len(part.cube.systems), len(part.cube.segments))
    baselines = np.stack([np.zeros(shape), noise.normal(size=shape)])
    return Rated(part.cube, human, part.metrics, baselines, part.dropped, cluster, pairwise)
