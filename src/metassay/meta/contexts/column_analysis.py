"""Everything that is found out about one way to divide the outputs into contexts."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.meta.contexts.accuracy import Tally, by_context, ratio, tally
from metassay.meta.contexts.agreement_prediction import net_spread, robust_accuracy
from metassay.meta.contexts.choice import Evidence, first_choice
from metassay.meta.contexts.claims import Leads, context_leads, trend_p_values
from metassay.meta.contexts.h1 import AccuracyChange, accuracy_change, cross_methods
from metassay.meta.contexts.h2 import (
    ALL_INTERVALS,
    ContextOrder,
    OrderChange,
    compare_with_global,
    order_change,
    split_half,
)
from metassay.meta.contexts.pair_outcomes import GLOBAL, Contexts, Judgements
from metassay.stats.arrays import FloatArray, LongArray, count_codes
from metassay.stats.bootstrap import ClusterBootstrap, ClusterHalves
from metassay.stats.intervals import ClusteredProportions, proportion_interval
from metassay.stats.multiplicity import select_possible_best


@dataclass(frozen=True)
class Method:
    """How to study contexts, the same for all columns; `ranked` are the metrics that compete."""

    ties: str
    agreement: str
    permutations: int
    workers: int
    ranked: LongArray
    bootstrap: ClusterBootstrap
    halves: ClusterHalves
    signs: ClusterHalves
    minimum_items: int = 1
    cost: FloatArray | None = None
    """The place of each ranked metric's class of cost; None where none is known."""
    uninformed: NDArray[np.bool_] | None = None
    """The ranked metrics that know nothing of quality, and are never the first choice."""


@dataclass(frozen=True)
class Estimates:
    """A tally with what follows from it, [metrics, contexts], computed once."""

    tally: Tally
    accuracy: FloatArray
    variance: FloatArray
    clusters: LongArray
    pairs: LongArray

    @classmethod
    def of(cls, sums: Tally) -> Estimates:
        """The estimates of a tally."""
        accuracy = sums.accuracy()
        clusters = np.broadcast_to(sums.clusters(), accuracy.shape)
        return cls(sums, accuracy, sums.variance(), clusters, sums.pairs())

    def of_context(self, context: int) -> ClusteredProportions:
        """The estimates of one context, [metrics]."""
        return ClusteredProportions(
            estimate=self.accuracy[:, context],
            variance=self.variance[:, context],
            clusters=self.clusters[:, context],
            observations=self.pairs[:, context],
        )


@dataclass(frozen=True)
class ContextFinding:
    """One context: intervals [metrics], which ranked metrics may be the best, and its order of metrics."""

    low: FloatArray
    high: FloatArray
    top: NDArray[np.bool_]
    order: ContextOrder
    leads: Leads
    resamples: FloatArray | None


@dataclass(frozen=True)
class Whole:
    """The context of all pairs, its resamples [metrics, resamples], and the place of the first choice."""

    estimates: Estimates
    standardised: FloatArray
    resamples: FloatArray
    finding: ContextFinding
    first: int

    def expected(self, ranked: LongArray) -> FloatArray:
        """Accuracies in the order that a context may contradict: nobody is before the first choice."""
        order = np.round(self.estimates.accuracy[ranked, 0], 12)
        order[self.first] = np.nanmax(order) if not np.isnan(order).all() else np.nan
        return np.asarray(order)


@dataclass(frozen=True)
class Column:
    """Local accuracies of one column with their uncertainty, H1 and H2 (None where the column has one value).

    `mix` is [contexts, methods]: the share of each method among a context's pairs. `large` marks the contexts
    that have items enough to take part in claims. `trend_p` [metrics] is that of `trend_p_values`.
    """

    contexts: Contexts
    estimates: Estimates
    standardised: FloatArray
    mix: FloatArray
    findings: Sequence[ContextFinding]
    large: NDArray[np.bool_]
    h1: AccuracyChange | None
    h2: OrderChange | None
    trend_p: FloatArray


def study_whole(judgements: Judgements, contexts: Contexts, method: Method) -> Whole:
    """Accuracy over all pairs; `contexts` is the one that holds them all."""
    estimates = Estimates.of(tally(judgements, contexts, ties=method.ties))
    by_method, _ = by_context(judgements, cross_methods(judgements, contexts), ties=method.ties)
    resamples = resample(estimates.tally, 0, method)
    finding = _study(estimates, 0, resamples, (estimates, resamples, None), method, keep=True)
    behind, cost = finding.leads.behind(finding.top) & finding.top, method.cost
    cost = np.zeros(len(method.ranked)) if cost is None else cost
    accuracy = estimates.accuracy[method.ranked, 0]
    first = first_choice(accuracy, finding.top, behind, cost, method.uninformed)
    return Whole(estimates, standardised(by_method, judgements, 1), resamples, finding, first)


def study_column(
    judgements: Judgements,
    contexts: Contexts,
    whole: Whole,
    method: Method,
    rng: np.random.Generator,
) -> Column:
    """Local accuracy, H1 and H2 of one column, from sorted pairs."""
    estimates = Estimates.of(tally(judgements, contexts, ties=method.ties))
    crossed = cross_methods(judgements, contexts)
    by_method, totals = by_context(judgements, crossed, ties=method.ties)
    count = len(contexts.values)
    keep = count <= ALL_INTERVALS

    def study(context: int) -> ContextFinding:
        resamples = resample(estimates.tally, context, method)
        overall = whole.estimates, whole.resamples, whole.expected(method.ranked)
        return _study(estimates, context, resamples, overall, method, keep=keep)

    with ThreadPoolExecutor(method.workers) as pool:
        findings = list(pool.map(study, range(count)))
    large = estimates.tally.items()[method.ranked].max(axis=0, initial=0) >= method.minimum_items
    trend = trend_p_values(contexts.name, estimates.tally, large)
    estimates = replace(estimates, tally=estimates.tally.without_units())
    h1 = h2 = None
    if count > 1:
        h1 = accuracy_change(
            judgements.select(method.ranked),
            contexts,
            totals[method.ranked],
            ties=method.ties,
            rng=rng,
            permutations=method.permutations,
            workers=method.workers,
            large=large,
        )
        h2 = _order_change(estimates, findings, whole, method) if len(method.ranked) > 1 else None
    return Column(
        contexts=contexts,
        estimates=estimates,
        standardised=standardised(by_method, judgements, count),
        mix=_method_mix(crossed, count, len(judgements.methods)),
        findings=findings,
        large=large,
        h1=h1,
        h2=h2,
        trend_p=trend,
    )


def study_intervals(
    judgements: Judgements, contexts: Contexts, ties: str, bootstrap: ClusterBootstrap
) -> tuple[Estimates, FloatArray, FloatArray]:
    """Local accuracies of sorted pairs with the ends of their intervals, [metrics, contexts], and no more.

    Here the pairs of an output may lie in several contexts.
    """
    estimates = Estimates.of(tally(judgements, contexts, ties=ties))
    sums, ends = estimates.tally, []
    for context in range(len(contexts.values)):
        part = sums.part(context)
        drawn = bootstrap.resample_ratios(sums.credit[:, part], sums.size[:, part], sums.cluster[part])
        ends.append(proportion_interval(estimates.of_context(context), drawn))
    low, high = (np.stack(side, axis=1) for side in zip(*ends))
    return estimates, low, high


def standardised(by_method: FloatArray, judgements: Judgements, contexts: int) -> FloatArray:
    """Accuracy [metrics, contexts · methods], averaged with the shares of methods among all pairs.

    Methods that a context has no pair of are left out there and the other shares scaled up.
    """
    accuracy = by_method.reshape(len(by_method), contexts, -1)
    shares = count_codes(judgements.method, len(judgements.methods)) / judgements.pairs
    known = ~np.isnan(accuracy)
    return ratio((np.where(known, accuracy, 0) * shares).sum(axis=2), (known * shares).sum(axis=2))


def _method_mix(crossed: Contexts, contexts: int, methods: int) -> FloatArray:
    counts = count_codes(crossed.codes, contexts * methods)
    table: FloatArray = counts.reshape(contexts, methods).astype(np.float64)
    return ratio(table, table.sum(axis=1, keepdims=True))


def resample(sums: Tally, context: int, method: Method) -> FloatArray:
    """Accuracies of one context under every resample of the clusters, [metrics, resamples]."""
    part = sums.part(context)
    return method.bootstrap.resample_ratios(sums.credit[:, part], sums.size[:, part], sums.cluster[part])


def _study(
    estimates: Estimates,
    context: int,
    resamples: FloatArray,
    overall: tuple[Estimates, FloatArray, FloatArray | None],
    method: Method,
    *,
    keep: bool,
) -> ContextFinding:
    """Intervals, top group and order of one context; `overall` is the whole's estimates and resamples.

    Its last part is the order that leads may contradict, None for the whole itself.
    """
    ranked, whole, whole_resamples, against = method.ranked, *overall
    accuracy, clusters = estimates.accuracy[:, context], estimates.clusters[:, context]
    low, high = proportion_interval(estimates.of_context(context), resamples)
    drawn = resamples[ranked]
    independent = int(clusters[ranked].max(initial=0))
    top, _ = select_possible_best(accuracy[ranked], drawn, independent)
    agreement = compare_with_global(
        accuracy[ranked],
        drawn,
        whole.accuracy[ranked, 0],
        whole_resamples[ranked],
        method.agreement,
        independent,
    )
    ceiling = split_half(estimates.tally, ranked, context, method.halves, method.agreement)
    leads = context_leads(estimates.tally, context, ranked, against, method.signs)
    order = ContextOrder(*agreement, ceiling)
    return ContextFinding(low, high, top, order, leads, drawn if keep else None)


def _order_change(
    estimates: Estimates, findings: Sequence[ContextFinding], whole: Whole, method: Method
) -> OrderChange:
    rows = [whole.finding, *findings]
    accuracy = np.concatenate([whole.estimates.accuracy, estimates.accuracy], axis=1)[method.ranked].T
    kept = [row.resamples for row in rows if row.resamples is not None]
    everything = kept if len(kept) == len(rows) else []
    return order_change(accuracy, everything, [row.order for row in rows], method.agreement, method.workers)


def column_evidence(
    metrics: tuple[str, ...], overall: Whole, column: Column, method: Method, **known: Any
) -> Evidence:
    """What a choice in the contexts of a column rests on; `known` is what no accuracy says (costs, …).

    `known` may hold `radius`, by which the mix of contexts may shift in the robust accuracy.
    """
    ranked, estimates = method.ranked, column.estimates
    findings = [overall.finding, *column.findings]
    low = np.stack([finding.low for finding in findings], axis=1)[ranked]
    shares = estimates.tally.items().max(axis=0).astype(np.float64)
    lows = np.where(np.isnan(low[:, 1:]), np.inf, low[:, 1:])
    worst = lows.min(axis=1, initial=np.inf)
    return Evidence(
        metrics=tuple(metrics[m] for m in ranked),
        contexts=(GLOBAL, *column.contexts.values),
        accuracy=np.concatenate([overall.estimates.accuracy, estimates.accuracy], axis=1)[ranked],
        low=low,
        high=np.stack([finding.high for finding in findings], axis=1)[ranked],
        top=np.stack([finding.top for finding in findings], axis=1),
        behind=np.stack([finding.leads.behind(finding.top) & finding.top for finding in findings], axis=1),
        spread=net_spread(estimates.accuracy[ranked], estimates.variance[ranked]),
        robust=robust_accuracy(estimates.accuracy[ranked], shares, known.pop("radius", 0.1)),
        worst_case=np.where(np.isinf(worst), np.nan, worst),
        **known,
    )
