"""Choose the metrics of a run: those the user names, defaults, sentinels; and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from metassay.data.dataset import Dataset
from metassay.metrics.base import Metric
from metassay.metrics.registry import MetricChoice, parse_metrics
from metassay.metrics.sentinels import SENTINELS


class MetricCosts(NamedTuple):
    """The cost class of each metric, and the price of metrics whose requests are paid, by spec."""

    classes: dict[str, str]
    prices: dict[str, tuple[float, ...]]


def choose_metrics(dataset: Dataset, metrics: MetricChoice, *text_changes: str) -> tuple[Metric, ...]:
    """Return the metrics that the user named, or else those of the task, with the settings for the data.

    `text_changes` say what was done to the texts (`none` is nothing): signatures name them.
    """
    chosen = parse_metrics(dataset.task_definition.default_metrics if metrics is None else metrics)
    if dataset.task_definition.is_ranking:
        return chosen
    changes = "+".join(change for change in text_changes if change != "none")
    return tuple(metric.adapt_to_languages(dataset.languages, changes) for metric in chosen)


def choose_missing_sentinels(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """Return the sentinel metrics that are not among the metrics yet."""
    chosen_specs = {metric.spec for metric in metrics}
    sentinels = [sentinel_class() for sentinel_class in SENTINELS]
    return tuple(sentinel for sentinel in sentinels if sentinel.spec not in chosen_specs)


def collect_metric_costs(metrics: Sequence[Metric]) -> MetricCosts:
    """Collect the cost classes and prices of metrics."""
    classes = {metric.spec: metric.cost_class for metric in metrics}
    prices = {}
    for metric in metrics:
        if metric.price_per_million_tokens is not None:
            prices[metric.spec] = tuple(metric.price_per_million_tokens)
    return MetricCosts(classes, prices)
