"""The result of an assay, prepared for its page: metrics and contexts are sorted, and metrics have labels."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from metassay.meta.contexts.trend import parse_number_from_context_name
from metassay.metrics.sentinels import SENTINEL_NAMES
from metassay.reporting.labels import MetricLabels
from metassay.reporting.report_sections import ResultReport
from metassay.reporting.wording import name_pairs_by_origin
from metassay.results.assay import (
    AccuracyTest,
    AssayContent,
    ContextColumn,
    MetricAccuracy,
    Recommendation,
)
from metassay.results.wrong_pairs import WrongPairs

MOST_CHARTED_CONTEXTS = 150


@dataclass(frozen=True)
class ReportedColumn:
    """A column of the data, such as the domain, whose values (contexts) the report shows in order, each with
    the accuracy of the metrics and the recommended metric.
    """

    name: str
    contexts: tuple[str, ...]
    accuracies: Mapping[tuple[str, str], MetricAccuracy]
    result: ContextColumn
    recommendations: Mapping[str, Recommendation]

    def list_accuracies_per_context(self, metric: str) -> list[MetricAccuracy]:
        """List the accuracies of a metric in the order of the contexts. Contexts in which its accuracy is
        undefined are left out.
        """
        rows = [self.accuracies.get((context, metric)) for context in self.contexts]
        return [row for row in rows if row is not None and row.accuracy is not None]

    def sample_evenly_spaced_contexts(self, maximum: int = MOST_CHARTED_CONTEXTS) -> ReportedColumn:
        """Return a copy of the column with at most `maximum` of its contexts, taken at even distances."""
        total = len(self.contexts)
        if total <= maximum:
            return self
        kept = tuple(self.contexts[n * (total - 1) // (maximum - 1)] for n in range(maximum))
        return replace(self, contexts=kept)


@dataclass(frozen=True)
class AssayReport(ResultReport[AssayContent]):
    """An assay result prepared for its report: metrics have labels, and metrics and contexts are sorted.

    `wrong_pairs` are examples of pairs that metrics got wrong; `manifest` says how the run was made. A page
    in a notebook has neither.
    """

    wrong_pairs: WrongPairs | None = None
    manifest: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def overall_accuracy_by_metric(self) -> dict[str, MetricAccuracy]:
        """The accuracy of each metric over all outputs, by the name of the metric. Baselines that ignore
        quality (sentinels) are included.
        """
        return {row.metric: row for row in [*self.result.overall, *self.result.sentinels]}

    @cached_property
    def metrics(self) -> list[str]:
        """The assayed metrics, most accurate first. Of metrics that made the same decision on every pair of
        outputs, only the first is listed.
        """
        return self._sort_by_accuracy(self.result.overall)

    @cached_property
    def sentinel_metrics(self) -> list[str]:
        """The baselines that ignore quality, such as a random or a constant score, most accurate first."""
        return self._sort_by_accuracy(self.result.sentinels)

    @property
    def all_metrics(self) -> list[str]:
        """The assayed metrics, followed by the baselines that ignore quality."""
        return [*self.metrics, *self.sentinel_metrics]

    @cached_property
    def metrics_that_ignore_quality(self) -> set[str]:
        """The metrics that ignore quality: baselines, and metrics whose score depends only on names, lengths
        or positions.
        """
        requested = {metric for metric in self.metrics if metric.partition("(")[0] in SENTINEL_NAMES}
        uninformed = {metric for metric in self.metrics if metric in self.result.uninformed}
        return {*self.sentinel_metrics, *requested, *uninformed}

    @cached_property
    def context_columns(self) -> list[ReportedColumn]:
        """The columns of the data, such as the domain, for whose values results are reported separately."""
        return [
            self._prepare_context_column_for_report(name, column)
            for name, column in self.result.contexts.items()
        ]

    @property
    def kind_of_pairs(self) -> str:
        """The words that sentences use for the pairs of outputs: `perturbed pairs`, `human pairs`, or just
        `pairs`.
        """
        return name_pairs_by_origin(self.result.pairs_from)

    @property
    def best_metric(self) -> MetricAccuracy | None:
        """The recommended metric with its accuracy over all outputs. None if no metric can be recommended."""
        answer = self.result.answer
        if answer is None or self.overall_accuracy_by_metric[answer.metric].accuracy is None:
            return None
        return self.overall_accuracy_by_metric[answer.metric]

    @cached_property
    def differing_recommendations_by_context(self) -> dict[tuple[str, str], str]:
        """The recommended metric of each context, such as a domain, in which it is not the metric recommended
        overall. The keys are column and context.
        """
        if self.result.answer is None:
            return {}
        return {(row.column, row.context): row.metric for row in self.result.answer.exceptions}

    def list_small_contexts(self, context_column: str) -> list[str]:
        """List the values of a column that have too few items for claims about them."""
        return self.result.claims.small_contexts.get(context_column, [])

    def find_adjusted_p_value(self, context_column: str, accuracy_test: AccuracyTest) -> float | None:
        """Find the adjusted p-value for the claim that the accuracy of a metric differs between the values of
        a column, such as domains. None if this was not tested.
        """
        if accuracy_test.p_permutation_holm is None:
            return None
        p_values = self.result.claims.variation_p.get(context_column, {})
        return p_values.get(accuracy_test.metric)

    def _sort_by_accuracy(self, metric_accuracies: Sequence[MetricAccuracy]) -> list[str]:
        shown = [row for row in metric_accuracies if self.labels.has_own_table_row(row.metric)]

        def get_accuracy_sort_key(metric_accuracy: MetricAccuracy) -> tuple[float, str]:
            return (math.inf if metric_accuracy.accuracy is None else -metric_accuracy.accuracy), self.labels[
                metric_accuracy.metric
            ]

        return [row.metric for row in sorted(shown, key=get_accuracy_sort_key)]

    def _prepare_context_column_for_report(
        self, column_name: str, context_column: ContextColumn
    ) -> ReportedColumn:
        rows = [*context_column.local_accuracy, *context_column.sentinels]
        return ReportedColumn(
            name=column_name,
            contexts=_sort_contexts(
                [row for row in context_column.local_accuracy if self.labels.has_own_table_row(row.metric)]
            ),
            accuracies={(row.context, row.metric): row for row in rows},
            result=context_column,
            recommendations=self.result.recommendation.get(column_name, {}),
        )


def prepare_assay_report(
    assay_result: AssayContent,
    *,
    wrong_pairs: WrongPairs | None = None,
    manifest: Mapping[str, Any] | None = None,
) -> AssayReport:
    """Prepare an assay result for its report: give labels to the metrics, and sort metrics and contexts."""
    specs = [row.metric for row in [*assay_result.overall, *assay_result.sentinels]]
    metric_labels = MetricLabels(specs, assay_result.same_decisions)
    return AssayReport(assay_result, metric_labels, wrong_pairs, manifest or {})


def _sort_contexts(metric_accuracies: Sequence[MetricAccuracy]) -> tuple[str, ...]:
    """Sort contexts, such as domains: by value if all are numbers, such as years, or else by mean accuracy,
    the highest first.
    """
    accuracies: dict[str, list[float]] = {}
    for row in metric_accuracies:
        values = accuracies.setdefault(row.context, [])
        if row.accuracy is not None:
            values.append(row.accuracy)
    positions = {context: parse_number_from_context_name(context) for context in accuracies}
    numbers = {context: position for context, position in positions.items() if position is not None}
    if len(numbers) == len(positions):
        return tuple(sorted(numbers, key=lambda context: (numbers[context], context)))
    means = {}
    for context, values in accuracies.items():
        means[context] = sum(values) / len(values) if values else 0.0
    return tuple(sorted(means, key=lambda context: (-means[context], context)))
