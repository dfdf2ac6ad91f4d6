"""A `rank` result as its page, the terminal and the joined page need it: with labels and titles."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from metassay.meta.people.meta_metrics.registry import label_meta_metric
from metassay.reporting.agreement_curves import tabulate_thresholds
from metassay.reporting.labels import MetricLabels
from metassay.reporting.report_sections import ResultView
from metassay.results.rank import RankAnalyses, RankContent, Ranking

THRESHOLDS = "thresholds"


@dataclass(frozen=True)
class RankView(ResultView[RankContent]):
    """A `rank` result with the labels of its metrics."""

    def name_scope(self, ranking: Ranking) -> str:
        """Name what a ranking covers, its data set and context: `en-de, news`."""
        return ranking.dataset if ranking.is_global else f"{ranking.dataset}, {ranking.context}"

    def name_ranking(self, ranking: Ranking) -> str:
        """Name a ranking by data set, context, meta-metric and human score: `en-de, news: SPA with mqm`."""
        meta_metric = label_meta_metric(ranking.meta_metric)
        return f"{self.name_scope(ranking)}: {meta_metric} with {self.result.human}"


def build_rank_view(result: RankContent, labels: MetricLabels | None = None) -> RankView:
    """Combine a `rank` result with labels for its metrics."""
    if labels is None:
        labels = MetricLabels(list_ranked_metrics(result))
    return RankView(result, labels)


def list_ranked_metrics(result: RankContent) -> list[str]:
    """List every metric in a `rank` result, baselines included."""
    metrics = [metric.metric for ranking in result.rankings for metric in ranking.metrics]
    metrics += [metric.metric for average in result.averages for metric in average.metrics]
    metrics += [row.metric for row in result.analyses.thresholds or ()]
    metrics += [row.metric for row in result.analyses.corpus or ()]
    return list(dict.fromkeys(metrics))


def list_analysis_rows(
    analyses: RankAnalyses, labels: MetricLabels | None = None
) -> dict[str, list[dict[str, object]]]:
    """List the rows of each analysis by its name; with labels in place of metric specs if given."""
    rows_by_name: dict[str, list[dict[str, object]]] = {}
    for name, rows in msgspec.to_builtins(analyses).items():
        if name == THRESHOLDS:
            rows_by_name[name] = tabulate_thresholds(analyses.thresholds or [], labels)
            continue
        for row in rows:
            if labels is not None and row.get("metric") is not None:
                row["metric"] = labels[row["metric"]]
        rows_by_name[name] = rows
    return rows_by_name
