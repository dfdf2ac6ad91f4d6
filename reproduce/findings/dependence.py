"""Finding 4: accuracy by the better system repeats system dependence.

The accuracy of a metric for a system is computed twice: on human pairs in which the system has the better
output, and on all human pairs of the system. Each is correlated with the expected deviation of the metric,
which is how much the metric overrates the system. Means over metrics and over systems are removed from both
sides first: good systems have the better output more often, which raises the accuracy of all metrics there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from reproduce.findings.score_sets import ScoreSet

from metassay.meta.dependence import system_dependence
from metassay.meta.dependence.shrinkage import separate_regression_to_mean
from metassay.stats.arrays import FloatArray
from metassay.stats.rank_correlation import correlate_rows

RULES = ("better", "both")


def study_dependence(scores: ScoreSet) -> dict[str, Any]:
    """Correlate accuracy by system with expected deviation over metrics and systems.

    The interval is a jackknife over systems; the regression on all systems is not fitted again.
    """
    accuracies = compute_accuracies_by_system(scores)
    deviations = np.stack(
        [system_dependence(scores.human, metric, bootstraps=0).deviations for metric in scores.metrics]
    )
    human_means = scores.human.mean(axis=1)
    residuals = np.stack([separate_regression_to_mean(row, human_means).residual for row in deviations])
    result: dict[str, Any] = {
        "set": scores.name,
        "metrics": len(scores.metric_names),
        "systems": len(human_means),
    }
    for rule in RULES:
        accuracy = accuracies[rule]
        result[rule] = _jackknife_correlation(accuracy, deviations) | {
            "residual": _jackknife_correlation(accuracy, residuals),
            "within_metrics": _correlate_within_metrics(accuracy, deviations),
            "spread": float(np.mean(np.ptp(accuracy, axis=1))),
            "tau_ap": _measure_median_agreement(accuracy),
        }
    return result


def compute_accuracies_by_system(scores: ScoreSet) -> dict[str, FloatArray]:
    """Compute the accuracy of each metric for each system [metrics, systems] under both rules."""
    systems = len(scores.human)
    first, second = np.triu_indices(systems, 1)
    human_sign = np.sign(scores.human[first] - scores.human[second])
    better = np.where(human_sign > 0, first[:, None], second[:, None])
    is_decided = human_sign != 0
    is_of_system = {
        "better": [(better == system) & is_decided for system in range(systems)],
        "both": [((first == system) | (second == system))[:, None] & is_decided for system in range(systems)],
    }
    accuracies: dict[str, list[list[float]]] = {rule: [] for rule in RULES}
    for metric in scores.metrics:
        is_right = np.sign(metric[first] - metric[second]) == human_sign
        for rule in RULES:
            accuracies[rule].append([float(is_right[mask].mean()) for mask in is_of_system[rule]])
    return {rule: np.array(rows) for rule, rows in accuracies.items()}


def _remove_means(values: FloatArray) -> FloatArray:
    """Remove the means of metrics and of systems from [metrics, systems]."""
    rows = values.mean(axis=1, keepdims=True)
    columns = values.mean(axis=0, keepdims=True)
    return np.asarray(values - rows - columns + values.mean())


def _correlate_interactions(left: FloatArray, right: FloatArray) -> float:
    """Correlate two arrays [metrics, systems] after removing the means of metrics and of systems."""
    return float(np.corrcoef(_remove_means(left).ravel(), _remove_means(right).ravel())[0, 1])


def _correlate_within_metrics(left: FloatArray, right: FloatArray) -> float:
    """Return the mean over metrics of the plain correlation over systems."""
    return float(np.mean([np.corrcoef(*rows)[0, 1] for rows in zip(left, right)]))


def _jackknife_correlation(left: FloatArray, right: FloatArray) -> dict[str, float]:
    """Return the correlation of interactions, with a 95 % interval from leaving out each system."""
    systems = left.shape[1]
    value = _correlate_interactions(left, right)
    without = np.array(
        [
            _correlate_interactions(np.delete(left, system, axis=1), np.delete(right, system, axis=1))
            for system in range(systems)
        ]
    )
    error = float(np.sqrt((systems - 1) / systems * ((without - without.mean()) ** 2).sum()))
    return {"r": value, "low": max(value - 1.96 * error, -1.0), "high": min(value + 1.96 * error, 1.0)}


def _measure_median_agreement(accuracy: FloatArray) -> float:
    """Compute the median tau_AP between the rankings of metrics in two systems."""
    rows = np.round(accuracy.T, 12)
    first, second = np.triu_indices(len(rows), 1)
    return float(np.median(correlate_rows(rows[first], rows[second], "tau_ap_b")))
