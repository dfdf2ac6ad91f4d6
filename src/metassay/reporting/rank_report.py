"""The result of the command `rank`, prepared with labels and titles for its page, the terminal and the joined
page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from metassay.meta.people.meta_metrics.registry import get_meta_metric_label
from metassay.reporting.agreement_curves import build_threshold_rows
from metassay.reporting.labels import MetricLabels
from metassay.reporting.report_sections import ResultReport
from metassay.results.rank import (
    AveragedMetric,
    DownsampledValue,
    RankAnalyses,
    RankContent,
    RankedMetric,
    Ranking,
)

THRESHOLDS = "thresholds"


@dataclass(frozen=True)
class RankReport(ResultReport[RankContent]):
    """The result of the command `rank`, prepared for its report with the labels of its metrics."""

    def name_dataset_and_context(self, ranking: Ranking) -> str:
        """Name the data set and the context, such as the domain, of a ranking: `en-de, news`."""
        return ranking.dataset if ranking.is_global else f"{ranking.dataset}, {ranking.context}"

    def name_ranking(self, ranking: Ranking) -> str:
        """Name a ranking by its data set, context, measure of agreement and human score: `en-de, news: SPA
        with mqm`.
        """
        meta_metric = get_meta_metric_label(ranking.meta_metric)
        return f"{self.name_dataset_and_context(ranking)}: {meta_metric} with {self.result.human}"

    def build_metric_rows(
        self, rows: Sequence[RankedMetric | AveragedMetric | DownsampledValue]
    ) -> list[dict[str, Any]]:
        """Build a table row from each result of a metric, with the label of the metric."""
        return [msgspec.to_builtins(row) | {"metric": self.labels[row.metric]} for row in rows]


def prepare_rank_report(rank_result: RankContent, metric_labels: MetricLabels | None = None) -> RankReport:
    """Combine the result of the command `rank` with the labels under which its report shows the metrics."""
    if metric_labels is None:
        metric_labels = MetricLabels(list_ranked_metrics(rank_result))
    return RankReport(rank_result, metric_labels)


def list_ranked_metrics(rank_result: RankContent) -> list[str]:
    """List every metric in a `rank` result, baselines included."""
    metrics = [metric.metric for ranking in rank_result.rankings for metric in ranking.metrics]
    metrics += [metric.metric for average in rank_result.averages for metric in average.metrics]
    metrics += [row.metric for row in rank_result.analyses.thresholds or ()]
    metrics += [row.metric for row in rank_result.analyses.corpus or ()]
    return list(dict.fromkeys(metrics))


def build_table_rows_by_analysis(
    analyses: RankAnalyses, metric_labels: MetricLabels | None = None
) -> dict[str, list[dict[str, object]]]:
    """Build the table rows of each further analysis of a `rank` result. The keys are the names of the
    analyses.
    """
    rows_by_name: dict[str, list[dict[str, object]]] = {}
    for name, rows in msgspec.to_builtins(analyses).items():
        if name == THRESHOLDS:
            rows_by_name[name] = build_threshold_rows(analyses.thresholds or [], metric_labels)
            continue
        for row in rows:
            if metric_labels is not None and row.get("metric") is not None:
                row["metric"] = metric_labels[row["metric"]]
        rows_by_name[name] = rows
    return rows_by_name
