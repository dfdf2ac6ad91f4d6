"""Findings about contexts as plain dictionaries and lists, the shape in which they are stored and shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.meta.contexts.choice import GLOBAL, Evidence, recommend, robust_choice
from metassay.meta.contexts.column import Column, ContextFinding, Estimates
from metassay.meta.contexts.h2 import OrderChange
from metassay.meta.contexts.prediction import Metadata, predict_agreement
from metassay.meta.contexts.trend import trends
from metassay.stats.arrays import FloatArray
from metassay.stats.multiplicity import holm

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


def h2_entry(column: Column, evidence: Evidence, metadata: Metadata) -> Row | None:
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
        "p_global_holm": holm(p_global),
        "clusters": _context_clusters(column, evidence),
        "prediction": _prediction(h2, metadata),
    }


def _prediction(h2: OrderChange, metadata: Metadata) -> Row | None:
    """How well metadata predict the agreement of two contexts; None where there is nothing to learn from."""
    if len(h2.matrix) == 1:
        return None
    ordered = {name: [values[c] for c in h2.order] for name, values in metadata.items()}
    predicted = predict_agreement(h2.matrix[1:, 1:], ordered)
    return None if predicted is None else asdict(predicted)


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
    found = trends(column.contexts.values, column.estimates.accuracy[list(ranked)])
    return None if found is None else dict(zip((metrics[m] for m in ranked), found))


def method_mix(column: Column, methods: Sequence[str]) -> Row:
    """The share of every method among the pairs of each context."""
    return {value: dict(zip(methods, column.mix[c])) for c, value in enumerate(column.contexts.values)}


def choice_entries(evidence: Evidence) -> Row:
    """The recommendation for every context and the whole, which also names the most robust metric."""
    entries: Row = {
        context: {
            "metrics": list(found.metrics),
            "top_group": list(found.top_group),
            "choice": found.choice,
            "why": found.why,
        }
        for context, found in recommend(evidence).items()
    }
    entries[GLOBAL]["robust_choice"] = robust_choice(evidence)
    return entries
