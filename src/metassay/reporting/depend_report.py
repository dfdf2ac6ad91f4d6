"""The result of the command `depend`, prepared for its page: metrics by data set, labels, and the curves for
charts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from metassay.reporting.report_sections import ResultReport
from metassay.results.depend import DependContent, MetricCurves, MetricDependence
from metassay.stats.levels import SIGNIFICANCE_LEVEL
from metassay.stats.multiplicity import adjust_p_values_by_holm

# The fitted functions of each metric, by data set and metric.
CurvesByDataset = dict[str, dict[str, MetricCurves]]


@dataclass(frozen=True)
class DependReport(ResultReport[DependContent]):
    """The result of the command `depend`, prepared for its report with the labels of the metrics and the
    curves for the charts.
    """

    curves: CurvesByDataset = field(default_factory=dict)

    @property
    def dataset_names(self) -> list[str]:
        """Names of the data sets in the order of the result."""
        return list(dict.fromkeys(entry.dataset for entry in self.result.metrics))

    def get_metrics_of_dataset(self, dataset: str) -> list[MetricDependence]:
        """Return the results of all metrics on one data set."""
        return [entry for entry in self.result.metrics if entry.dataset == dataset]

    def get_curves(self, metric_dependence: MetricDependence) -> MetricCurves | None:
        """Return the curves that predict human scores from the scores of a metric. None if the run did not
        save them.
        """
        return self.curves.get(metric_dependence.dataset, {}).get(metric_dependence.metric)

    def get_sentence_opening_for_dataset(self, dataset: str) -> str:
        """Return the name of the data set as the beginning of a sentence, such as `en-de: `. It is empty if
        there is only one data set.
        """
        return f"{dataset}: " if len(self.dataset_names) > 1 else ""

    def get_dataset_caption_suffix(self, dataset: str) -> str:
        """Return the name of the data set as the end of a caption, such as `, en-de`. It is empty if there is
        only one data set.
        """
        return f", {dataset}" if len(self.dataset_names) > 1 else ""


def find_metrics_that_favour_systems(
    metric_dependences: Sequence[MetricDependence],
) -> list[MetricDependence]:
    """Find the metrics that are shown to favour some systems (p ≤ .05 after Holm's correction)."""
    p_values = [math.nan if entry.p_fair is None else entry.p_fair for entry in metric_dependences]
    adjusted = adjust_p_values_by_holm(p_values).tolist()
    return [entry for entry, p in zip(metric_dependences, adjusted) if p <= SIGNIFICANCE_LEVEL]
