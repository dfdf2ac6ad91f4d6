"""Findings about contexts as plain dictionaries and lists, the shape in which they are stored and shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.meta.contexts.agreement_prediction import AgreementPrediction, Metadata, predict_agreement
from metassay.meta.contexts.choice import Evidence, cost_rank, recommend, robust_choice
from metassay.meta.contexts.claims import (
    LEAD,
    Family,
    Leads,
    claims_made,
    holm_family,
    lead_p_values,
    trends,
)
from metassay.meta.contexts.column_analysis import Column, ContextFinding, Estimates, Whole
from metassay.meta.contexts.confounding import Confounding
from metassay.meta.contexts.human_pairs import PEOPLE, ContextBeside, People, Tau
from metassay.meta.contexts.pair_outcomes import GLOBAL
from metassay.meta.contexts.soft_pairwise_accuracy import KENDALL
from metassay.stats.arrays import FloatArray
from metassay.stats.multiplicity import adjust_holm

Row = dict[str, Any]


def accuracy_rows(
    metrics: Sequence[str],
    rows: Sequence[int],
    estimates: Estimates,
    standardised: FloatArray,
    findings: Sequence[ContextFinding],
) -> list[Row]:
    """One entry per context and metric of `rows`, by context, then metric; plain values already."""
    sums = estimates.tally
    columns = {
        "accuracy": estimates.accuracy,
        "low": np.stack([finding.low for finding in findings], axis=1),
        "high": np.stack([finding.high for finding in findings], axis=1),
        "micro": sums.micro(),
        "standardised": standardised,
        "ties": sums.tie_share(),
        "items": sums.items(),
        "outputs": sums.outputs(),
        "pairs": sums.pairs(),
        "clusters": estimates.clusters,
    }
    values = {name: _plain_columns(column) for name, column in columns.items()}
    return [
        {"context": context, "metric": metrics[m], **{name: column[c][m] for name, column in values.items()}}
        for c, context in enumerate(sums.values)
        for m in rows
    ]


def _plain_columns(table: NDArray[Any]) -> list[list[Any]]:
    """A list per context of a table [metrics, contexts], None for NaN; quick for many contexts."""
    cells = table.T.astype(object)
    cells[np.isnan(table.T)] = None
    return list(cells.tolist())


def h2_entry(column: Column, evidence: Evidence, predicted: AgreementPrediction | None) -> Row | None:
    """H2 of a column: matrix with the whole first, intervals, ceilings, tests, and clusters of contexts."""
    h2 = column.h2
    if h2 is None:
        return None
    p_global = h2.p_global.copy()
    p_global[0] = np.nan  # the whole does not differ from itself
    return {
        "statistic": h2.statistic,
        "contexts": [GLOBAL, *(column.contexts.values[c] for c in h2.order)],
        "matrix": h2.matrix,
        "low": h2.low,
        "high": h2.high,
        "ceiling": h2.ceiling,
        "p_global": p_global,
        "p_global_holm": adjust_holm(np.where(np.append(True, column.large[h2.order]), p_global, np.nan)),
        "clusters": _context_clusters(column, evidence),
        "prediction": None if predicted is None else asdict(predicted),
    }


def prediction(column: Column, metadata: Metadata) -> AgreementPrediction | None:
    """How well metadata predict the agreement of two contexts; None where there is nothing to learn from.

    Contexts too small for claims are left out.
    """
    h2 = column.h2
    if h2 is None or len(h2.matrix) == 1:
        return None
    kept = np.flatnonzero(column.large[h2.order])
    ordered = {name: [values[c] for c in h2.order[kept]] for name, values in metadata.items()}
    return predict_agreement(h2.matrix[1:, 1:][np.ix_(kept, kept)], ordered)


def _context_clusters(column: Column, evidence: Evidence) -> list[Row]:
    """Groups of contexts that order the metrics alike, and the metrics that may be best in all of a group."""
    h2 = column.h2
    if h2 is None or len(h2.matrix) == 1:
        return []
    preference = recommend(evidence)[GLOBAL].metrics
    inner = h2.matrix[1:, 1:]
    groups = []
    for group in range(int(h2.group.max()) + 1):
        places = np.flatnonzero(h2.group == group)
        columns = 1 + h2.order[places]  # the evidence has the whole first
        serving = {evidence.metrics[m] for m in np.flatnonzero(evidence.top[:, columns].all(axis=1))}
        between = inner[np.ix_(places, places)][np.triu_indices(len(places), 1)]
        between = between[~np.isnan(between)]
        groups.append(
            {
                "contexts": [column.contexts.values[c] for c in h2.order[places]],
                "agreement": between.mean() if len(between) else np.nan,
                "metrics": [metric for metric in preference if metric in serving],
            }
        )
    return groups


def robustness_rows(column: Column, evidence: Evidence, ranked: Sequence[int]) -> list[Row]:
    """Per metric: how much its accuracy varies between contexts, its worst context, its robust accuracy."""
    low = np.array([finding.low for finding in column.findings])[:, ranked]
    worst = np.where(np.isnan(low), np.inf, low).argmin(axis=0)
    return [
        {
            "metric": metric,
            "stability": evidence.spread[m],
            "worst_case": evidence.worst_case[m],
            "worst_context": column.contexts.values[worst[m]],
            "robust_accuracy": evidence.robust[m],
        }
        for m, metric in enumerate(evidence.metrics)
    ]


def trend_entry(column: Column, metrics: Sequence[str], ranked: Sequence[int]) -> Row | None:
    """Per metric, how its accuracy follows contexts that have an order; None where they have none."""
    found = trends(column.contexts.name, column.contexts.values, column.estimates.accuracy[list(ranked)])
    return None if found is None else dict(zip((metrics[m] for m in ranked), found))


def trend_p_entry(column: Column, metrics: Sequence[str], ranked: Sequence[int]) -> Row | None:
    """Per metric, the p-value of its trend; None where the contexts have no order."""
    p = column.trend_p[list(ranked)]
    return None if np.isnan(p).all() else dict(zip((metrics[m] for m in ranked), p.tolist()))


def claim_entry(
    columns: Mapping[str, Column],
    whole: Whole,
    predictions: Mapping[str, AgreementPrediction | None],
    confounded: Confounding,
    metrics: Sequence[str],
    people: Sequence[Family] = (),
) -> Row:
    """The differences that may be claimed, all kinds and columns together, people's among them."""
    several = {name: column for name, column in columns.items() if len(column.contexts.values) > 1}
    ranked = [confounded.metrics.index(metric) for metric in metrics]
    varying = [_varying(name, column, metrics, len(several)) for name, column in several.items()]
    trends = [
        ({"column": name, "metric": metric}, p)
        for name, column in several.items()
        for metric, p in (trend_p_entry(column, confounded.metrics, ranked) or {}).items()
    ]
    predicted = [
        ({"column": name}, np.nan if found is None else found.p) for name, found in predictions.items()
    ]
    methods = [({"metric": metric}, confounded.p[m]) for metric, m in zip(metrics, ranked)]
    families = [
        _leading(several, whole, metrics),
        Family(
            "vary",
            [row for rows, _ in varying for row in rows],
            np.concatenate([[], *(p for _, p in varying)]),
        ),
        *(
            holm_family(kind, [row for row, _ in tests], [p for _, p in tests])
            for kind, tests in (("trend", trends), ("predict", predicted), ("method", methods))
        ),
        *people,
    ]
    aside = {
        name: [v for v, large in zip(c.contexts.values, c.large) if not large] for name, c in several.items()
    }
    return claims_made(families, aside)


def _varying(name: str, column: Column, metrics: Sequence[str], columns: int) -> tuple[list[Row], FloatArray]:
    p = np.full(len(metrics), np.nan) if column.h1 is None else column.h1.p_family
    return [{"column": name, "metric": metric} for metric in metrics], np.minimum(p * columns, 1)


def _leading(columns: Mapping[str, Column], whole: Whole, metrics: Sequence[str]) -> Family:
    """Leads over all outputs, and in a context those that contradict them."""
    places: list[tuple[str | None, str, Leads]] = [(None, GLOBAL, whole.finding.leads)]
    for name, column in columns.items():
        found = zip(column.contexts.values, column.findings, column.large)
        places += [(name, value, finding.leads) for value, finding, large in found if large]
    rows: list[Row] = []
    p_values: list[float] = []
    for (of, context, _), p in zip(places, lead_p_values([leads for *_, leads in places])):
        for i, j in _shown(p, whole.first, everywhere=of is None):
            rows.append({"column": of, "context": context, "better": metrics[i], "worse": metrics[j]})
            p_values.append(float(p[i, j]))
    return Family(LEAD, rows, np.array(p_values))


def _shown(p: FloatArray, first: int, *, everywhere: bool) -> list[tuple[int, int]]:
    """Leads worth a row: of the first choice over all outputs; elsewhere over it, and the clearest."""
    if np.isnan(p).all():
        return []
    if everywhere:
        return [(first, j) for j in range(len(p)) if not np.isnan(p[first, j])]
    clearest = np.unravel_index(np.nanargmin(p), p.shape)
    over = [(i, first) for i in range(len(p)) if not np.isnan(p[i, first])]
    return list(dict.fromkeys([(int(clearest[0]), int(clearest[1])), *over]))


def method_mix(column: Column, methods: Sequence[str]) -> Row:
    """The share of every method among the pairs of each context."""
    return {value: dict(zip(methods, column.mix[c])) for c, value in enumerate(column.contexts.values)}


def pareto_entry(evidence: Evidence | None) -> list[str] | None:
    """The metrics that no other beats in both accuracy and class of cost; None without costs."""
    if evidence is None or not evidence.cost:
        return None
    cost = np.array([cost_rank(evidence.cost.get(metric)) for metric in evidence.metrics])
    kept = pareto(evidence.accuracy[:, 0], np.where(np.isinf(cost), np.nan, cost))
    return [metric for metric, keep in zip(evidence.metrics, kept) if keep]


def pareto(accuracy: FloatArray, cost: FloatArray) -> NDArray[np.bool_]:
    """Which metrics are not beaten: none is at least as accurate and as cheap, and better in one of both."""
    at_least = (accuracy[:, None] >= accuracy) & (cost[:, None] <= cost)
    better = (accuracy[:, None] > accuracy) | (cost[:, None] < cost)
    return ~(at_least & better).any(axis=0) & ~np.isnan(accuracy) & ~np.isnan(cost)


def choice_entries(evidence: Evidence) -> Row:
    """The recommendation for every context and the whole, which also names the most robust metric."""
    entries: Row = {
        context: {
            "metrics": list(found.metrics),
            "top_group": list(found.top_group),
            "behind": list(found.behind),
            "choice": found.choice,
        }
        for context, found in recommend(evidence).items()
    }
    entries[GLOBAL]["robust_choice"] = robust_choice(evidence)
    return entries


def people_entry(found: People, claims: Row, first: str, informed: Sequence[str]) -> Row:
    """What people say beside the pairs that were made; `first` is the choice by rule."""
    sums, soft = found.whole.estimates.tally, found.soft
    best = found.metrics[found.ranked[found.best]]
    return {
        "human": found.human,
        "items": int(sums.items().max()),
        "pairs": int(sums.pairs().max()),
        "systems": None if soft is None else soft.systems,
        "segments": None if soft is None else soft.segments,
        "followed": any(row["worse"] == first for row in claims[PEOPLE]),
        "by_rule": {"metric": first},
        "by_people": {"metric": best, "top_group": found.top_group(claims, informed)},
        "by_spa": found.by_spa(informed),
        "metrics": found.rows(),
        "agreement": {"statistic": KENDALL} | {name: _tau_entry(tau) for name, tau in found.taus.items()},
        "ceiling": {
            "pairs": found.whole.finding.order.ceiling,
            "spa": np.nan if soft is None else soft.ceiling,
        },
        "contexts": {name: [_beside(found, each) for each in rows] for name, rows in found.contexts.items()},
    }


def _beside(found: People, here: ContextBeside) -> Row:
    estimates, place = here.estimates, here.place
    return {
        "context": here.context,
        **_tau_entry(here.tau),
        "ceiling": here.ceiling,
        "items": int(estimates.tally.items()[:, place].max()),
        "pairs": int(estimates.pairs[:, place].max()),
        "metrics": [
            {
                "metric": found.metrics[m],
                "accuracy": estimates.accuracy[m, place],
                "low": here.low[m],
                "high": here.high[m],
            }
            for m in found.ranked
        ],
    }


def _tau_entry(tau: Tau) -> Row:
    return dict(zip(("tau", "low", "high"), tau))
