"""What a report may claim: differences that hold with one error rate for all of them together.

A report says many things: on this context trust that metric, these metrics vary, here accuracy falls. Were
each tested alone, some would be wrong in most reports. So all contexts of all columns form one family, and
where nothing differs, no more than 5 % of reports claim anything.

*Leads*: whether one metric is ahead of another in a context, against their order over all outputs. For
metrics i and j let d_k be the part that cluster k has in the difference of their accuracies. Were they
equally good, d_k would be as likely negative: with random signs e_k,

    T = Σ d_k / √Σ d_k²     is compared with     max of Σ e_k d_k / √Σ d_k²

over all contexts, columns and pairs at once, one sign per cluster (Westfall and Young, 1993). T is at most
√clusters, so a handful of clusters never carries a claim; nor does a context below the smallest size.

Whether accuracy follows the order of contexts that have one: numbers, and buckets of numbers.

What claims settle: one metric for all contexts, and where others are shown to be ahead of it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtr

from metassay.meta.contexts.accuracy import Tally, ratio
from metassay.stats.arrays import FloatArray, average_ranks, to_json_values
from metassay.stats.bootstrap import ClusterHalves
from metassay.stats.compilation import kernel
from metassay.stats.correlation import correlate
from metassay.stats.multiplicity import adjust_holm

BoolArray = NDArray[np.bool_]
LongArray = NDArray[np.int64]
Row = dict[str, Any]

ERROR_RATE = 0.05
LEAD = "lead"
_ROUNDING = 1e-9
_CLEAR = float(ndtri(0.975))


@dataclass(frozen=True)
class Leads:
    """T of every metric over every other in one context, [better, worse]; NaN where they never differ.

    `asked` marks the pairs in the family, those against the order over all outputs; `largest` is the largest
    of their T under each draw of signs.
    """

    lead: FloatArray
    asked: BoolArray
    largest: FloatArray

    def behind(self, among: BoolArray) -> BoolArray:
        """Which metrics a plain paired test (p ≤ .05) puts behind another one of `among`."""
        clear = np.nan_to_num(self.lead) >= _CLEAR
        return np.asarray(clear[among].any(axis=0))


def context_leads(
    sums: Tally, context: int, rows: LongArray, overall: FloatArray | None, signs: ClusterHalves
) -> Leads:
    """Leads of the metrics `rows` in one context against their order in `overall`; all leads where None."""
    part = sums.part(context)
    size = np.broadcast_to(sums.size[:, part], sums.credit[:, part].shape)[rows]
    share = ratio(sums.credit[rows, part], size.sum(axis=1, keepdims=True))
    known: BoolArray = np.asarray(~np.isnan(share).any(axis=1) & (share.shape[1] > 0))
    share = np.where(known[:, None], share, 0)
    products = share @ share.T
    own = np.diag(products)
    squares = own[:, None] + own - 2 * products
    both: BoolArray = known[:, None] & known
    differ: BoolArray = both & (squares > _ROUNDING * np.maximum(own[:, None], own))
    np.fill_diagonal(differ, val=False)
    asked = differ if overall is None else differ & (overall[:, None] <= overall)
    scale = np.where(differ, 1 / np.sqrt(np.where(differ, squares, 1)), 0)
    accuracy = share.sum(axis=1)
    flipped = 2 * signs.resample_sums(share, sums.cluster[part]) - accuracy[:, None]
    lead = np.where(differ, (accuracy[:, None] - accuracy) * scale, np.nan)
    return Leads(lead, asked, _largest(np.ascontiguousarray(flipped), np.where(asked, scale, 0)))


@kernel
def _largest(values: FloatArray, scale: FloatArray) -> FloatArray:
    """For every draw (column of `values`) the largest scaled difference of two rows, 0 at least."""
    count, draws = values.shape
    found = np.zeros(draws, np.float64)
    for i in range(count):
        for j in range(count):
            if scale[i, j] > 0:
                for draw in range(draws):
                    found[draw] = max(found[draw], (values[i, draw] - values[j, draw]) * scale[i, j])
    return found


def lead_p_values(leads: Sequence[Leads]) -> list[FloatArray]:
    """p-values [better, worse] of all leads, adjusted for every context and pair among them."""
    if not leads:
        return []
    largest = np.sort(np.stack([each.largest for each in leads]).max(axis=0))

    def adjusted(found: Leads) -> FloatArray:
        reached = len(largest) - np.searchsorted(largest, found.lead - _ROUNDING)
        return np.where(found.asked, (1 + reached) / (1 + len(largest)), np.nan)

    return [adjusted(each) for each in leads]


@dataclass(frozen=True)
class Family:
    """p-values of one kind of claim, already adjusted for each other; `rows` say what each would claim."""

    kind: str
    rows: Sequence[Row]
    p: FloatArray


def holm_family(kind: str, rows: Sequence[Row], p_values: Sequence[float]) -> Family:
    """A family adjusted by Holm."""
    return Family(kind, rows, adjust_holm(np.array(p_values, dtype=np.float64)))


def claims_made(families: Sequence[Family], set_aside: Mapping[str, Sequence[str]]) -> Row:
    """Every claim that holds, its p-value adjusted for all kinds of claim in the report.

    Kinds share the error rate evenly (Bonferroni). `tests` counts what could have been claimed; `set_aside`
    names the contexts that were too small to take part; `order` has, by column and context, the p-value of
    the clearest lead against the order over all outputs.
    """
    tested = [family for family in families if not np.isnan(family.p).all()]
    order: dict[str, dict[str, float]] = {}
    made: Row = {family.kind: [] for family in families}
    for family in tested:
        for row, p in zip(family.rows, np.minimum(family.p * len(tested), 1).tolist()):
            if family.kind == LEAD and row["column"] is not None:
                here = order.setdefault(row["column"], {})
                here[row["context"]] = min(p, here.get(row["context"], 1.0))
            if p <= ERROR_RATE:
                made[family.kind].append({**row, "p": p})
    return {
        "error_rate": ERROR_RATE,
        "tests": {family.kind: int((~np.isnan(family.p)).sum()) for family in families},
        "set_aside": {name: list(values) for name, values in set_aside.items() if values},
        **made,
        "order": order,
    }


_BUCKET = re.compile(r"^[\[(]\s*(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*,")
_IDENTIFIER = re.compile(
    r"(^|[_ .-])(id|item|seg|segment|doc|document|chapter|speaker|session|system|rater|topic|query|user)s?$",
    re.IGNORECASE,
)
ENOUGH = 5
"""Fewer contexts than this show no trend."""


def ordered(column: str, contexts: Sequence[str]) -> bool:
    """Whether contexts are amounts along which accuracy can rise or fall: never where they are names.

    >>> ordered("length:3", ["[1,5]", "[6,9]"]), ordered("doc_id", ["7", "9"])
    (True, False)
    """
    return all(position(context) is not None for context in contexts) and not _IDENTIFIER.search(column)


def position(context: str) -> float | None:
    """Where a context stands: a number, or the low end of a bucket; None for names.

    >>> position("[-2.5,-1]"), position("7"), position("news")
    (-2.5, 7.0, None)
    """
    bucket = _BUCKET.match(context)
    try:
        found = float(bucket.group(1) if bucket else context)
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def trends(column: str, contexts: Sequence[str], accuracy: FloatArray) -> list[float | None] | None:
    """Spearman's correlation of each metric's accuracy `[metrics, contexts]` with the order of the contexts.

    None for a metric that is defined in too few contexts or never varies; None altogether where the contexts
    have no order or are few.
    """
    if not ordered(column, contexts) or len(contexts) < ENOUGH:
        return None
    places = _places(contexts)
    return [_trend(places, row) for row in accuracy]


def trend_p_values(column: str, sums: Tally, large: NDArray[np.bool_]) -> FloatArray:
    """Two-sided p-values [metrics] that accuracy does not follow the order of the contexts that are `large`.

    The contrast L = Σ_c w_c a_c, w the centred ranks of the contexts, over its standard error from the spread
    between clusters: cluster k adds Σ_c w_c (credit_kc - a_c size_kc) / size_c to L, whether contexts are
    crossed with clusters or hold them. Student's t with clusters - 1 degrees of freedom. NaN without an
    order.
    """
    taken = np.flatnonzero(large)
    undefined = np.full(len(sums.credit), np.nan)
    if len(taken) < ENOUGH or not ordered(column, sums.values):
        return undefined
    weights = average_ranks(_places([sums.values[c] for c in taken]))
    weights -= weights.mean()
    size = np.broadcast_to(sums.size, sums.credit.shape)
    clusters = int(sums.cluster.max()) + 1
    contrast, added = np.zeros(len(size)), np.zeros((len(size), clusters))
    for weight, context in zip(weights, taken):
        part = sums.part(int(context))
        here, whole = size[:, part], size[:, part].sum(axis=1, keepdims=True)
        accuracy = ratio(sums.credit[:, part].sum(axis=1, keepdims=True), whole)
        units = max(part.stop - part.start, 2)
        residual = ratio(sums.credit[:, part] - accuracy * here, whole) * math.sqrt(units / (units - 1))
        contrast += weight * accuracy[:, 0]
        added[:, sums.cluster[part]] += weight * residual
    seen = len(np.unique(sums.cluster))
    error = np.sqrt((added**2).sum(axis=1))
    t = ratio(np.abs(contrast), error)
    return np.asarray(2 * stdtr(max(seen - 1, 1), -t)) if seen > 1 else undefined


def _places(contexts: Sequence[str]) -> FloatArray:
    return np.array([position(context) for context in contexts], dtype=np.float64)


def _trend(places: FloatArray, accuracy: FloatArray) -> float | None:
    defined = ~np.isnan(accuracy)
    if defined.sum() < ENOUGH:
        return None
    rho = correlate("spearman", places[defined], accuracy[defined])
    return to_json_values(rho)


@dataclass(frozen=True)
class Followed:
    """Why people are followed: by which score, and what their pairs say of their choice and the rules'.

    Accuracies come with their low and high ends.
    """

    human: str
    rule: str
    accuracy: tuple[float, float, float]
    accuracy_of_rule: tuple[float, float, float]


@dataclass(frozen=True)
class Settled:
    """The one choice of a run: `first` everywhere, but where others are shown to be `ahead` of it.

    `aside` are the contexts that are too small for a choice of their own, `equals` the metrics that no claim
    over all outputs puts behind it. Where people are followed, `people` says why and `top_group` are the
    metrics that they do not put behind it.
    """

    first: str
    ahead: Mapping[str, Sequence[str]] = field(default_factory=dict)
    aside: frozenset[str] = frozenset()
    people: Followed | None = None
    top_group: Sequence[str] = ()
    equals: Sequence[str] = ()


def settled(
    claims: Row, column: str, first: str, metrics: Sequence[str], uninformed: Collection[str] = ()
) -> Settled:
    """The choice of the run as one column has it: the first metric, and those shown to be ahead of it."""
    ahead: dict[str, list[str]] = {}
    for row in claims[LEAD]:
        if row["column"] == column and row["worse"] == first and row["better"] not in uninformed:
            ahead.setdefault(row["context"], []).append(row["better"])
    aside = frozenset(claims["set_aside"].get(column, ()))
    return Settled(first, ahead, aside, equals=_equals(claims, first, metrics))


def _equals(claims: Row, first: str, metrics: Sequence[str]) -> list[str]:
    """The metrics that no claim over all outputs puts behind the first."""
    behind = {row["worse"] for row in claims[LEAD] if row["column"] is None and row["better"] == first}
    return [metric for metric in metrics if metric not in {first, *behind}]


def answer_entry(
    recommendation: Mapping[str, Row], claims: Row, choice: Settled, metrics: Sequence[str]
) -> Row:
    """The answer of the run: the first metric, those not shown to be behind it, where another is ahead."""
    first = choice.first
    return {
        "metric": first,
        "top_group": list(choice.top_group) or [first, *_equals(claims, first, metrics)],
        "exceptions": [
            {"column": column, "context": context, "metric": entry["choice"]}
            for column, entries in recommendation.items()
            for context, entry in entries.items()
            if entry["choice"] not in {first, None}
        ],
    }
