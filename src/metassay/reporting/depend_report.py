"""A `depend` result as its page needs it: metrics by data set, labels, and the curves for charts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from metassay.reporting.report_sections import ResultReport
from metassay.results.depend import DependContent, MetricCurves, MetricDependence
from metassay.stats.multiplicity import adjust_holm

SIGNIFICANT = 0.05

# The fitted functions of each metric, by data set and metric.
CurvesByDataset = dict[str, dict[str, MetricCurves]]


@dataclass(frozen=True)
class DependReport(ResultReport[DependContent]):
    """A `depend` result prepared for its report: with metric labels and the fitted curves of its charts."""

    curves: CurvesByDataset = field(default_factory=dict)

    @property
    def datasets(self) -> list[str]:
        """Names of the data sets in the order of the result."""
        return list(dict.fromkeys(entry.dataset for entry in self.result.metrics))

    def get_metrics_of_dataset(self, dataset: str) -> list[MetricDependence]:
        """Return the dependence of every metric on one data set."""
        return [entry for entry in self.result.metrics if entry.dataset == dataset]

    def get_fitted_curves(self, dependence: MetricDependence) -> MetricCurves | None:
        """Return the fitted curves of a metric; None if the run has none."""
        return self.curves.get(dependence.dataset, {}).get(dependence.metric)

    def get_dataset_sentence_prefix(self, dataset: str) -> str:
        """Return the beginning of a sentence about a data set; empty if there is only one."""
        return f"{dataset}: " if len(self.datasets) > 1 else ""

    def get_dataset_caption_suffix(self, dataset: str) -> str:
        """Return the last words of a caption about a data set; empty if the result has only one data set."""
        return f", {dataset}" if len(self.datasets) > 1 else ""


def find_unfair_metrics(dependences: Sequence[MetricDependence]) -> list[MetricDependence]:
    """Find metrics shown to favour some systems beyond shrinkage (p ≤ .05 after Holm's correction)."""
    p_values = [math.nan if entry.p_fair is None else entry.p_fair for entry in dependences]
    adjusted = adjust_holm(p_values).tolist()
    return [entry for entry, p in zip(dependences, adjusted) if p <= SIGNIFICANT]
