"""`aggregate`: corpus, segment and bootstrap scores of systems, compared with each other and with people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.preparation import prepared
from metassay.engine.local import Progress
from metassay.errors import InputError
from metassay.meta.aggregation.agreement import Aggregation, aggregate_scores
from metassay.meta.aggregation.scores import Resampling
from metassay.metrics.base import StatisticsMetric
from metassay.metrics.registry import MetricChoice, chosen_metrics
from metassay.settings import takes
from metassay.workflows.preparing import as_dataset, scoring_rows
from metassay.workflows.read import Source
from metassay.workflows.results import SCHEMA_VERSION, Result, warnings_as_notes
from metassay.workflows.settings import AggregateSettings
from metassay.workflows.system_scores import cubes_of, row_statistics


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


@takes(AggregateSettings)
def aggregate(
    dataset: Dataset | Source,
    asked: AggregateSettings,
    *,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> AggregateResult:
    """Aggregate segment scores into system scores in three ways, and compare these.

    `bootstrap` scores are means over `resamples` resamples of `size` segments; `repeats` is how often the
    analyses on few segments are drawn. Metrics must have sufficient statistics.
    """
    data = prepared(as_dataset(dataset), normalize=asked.normalize, keep_references=asked.keep_references)
    if not data.kind.aggregated:
        raise InputError(f"aggregation compares scores of texts; this data is of the task {data.task}.")
    chosen = _with_statistics(data, data.kind.aggregated if asked.metrics is None else asked.metrics)
    with warnings_as_notes() as notes:
        statistics, segments = row_statistics(chosen, scoring_rows(data), workers=workers, progress=progress)
    resampling = Resampling(asked.resamples, asked.size, asked.repeats, seed=seed)
    found = aggregate_scores(cubes_of(data, statistics, segments), chosen, resampling)
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
