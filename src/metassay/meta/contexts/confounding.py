"""Confounding: a metric whose accuracy swings with the way worse outputs are made.

Per metric, the accuracy under each perturbation method alone (mean over contexts), and the variance σ² of
these over methods (Deviyani and Diaz, 2025, A.2.3). The published figure combines k of n methods at random;
with equal weights its variance is σ² / k · (n - k) / (n - 1), whatever the metric: its fall proves nothing,
so the law stands beside it. What tells is σ² itself, as a share of the variance a · (1 - a) that right and
wrong have at mean accuracy a: the part of being right that the method alone decides. A metric is flagged when
a test says that this part is not nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from metassay.meta.contexts.accuracy import TIE_CREDIT, Tally, ratio, stretches, tallies, tally
from metassay.meta.contexts.h1 import cross_methods, depends
from metassay.meta.contexts.pair_outcomes import MISSING, RIGHT, TIE, Contexts, Judgements
from metassay.stats.arrays import FloatArray, IntArray, find_run_starts
from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.intervals import percentile_interval
from metassay.stats.multiplicity import adjust_holm

_LEVEL = 0.05
_COMBINATIONS = 10
_AT_ONCE = 1 << 20  # entries of a matrix of combinations and cells: what a cache holds
_EXCESS = 2.0  # times that resampling adds to σ²: once as sampling error did, once on top of it


@dataclass(frozen=True)
class Confounding:
    """Per metric: accuracy by method [metrics, methods], σ² with its interval, and the published curve.

    `net` is σ² less what sampling error adds to it; `share` and `share_low` are σ² net, and the low end of
    its interval, over a · (1 - a). `p` tests that a metric is right as often under every method. `curve` is
    [metrics, methods - 1], for k = 1, 2, …; `combined` how many combinations each k had. `unseen` names, per
    metric, the methods of whose pairs it gets less than half right.
    """

    metrics: tuple[str, ...]
    methods: tuple[str, ...]
    by_method: FloatArray
    variance: FloatArray
    low: FloatArray
    high: FloatArray
    net: FloatArray
    share: FloatArray
    share_low: FloatArray
    p: FloatArray
    curve: FloatArray
    combined: tuple[int, ...]
    unseen: tuple[tuple[dict[str, object], ...], ...]

    def rows(self) -> list[dict[str, object]]:
        """One dictionary per metric; those are flagged that depend on the method, with p adjusted by Holm."""
        adjusted = adjust_holm(self.p)
        return [self._row(m, float(adjusted[m])) for m in range(len(self.metrics))]

    def _row(self, m: int, p_holm: float) -> dict[str, object]:
        flag = p_holm <= _LEVEL
        methods = self._responsible(m) if flag else []
        return {
            "metric": self.metrics[m],
            "variance": self.variance[m].item(),
            "low": self.low[m].item(),
            "high": self.high[m].item(),
            "flag": flag,
            "by_method": dict(zip(self.methods, self.by_method[m].tolist())),
            "by_k": self._by_k(m),
            "variance_net": self.net[m].item(),
            "share": self.share[m].item(),
            "share_low": self.share_low[m].item(),
            "p": self.p[m].item(),
            "p_holm": p_holm,
            "responsible": methods,
            "unseen": list(self.unseen[m]),
        }

    def _by_k(self, m: int) -> list[dict[str, object]]:
        n = int((~np.isnan(self.by_method[m])).sum())
        return [
            {
                "k": k,
                "variance": self.curve[m, k - 1].item(),
                "law": self.variance[m].item() / k * (n - k) / (n - 1) if n > k else float("nan"),
                "combinations": count,
            }
            for k, count in enumerate(self.combined, start=1)
        ]

    def _responsible(self, m: int) -> list[str]:
        """The fewest methods that make up half of the variance, the most deviant first."""
        squares = np.nan_to_num((self.by_method[m] - np.nanmean(self.by_method[m])) ** 2)
        order = np.argsort(-squares, kind="stable")
        enough = int(np.searchsorted(np.cumsum(squares[order]), squares.sum() / 2)) + 1
        return [self.methods[k] for k in order[:enough]]


def confounding(
    judgements: Judgements,
    contexts: Contexts,
    *,
    ties: str,
    bootstrap: ClusterBootstrap,
    rng: np.random.Generator,
    workers: int = 1,
) -> Confounding:
    """Confounding from sorted pairs that hold all applicable methods of every output."""
    crossed = cross_methods(judgements, contexts)
    accuracy, resampled = _by_method(tallies(judgements, crossed, ties=ties), judgements, bootstrap, workers)
    by_method = _mean(accuracy, axis=1)
    variance = _spread(by_method)
    draws = _spread(resampled)
    # sampling error adds as much to σ² as resampling adds to it again
    excess = _mean(draws, axis=1) - variance
    low, high = percentile_interval(draws - _EXCESS * excess[:, None])
    net = np.maximum(variance - excess, 0)
    centre = _mean(by_method, axis=1)
    possible = centre * (1 - centre)
    combined, curve = _published_curve(judgements, contexts, ties, rng)
    return Confounding(
        metrics=judgements.metrics,
        methods=judgements.methods,
        by_method=by_method,
        variance=variance,
        low=np.clip(low, 0, variance),
        high=np.maximum(high, variance),
        net=net,
        share=np.nan_to_num(ratio(net, possible)),
        share_low=np.nan_to_num(ratio(np.maximum(low, 0), possible)),
        p=depends(by_method, resampled, len(np.unique(judgements.cluster))),
        curve=curve,
        combined=combined,
        unseen=_unseen(judgements),
    )


def _unseen(judgements: Judgements) -> tuple[tuple[dict[str, object], ...], ...]:
    """Per metric, methods under which it is right in less than half of the pairs, a tie being wrong.

    Each with accuracy (mean over items) and p, adjusted by Holm over all metrics and methods; worst first.
    """
    found = tally(judgements, Contexts("method", judgements.methods, judgements.method), ties="strict")
    accuracy, p = found.accuracy(), found.p_half()
    adjusted = adjust_holm(p.ravel()).reshape(p.shape)
    return tuple(
        tuple(
            {"method": judgements.methods[k], "accuracy": own[k].item(), "p_holm": adjusted[m, k].item()}
            for k in np.argsort(own, kind="stable").tolist()
            if adjusted[m, k] <= _LEVEL
        )
        for m, own in enumerate(accuracy)
    )


def _by_method(
    crossed: Iterable[Tally], judgements: Judgements, bootstrap: ClusterBootstrap, workers: int
) -> tuple[FloatArray, FloatArray]:
    """Accuracy by method, [metrics, contexts, methods], and in every resample, mean over contexts.

    The latter is [metrics, methods, resamples]; `crossed` are tallies of contexts crossed with methods.
    """
    metrics, methods = len(judgements.metrics), len(judgements.methods)
    total = np.zeros((methods, metrics, bootstrap.resamples))
    count = np.zeros_like(total)
    accuracies: list[FloatArray] = []

    def one_method(k: int, part: Tally, first: int) -> None:
        for place in range((k - first) % methods, len(part.values), methods):
            own = part.part(place)
            if own.start < own.stop:
                drawn = bootstrap.resample_ratios(part.credit[:, own], part.size[:, own], part.cluster[own])
                total[k] += np.nan_to_num(drawn)
                count[k] += ~np.isnan(drawn)

    with ThreadPoolExecutor(workers) as pool:
        for part in crossed:
            first = sum(accuracy.shape[1] for accuracy in accuracies)
            list(pool.map(partial(one_method, part=part, first=first), range(methods)))
            accuracies.append(part.accuracy())
    accuracy = np.concatenate(accuracies, axis=1).reshape(metrics, -1, methods)
    return accuracy, np.ascontiguousarray(np.swapaxes(ratio(total, count), 0, 1))


def _published_curve(
    judgements: Judgements, contexts: Contexts, ties: str, rng: np.random.Generator
) -> tuple[tuple[int, ...], FloatArray]:
    """Variance over combinations of k methods of the mean over contexts of the local accuracy."""
    methods = len(judgements.methods)
    chosen = [_sample_combinations(methods, k, rng) for k in range(1, methods)]
    masks = np.zeros((methods, sum(map(len, chosen))))
    for column, combination in enumerate(c for group in chosen for c in group):
        masks[list(combination), column] = 1
    values = _accuracy_of_combinations(judgements, contexts, ties, masks)
    ends = np.cumsum([len(group) for group in chosen])
    parts = [values[:, end - len(group) : end] for group, end in zip(chosen, ends)]
    curve = np.stack([_spread(part) for part in parts], axis=1) if parts else np.empty((len(values), 0))
    return tuple(len(group) for group in chosen), curve


def _sample_combinations(methods: int, k: int, rng: np.random.Generator) -> list[tuple[int, ...]]:
    """All combinations of k methods, or ten distinct ones at random where there are more."""
    if comb(methods, k) <= _COMBINATIONS:
        return list(combinations(range(methods), k))
    drawn: set[tuple[int, ...]] = set()
    while len(drawn) < _COMBINATIONS:
        drawn.add(tuple(sorted(rng.choice(methods, size=k, replace=False).tolist())))
    return sorted(drawn)


def _accuracy_of_combinations(
    judgements: Judgements, contexts: Contexts, ties: str, masks: FloatArray
) -> FloatArray:
    """Mean over contexts of the local accuracy on the pairs of each combination, [metrics, combinations]."""
    local = [
        _local_combinations(judgements, contexts, ties, masks, pairs)
        for _, pairs in stretches(contexts)
        if len(contexts.codes[pairs])
    ]
    return _mean(np.concatenate(local, axis=2), axis=2)


def _local_combinations(
    judgements: Judgements, contexts: Contexts, ties: str, masks: FloatArray, order: IntArray | slice
) -> FloatArray:
    """Local accuracy of combinations in the contexts of these pairs, [metrics, combinations, contexts]."""
    codes = contexts.codes[order]
    cells = find_run_starts(codes, judgements.item[order])
    cell = np.repeat(np.arange(len(cells) - 1), np.diff(cells))
    slot = cell * len(judgements.methods) + judgements.method[order]
    weights = np.ones(len(codes)) if judgements.weights is None else judgements.weights[order]
    starts = find_run_starts(codes[cells[:-1]])[:-1]
    size, half = (len(cells) - 1) * len(judgements.methods), TIE_CREDIT[ties]

    def by_cell(values: FloatArray) -> FloatArray:
        sums: FloatArray = np.bincount(slot, weights=values, minlength=size).astype(np.float64)
        return sums.reshape(len(cells) - 1, -1)

    local = _exact if judgements.weights is None else _weighted
    rows = []
    for outcome in judgements.outcome:
        here = outcome[order]
        earned = by_cell(weights * ((here == RIGHT) + half * (here == TIE)))
        scored, weight = by_cell((here != MISSING).astype(np.float64)), by_cell(weights * (here != MISSING))
        rows.append(local(earned, scored, weight, masks, starts))
    return np.stack(rows)


def _exact(
    earned: FloatArray, scored: FloatArray, _: FloatArray, masks: FloatArray, starts: NDArray[np.int64]
) -> FloatArray:
    """As `_weighted`, to the last bit, for pairs that weigh 1.

    Their halves add up exactly in any order, so that many combinations share a product of matrices.
    """
    found = np.empty((masks.shape[1], len(starts)))
    step = max(1, _AT_ONCE // max(1, len(scored)))
    for start in range(0, masks.shape[1], step):
        some = masks[:, start : start + step].T
        pairs = some @ scored.T
        earnings = some @ earned.T
        size = np.add.reduceat((pairs > 0).astype(np.float64), starts, axis=1)
        np.divide(earnings, np.maximum(pairs, 1, out=pairs), out=earnings)
        credit = np.add.reduceat(earnings, starts, axis=1)
        found[start : start + step] = ratio(credit, size)
    return found


def _weighted(
    earned: FloatArray, scored: FloatArray, weight: FloatArray, masks: FloatArray, starts: NDArray[np.int64]
) -> FloatArray:
    """Local accuracy on the pairs of each combination, [combinations, contexts]."""
    found = np.empty((masks.shape[1], len(starts)))
    for column, mask in enumerate(masks.T):
        pairs = scored @ mask
        credit = np.add.reduceat(np.nan_to_num(ratio(earned @ mask, pairs)), starts)
        size = np.add.reduceat(np.nan_to_num(ratio(weight @ mask, pairs)), starts)
        found[column] = ratio(credit, size)
    return found


def _spread(values: FloatArray) -> FloatArray:
    """Variance along axis 1 over all that are known (not an estimate for more): mean square deviation."""
    centre = np.expand_dims(_mean(values, axis=1), 1)
    return _mean((values - centre) ** 2, axis=1)


def _mean(values: FloatArray, axis: int) -> FloatArray:
    known = ~np.isnan(values)
    return ratio(np.where(known, values, 0).sum(axis=axis), known.sum(axis=axis).astype(np.float64))
