"""H1: whether the accuracy of a metric changes with the context.

Three tests per metric on contexts × (right, wrong) pairs: chi-square as published (Deviyani and Diaz, 2025,
section 4.3); a permutation test that respects what pairs share; Cochran–Mantel–Haenszel within perturbation
methods. Each is adjusted by Holm over the metrics. The permutation test decides.

The permutation test exchanges labels at the finest level at which they vary. *Crossed*: outputs of an item
lie in several contexts (its systems), so whole outputs exchange labels within their item. *Within clusters*:
items of a document differ in context, so whole items exchange labels within their document. *Nested*: a
cluster lies in one context (its domain), so whole clusters exchange labels. Where exchanges at one level
cannot link all contexts (`system+domain`), the groups they do link are compared at the next, and the p-value
is the smallest, multiplied by the number of levels.

Beside it, whether accuracy changes with the perturbation method.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metassay.meta.contexts.accuracy import ALL_PAIRS, RIGHT_PAIRS, TIE_CREDIT
from metassay.meta.contexts.pair_outcomes import MISSING, RIGHT, TIE, Contexts, Judgements
from metassay.stats.arrays import FloatArray, IntArray, LongArray, count_codes, find_run_starts, sort_by_code
from metassay.stats.compilation import kernel
from metassay.stats.contingency import chi_square_test, cochran_mantel_haenszel_test
from metassay.stats.intervals import small_sample_factor
from metassay.stats.label_permutation import PermutationPValues, permute_labels_test
from metassay.stats.multiplicity import adjust_holm


@dataclass(frozen=True)
class AccuracyChange:
    """H1 for every metric: test statistics and p-values [metrics], and how labels were exchanged.

    `movable` is the share of units that could get another label, at the level where it is smallest.
    """

    metrics: tuple[str, ...]
    chi2: FloatArray
    dof: LongArray
    p: FloatArray
    cramers_v: FloatArray
    p_permutation: FloatArray
    p_family: FloatArray
    p_cmh: FloatArray
    exchanges: tuple[str, ...]
    movable: float

    def rows(self) -> list[dict[str, object]]:
        """One dictionary per metric, with every p-value also adjusted by Holm."""
        columns = {
            "chi2": self.chi2,
            "dof": self.dof,
            "p": self.p,
            "cramers_v": self.cramers_v,
            "p_permutation": self.p_permutation,
            "p_cmh": self.p_cmh,
            "p_holm": adjust_holm(self.p),
            "p_permutation_holm": adjust_holm(self.p_permutation),
            "p_cmh_holm": adjust_holm(self.p_cmh),
        }
        return [
            {"metric": metric} | {name: column[row].item() for name, column in columns.items()}
            for row, metric in enumerate(self.metrics)
        ]


@dataclass(frozen=True)
class Exchange:
    """One level of exchange: units of labelled counts, sorted by the block they stay in."""

    name: str
    right: IntArray
    total: IntArray
    labels: IntArray
    block_starts: LongArray

    def movable(self) -> float:
        """Share of the units whose block holds more than one label."""
        lowest = np.minimum.reduceat(self.labels, self.block_starts[:-1])
        highest = np.maximum.reduceat(self.labels, self.block_starts[:-1])
        sizes = np.diff(self.block_starts)
        return float(sizes[lowest < highest].sum() / sizes.sum())


def accuracy_change(
    judgements: Judgements,
    contexts: Contexts,
    totals: FloatArray,
    *,
    ties: str,
    rng: np.random.Generator,
    permutations: int = 999,
    workers: int = 1,
    large: NDArray[np.bool_] | None = None,
) -> AccuracyChange:
    """H1 on sorted pairs; `totals` are those of the tally of contexts crossed with methods.

    Contexts that are not `large` take no part in the permutation test. Its p is NaN where nothing can move:
    with contexts that are the clusters themselves, say.
    """
    right, total = _pair_counts(totals, len(contexts.values))
    tables = [chi_square_test(r.sum(axis=0), n.sum(axis=0)) for r, n in zip(right, total)]
    stratified = [cochran_mantel_haenszel_test(r, n) for r, n in zip(right, total)]
    found: list[PermutationPValues] = []
    names, movable = [], 1.0
    for exchange in exchange_levels(
        judgements, contexts if large is None else contexts.only(large), ties=ties
    ):
        permuted = permute_labels_test(
            exchange.right,
            exchange.total,
            exchange.labels,
            exchange.block_starts,
            rng=rng,
            permutations=permutations,
            workers=workers,
        )
        if not np.isnan(permuted.p).all():
            found.append(permuted)
            names.append(exchange.name)
            movable = min(movable, exchange.movable())
    return AccuracyChange(
        metrics=judgements.metrics,
        chi2=np.array([test.statistic for test in tables]),
        dof=np.array([test.dof for test in tables]),
        p=np.array([test.p for test in tables]),
        cramers_v=np.array([test.cramers_v for test in tables]),
        p_permutation=_smallest([each.p for each in found], len(tables)),
        p_family=_smallest([each.p_family for each in found], len(tables)),
        p_cmh=np.array([test.p for test in stratified]),
        exchanges=tuple(names),
        movable=movable,
    )


def _smallest(p_values: list[FloatArray], metrics: int) -> FloatArray:
    """The smallest p-value over levels of exchange, times the number of levels at which it is known."""
    if not p_values:
        return np.full(metrics, np.nan)
    table = np.stack(p_values)
    levels = (~np.isnan(table)).sum(axis=0)
    smallest = np.where(levels > 0, np.nan_to_num(table, nan=np.inf).min(axis=0), np.nan)
    return np.asarray(np.minimum(smallest * levels, 1))


def cross_methods(judgements: Judgements, contexts: Contexts) -> Contexts:
    """Every context crossed with every method: code = context · methods + method."""
    methods = len(judgements.methods)
    codes = np.where(contexts.codes < 0, -1, contexts.codes * methods + judgements.method)
    names = tuple(f"{value}\t{method}" for value in contexts.values for method in judgements.methods)
    return Contexts(f"{contexts.name}\tmethod", names, codes.astype(np.int32))


def _pair_counts(totals: FloatArray, contexts: int) -> tuple[FloatArray, FloatArray]:
    """Right and all pairs, [metrics, methods, contexts]; a tie counts right as far as it earns credit."""
    shape = (len(totals), contexts, -1)
    right, pairs = totals[:, RIGHT_PAIRS].reshape(shape), totals[:, ALL_PAIRS].reshape(shape)
    return np.swapaxes(right, 1, 2), np.swapaxes(pairs, 1, 2)


def exchange_levels(judgements: Judgements, contexts: Contexts, *, ties: str) -> Iterator[Exchange]:
    """The levels at which labels can be exchanged, finest first, until all contexts are linked."""
    inside = contexts.codes >= 0
    if not inside.any():
        return
    judgements = judgements if inside.all() else judgements.take(inside)
    used = count_codes(contexts.codes, len(contexts.values)) > 0
    labels = contexts.codes if inside.all() else contexts.codes[inside]
    labels = labels if used.all() else (np.cumsum(used) - 1).astype(np.int32)[labels]
    everything = np.zeros(judgements.pairs, dtype=np.int32)
    levels = (
        ("outputs within items", judgements.output, judgements.item),
        ("items within clusters", judgements.item, judgements.cluster),
        ("clusters", judgements.cluster, everything),
    )
    for name, unit, block in levels:
        groups, linked = _linked(labels, block)
        if groups == int(labels.max()) + 1:
            continue  # every block lies in one context: nothing to exchange here
        yield _exchange(name, judgements, labels, unit, block, ties)
        if groups == 1:
            return
        labels = linked[labels]


def _linked(labels: IntArray, block: IntArray) -> tuple[int, IntArray]:
    """How many groups of labels the blocks link, and for each label its group: that of its lowest label."""
    size = int(labels.max()) + 1
    lowest = _lowest_linked(labels, block, size, int(block.max()) + 1)
    used = count_codes(labels, size) > 0
    groups, group = np.unique(lowest[used], return_inverse=True)
    of_label = np.full(size, -1, dtype=np.int32)
    of_label[used] = group
    return len(groups), of_label


@kernel
def _lowest_linked(labels: IntArray, block: IntArray, size: int, blocks: int) -> IntArray:
    """For each label the lowest one that it is linked with: two in one block are, and links of links."""
    lower, seen = np.empty(size, np.int32), np.empty(blocks, np.int32)
    for label in range(size):
        lower[label] = label
    for each in range(blocks):
        seen[each] = -1
    for place in range(len(labels)):
        one, other = labels[place], seen[block[place]]
        seen[block[place]] = one
        if other < 0:
            continue
        while lower[one] != one:
            one = lower[one]
        while lower[other] != other:
            other = lower[other]
        lower[max(one, other)] = min(one, other)
    for label in range(size):  # a lower one is settled before it is looked at
        lower[label] = lower[lower[label]]
    return lower


def _exchange(
    name: str, judgements: Judgements, labels: IntArray, unit: IntArray, block: IntArray, ties: str
) -> Exchange:
    """Counts per unit, units sorted by block; counts are doubled, so that half a tie is a whole number."""
    order = _in_order(unit if block.max() == 0 else block)
    unit, block, labels = unit[order], block[order], labels[order]
    starts = find_run_starts(unit)
    tie = round(2 * TIE_CREDIT[ties])
    metrics, first = len(judgements.metrics), starts[:-1]
    right = np.empty((len(first), metrics), dtype=np.int32)
    total = np.empty((len(first), metrics if judgements.outcome.min() == MISSING else 1), dtype=np.int32)
    for m, outcome in enumerate(judgements.outcome):
        here = outcome[order]
        credit = np.int8(2) * (here == RIGHT) + np.int8(tie) * (here == TIE)
        right[:, m] = np.add.reduceat(credit, first, dtype=np.int32)
        if m < total.shape[1]:
            total[:, m] = np.add.reduceat(np.int8(2) * (here != MISSING), first, dtype=np.int32)
    total = total[:, :1].copy() if (total == total[:, :1]).all() else total
    return Exchange(name, right, total, labels[first], find_run_starts(block[first]))


def _in_order(keys: IntArray) -> IntArray | slice:
    """What puts keys in order, equal ones as they are; a slice of all where they are in order."""
    if (keys[1:] >= keys[:-1]).all():
        return slice(None)
    return sort_by_code(keys, int(keys.max()) + 1)


_FLOOR = 0.5  # clusters' worth of difference that the spread of an accuracy is never below


def depends(by_method: FloatArray, resampled: FloatArray, clusters: int) -> FloatArray:
    """p-values that accuracy [metrics, methods] is the same under all methods, from resamples of it.

    The statistic is Σ_k (a_k - a)² / v_k, v_k the variance of a_k and a their mean weighted by 1 / v_k;
    around equal accuracies the deviations of the resamples, stretched for few clusters, show what chance
    makes of it.
    """
    deviations = (resampled - by_method[..., None]) * small_sample_factor(np.array(clusters))
    p = np.full(len(by_method), np.nan)
    if clusters < 2:
        return p
    for m, accuracy in enumerate(by_method):
        known = ~np.isnan(accuracy)
        drawn = deviations[m][known]
        drawn = drawn[:, ~np.isnan(drawn).any(axis=0)]
        if known.sum() < 2 or drawn.shape[1] < 2:
            continue
        weights = 1 / np.maximum(drawn.var(axis=1), (_FLOOR / clusters) ** 2)
        null, observed = _unevenness(drawn, weights), _unevenness(accuracy[known, None], weights)[0]
        p[m] = (1 + (null >= observed * (1 - 1e-9)).sum()) / (1 + len(null))
    return p


def _unevenness(values: FloatArray, weights: FloatArray) -> FloatArray:
    centre = weights @ values / weights.sum()
    return np.asarray(weights @ (values - centre) ** 2)
