"""Local metric accuracy: how often a metric prefers the better output, in each context.

For item x of a context, Q_x holds every pair whose better output belongs to the context
(Deviyani and Diaz, 2025, equations 1 and 2):

    ACC(Q_x) = weighted mean over the pairs of Q_x of 1[score(better) > score(worse)]
    ACC(Q)   = weighted mean over items of ACC(Q_x)

A pair carries the weight of its output, an item the mean weight of its pairs; without weights both are plain
means. A tie is wrong (`ties="strict"`) or counts half (`ties="half"`). A pair that a metric could not score
is left out for that metric.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from metassay.errors import InputError
from metassay.meta.contexts.pair_outcomes import MISSING, RIGHT, TIE, Contexts, Judgements, OutcomeArray
from metassay.stats.arrays import FloatArray, IntArray, LongArray, count_codes, find_run_starts, sort_by_code
from metassay.stats.compilation import kernel

_PAIRS_AT_ONCE = 2**20
TIE_CREDIT = {"strict": 0.0, "half": 0.5}
_CREDIT, _WEIGHT, RIGHT_PAIRS, _TIES, ALL_PAIRS, _ITEMS, _OUTPUTS = range(7)


@dataclass(frozen=True)
class Tally:
    """Sums over the clusters of each context, and over its pairs.

    `credit` and `size` are [metrics, units], a unit being a cluster's part in a context: the weighted sum of
    its items' accuracies and the sum of their weights, so that sum(credit) / sum(size) is the accuracy. Units
    are sorted by context; those of context c are `start[c]:start[c + 1]`, and `cluster` names their clusters.
    `totals` is [metrics, 7, contexts]: weighted credit and weight of the pairs, then plain numbers of right
    ones, ties, pairs, items and outputs.
    """

    values: tuple[str, ...]
    credit: FloatArray
    size: FloatArray
    cluster: IntArray
    start: LongArray
    totals: FloatArray

    def accuracy(self) -> FloatArray:
        """Macro average over items, [metrics, contexts]; NaN where a context holds no pair."""
        return ratio(self._summed(self.credit), self._summed(self.size))

    def micro(self) -> FloatArray:
        """Average over pairs."""
        return ratio(self.totals[:, _CREDIT], self.totals[:, _WEIGHT])

    def tie_share(self) -> FloatArray:
        """Share of ties among the pairs scored."""
        return ratio(self.totals[:, _TIES], self.totals[:, ALL_PAIRS])

    def pairs(self) -> LongArray:
        """Number of pairs scored."""
        return self.totals[:, ALL_PAIRS].astype(np.int64)

    def items(self) -> LongArray:
        """Number of items with a pair scored."""
        return self.totals[:, _ITEMS].astype(np.int64)

    def outputs(self) -> LongArray:
        """Number of outputs with a pair scored."""
        return self.totals[:, _OUTPUTS].astype(np.int64)

    def clusters(self) -> LongArray:
        """Number of clusters with a pair scored."""
        return self._summed(self.size > 0).astype(np.int64)

    def variance(self) -> FloatArray:
        """Sampling variance of the accuracy from the spread between clusters (linearised ratio).

        n / (n - 1) * sum over clusters of (credit - accuracy * size)² / (sum of size)²; NaN for one cluster.
        """
        accuracy, clusters = np.nan_to_num(self.accuracy()), self.clusters().astype(np.float64)
        squares = self._summed(self.credit, self.credit)
        squares -= 2 * accuracy * self._summed(self.credit, self.size)
        squares += accuracy**2 * self._summed(self.size, self.size)
        return ratio(clusters, clusters - 1) * ratio(np.maximum(squares, 0), self._summed(self.size) ** 2)

    def p_half(self) -> FloatArray:
        """One-sided p-values [metrics, contexts] of H0: the accuracy is ½ or more; NaN for one cluster.

        Student's t, the variance no smaller than ¼ / n, which n clusters have at ½ if all weigh alike: a
        metric that is never right has no spread of its own.
        """
        clusters = self.clusters().astype(np.float64)
        variance = np.maximum(self.variance(), ratio(np.full(clusters.shape, 0.25), clusters))
        return np.asarray(stdtr(clusters - 1, ratio(self.accuracy() - 0.5, np.sqrt(variance))))

    def without_units(self) -> Tally:
        """The same with nothing but the totals, which is little."""
        empty = np.empty((len(self.credit), 0))
        return replace(
            self, credit=empty, size=empty, cluster=self.cluster[:0].copy(), start=np.zeros_like(self.start)
        )

    def part(self, context: int) -> slice:
        """The units of one context."""
        return slice(int(self.start[context]), int(self.start[context + 1]))

    def _summed(self, units: NDArray[Any], times: FloatArray | None = None) -> FloatArray:
        """Sums [metrics, contexts] of units, or of products of two, one metric after the other."""
        running = np.zeros((len(units), len(self.start) - 1))
        filled = self.start[1:] > self.start[:-1]
        starts = self.start[:-1][filled]
        for m, own in enumerate(units if len(starts) else ()):
            row = own.astype(np.float64) if times is None else own * times[m if len(times) > 1 else 0]
            running[m, filled] = np.add.reduceat(row, starts)
        return running


def sort_pairs(judgements: Judgements, contexts: Sequence[Contexts]) -> tuple[Judgements, list[Contexts]]:
    """Pairs sorted by item, then output, with their contexts: the order that `tally` expects."""
    item, output = judgements.item, judgements.output
    same = item[1:] == item[:-1]
    if ((item[1:] > item[:-1]) | (same & (output[1:] >= output[:-1]))).all():
        return judgements, list(contexts)
    outputs = int(judgements.output.max()) + 1
    item_of = np.zeros(outputs, dtype=np.int32)
    item_of[judgements.output] = judgements.item
    rank = np.empty(outputs, dtype=np.int32)
    rank[sort_by_code(item_of, int(item_of.max()) + 1)] = np.arange(outputs, dtype=np.int32)
    order = sort_by_code(rank[judgements.output], outputs)
    return judgements.take(order), [Contexts(each.name, each.values, each.codes[order]) for each in contexts]


def whole(judgements: Judgements) -> Contexts:
    """The one context that holds every pair."""
    return Contexts("global", ("global",), np.zeros(judgements.pairs, dtype=np.int32))


def tally(judgements: Judgements, contexts: Contexts, *, ties: str = "strict") -> Tally:
    """Sums per context and cluster of pairs that `sort_pairs` has sorted."""
    ways = stretches(contexts)
    parts = tallies(judgements, contexts, ties=ties)
    if len(ways) == 1:
        return next(parts)
    room, metrics = 0, len(judgements.metrics)
    for _, order in ways:
        room += len(find_run_starts(contexts.codes[order], judgements.item[order])) - 1
    credit, cluster = np.empty((metrics, room)), np.empty(room, np.int32)  # parts beside the whole: twice it
    size = np.empty((metrics if _gaps(judgements) else 1, room))
    starts, totals, units = [np.zeros(1, np.int64)], [], 0
    for part in parts:
        own = slice(units, units + len(part.cluster))
        credit[:, own], size[:, own], cluster[own] = part.credit, part.size, part.cluster
        starts.append(part.start[1:] + units)
        totals.append(part.totals)
        units = own.stop
    return Tally(
        contexts.values,
        credit[:, :units],
        size[:, :units],
        cluster[:units],
        np.concatenate(starts),
        np.concatenate(totals, axis=2),
    )


def _gaps(judgements: Judgements) -> bool:
    """Whether some pair was not scored by some metric; else one row of sizes serves every metric."""
    return int(judgements.outcome.min()) == MISSING


def tallies(judgements: Judgements, contexts: Contexts, *, ties: str = "strict") -> Iterator[Tally]:
    """`tally` of some contexts after the other: of large data, the units of all would be more than memory."""
    if ties not in TIE_CREDIT:
        raise InputError(f"unknown treatment of ties {ties!r}.", remedy="Known: half, strict.")
    gaps = _gaps(judgements)
    for some, pairs in stretches(contexts):
        yield _tally(judgements, contexts, pairs, some, gaps=gaps, half=TIE_CREDIT[ties])


def stretches(contexts: Contexts) -> list[tuple[slice, IntArray | slice]]:
    """Neighbouring contexts of about `_PAIRS_AT_ONCE` pairs together, and their pairs in their order."""
    if len(contexts.values) == 1 and contexts.codes.min(initial=0) == 0:
        return [(slice(0, 1), slice(0, len(contexts.codes)))]
    ends = np.cumsum(count_codes(contexts.codes, len(contexts.values)))
    order = sort_by_code(contexts.codes, len(ends))
    found, first, start = list[tuple[slice, IntArray | slice]](), 0, 0
    while first < len(ends):
        enough = int(np.searchsorted(ends, start + _PAIRS_AT_ONCE)) + 1
        stop = min(max(enough, first + 1), len(ends))
        found.append((slice(first, stop), order[start : int(ends[stop - 1])]))
        first, start = stop, int(ends[stop - 1])
    return found


def _tally(
    judgements: Judgements,
    contexts: Contexts,
    order: IntArray | slice,
    some: slice,
    *,
    gaps: bool,
    half: float,
) -> Tally:
    output, first, codes = judgements.output[order], some.start, contexts.codes[order]
    cells = find_run_starts(codes, judgements.item[order])
    context, cluster = codes[cells[:-1]] - first, judgements.cluster[order][cells[:-1]]
    unit, first_cell = _units(context, cluster)
    weights = np.empty(0) if judgements.weights is None else judgements.weights[order]
    metrics, count = len(judgements.metrics), some.stop - first
    credit, totals = np.zeros((metrics, len(first_cell))), np.zeros((metrics, 7, count))
    size = np.zeros((metrics if gaps else 1, len(first_cell)))
    for m in range(metrics):
        outcome, sizes = judgements.outcome[m][order], size[m if gaps else 0]
        sizes.fill(0)
        _tally_metric(outcome, output, weights, cells, unit, context, half, credit[m], sizes, totals[m])
    start = np.searchsorted(context[first_cell], np.arange(count + 1)).astype(np.int64)
    return Tally(contexts.values[some], credit, size, cluster[first_cell], start, totals)


def by_context(judgements: Judgements, contexts: Contexts, *, ties: str) -> tuple[FloatArray, FloatArray]:
    """Accuracy [metrics, contexts] and `totals` of a tally, without its units."""
    found = [(part.accuracy(), part.totals) for part in tallies(judgements, contexts, ties=ties)]
    accuracies, totals = zip(*found)
    return np.concatenate(accuracies, axis=1), np.concatenate(totals, axis=2)


def ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """Quotient, NaN where the bottom is not positive."""
    defined = np.broadcast_to(bottom > 0, np.broadcast_shapes(top.shape, bottom.shape))
    quotient = np.full(defined.shape, np.nan)
    np.divide(top, bottom, out=quotient, where=defined)
    return quotient


def _units(context: IntArray, cluster: IntArray) -> tuple[LongArray, LongArray]:
    """For each (context, item) cell its (context, cluster) unit, and for each unit its first cell."""
    key = context.astype(np.int64) * (int(cluster.max(initial=0)) + 1) + cluster
    if (key[1:] > key[:-1]).all():  # every item is a cluster of its own
        return (own := np.arange(len(key), dtype=np.int64)), own
    _, first, unit = np.unique(key, return_index=True, return_inverse=True)
    return unit.astype(np.int64), first.astype(np.int64)


@kernel
def _tally_metric(
    outcome: OutcomeArray,
    output: IntArray,
    weights: FloatArray,
    cells: LongArray,
    unit: LongArray,
    context: IntArray,
    tie_credit: float,
    credit: FloatArray,
    size: FloatArray,
    totals: FloatArray,
) -> None:
    """Add up one metric's pairs, cell by cell: a cell holds the pairs of one item in one context.

    The accuracy and the mean weight of every item go to `credit` and `size` of the cell's unit, sums over its
    pairs to `totals` of its context.
    """
    for cell in range(len(unit)):
        right, tied, scored, outputs, gained, weight = _cell_sums(
            outcome, output, weights, cells[cell], cells[cell + 1], tie_credit
        )
        if scored == 0:
            continue
        credit[unit[cell]] += gained / scored
        size[unit[cell]] += weight / scored
        sums = totals[:, context[cell]]
        sums[_CREDIT] += gained
        sums[_WEIGHT] += weight
        sums[RIGHT_PAIRS] += right + tied * tie_credit
        sums[_TIES] += tied
        sums[ALL_PAIRS] += scored
        sums[_ITEMS] += 1
        sums[_OUTPUTS] += outputs


@kernel
def _cell_sums(
    outcome: OutcomeArray, output: IntArray, weights: FloatArray, first: int, end: int, tie_credit: float
) -> tuple[int, int, int, int, float, float]:
    """Pairs from `first` to `end` that are right, tied, scored; their outputs; their weight gained and had.

    The pairs of an output stand together; without weights each pair has 1.
    """
    right, tied, scored, outputs, last_output = 0, 0, 0, 0, -1
    gained, had = 0.0, 0.0
    for pair in range(first, end):
        if outcome[pair] == MISSING:
            continue
        weight = weights[pair] if len(weights) > 0 else 1.0
        scored += 1
        had += weight
        if outcome[pair] == RIGHT:
            gained += weight
            right += 1
        elif outcome[pair] == TIE:
            gained += weight * tie_credit
            tied += 1
        outputs += output[pair] != last_output
        last_output = output[pair]
    return right, tied, scored, outputs, gained, had
