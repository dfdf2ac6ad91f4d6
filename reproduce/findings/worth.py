"""Finding 3: labels saved by every metric with official scores, beside SPA, acc_eq and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from reproduce.findings.score_sets import ScoreSet

from metassay.stats.intervals import IntervalEstimate
from metassay.stats.labels_saved import compute_system_differences, estimate_labels_saved

COUNTS, ENCODER, LARGE, API = "counts", "encoder", "large model", "LLM service"
COST_CLASSES = {
    COUNTS: ("BLEU", "chrF", "f200spBLEU", "tokengram_F"),
    ENCODER: (
        *("BERTscore", "BLEURT-20", "COMET", "Calibri-COMET22", "Calibri-COMET22-QE", "CometKiwi", "eBLEU"),
        *("KG-BERTScore", "MEE4", "MS-COMET-QE-22", "MaTESe", "XLsim", "YiSi-1", "cometoid22-wmt21"),
        *("cometoid22-wmt22", "cometoid22-wmt23", "docWMT22CometDA", "docWMT22CometKiwiDA"),
        *("mre-score-labse-regular", "prismRef", "prismSrc"),
    ),
    LARGE: (
        *("CometKiwi-XL", "CometKiwi-XXL", "XCOMET-XL", "XCOMET-XXL", "XCOMET-Ensemble"),
        *("XCOMET-QE-Ensemble", "MetricX-23", "MetricX-23-b", "MetricX-23-c", "MetricX-23-QE"),
        *("MetricX-23-QE-b", "MetricX-23-QE-c", "mbr-metricx-qe", "instructscore", "embed_llama"),
    ),
    API: ("GEMBA",),
}
"""What a metric needs: counts of words or characters, an encoder of up to about 1 billion parameters, a model
of 3 billion or more, or a language model behind a service. We assigned the classes from descriptions of the
metrics; we did not measure them."""


def classify_cost(metric: str) -> str:
    """Return the cost class of a metric, "–" where we do not know it."""
    if metric.startswith("GEMBA-"):
        return API
    for cost, metrics in COST_CLASSES.items():
        if metric in metrics:
            return cost
    return "–"


def study_worth(
    sets: Sequence[ScoreSet], official: Mapping[tuple[str, str], Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Estimate the labels saved by each metric in each data set, for a mean and for a difference.

    `official` has SPA and acc_eq by data set and metric.
    """
    rows = []
    for scores in sets:
        human_differences = compute_system_differences(scores.human)
        for name, metric in zip(scores.metric_names, scores.metrics):
            for_mean = estimate_labels_saved(scores.human, metric, scores.documents)
            for_difference = estimate_labels_saved(
                human_differences, compute_system_differences(metric), scores.documents
            )
            measures = official.get((scores.name, name), {})
            rows.append(
                {"set": scores.name, "metric": name, "cost": classify_cost(name)}
                | _to_fields("mean", for_mean)
                | _to_fields("difference", for_difference)
                | {key: measures.get(key) for key in ("spa", "acc_eq", "residual")}
            )
    return rows


def _to_fields(target: str, share: IntervalEstimate) -> dict[str, float]:
    return {target: share.value, f"{target}_low": share.low, f"{target}_high": share.high}


def average_over_sets(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Average the rows of each metric over the data sets of one year, most labels saved first.

    The data sets are independent, so the margin of a mean is the root of the summed squares over the number.
    """
    by_metric: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_metric.setdefault(row["metric"], []).append(row)
    averages = []
    for metric, of_metric in by_metric.items():
        average: dict[str, Any] = {
            "metric": metric,
            "cost": of_metric[0]["cost"],
            "sets": len(of_metric),
        }
        for target in ("mean", "difference"):
            value = float(np.mean([row[target] for row in of_metric]))
            margins = np.array([row[target] - row[f"{target}_low"] for row in of_metric])
            margin = float(np.sqrt((margins**2).sum()) / len(margins))
            average |= {target: value, f"{target}_low": value - margin, f"{target}_high": value + margin}
        for measure in ("spa", "acc_eq", "residual"):
            values = [row[measure] for row in of_metric if row[measure] is not None]
            average[measure] = float(np.mean(values)) if values else None
        averages.append(average)
    return sorted(averages, key=lambda row: -row["difference"])
