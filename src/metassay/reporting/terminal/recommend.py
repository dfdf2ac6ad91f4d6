"""What `metassay recommend` prints: the answer and its exceptions; details are the choice per context."""

from __future__ import annotations

from metassay.reporting.labels import MetricLabels
from metassay.reporting.sections.assay_choice import build_robustness_rows
from metassay.reporting.terminal.blocks import Block, Details, Line, Note, Table, convert_sentences_to_lines
from metassay.reporting.terminal.verdict import describe_verdict
from metassay.reporting.wording import format_plural
from metassay.results.assay import Recommendation
from metassay.results.recommend import RecommendContent

_LISTED_EXCEPTIONS = 5


def describe_recommendation(recommend_result: RecommendContent) -> list[Block]:
    """Describe for the terminal which metric to use in each context, such as each domain."""
    labels = MetricLabels(recommend_result.shared_errors.metrics, recommend_result.same_decisions)
    blocks = describe_verdict(recommend_result.verdict, labels, recommend_result.task)
    exceptions = _list_contexts_with_other_metric(recommend_result, labels)
    if recommend_result.answer is not None and not exceptions and recommend_result.recommendation:
        columns = " or ".join(recommend_result.recommendation)
        exceptions = [f"No {columns} is shown to need another metric. Reasons and costs: --verbose"]
    return [
        *blocks,
        *convert_sentences_to_lines(exceptions),
        Details(_describe_recommended_metrics(recommend_result, labels)),
    ]


def _describe_recommended_metrics(
    recommend_result: RecommendContent, metric_labels: MetricLabels
) -> list[Line | Table | Note]:
    """Describe the recommended metric of each context, such as a domain, with the reason and the robustness,
    and the cost of each metric.
    """
    blocks: list[Line | Table | Note] = []
    for column, recommendations in recommend_result.recommendation.items():
        rows = [_build_recommendation_row(metric_labels, *entry) for entry in recommendations.items()]
        blocks.append(Table(rows, title=f"By {column}"))
        robust_choice = recommend_result.robust_choice[column]
        if robust_choice is not None:
            label = metric_labels[robust_choice]
            blocks.append(Line(f"Where the mix of {column} may change, {label} is the safest choice."))
        blocks.append(Table(build_robustness_rows(recommend_result.robustness[column], metric_labels)))
    cost_rows = []
    for metric, cost_class in recommend_result.cost_class.items():
        if metric_labels.has_own_table_row(metric):
            row = {"metric": metric_labels[metric], "cost": cost_class}
            cost_rows.append(row | {"seconds per 1000 outputs": recommend_result.seconds.get(metric)})
    blocks.append(Table(cost_rows))
    costs_differ = len(set(recommend_result.cost_class.values())) > 1
    if recommend_result.pareto and costs_differ:
        metrics = ", ".join(metric_labels.list_labels_of_metrics(recommend_result.pareto))
        blocks.append(Line(f"No metric is both more accurate and cheaper than: {metrics}."))
    return blocks


def _build_recommendation_row(
    labels: MetricLabels, context: str, recommendation: Recommendation
) -> dict[str, str | None]:
    choice = recommendation.choice
    return {
        "context": context,
        "use": None if choice is None else labels[choice],
        "top group": ", ".join(labels.list_labels_of_metrics(recommendation.top_group)),
        "why": labels.replace_specs_by_labels(recommendation.why),
    }


def _list_contexts_with_other_metric(
    recommendations: RecommendContent, metric_labels: MetricLabels
) -> list[str]:
    """List the contexts, such as domains, for which another metric is recommended than over all outputs."""
    answer = recommendations.answer
    if answer is None:
        return []
    lines = [
        f"On {row.context} ({row.column}) use {metric_labels[row.metric]}."
        for row in answer.exceptions[:_LISTED_EXCEPTIONS]
    ]
    more = len(answer.exceptions) - _LISTED_EXCEPTIONS
    if more > 0:
        lines.append(f"{format_plural(more, 'more exception')}: --verbose")
    return lines
