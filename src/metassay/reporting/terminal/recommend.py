"""What `metassay recommend` prints: the answer, then a choice for each context with its reason."""

from __future__ import annotations

from metassay.reporting.assay_answer import list_contexts_with_other_metric
from metassay.reporting.labels import MetricLabels
from metassay.reporting.terminal.blocks import Block, Line, Table, convert_sentences_to_lines
from metassay.reporting.terminal.verdict import describe_verdict
from metassay.results.assay import MetricRobustness, Recommendation
from metassay.results.recommend import RecommendContent


def describe_recommendation(result: RecommendContent) -> list[Block]:
    """Describe for the terminal which metric to use in each context."""
    labels = MetricLabels(result.shared_errors.metrics, result.same_decisions)
    blocks = describe_verdict(result.verdict, labels, result.task)
    blocks += convert_sentences_to_lines(list_contexts_with_other_metric(result, labels))
    for column, recommendations in result.recommendation.items():
        rows = [_build_recommendation_row(labels, *entry) for entry in recommendations.items()]
        blocks.append(Table(rows, title=f"By {column}"))
        robust_choice = result.robust_choice[column]
        if robust_choice is not None:
            label = labels[robust_choice]
            blocks.append(Line(f"Where the mix of {column} may change, {label} is the safest choice."))
        shown = [row for row in result.robustness[column] if labels.is_shown(row.metric)]
        blocks.append(Table([_build_robustness_row(labels, row) for row in shown]))
    cost_rows = [
        {
            "metric": labels[metric],
            "cost": cost_class,
            "seconds per 1000 outputs": result.seconds.get(metric),
        }
        for metric, cost_class in result.cost_class.items()
        if labels.is_shown(metric)
    ]
    blocks.append(Table(cost_rows))
    costs_differ = len(set(result.cost_class.values())) > 1
    if result.pareto and costs_differ:
        metrics = ", ".join(labels.label_all(result.pareto))
        blocks.append(Line(f"No metric is both more accurate and cheaper than: {metrics}."))
    return blocks


def _build_recommendation_row(
    metric_labels: MetricLabels, context: str, recommendation: Recommendation
) -> dict[str, str | None]:
    choice = recommendation.choice
    return {
        "context": context,
        "use": None if choice is None else metric_labels[choice],
        "top group": ", ".join(metric_labels.label_all(recommendation.top_group)),
        "why": metric_labels.replace_specs_by_labels(recommendation.why),
    }


def _build_robustness_row(
    metric_labels: MetricLabels, robustness: MetricRobustness
) -> dict[str, str | float | None]:
    return {
        "metric": metric_labels[robustness.metric],
        "stability": robustness.stability,
        "worst_case": robustness.worst_case,
        "worst_context": robustness.worst_context,
        "robust_accuracy": robustness.robust_accuracy,
    }
