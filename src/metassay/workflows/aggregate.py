"""`aggregate`: corpus, segment and bootstrap scores of systems, compared with each other and with people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from metassay.data.dataset import Dataset
from metassay.engine.local import Progress
from metassay.errors import InputError
from metassay.meta.aggregation.agreement import Aggregation, aggregate_scores
from metassay.meta.aggregation.scores import Resampling
from metassay.metrics.base import StatisticsMetric
from metassay.workflows.noting import warnings_as_notes
from metassay.workflows.panels import panels_of, row_statistics
from metassay.workflows.preparing import MetricChoice, as_dataset, chosen_metrics, prepared, scoring_rows
from metassay.workflows.read import Paths
from metassay.workflows.results import SCHEMA_VERSION, Result

DEFAULT_METRICS = {"mt": ("bleu", "chrf"), "asr": ("wer", "cer")}


@dataclass(frozen=True)
class AggregateResult(Result):
    """Scores under the three aggregations (`aggregation.systems`) and the analyses of them."""

    aggregation: Aggregation
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay aggregate`."""
        return {
            "schema_version": SCHEMA_VERSION,
            **self.aggregation.to_dict(),
            "notes": list(self.notes),
        }

    def to_frame(self) -> pl.DataFrame:
        """One row per test set, system and metric."""
        rows = [row.to_dict() for row in self.aggregation.systems]
        errors = [
            {f"{name}_error": value for name, value in row.pop("standard_errors").items()} for row in rows
        ]
        return pl.DataFrame([row | more for row, more in zip(rows, errors)], infer_schema_length=None)


def aggregate(
    dataset: Dataset | Paths,
    *,
    metrics: MetricChoice = None,
    resamples: int = 1000,
    size: int = 1000,
    repeats: int = 1000,
    normalize: str | None = None,
    keep_references: bool = False,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> AggregateResult:
    """Aggregate segment scores into system scores in three ways, and compare these.

    `bootstrap` scores are means over `resamples` resamples of `size` segments; `repeats` is how often the
    analyses on few segments are drawn. Metrics must have sufficient statistics.
    """
    for name, number, least in (("resamples", resamples, 2), ("size", size, 1), ("repeats", repeats, 1)):
        if number < least:
            raise InputError(f"{name} is {number}; at least {least} is needed.")
    data = prepared(as_dataset(dataset), normalize=normalize, keep_references=keep_references)
    if data.task not in DEFAULT_METRICS:
        raise InputError(f"aggregation compares scores of texts; this data is of the task {data.task}.")
    chosen = _with_statistics(data, DEFAULT_METRICS[data.task] if metrics is None else metrics)
    with warnings_as_notes() as notes:
        statistics, segments = row_statistics(chosen, scoring_rows(data), workers=workers, progress=progress)
    resampling = Resampling(resamples=resamples, size=size, repeats=repeats, seed=seed)
    found = aggregate_scores(panels_of(data, statistics, segments), chosen, resampling)
    return AggregateResult(found, (*data.notes, *notes))


def _with_statistics(data: Dataset, metrics: MetricChoice) -> tuple[StatisticsMetric, ...]:
    found = []
    for metric in chosen_metrics(data, metrics):  # no signature leaves this verb
        if not isinstance(metric, StatisticsMetric):
            raise InputError(
                f"{metric} has no sufficient statistics, so it has no corpus or bootstrap score.",
                remedy="Choose metrics such as bleu, chrf, ter, nltk_bleu, wer or cer.",
            )
        found.append(metric)
    return tuple(found)
