"""Choose the metrics of a run: those the user names, defaults, sentinels; and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from metassay.data.dataset import Dataset
from metassay.metrics.base import Metric
from metassay.metrics.registry import MetricChoice, parse_metrics
from metassay.metrics.sentinels import SENTINELS


class MetricCosts(NamedTuple):
    """How expensive each metric is to compute: a class such as "cheap", and the prices of paid requests.
    Metrics are given by their specs, such as `chrf(word_order=2)`.
    """

    classes: dict[str, str]
    prices: dict[str, tuple[float, ...]]


def choose_metrics(
    dataset: Dataset, requested_metrics: MetricChoice, *preprocessing: str
) -> tuple[Metric, ...]:
    """Return the metrics that the user requested, or else the defaults for the task. Their settings are
    chosen for the languages of the data.

    `preprocessing` says what was done to the texts (`none` is nothing): signatures name them.
    """
    chosen = parse_metrics(
        dataset.task_definition.default_metrics if requested_metrics is None else requested_metrics
    )
    if dataset.task_definition.is_ranking:
        return chosen
    changes = "+".join(change for change in preprocessing if change != "none")
    return tuple(metric.copy_metric_for_languages(dataset.languages, changes) for metric in chosen)


def list_missing_sentinels(chosen_metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """Return the trivial metrics, such as text length, that are not among the chosen metrics. They serve as
    controls.
    """
    chosen_specs = {metric.spec for metric in chosen_metrics}
    sentinels = [sentinel_class() for sentinel_class in SENTINELS]
    return tuple(sentinel for sentinel in sentinels if sentinel.spec not in chosen_specs)


def collect_metric_costs(metrics: Sequence[Metric]) -> MetricCosts:
    """Return how expensive each metric is to compute, and the prices of metrics that send paid requests."""
    classes = {metric.spec: metric.cost_class for metric in metrics}
    prices = {}
    for metric in metrics:
        if metric.price_per_million_tokens is not None:
            prices[metric.spec] = tuple(metric.price_per_million_tokens)
    return MetricCosts(classes, prices)
