"""Published results on which metrics ranked systems best in WMT 2021 to 2023, for data without human scores.

The numbers are in `prior_evidence.json`, which `scripts/prior_evidence.py` computes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from statistics import fmean

import msgspec

from metassay.reporting.labels import MetricLabels
from metassay.reporting.wording import format_number

# Neural metrics that are quoted, and what they are called in a sentence.
NEURAL_METRICS = {
    "GEMBA-MQM": "GEMBA-MQM",
    "XCOMET-Ensemble": "XCOMET",
    "COMET": "COMET",
    "MetricX-23": "MetricX-23",
}
_WELL_KNOWN_NEURAL_METRIC = "COMET"
_STANDARD_METRIC = "chrf"
_LAST_YEAR = "2023"


class PriorMetric(msgspec.Struct, frozen=True, kw_only=True):
    """Published results of one metric on each test set: its soft pairwise accuracy (SPA), and the share of
    human labels that it saves.
    """

    metric: str
    spa: dict[str, float]
    labels_saved: dict[str, float] = {}

    def average_spa(self, test_sets: Sequence[str]) -> float:
        """Return the mean soft pairwise accuracy (SPA) of the metric over test sets, each of which must have
        a result.
        """
        return fmean(self.spa[test_set] for test_set in test_sets)


class PriorEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """Published results on how well metrics ranked systems in the WMT tasks of 2021 to 2023."""

    test_sets: list[str]
    metrics: list[PriorMetric]

    def get_published_results(self, metric: str) -> PriorMetric | None:
        """Return the published results of a metric. None if there are none."""
        return next((entry for entry in self.metrics if entry.metric == metric), None)

    def list_metrics_on_all_test_sets(self) -> list[PriorMetric]:
        """List the metrics that have published results on every test set."""
        return [entry for entry in self.metrics if set(entry.spa) == set(self.test_sets)]

    def compute_spa_loss_to_best_metric(self, metric: PriorMetric) -> list[float]:
        """Compute for each test set how much lower the soft pairwise accuracy (SPA) of a metric is than that
        of the best metric.
        """
        rivals = self.list_metrics_on_all_test_sets()
        losses = []
        for test_set in self.test_sets:
            best = max(rival.spa[test_set] for rival in rivals)
            losses.append(best - metric.spa[test_set])
        return losses


@cache
def load_wmt_evidence() -> PriorEvidence:
    """Load the published results of metrics in the WMT tasks 2021–23, which are part of the package."""
    text = (files("metassay.reporting") / "prior_evidence.json").read_bytes()
    return msgspec.json.decode(text, type=PriorEvidence)


class PublishedSpa(msgspec.Struct, frozen=True, kw_only=True):
    """Mean soft pairwise accuracy (SPA) of a well-known neural metric and of chrF on WMT23."""

    name: str
    neural: float
    lexical: float


def get_published_spa_of_neural_metric() -> PublishedSpa:
    """Return how well COMET and chrF ranked systems in the WMT task of 2023."""
    evidence = load_wmt_evidence()
    test_sets = [test_set for test_set in evidence.test_sets if test_set.startswith(_LAST_YEAR)]
    metrics = {metric.metric: metric for metric in evidence.metrics}
    return PublishedSpa(
        name=_WELL_KNOWN_NEURAL_METRIC,
        neural=metrics[_WELL_KNOWN_NEURAL_METRIC].average_spa(test_sets),
        lexical=metrics[_STANDARD_METRIC].average_spa(test_sets),
    )


def describe_neural_metrics() -> str:
    """Say how well neural metrics and chrF ranked systems in the WMT task of 2023."""
    evidence = load_wmt_evidence()
    test_sets = [test_set for test_set in evidence.test_sets if test_set.startswith(_LAST_YEAR)]
    values = []
    for metric, name in NEURAL_METRICS.items():
        entry = evidence.get_published_results(metric)
        if entry is not None:
            values.append(f"{name} {format_number(entry.average_spa(test_sets))}")
    standard = evidence.get_published_results(_STANDARD_METRIC)
    lexical = "" if standard is None else f" (mean SPA {format_number(standard.average_spa(test_sets))})"
    return f"On WMT23 neural metrics ranked systems better than chrF{lexical}: {', '.join(values)}."


def describe_loss_to_best_metric(metric: str) -> str:
    """Say how much agreement with people is lost by using one metric on all WMT test sets instead of the best
    metric on each.
    """
    evidence = load_wmt_evidence()
    entries = {entry.metric: entry for entry in evidence.list_metrics_on_all_test_sets()}
    entry = entries.get(metric, entries[_STANDARD_METRIC])
    losses = evidence.compute_spa_loss_to_best_metric(entry)
    label = MetricLabels([entry.metric])[entry.metric]
    mean = format_number(fmean(losses))
    largest = format_number(max(losses))
    return (
        f"Always using {label} on WMT21–23 lost {mean} of SPA on average, {largest} at most, to"
        f" the best of {len(entries)} word-overlap metrics on each test set."
    )
