"""Whether one metric agrees with people better than another by more than chance.

Both metrics are standardised and their scores exchanged at random (`metassay.stats.swaps`); the meta-metric
of both is recomputed each time. The p-value that A beats B is the share of draws in which the difference is
at least the observed one, the observed one counted among them. At item level the exchange of whole segments
is a sign flip of the items' differences; for acc_eq the threshold for ties is calibrated anew in each draw.
`bootstrap` resamples segments, with their human scores, instead; it is cautious: resampled orders are noisier
than ours, and of metrics that are equally good it tells fewer apart than the level allows (1 % at 5 %).

For SPA use `perm-inputs`: the other swaps compare system i under one metric with system j under the other,
and then the difficulty of segments no longer cancels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError, UnknownName
from metassay.meta.people.intervals import bootstrap_values
from metassay.meta.people.meta_metrics import (
    ITEM,
    PER_SYSTEM,
    SEGMENT,
    Judged,
    MetaMetric,
    meta_values,
    values_by_item,
)
from metassay.meta.people.pairwise import preferences
from metassay.stats.correlation import correlate, swapped_means, williams_test
from metassay.stats.sign_flip import FloatArray, random_flips, sign_flip_null
from metassay.stats.swapped_moments import swapped_correlations
from metassay.stats.swapped_preferences import any_swaps, flipped_swaps, segment_swaps
from metassay.stats.swapped_ties import calibrated_differences, right_pairs, swapped_ties
from metassay.stats.swaps import SWAPS, Swaps, blocks_of_swaps
from metassay.stats.threads import map_blocks

TESTS = (*SWAPS, "bootstrap", "williams", "none")

ANSWERS_FOR = {
    "perm-inputs": "these systems",
    "perm-both": "these systems",
    "cells": "these systems",
    "bootstrap": "these systems",
    "perm-systems": "systems like these",
    "williams": "systems like these",
}
"""Whom a test answers for: metrics that differ on these systems may not on others."""

TOLERANCE = 1e-6
"""Draws are kept in float32: a draw this close to the observed difference is equal to it."""


@dataclass(frozen=True)
class Procedure:
    """How metrics are tested against each other: which draws, how many, and the p-values inside SPA."""

    test: str = "perm-inputs"
    method: str = "normal"
    draws: int = 1000
    permutations: int = 1000
    seed: int = 0
    workers: int | None = None
    stream: int = 0
    """Data sets that are averaged need draws of their own: each takes another stream."""

    def __post_init__(self) -> None:
        if self.test not in TESTS:
            raise UnknownName("test", self.test, TESTS)
        if self.draws < 1:
            raise InputError(f"{self.draws} draws are too few.", remedy="Ask for at least 1; 1000 is usual.")


@dataclass(frozen=True)
class Differences:
    """Observed and drawn differences of a meta-metric, value(A) - value(B), for metrics A < B.

    `observed` is `[pairs]`, `drawn` `[pairs, draws]`. Draws are made under the null hypothesis, or, with
    `resampled`, around the observed difference. Pairs are in the order of `numpy.triu_indices`.
    """

    observed: FloatArray
    drawn: NDArray[np.float32]
    resampled: bool = False

    def p_values(self, first_is_better: NDArray[np.bool_] | None = None) -> tuple[FloatArray, FloatArray]:
        """One- and two-sided p-values that the better metric of each pair is better by chance.

        Better is the one with the higher value unless `first_is_better` says.
        """
        better = self.observed >= 0 if first_is_better is None else first_is_better
        sign = np.where(better, 1.0, -1.0)
        one = self._share_beyond(sign)
        if self.resampled:
            return one, np.minimum(1.0, 2.0 * np.minimum(one, self._share_beyond(-sign)))
        size = np.abs(self.observed)[:, None] - TOLERANCE
        extreme = (~(np.abs(self.drawn) < size)).sum(axis=1)
        return one, (extreme + 1) / (self.drawn.shape[1] + 1)

    def _share_beyond(self, sign: FloatArray) -> FloatArray:
        draws = self.drawn * sign[:, None].astype(np.float32)
        if self.resampled:
            beyond = ~(draws > TOLERANCE)
        else:
            beyond = ~(draws < (self.observed * sign)[:, None] - TOLERANCE)  # an undefined draw counts
        return np.asarray((beyond.sum(axis=1) + 1) / (draws.shape[1] + 1), dtype=np.float64)


def metric_differences(meta: MetaMetric, judged: Judged, procedure: Procedure) -> Differences | None:
    """Observed and drawn differences of all pairs of metrics; None where there is no such test."""
    values = meta_values(
        meta, judged, method=procedure.method, permutations=procedure.permutations, seed=procedure.seed
    )
    first, second = np.triu_indices(len(values), 1)
    observed = values[first] - values[second]
    if procedure.test == "bootstrap":
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
        return Differences(observed, (drawn[first] - drawn[second]).astype(np.float32), resampled=True)
    if meta.name == "acc_eq":
        return _calibrated_swaps(judged, procedure)
    if meta.level == ITEM:
        return Differences(observed, _item_flips(meta, judged, procedure))
    draw = _drawing(meta, judged, procedure)
    if draw is None:
        return None
    units = judged.per_unit(judged.human).shape[1]
    return Differences(observed, _all_draws(draw, len(judged.human), units, len(observed), procedure))


def _drawing(
    meta: MetaMetric, judged: Judged, procedure: Procedure
) -> Callable[[Swaps], NDArray[np.float32]] | None:
    """The function from a block of swaps to differences, for a meta-metric that is not one of items."""
    if meta.level in {SEGMENT, PER_SYSTEM}:
        if meta.name not in {"pearson", "spearman"}:
            return None
        return swapped_correlations(
            judged.human,
            judged.standardised,
            judged.per_unit,
            by_rank=meta.name == "spearman",
            per_system=meta.level == PER_SYSTEM,
        )
    scores = judged.per_unit(judged.standardised)
    if meta.name != "spa":
        human = judged.human.mean(axis=-1)
        return lambda swaps: swapped_means(meta.name, human, scores, swaps)
    people = judged.per_unit(judged.human)
    if procedure.method == "normal":
        p_human = preferences(people)
        function = segment_swaps if procedure.test == "perm-inputs" else any_swaps
        return lambda swaps: function(p_human, scores, swaps)
    p_human = preferences(
        people, method="permutation", permutations=procedure.permutations, seed=procedure.seed
    )
    flips = random_flips(np.random.default_rng(procedure.seed), procedure.permutations, people.shape[1])
    as_numbers = np.ascontiguousarray(flips.T.astype(np.float32))
    return lambda swaps: flipped_swaps(p_human, scores, swaps, as_numbers)


def _all_draws(
    draw: Callable[[Swaps], NDArray[np.float32]], systems: int, units: int, pairs: int, procedure: Procedure
) -> NDArray[np.float32]:
    """Every block of swaps, shared out over threads; BLAS stays on one thread so that bytes never change."""
    drawn = np.empty((procedure.draws, pairs), dtype=np.float32)
    blocks = blocks_of_swaps(
        procedure.test,
        draws=procedure.draws,
        systems=systems,
        segments=units,
        seed=procedure.seed,
        stream=procedure.stream,
    )

    def work(block: tuple[int, Swaps]) -> None:
        start, swaps = block
        drawn[start : start + len(swaps)] = draw(swaps)

    map_blocks(work, blocks, procedure.workers)
    return np.ascontiguousarray(drawn.T)


def _item_flips(meta: MetaMetric, judged: Judged, procedure: Procedure) -> NDArray[np.float32]:
    by_item = values_by_item(meta, judged)
    first, second = np.triu_indices(len(by_item), 1)
    differences = by_item[first] - by_item[second]
    defined = ~np.isnan(differences)
    count = np.maximum(defined.sum(axis=1), 1)
    per_unit = judged.per_unit(np.where(defined, differences, 0.0))
    rng = np.random.default_rng(np.random.SeedSequence(procedure.seed, spawn_key=(procedure.stream,)))
    null = sign_flip_null(per_unit, rng, procedure.draws)
    drawn: NDArray[np.float32] = (null / count[:, None]).astype(np.float32)
    return drawn


def _calibrated_swaps(judged: Judged, procedure: Procedure) -> Differences:
    """acc_eq: whole segments swapped, the threshold for ties calibrated in each draw as in the data."""
    systems, segments = judged.human.shape
    counts = right_pairs(judged.human, judged.standardised)
    if judged.units is not None:
        by_step = counts.swapaxes(1, 2).astype(np.float64)
        counts = judged.per_unit(by_step).swapaxes(1, 2).astype(np.float32)
    pairs = segments * systems * (systems - 1) / 2
    observed = calibrated_differences(counts, pairs)
    drawn = _all_draws(
        lambda swaps: swapped_ties(counts, pairs, swaps),
        systems,
        counts.shape[1],
        len(observed),
        replace(procedure, test="perm-inputs"),
    )
    return Differences(observed, drawn)


def williams_p_values(judged: Judged) -> FloatArray:
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
