"""`score`: metrics per segment and per system."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from metassay.data.cube import Cube
from metassay.data.dataset import Dataset
from metassay.data.preparation import normalisation, prepared
from metassay.data.readers.files import refuse_overwriting
from metassay.engine.batches import Rows
from metassay.engine.local import Progress, default_workers, score_rows
from metassay.errors import InputError, Place, UnknownName
from metassay.meta.aggregation.scores import Resampling, bootstrap_means, corpus_scores
from metassay.metrics.base import Metric, Scores, StatisticsMetric
from metassay.metrics.registry import chosen_metrics
from metassay.reporting.tables import to_text
from metassay.reporting.wording import in_labels
from metassay.settings import takes
from metassay.store.parts import write_bytes
from metassay.workflows.read import Source, as_dataset, scoring_rows
from metassay.workflows.run_files import SCHEMA_VERSION, Result, warnings_as_notes
from metassay.workflows.settings import ScoreSettings
from metassay.workflows.system_scores import TESTS, comparisons, cubes_of, row_statistics

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

    def to_text(self, form: str) -> str:
        """The systems, then the comparisons if there are any, as `csv`, `latex` or `markdown`."""
        if form == "csv":
            systems, compared = self.systems, self.comparisons
        else:
            systems, compared = in_labels([[_without_signature(r) for r in self.systems], self.comparisons])
        return "\n".join(to_text(table, form) for table in (systems, compared) if table or table is systems)


@takes(ScoreSettings)
def score(
    dataset: Dataset | Source,
    asked: ScoreSettings,
    *,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> ScoreResult:
    """Score every output and every system.

    `aggregate` names any of corpus, segment and bootstrap; `test` (bootstrap or randomization) compares all
    pairs of systems; `per_segment` writes the long table of segment scores.

    >>> rows = [{"seg_id": 1, "system": "a", "hyp": "the red fox ran off", "ref": "the red fox ran away"}]
    >>> [row["corpus"] for row in score(rows, metrics="ter").to_dict()["systems"]]
    [20.0]
    """
    for name in asked.aggregate:
        if name not in AGGREGATES:
            raise UnknownName("aggregation", name, AGGREGATES)
    if asked.test is not None and asked.test not in TESTS:
        raise UnknownName("test", asked.test, TESTS)
    data = prepared(as_dataset(dataset), normalize=asked.normalize, keep_references=asked.keep_references)
    if asked.per_segment is not None:
        check_target(asked.per_segment, data.files)
    chosen = chosen_metrics(data, asked.metrics, normalisation(data, asked.normalize))
    with warnings_as_notes() as notes:
        statistics, scores = _scored(chosen, scoring_rows(data), workers, progress)
    segments = _long_table(data, chosen, scores)
    if asked.per_segment is not None:
        write_table(segments, asked.per_segment)
    cubes = cubes_of(data, statistics, scores)
    several = len(cubes) > 1
    systems = [
        ({"group": cube.dataset} if several else {}) | row
        for metric in chosen
        for cube in cubes
        for row in _systems(cube, metric, asked.aggregate, seed, ranking=data.kind.ranked)
    ]
    found = (
        comparisons(cubes, chosen, asked.test, draws=asked.draws, seed=seed, several=several)
        if asked.test is not None
        else []
    )
    return ScoreResult(segments, systems, found, (*data.notes, *notes))


def _scored(
    metrics: Sequence[Metric], rows: Rows, workers: int | None, progress: Progress | None
) -> tuple[dict[str, Scores], dict[str, Scores]]:
    """Statistics of the metrics that have them, and segment scores of all."""
    with_statistics = [metric for metric in metrics if isinstance(metric, StatisticsMetric)]
    others = [metric for metric in metrics if not isinstance(metric, StatisticsMetric)]
    statistics, scores = row_statistics(with_statistics, rows, workers=workers, progress=progress)
    if others:
        scored = score_rows(others, rows, workers=default_workers(workers), progress=progress)
        scores |= scored.scores
    return statistics, scores


def _long_table(data: Dataset, metrics: Sequence[Metric], scores: Mapping[str, Scores]) -> pl.DataFrame:
    """One row per output and metric, null where a score is undefined."""
    keys = data.outputs.select("item", "system")
    return pl.concat(
        keys.with_columns(
            pl.lit(metric.spec).alias("metric"), pl.Series("score", scores[metric.spec]).fill_nan(None)
        )
        for metric in metrics
    )


def write_table(frame: pl.DataFrame, path: str | Path) -> None:
    """A table as Parquet, CSV or JSON lines, by the name's ending, whole or not at all."""
    content = io.BytesIO()
    _WRITERS[Path(path).suffix.lower()](frame, content)
    write_bytes(Path(path), content.getvalue())


_WRITERS: dict[str, Callable[[pl.DataFrame, io.BytesIO], Any]] = {
    ".parquet": lambda frame, file: frame.write_parquet(file),
    ".csv": lambda frame, file: frame.write_csv(file),
    ".jsonl": lambda frame, file: frame.write_ndjson(file),
}


def check_target(path: str | Path, inputs: Sequence[str]) -> None:
    """Before hours of work: whether its result can be written there, and replaces nothing that was read."""
    place = Place(file=str(path))
    ending = Path(path).suffix.lower()
    if ending not in _WRITERS:
        raise InputError(
            f"cannot tell the format from the ending {ending!r}.",
            place=place,
            remedy=f"Use one of: {', '.join(_WRITERS)}.",
        )
    try:
        if not Path(path).parent.is_dir():
            raise InputError("there is no such folder to write to.", place=place)
        if Path(path).is_dir():
            raise InputError("this is a folder; name a file in it.", place=place)
        refuse_overwriting(path, inputs)
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror}).", place=place) from None


def _systems(
    cube: Cube, metric: Metric, aggregate: Sequence[str], seed: int, *, ranking: bool
) -> list[dict[str, Any]]:
    """The scores of each system of a test set."""
    corpora, bootstraps = [np.nan] * len(cube.systems), [np.nan] * len(cube.systems)
    if isinstance(metric, StatisticsMetric):
        corpora = corpus_scores(cube, metric).tolist()
        if "bootstrap" in aggregate:
            bootstraps = bootstrap_means(cube, metric, Resampling(seed=seed)).tolist()
    rows = []
    for k, system in enumerate(cube.systems):
        segment = _mean(cube.metrics[metric.spec][k])
        # of rankings, the mean over judged topics is what trec_eval prints as `all`
        corpus = segment if ranking else _plain(corpora[k])
        found = {"corpus": corpus, "segment": segment, "bootstrap": _plain(bootstraps[k])}
        wanted = {name: value if name in aggregate else None for name, value in found.items()}
        rows.append({"system": system, "metric": metric.spec, "signature": metric.signature} | wanted)
    return rows


def _without_signature(row: Mapping[str, Any]) -> dict[str, Any]:
    """Signatures are too wide for a page."""
    return {name: value for name, value in row.items() if name != "signature"}


def _mean(scores: Scores) -> float | None:
    defined = scores[~np.isnan(scores)]
    return float(defined.mean()) if len(defined) else None


def _plain(score: float) -> float | None:
    return None if np.isnan(score) else float(score)
