"""An assay's result as its page needs it: metrics best first, contexts in their order, labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from metassay.meta.contexts.trend import parse_position
from metassay.metrics.sentinels import SENTINELS
from metassay.reporting.labels import MetricLabels
from metassay.reporting.pair_phrases import describe_pairs
from metassay.reporting.report_sections import ResultView
from metassay.results.assay import (
    AccuracyTest,
    AssayContent,
    ContextColumn,
    MetricAccuracy,
    Recommendation,
)
from metassay.results.wrong_pairs import WrongPairs

MOST_CHARTED_CONTEXTS = 150
_SENTINEL_NAMES = frozenset(sentinel.name for sentinel in SENTINELS)


@dataclass(frozen=True)
class ColumnView:
    """One context column: its contexts in the order in which they are shown, and accuracies by context."""

    name: str
    contexts: tuple[str, ...]
    accuracies: Mapping[tuple[str, str], MetricAccuracy]
    result: ContextColumn
    recommendations: Mapping[str, Recommendation]

    def defined_accuracies(self, metric: str) -> list[MetricAccuracy]:
        """Return the accuracies of a metric that are defined, in the order of the contexts."""
        rows = [self.accuracies.get((context, metric)) for context in self.contexts]
        return [row for row in rows if row is not None and row.accuracy is not None]

    def limit_contexts(self, count: int = MOST_CHARTED_CONTEXTS) -> ColumnView:
        """Return the column with at most so many contexts, evenly spaced in their order."""
        total = len(self.contexts)
        if total <= count:
            return self
        kept = tuple(self.contexts[n * (total - 1) // (count - 1)] for n in range(count))
        return replace(self, contexts=kept)


@dataclass(frozen=True)
class AssayView(ResultView[AssayContent]):
    """An assay's result with what its sections share.

    `wrong_pairs` are examples of pairs that metrics got wrong; `manifest` says how the run was made. A page
    in a notebook has neither.
    """

    wrong_pairs: WrongPairs | None = None
    manifest: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def accuracies(self) -> dict[str, MetricAccuracy]:
        """Accuracy over all outputs by metric, sentinels included."""
        return {row.metric: row for row in [*self.result.overall, *self.result.sentinels]}

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics under assay, best first; of metrics that decided alike the first one."""
        return self._sort_by_accuracy(self.result.overall)

    @cached_property
    def sentinels(self) -> list[str]:
        """The sentinels that were added to check the assay, best first."""
        return self._sort_by_accuracy(self.result.sentinels)

    @property
    def all_metrics(self) -> list[str]:
        """Metrics under assay, then sentinels."""
        return [*self.metrics, *self.sentinels]

    @cached_property
    def uninformed(self) -> set[str]:
        """Metrics that know nothing of quality: sentinels, also those that were requested as metrics."""
        requested = {metric for metric in self.metrics if metric.partition("(")[0] in _SENTINEL_NAMES}
        return {*self.sentinels, *requested}

    @cached_property
    def columns(self) -> list[ColumnView]:
        """The context columns in the order of the result."""
        return [self._build_column(name, column) for name, column in self.result.contexts.items()]

    @property
    def pairs(self) -> str:
        """What the pairs are: `perturbed pairs`, `human pairs`."""
        return describe_pairs(self.result.pairs_from)

    @property
    def best(self) -> MetricAccuracy | None:
        """The metric to use over all outputs; None where no metric scored a pair."""
        answer = self.result.answer
        if answer is None or self.accuracies[answer.metric].accuracy is None:
            return None
        return self.accuracies[answer.metric]

    @cached_property
    def exceptions(self) -> dict[tuple[str, str], str]:
        """The metric to use instead, by column and context."""
        if self.result.answer is None:
            return {}
        return {(row.column, row.context): row.metric for row in self.result.answer.exceptions}

    def small_contexts(self, column: str) -> list[str]:
        """Return the contexts of a column that are too small to take part in claims."""
        return self.result.claims.small_contexts.get(column, [])

    def find_variation_p(self, column: str, test: AccuracyTest) -> float | None:
        """Find the p-value that decides whether accuracy differs, adjusted for all claims of the result."""
        if test.p_permutation_holm is None:
            return None
        p_values = self.result.claims.variation_p.get(column, {})
        return p_values.get(test.metric)

    def _sort_by_accuracy(self, rows: Sequence[MetricAccuracy]) -> list[str]:
        shown = [row for row in rows if self.labels.is_shown(row.metric)]

        def sort_key(row: MetricAccuracy) -> tuple[float, str]:
            return (math.inf if row.accuracy is None else -row.accuracy), self.labels[row.metric]

        return [row.metric for row in sorted(shown, key=sort_key)]

    def _build_column(self, name: str, column: ContextColumn) -> ColumnView:
        rows = [*column.local_accuracy, *column.sentinels]
        return ColumnView(
            name=name,
            contexts=_sort_contexts(
                [row for row in column.local_accuracy if self.labels.is_shown(row.metric)]
            ),
            accuracies={(row.context, row.metric): row for row in rows},
            result=column,
            recommendations=self.result.recommendation.get(name, {}),
        )


def build_view(
    result: AssayContent,
    labels: MetricLabels | None = None,
    *,
    wrong_pairs: WrongPairs | None = None,
    manifest: Mapping[str, Any] | None = None,
) -> AssayView:
    """Build the view of a result; labels are given where several results share a page."""
    if labels is None:
        labels = label_assay_metrics(result)
    return AssayView(result, labels, wrong_pairs, manifest or {})


def label_assay_metrics(result: AssayContent) -> MetricLabels:
    """Label the metrics and sentinels of an assay."""
    specs = [row.metric for row in [*result.overall, *result.sentinels]]
    return MetricLabels(specs, result.same_decisions)


def _sort_contexts(rows: Sequence[MetricAccuracy]) -> tuple[str, ...]:
    """Sort numbers and buckets by their position, names by falling mean accuracy of the metrics."""
    accuracies: dict[str, list[float]] = {}
    for row in rows:
        values = accuracies.setdefault(row.context, [])
        if row.accuracy is not None:
            values.append(row.accuracy)
    positions = {context: parse_position(context) for context in accuracies}
    numbers = {context: position for context, position in positions.items() if position is not None}
    if len(numbers) == len(positions):
        return tuple(sorted(numbers, key=lambda context: (numbers[context], context)))
    means = {}
    for context, values in accuracies.items():
        means[context] = sum(values) / len(values) if values else 0.0
    return tuple(sorted(means, key=lambda context: (-means[context], context)))
