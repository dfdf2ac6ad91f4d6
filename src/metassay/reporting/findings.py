"""The JSON object of an assay, read once into types that the rest of the report can rely on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from metassay.meta.contexts.trend import parse_position
from metassay.reporting.pair_phrases import describe_pairs
from metassay.reporting.wording import Sentence, digits_for, in_labels, interval, percent, sentence

SENTINELS = frozenset({"length", "random", "constant", "random_per_system"})
GLOBAL = "global"


@dataclass(frozen=True)
class Estimate:
    """How often one metric is right in one context."""

    metric: str
    context: str
    accuracy: float | None
    low: float | None
    high: float | None
    row: Mapping[str, Any]


@dataclass(frozen=True)
class Choice:
    """The metric to use in one context, those that share the top with it, and the reason."""

    use: str | None
    metrics: tuple[str, ...]
    top_group: tuple[str, ...]
    why: str
    robust: str | None = None


@dataclass(frozen=True)
class Agreement:
    """Rank agreement of the metrics between contexts; `matrix` may be cut to one row, global's."""

    statistic: str
    contexts: tuple[str, ...]
    matrix: Sequence[Sequence[float | None]]
    low: Sequence[Sequence[float | None]]
    high: Sequence[Sequence[float | None]]
    ceiling: tuple[float | None, ...]
    p_global: tuple[float | None, ...]

    def cell(self, i: int, j: int, of: str = "matrix") -> float | None:
        """The value at row i, column j, or None where it was not computed."""
        rows: Sequence[Sequence[float | None]] = getattr(self, of)
        return rows[i][j] if i < len(rows) and j < len(rows[i]) else None


@dataclass(frozen=True)
class Column:
    """All that was found for one context column.

    `raw` is the column's part of the JSON object.
    """

    name: str
    contexts: tuple[str, ...]
    estimates: Mapping[tuple[str, str], Estimate]
    h1: tuple[Mapping[str, Any], ...]
    agreement: Agreement | None
    choices: Mapping[str, Choice]
    raw: Mapping[str, Any]

    def alone(self, context: str, metric: str) -> bool:
        """Whether the context holds a single item, so that its accuracy says next to nothing."""
        estimate = self.estimates.get((context, metric))
        return estimate is not None and estimate.row.get("items") == 1

    def of(self, metric: str) -> list[Estimate]:
        """The metric's estimates that are defined, in the order of `contexts`."""
        found = (self.estimates.get((context, metric)) for context in self.contexts)
        return [estimate for estimate in found if estimate and estimate.accuracy is not None]


@dataclass(frozen=True)
class Findings:
    """An assay's results: metrics best first, sentinels apart, one `Column` per context column."""

    task: str
    overall: Mapping[str, Estimate]
    columns: tuple[Column, ...]
    result: Mapping[str, Any]
    sentinels: frozenset[str]

    @cached_property
    def metrics(self) -> tuple[str, ...]:
        """The metrics under assay, best first by global accuracy."""
        return tuple(name for name in self.ordered if name not in self.sentinels)

    @cached_property
    def ordered(self) -> tuple[str, ...]:
        """Metrics under assay, then sentinels; each best first, then by name."""

        def rank(name: str) -> tuple[bool, float, str]:
            accuracy = self.overall[name].accuracy
            return name in self.sentinels, math.inf if accuracy is None else -accuracy, name

        return tuple(sorted(self.overall, key=rank))

    @cached_property
    def uninformed(self) -> frozenset[str]:
        """Everything that knows nothing of quality: the sentinels, and those asked for as metrics."""
        named = {name for name in self.overall if str(getattr(name, "spec", name)).split("(")[0] in SENTINELS}
        return frozenset({*self.sentinels, *named})

    @property
    def pairs(self) -> str:
        """What the pairs are: `pairs made worse by rule`, `pairs judged by people`."""
        return describe_pairs(str(self.result.get("pairs_from", "")))

    def claimed(self, kind: str, **where: str | None) -> list[Mapping[str, Any]] | None:
        """The claims of a kind that hold for the whole report; None where the result does not say."""
        claims = _mapping(self.result.get("claims"))
        if kind not in claims:
            return None
        return [row for row in claims[kind] if all(row.get(key) == value for key, value in where.items())]

    @property
    def people(self) -> Mapping[str, Any] | None:
        """What people say beside the pairs that were made; None where nobody was heard."""
        return self.result.get("people") or None

    @cached_property
    def exceptions(self) -> dict[tuple[str, str], str] | None:
        """By column and context the metric to use instead of the first; None where there is no answer."""
        if not self.result.get("answer"):
            return None
        rows = _rows(self.result["answer"].get("exceptions"))
        return {(str(row["column"]), str(row["context"])): str(row["metric"]) for row in rows}

    @property
    def best(self) -> Estimate | None:
        """The metric to use over all outputs: the run's choice, else the most accurate one, if any is."""
        chosen = self.overall.get(_mapping(self.result.get("answer")).get("metric", ""))
        if chosen is not None and chosen.accuracy is not None:
            return chosen
        ordered = sorted(self.metrics, key=lambda name: name in self.uninformed)
        defined = (self.overall[name] for name in ordered)
        return next((estimate for estimate in defined if estimate.accuracy is not None), None)


def find(result: Mapping[str, Any], labels: Mapping[str, str] | None = None) -> Findings:
    """Read an assay's JSON object, metrics by their labels; unknown keys are left in `Findings.result`."""
    result = in_labels(result, labels)
    rows = [*_rows(result.get("global")), *_rows(result.get("sentinels"))]
    overall = {str(row["metric"]): estimate(row, GLOBAL) for row in rows}
    sentinels = _sentinels(result, overall)
    columns = tuple(
        _column(str(name), column or {}, _mapping(result.get("recommendation")).get(name), sentinels)
        for name, column in _mapping(result.get("contexts")).items()
    )
    for column in columns:
        for _, metric in column.estimates:
            overall.setdefault(metric, Estimate(metric, GLOBAL, None, None, None, {}))
    return Findings(
        task=str(result.get("task", "")),
        overall=overall,
        columns=columns,
        result=result,
        sentinels=sentinels,
    )


def _sentinels(result: Mapping[str, Any], overall: Iterable[str]) -> frozenset[str]:
    """The metrics marked as sentinels; in a result that marks none, those known by name.

    A sentinel that was asked for as a metric is not marked, and is a metric.
    """
    if "sentinels" in result:
        return frozenset(str(row["metric"]) for row in _rows(result["sentinels"]))
    return frozenset(name for name in overall if name.split("(")[0].strip() in SENTINELS)


def _column(name: str, column: Mapping[str, Any], recommendation: Any, sentinels: frozenset[str]) -> Column:
    rows = [*_rows(column.get("local_accuracy")), *_rows(column.get("sentinels"))]
    found = [estimate(row, str(row.get("context"))) for row in rows]
    estimates = {(row.context, row.metric): row for row in found if row.context != GLOBAL}
    contexts = _ordered_contexts([row for row in estimates.values() if row.metric not in sentinels])
    return Column(
        name=name,
        contexts=contexts,
        estimates=estimates,
        h1=tuple(_rows(column.get("h1"))),
        agreement=_agreement(column.get("h2")),
        choices={str(context): _choice(choice) for context, choice in _mapping(recommendation).items()},
        raw=column,
    )


def _choice(choice: Mapping[str, Any]) -> Choice:
    metrics = tuple(map(str, choice.get("metrics") or ()))
    use = choice.get("choice") or next(iter(metrics), None)
    return Choice(
        use=None if use is None else str(use),
        metrics=metrics,
        top_group=tuple(map(str, choice.get("top_group") or ())),
        why=str(choice.get("why") or ""),
        robust=choice.get("robust_choice"),
    )


def _ordered_contexts(estimates: Iterable[Estimate]) -> tuple[str, ...]:
    """Numbers and buckets in their own order; names by falling mean accuracy of the metrics."""
    accuracies: dict[str, list[float]] = {}
    for estimate in estimates:
        values = accuracies.setdefault(estimate.context, [])
        if estimate.accuracy is not None:
            values.append(estimate.accuracy)
    positions = {context: parse_position(context) for context in accuracies}
    numeric = {context: at for context, at in positions.items() if at is not None}
    if len(numeric) == len(positions):
        return tuple(sorted(numeric, key=lambda context: (numeric[context], context)))
    means = {context: sum(values) / len(values) if values else 0.0 for context, values in accuracies.items()}
    return tuple(sorted(means, key=lambda context: (-means[context], context)))


def _agreement(h2: Any) -> Agreement | None:
    if not h2 or not h2.get("matrix"):
        return None
    matrix = [[_float(value) for value in row] for row in h2["matrix"]]
    return Agreement(
        statistic=str(h2.get("statistic", "")),
        contexts=tuple(map(str, h2.get("contexts") or ())),
        matrix=matrix,
        low=[[_float(value) for value in row] for row in h2.get("low") or ()],
        high=[[_float(value) for value in row] for row in h2.get("high") or ()],
        ceiling=tuple(_float(value) for value in h2.get("ceiling") or ()),
        p_global=tuple(_float(value) for value in h2.get("p_global_holm") or h2.get("p_global") or ()),
    )


def estimate(row: Mapping[str, Any], context: str = GLOBAL) -> Estimate:
    """A row of accuracies as an estimate."""
    accuracy, low, high = (_float(row.get(key)) for key in ("accuracy", "low", "high"))
    return Estimate(str(row["metric"]), context, accuracy, low, high, row)


def _float(value: Any) -> float | None:
    if value is None or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _rows(value: Any) -> list[Mapping[str, Any]]:
    return list(value or ())


def _mapping(value: Any) -> Mapping[str, Any]:
    return value or {}


def share(estimate: Estimate, pairs: str = "pairs") -> Sentence:
    """`91 % of pairs (95 % interval 90–92)` as a phrase; `pairs` says what they are."""
    digits = digits_for(estimate.low, estimate.high)
    if estimate.low is None:
        return sentence("{share} of {pairs}", share=percent(estimate.accuracy, digits=digits), pairs=pairs)
    return sentence(
        "{share:figure} of {pairs}{note:note} (95\u202f% interval {range:figure})",
        share=percent(estimate.accuracy, digits=digits),
        pairs=pairs,
        note="accuracy",
        range=interval(estimate.low, estimate.high, digits=digits),
    )


def brief(estimate: Estimate) -> str:
    """`78 % (75–80)`."""
    digits = digits_for(estimate.low, estimate.high)
    text = percent(estimate.accuracy, digits=digits)
    if estimate.low is None:
        return text
    return f"{text} ({interval(estimate.low, estimate.high, digits=digits)})"
