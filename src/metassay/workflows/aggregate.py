"""Scores of systems: outputs as cubes of test sets, and tests between all pairs of systems.

`aggregate`: corpus, segment and bootstrap scores of systems, compared with each other and with people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.dataset import Dataset
from metassay.data.preparation import prepare_dataset
from metassay.data.score_cube import ScoreCube
from metassay.data.score_grid import ScoreGrid
from metassay.engine.batches import OutputRows
from metassay.engine.row_scores import check_scores
from metassay.engine.workers import Progress, count_workers
from metassay.errors import InputError
from metassay.meta.aggregation.agreement import Aggregation, aggregate_scores
from metassay.meta.aggregation.system_scores import Resampling
from metassay.metrics.base import Metric, Scores, StatisticsMetric
from metassay.metrics.registry import MetricChoice
from metassay.metrics.selection import choose_metrics
from metassay.options import accept_options
from metassay.reporting.pages import Page
from metassay.reporting.score_pages import aggregation_files, aggregation_page
from metassay.stats.arrays import FloatArray, map_blocks
from metassay.stats.multiplicity import adjust_holm
from metassay.stats.resampling import (
    FromStatistics,
    approximate_randomization,
    make_mean_statistics,
    mean_from_statistics,
    paired_bootstrap,
)
from metassay.store.run_folder import RunFolder
from metassay.workflows.options import AggregateOptions, AggregateSettings
from metassay.workflows.read import Source, build_scoring_rows, ensure_dataset, name_test_sets
from metassay.workflows.run_files import SCHEMA_VERSION, Result, warnings_as_notes

TESTS = {"bootstrap": 1000, "randomization": 10_000}
"""Tests by name, with their usual number of draws."""


def row_statistics(
    metrics: Sequence[StatisticsMetric],
    rows: OutputRows,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> tuple[dict[str, Scores], dict[str, Scores]]:
    """Statistics [n, s] and segment scores [n] of every row, by metric; metrics of a family share a batch."""
    for metric in metrics:
        rows.check_fields(metric)
    pieces = list(rows.split_into_batches())
    done: list[int] = []

    def compute(piece: OutputRows) -> list[tuple[Scores, Scores]]:
        batches = {needs: piece.to_batch(needs) for needs in {metric.needs for metric in metrics}}
        found = []
        for metric in metrics:
            statistics = metric.statistics(batches[metric.needs])
            found.append((statistics, check_scores(metric, metric.segment_scores(statistics), piece.frame)))
        done.append(len(piece))
        if progress is not None:
            progress("scoring", len(done), len(pieces))
        return found

    parts = map_blocks(compute, pieces, count_workers(workers))
    return (
        {m.spec: np.concatenate([part[k][0] for part in parts]) for k, m in enumerate(metrics)},
        {m.spec: np.concatenate([part[k][1] for part in parts]) for k, m in enumerate(metrics)},
    )


def cubes_of(
    data: Dataset, statistics: Mapping[str, Scores], segments: Mapping[str, Scores]
) -> list[ScoreCube]:
    """One cube for each test set, in the order of their names; items in the plain order of their ids."""
    group = name_test_sets(data)
    human = {name: data.outputs[name].cast(pl.Float64).to_numpy() for name in data.human}
    return [
        _cube(data, str(name), (group == name).arg_true().to_numpy(), statistics, segments, human)
        for name in sorted(set(group))
    ]


def _cube(
    data: Dataset,
    name: str,
    rows: NDArray[np.uint32],
    statistics: Mapping[str, Scores],
    segments: Mapping[str, Scores],
    human: Mapping[str, Scores],
) -> ScoreCube:
    keys = data.outputs.select("system", "item")[rows]
    grid = ScoreGrid.from_rows(keys["system"], keys["item"], sort_items=sorted)

    def arrays(scores: Mapping[str, Scores]) -> dict[str, Scores]:
        return {key: grid.arrange(values[rows]) for key, values in scores.items()}

    rated = {key: values for key, values in human.items() if not np.isnan(values[rows]).all()}
    return ScoreCube(
        name,
        grid.systems,
        grid.items,
        arrays(rated),
        arrays(segments),
        statistics=arrays(statistics),
    )


def comparisons(
    cubes: Sequence[ScoreCube],
    metrics: Sequence[Metric],
    test: str,
    *,
    draws: int | None = None,
    seed: int = 0,
    several: bool,
) -> list[dict[str, Any]]:
    """All pairs of systems within each test set, by corpus score where there is one, else by mean score."""
    count = TESTS[test] if draws is None else draws
    if count < 1:
        raise InputError(f"{count} draws are not enough for a test.")
    return [
        ({"group": cube.dataset} if several else {}) | row
        for metric in metrics
        for cube in cubes
        for row in _between_systems(cube, metric, test, count, seed)
    ]


def _between_systems(
    cube: ScoreCube, metric: Metric, test: str, draws: int, seed: int
) -> list[dict[str, Any]]:
    statistics, from_statistics = score_statistics(cube, metric)
    common = ~np.isnan(statistics).any(axis=(0, 2))
    if len(cube.systems) < 2 or not common.any():
        return []
    rng = Resampling(seed=seed).stream(cube.dataset, test, int(common.sum()))
    compare = paired_bootstrap if test == "bootstrap" else approximate_randomization
    found = compare(statistics[:, common], from_statistics, rng, draws=draws)
    pairs = [(i, j) for i in range(len(cube.systems)) for j in range(i + 1, len(cube.systems))]
    adjusted = adjust_holm([found.p[pair] for pair in pairs])
    return [
        {
            "metric": metric.spec,
            "a": cube.systems[i],
            "b": cube.systems[j],
            "difference": _plain(found.differences[i, j]),
            "p": _plain(found.p[i, j]),
            "test": test,
            "p_holm": _plain(p_holm),
            "segments": int(common.sum()),
        }
        for (i, j), p_holm in zip(pairs, adjusted)
    ]


def score_statistics(
    cube: ScoreCube, metric: Metric, *, means: bool = False
) -> tuple[FloatArray, FromStatistics]:
    """Statistics [systems, segments, s], NaN where a system has no (defined) score, and their score.

    The score is that of the corpus; with `means`, and where there is none, the mean over segments.
    """
    if isinstance(metric, StatisticsMetric) and not means:
        return cube.statistics[metric.spec], metric.from_statistics
    scores = cube.metric_scores[metric.spec]
    statistics = make_mean_statistics(scores)
    statistics[np.isnan(scores)] = np.nan
    return statistics, mean_from_statistics


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


@dataclass(frozen=True, repr=False)
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

    def page(self) -> Page:
        """What the page of the run shows."""
        return aggregation_page(self.to_dict())


@accept_options(AggregateOptions)
def aggregate(dataset: Dataset | Source, options: AggregateOptions) -> AggregateResult:
    """Aggregate segment scores into system scores in three ways, and compare these.

    `bootstrap` scores are means over `resamples` resamples of `size` segments; `repeats` is how often the
    analyses on few segments are drawn. Metrics must have sufficient statistics. `out` is a folder for the
    result with its page.

    >>> rows = [
    ...     {"seg_id": n, "system": system, "hyp": f"{word} red fox {n}", "ref": f"the red fox {n}"}
    ...     for n in range(5)
    ...     for system, word in (("a", "that"), ("b", "no"))
    ... ]
    >>> found = aggregate(rows, metrics="ter", resamples=20, repeats=20).to_dict()["systems"][0]
    >>> found["system"], round(found["corpus"], 1)
    ('a', 25.0)
    """
    data = prepare_dataset(
        ensure_dataset(dataset), normalize=options.normalize, keep_references=options.keep_references
    )
    if not data.task_definition.corpus_metrics:
        raise InputError(f"aggregation compares scores of texts; this data is of the task {data.task}.")
    chosen = _with_statistics(
        data, data.task_definition.corpus_metrics if options.metrics is None else options.metrics
    )
    run = None if options.out is None else _open(options.out, data, options, chosen, options.seed)
    with warnings_as_notes() as notes:
        statistics, segments = row_statistics(
            chosen, build_scoring_rows(data), workers=options.workers, progress=options.progress
        )
    resampling = Resampling(options.resamples, options.size, options.repeats, seed=options.seed)
    found = aggregate_scores(cubes_of(data, statistics, segments), chosen, resampling)
    result = AggregateResult(found, (*data.notes, *notes))
    if run is not None:
        run.finish(aggregation_files(result.to_dict(), result.to_frame()))
    return result


def _open(
    out: str | Path, data: Dataset, asked: AggregateSettings, metrics: Sequence[StatisticsMetric], seed: int
) -> RunFolder:
    """The run folder of these settings on this data; another run's is refused."""
    chosen = {"metrics": [metric.signature for metric in metrics], "seed": seed}
    identity = {"configuration": asked.to_dict(AggregateSettings) | chosen, "input": data.content_hash}
    return RunFolder.open(out, {"command": "aggregate", **identity}, data=data.fingerprint)


def _with_statistics(data: Dataset, metrics: MetricChoice) -> tuple[StatisticsMetric, ...]:
    found = []
    for metric in choose_metrics(data, metrics):  # no signature leaves this verb
        if not isinstance(metric, StatisticsMetric):
            raise InputError(
                f"{metric} has no sufficient statistics, so it has no corpus or bootstrap score.",
                remedy="Choose metrics such as bleu, chrf, ter, nltk_bleu, wer or cer.",
            )
        found.append(metric)
    return tuple(found)
