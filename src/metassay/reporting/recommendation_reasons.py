"""Why a metric is recommended for a context, in one or two sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from metassay.meta.contexts.choice import Criteria, get_rank_of_cost_class, round_accuracy_variations
from metassay.reporting.labels import MetricLabels
from metassay.reporting.wording import HUMAN_PAIRS, PERTURBED_PAIRS, join_names, name_pairs_by_origin
from metassay.results.assay import (
    GLOBAL,
    ContextStatistics,
    HumanAccuracy,
    HumanComparison,
    MetricAccuracy,
    MetricRobustness,
    Recommendation,
)

# Labels that leave specs as they are, for sentences in JSON.
SPECS = MetricLabels([])


class ReasonWriter:
    """Writes sentences that explain why a metric is recommended in each context of a column, such as in each
    domain.

    `labels` decides how metrics are written. `criteria` is None for the choice that the run made; with the
    user's own criteria, each context has a choice of its own.
    """

    def __init__(
        self,
        result: ContextStatistics,
        column: str,
        *,
        metric_labels: MetricLabels = SPECS,
        criteria: Criteria | None = None,
    ) -> None:
        self.result = result
        self.column = column
        self.labels = metric_labels
        self.criteria = criteria
        self.kind_of_pairs = name_pairs_by_origin(result.pairs_from)
        self.rows: dict[tuple[str, str], MetricAccuracy] = {}
        for row in [*result.contexts[column].local_accuracy, *result.overall]:
            self.rows[row.context, row.metric] = row
        self.robustness: dict[str, MetricRobustness] = {}
        for robustness in result.contexts[column].robustness:
            self.robustness[robustness.metric] = robustness
        self.same_opinion = {metric: group[0] for group in result.same_decisions for metric in group}

    def add_reasons(self, recommendations: Mapping[str, Recommendation]) -> dict[str, Recommendation]:
        """Return the recommendations for the contexts, each with a sentence that gives the reason."""
        explained = {}
        for context, entry in recommendations.items():
            explained[context] = msgspec.structs.replace(
                entry, why=self.explain_recommendation(context, entry)
            )
        return explained

    def explain_recommendation(self, context: str, recommendation: Recommendation) -> str:
        """Explain why a metric is recommended in one context, and give its accuracy there."""
        chosen_metric = recommendation.choice
        if chosen_metric is None:
            return "No metric scored any pair here."
        sentences = []
        if self.rows[context, chosen_metric].accuracy is not None:
            sentences.append(self._write_accuracy_in_context(context, chosen_metric))
        sentences.append(self._explain_chosen_metric(context, recommendation, chosen_metric))
        return " ".join(sentences)

    def explain_chosen_metrics(self, context: str, recommendation: Recommendation) -> str:
        """Explain why a metric is recommended in one context. The accuracy of the metric is not mentioned."""
        if recommendation.choice is None:
            return "No metric scored any pair here."
        return self._explain_chosen_metric(context, recommendation, recommendation.choice)

    def _explain_chosen_metric(self, context: str, recommendation: Recommendation, chosen_metric: str) -> str:
        comparison = self.result.human_comparison
        answer = self.result.answer
        if self.criteria is None and comparison is not None and comparison.followed:
            return explain_choice_by_human_scores(comparison, self.labels)
        if self.criteria is None and context != GLOBAL and answer is not None:
            return self._compare_with_overall_choice(context, chosen_metric, answer.metric)
        others = self._list_other_metrics(chosen_metric, recommendation.top_group)
        if others:
            return self._explain_preference(context, recommendation, chosen_metric, others)
        if self.criteria is None and answer is not None:
            equals = self._list_other_metrics(chosen_metric, answer.top_group)
            if equals:
                return (
                    "No other metric is in the top group, but tested together with everything else that this"
                    f" report claims, it is not shown to be better than {self._join_metric_labels(equals)}."
                )
        return (
            "It is the only metric in the top"
            f" group{self._describe_second_best_metric(context, recommendation, chosen_metric)}."
        )

    def _write_accuracy_in_context(self, context: str, metric: str) -> str:
        place = "over all contexts" if context == GLOBAL else f"on {context}"
        return (
            f"{self.labels[metric]} tells a better output from a worse one in"
            f" {_format_percent(self.rows[context, metric].accuracy)} of {self.kind_of_pairs} {place}"
            f"{self._format_interval(context, metric)}."
        )

    def _compare_with_overall_choice(self, context: str, chosen_metric: str, overall_choice: str) -> str:
        """Explain why a context, such as a domain, has the same recommended metric as all contexts together,
        or another one.
        """
        first_row = self.rows[context, overall_choice]
        if first_row.accuracy is None:
            return f"{self.labels[overall_choice]}, the choice over all contexts, scored no pair here."
        if chosen_metric != overall_choice:
            accuracy = (
                f"{_format_percent(first_row.accuracy)}{self._format_interval(context, overall_choice)}"
            )
            return (
                f"It is shown to be more accurate here than {self.labels[overall_choice]},"
                f" the choice over all contexts: {accuracy}."
            )
        if context in self.result.claims.small_contexts.get(self.column, ()):
            return "It is the choice over all contexts; this context has too few items for one of its own."
        return "It is the choice over all contexts, and no other is shown to be more accurate here."

    def _explain_preference(
        self, context: str, recommendation: Recommendation, chosen_metric: str, others: Sequence[str]
    ) -> str:
        reason = self._find_preference_reason(context, recommendation, chosen_metric, others)
        leader = recommendation.metrics[0]
        is_ahead = self._get_accuracy(context, leader) > self._get_accuracy(context, chosen_metric)
        although = f", though {self.labels[leader]} has the higher estimate" if is_ahead else ""
        return (
            f"{self._join_metric_labels(others)} may be as accurate; {self.labels[chosen_metric]} is"
            f" preferred {reason}{although}."
        )

    def _find_preference_reason(
        self, context: str, recommendation: Recommendation, chosen_metric: str, others: Sequence[str]
    ) -> str:
        """Find why the chosen metric is preferred to others: because of a paired comparison, a criterion of
        the user, the cost or a higher accuracy.
        """
        rivals = [metric for metric in others if metric not in recommendation.behind]
        if not rivals:
            return "because a paired comparison puts the others behind it"
        if self.criteria is not None:
            return self._find_deciding_criterion(self.criteria, chosen_metric, rivals)
        if self._is_cheaper_than_rivals(chosen_metric, rivals):
            return "because it costs less"
        accuracy = self._get_accuracy(context, chosen_metric)
        if all(self._get_accuracy(context, metric) == accuracy for metric in rivals):
            return "because it was named first"
        return "for its higher estimate"

    def _find_deciding_criterion(self, criteria: Criteria, chosen_metric: str, rivals: Sequence[str]) -> str:
        """Find the criterion by which the chosen metric is better than others: stable accuracy, cost, or a
        criterion of the user.
        """
        spread = self._get_accuracy_variation(chosen_metric)
        if any(self._get_accuracy_variation(metric) > spread for metric in rivals):
            return "because its accuracy varies less between contexts"
        if self._is_cheaper_than_rivals(chosen_metric, rivals):
            return "because it costs less"
        for name, numbers in criteria.items():
            chosen_number = numbers.get(chosen_metric, float("-inf"))
            if any(numbers.get(metric, float("-inf")) < chosen_number for metric in rivals):
                return f"for its {name}"
        return "because it is the safest choice when the shares of contexts change"

    def _is_cheaper_than_rivals(self, chosen_metric: str, rivals: Sequence[str]) -> bool:
        cost = self._get_cost_rank(chosen_metric)
        return any(self._get_cost_rank(metric) > cost for metric in rivals)

    def _describe_second_best_metric(
        self, context: str, recommendation: Recommendation, chosen_metric: str
    ) -> str:
        """Name the second best metric, how much less accurate it is, and what it costs."""
        others = self._list_other_metrics(chosen_metric, recommendation.metrics)
        if not others or self.rows[context, others[0]].accuracy is None:
            return ""
        second = others[0]
        text = f"; {self.labels[second]} follows with {_format_percent(self.rows[context, second].accuracy)}"
        cost = self.result.cost_class.get(chosen_metric)
        other_cost = self.result.cost_class.get(second)
        are_known = float("inf") not in {get_rank_of_cost_class(cost), get_rank_of_cost_class(other_cost)}
        if cost == other_cost or not are_known:
            return text
        comparison = "more" if get_rank_of_cost_class(other_cost) > get_rank_of_cost_class(cost) else "less"
        return f"{text} and costs {comparison} ({other_cost} against {cost})"

    def _list_other_metrics(self, chosen_metric: str, metrics: Sequence[str]) -> list[str]:
        """List the metrics other than the chosen one. Of metrics that make the same decision on every pair of
        outputs, only the first is listed.
        """
        seen = {self.same_opinion.get(chosen_metric, chosen_metric)}
        distinct = []
        for metric in metrics:
            opinion = self.same_opinion.get(metric, metric)
            if opinion not in seen:
                distinct.append(metric)
            seen.add(opinion)
        return distinct

    def _get_accuracy(self, context: str, metric: str) -> float:
        accuracy = self.rows[context, metric].accuracy
        return float("nan") if accuracy is None else accuracy

    def _get_accuracy_variation(self, metric: str) -> float:
        stability = self.robustness[metric].stability
        return float("nan") if stability is None else float(round_accuracy_variations(np.array(stability)))

    def _get_cost_rank(self, metric: str) -> float:
        return get_rank_of_cost_class(self.result.cost_class.get(metric))

    def _format_interval(self, context: str, metric: str) -> str:
        row = self.rows[context, metric]
        if row.low is None or row.high is None or row.low == row.high:
            return ""
        return f" (95 % interval {100 * row.low:.0f}–{100 * row.high:.0f})"

    def _join_metric_labels(self, metrics: Sequence[str]) -> str:
        return join_names(self.labels.list_labels_of_metrics(metrics))


def explain_choice_by_human_scores(comparison: HumanComparison, metric_labels: MetricLabels = SPECS) -> str:
    """Explain that the recommended metric was chosen by its agreement with human scores, and compare its
    accuracy with that of another metric.
    """
    rows = {row.metric: row for row in comparison.metrics}
    chosen = rows[comparison.by_human_pairs.metric]
    other = rows[comparison.by_perturbed_pairs.metric]
    return (
        f"The choice follows {HUMAN_PAIRS} ({comparison.human}): it is right in"
        f" {_format_human_accuracy_with_interval(chosen)} of"
        f" them, {metric_labels[other.metric]}, the choice by {PERTURBED_PAIRS}, in"
        f" {_format_human_accuracy_with_interval(other)}."
    )


def _format_human_accuracy_with_interval(human_accuracy: HumanAccuracy) -> str:
    text = _format_percent(human_accuracy.accuracy)
    if human_accuracy.low is None or human_accuracy.high is None:
        return text
    return f"{text} ({100 * human_accuracy.low:.0f}–{100 * human_accuracy.high:.0f})"


def _format_percent(share: float | None) -> str:
    return "an unknown share" if share is None else f"{100 * share:.0f} %"
