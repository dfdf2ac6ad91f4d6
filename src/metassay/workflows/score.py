"""`score`: metrics per segment and per system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metassay.data.dataset import Dataset
from metassay.engine.batches import Rows
from metassay.engine.local import Progress, default_workers, score_rows
from metassay.errors import InputError, Place
from metassay.metrics.base import Metric, Scores, StatisticsMetric
from metassay.workflows.preparing import (
    MetricChoice,
    as_dataset,
    chosen_metrics,
    groups,
    prepared,
    scoring_rows,
)
from metassay.workflows.read import Paths
from metassay.workflows.results import SCHEMA_VERSION, Result

AGGREGATES = ("corpus", "segment", "bootstrap")


@dataclass(frozen=True)
class ScoreResult(Result):
    """Scores of every output (`segments`) and of every system (`systems`)."""

    segments: pl.DataFrame
    systems: list[dict[str, Any]]
    comparisons: list[dict[str, Any]]
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of `metassay score`."""
        return {
            "schema_version": SCHEMA_VERSION,
            "systems": self.systems,
            "comparisons": self.comparisons,
            "notes": list(self.notes),
        }

    def to_frame(self) -> pl.DataFrame:
        """One row per system and metric."""
        return pl.DataFrame(self.systems, infer_schema_length=None)


def score(
    dataset: Dataset | Paths,
    *,
    metrics: MetricChoice = None,
    aggregate: Sequence[str] = ("corpus", "segment"),
    per_segment: str | Path | None = None,
    normalize: str | None = None,
    keep_references: bool = True,
    workers: int | None = None,
    progress: Progress | None = None,
) -> ScoreResult:
    """Score every output and every system; `per_segment` writes the long table of segment scores."""
    data = prepared(as_dataset(dataset), normalize=normalize, keep_references=keep_references)
    chosen = chosen_metrics(data, metrics)
    unknown = [name for name in aggregate if name not in AGGREGATES]
    if unknown:
        raise InputError(f"unknown aggregation {unknown[0]!r}.", remedy=f"Known: {', '.join(AGGREGATES)}.")
    texts = scoring_rows(data)
    scored = score_rows(chosen, texts, workers=default_workers(workers), progress=progress)
    segments = pl.concat(
        data.outputs.select("item", "system").with_columns(
            pl.lit(metric.spec).alias("metric"),
            pl.Series("score", scored.scores[metric.spec]).fill_nan(None),
        )
        for metric in chosen
    )
    if per_segment is not None:
        write_table(segments, per_segment)
    rows = [
        row
        for metric in chosen
        for row in _systems(data, metric, texts, scored.scores[metric.spec], aggregate)
    ]
    return ScoreResult(segments, rows, [], data.notes)


def write_table(frame: pl.DataFrame, path: str | Path) -> None:
    """A table as Parquet, CSV or JSON lines, by the name's ending."""
    writers: dict[str, Callable[[Path], Any]] = {
        ".parquet": frame.write_parquet,
        ".csv": frame.write_csv,
        ".jsonl": frame.write_ndjson,
    }
    ending = Path(path).suffix.lower()
    if ending not in writers:
        raise InputError(
            f"cannot tell the format from the ending {ending!r}.",
            place=Place(file=str(path)),
            remedy=f"Use one of: {', '.join(writers)}.",
        )
    try:
        writers[ending](Path(path))
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror}).", place=Place(file=str(path))) from None


def _systems(
    data: Dataset, metric: Metric, texts: Rows, scores: Scores, aggregate: Sequence[str]
) -> list[dict[str, Any]]:
    statistics = _statistics(metric, texts) if isinstance(metric, StatisticsMetric) else None
    group = groups(data)
    several = group.n_unique() > 1
    rows = []
    for name, system in sorted(set(zip(group, data.outputs["system"]))):
        chosen = ((group == name) & (data.outputs["system"] == system)).to_numpy()
        row: dict[str, Any] = {"group": name} if several else {}
        row |= {"system": system, "metric": metric.spec, "signature": metric.signature}
        corpus = None
        if statistics is not None and isinstance(metric, StatisticsMetric) and "corpus" in aggregate:
            corpus = _plain(metric.from_statistics(statistics[chosen].sum(axis=0)))
        if data.task == "ranking" and "corpus" in aggregate:
            corpus = _mean(scores[chosen])  # the mean over judged topics is what trec_eval prints as `all`
        segment = _mean(scores[chosen]) if "segment" in aggregate else None
        rows.append(row | {"corpus": corpus, "segment": segment, "bootstrap": None})
    return rows


def _statistics(metric: StatisticsMetric, rows: Rows) -> Scores:
    return np.concatenate([metric.statistics(piece.batch(metric.needs)) for piece in rows.cuts()])


def _mean(scores: Scores) -> float | None:
    defined = scores[~np.isnan(scores)]
    return float(defined.mean()) if len(defined) else None


def _plain(score: Any) -> float | None:
    return None if np.isnan(score) else float(score)
