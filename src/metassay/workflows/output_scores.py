"""Score every output, for `score` and `aggregate`, and compute the counts from which corpus scores are
computed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.score_cube import ScoreCube
from metassay.data.score_grid import ScoreGrid
from metassay.data.test_sets import list_test_set_of_each_output
from metassay.engine.batches import OutputRows, build_table_of_outputs_to_score
from metassay.engine.row_scores import check_metric_scores
from metassay.engine.scoring import score_rows
from metassay.engine.workers import choose_worker_count
from metassay.errors import InputError, UnknownName
from metassay.metrics.base import Metric, Scores, StatisticsMetric
from metassay.options import Progress
from metassay.stats.parallel import map_blocks_in_threads

# Statistics and segment scores of one batch, for each metric.
BatchStatistics = list[tuple[Scores, Scores]]


@dataclass(frozen=True)
class OutputScores:
    """The scores of all outputs by metric, and the counts (such as matching n-grams) from which corpus scores
    are computed.

    Metrics without such counts are only in `segment_scores`.
    """

    segment_scores: Mapping[str, Scores]
    statistics: Mapping[str, Scores]


def score_outputs(
    dataset: Dataset,
    metrics: Sequence[Metric],
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> OutputScores:
    """Score every output with every metric. Returns also the counts from which corpus scores are computed,
    such as matching n-grams.
    """
    rows = build_table_of_outputs_to_score(dataset)
    with_statistics = [metric for metric in metrics if isinstance(metric, StatisticsMetric)]
    without_statistics = [metric for metric in metrics if not isinstance(metric, StatisticsMetric)]
    scores = _compute_statistics_and_scores_of_outputs(
        with_statistics, rows, workers=workers, progress=progress
    )
    if not without_statistics:
        return scores
    more_scores = score_rows(
        without_statistics, rows, workers=choose_worker_count(workers), progress=progress
    ).scores
    return OutputScores({**scores.segment_scores, **more_scores}, scores.statistics)


def _compute_statistics_and_scores_of_outputs(
    metrics: Sequence[StatisticsMetric],
    output_rows: OutputRows,
    *,
    workers: int | None,
    progress: Progress | None,
) -> OutputScores:
    """Compute the score of each output, and the counts from which corpus scores are computed."""
    for metric in metrics:
        output_rows.check_fields_needed_by_metric(metric)
    batches = list(output_rows.split_into_batches())
    finished: list[int] = []

    def score_batch_with_each_metric(batch_rows: OutputRows) -> BatchStatistics:
        """Compute the counts and scores of one batch of outputs for every metric."""
        batches_by_needs = {
            needs: batch_rows.build_metric_batch(needs) for needs in {m.needs for m in metrics}
        }
        results = []
        for metric in metrics:
            statistics = metric.statistics(batches_by_needs[metric.needs])
            segment_scores = check_metric_scores(
                metric, metric.compute_segment_scores(statistics), batch_rows.frame
            )
            results.append((statistics, segment_scores))
        finished.append(len(batch_rows))
        if progress is not None:
            progress("scoring", len(finished), len(batches))
        return results

    results = map_blocks_in_threads(score_batch_with_each_metric, batches, choose_worker_count(workers))
    statistics: dict[str, Scores] = {}
    segment_scores: dict[str, Scores] = {}
    for position, metric in enumerate(metrics):
        statistics[metric.spec] = np.concatenate([batch[position][0] for batch in results])
        segment_scores[metric.spec] = np.concatenate([batch[position][1] for batch in results])
    return OutputScores(segment_scores, statistics)


def arrange_scores_by_system_and_item(
    dataset: Dataset, output_scores: OutputScores, cluster_column: str | None = None
) -> list[ScoreCube]:
    """Arrange the scores of outputs in one array [systems, items] for each metric and test set.

    If `cluster_column` is given, its values are added as metadata of the items.
    """
    clusters = None if cluster_column is None else _find_clusters_of_items(dataset, cluster_column)
    test_sets = list_test_set_of_each_output(dataset)
    human_scores = {name: dataset.outputs[name].cast(pl.Float64).to_numpy() for name in dataset.human}
    cubes = []
    for name in test_sets.unique().sort():
        rows = (test_sets == name).arg_true()
        cube = _build_score_cube_of_test_set(dataset, str(name), rows, output_scores, human_scores)
        if cluster_column is not None and clusters is not None:
            labels = tuple(clusters[item] for item in cube.items)
            cube = replace(cube, item_metadata={cluster_column: labels})
        cubes.append(cube)
    return cubes


def _find_clusters_of_items(dataset: Dataset, cluster_column: str) -> dict[str, str | None]:
    """Return the value of a column, such as the document, for each item, or None where the value
    is missing.
    """
    if cluster_column not in dataset.metadata:
        raise UnknownName("cluster column", cluster_column, dataset.metadata)
    values = dataset.outputs.select("item", pl.col(cluster_column).cast(pl.String).alias("cluster")).unique()
    named = values.drop_nulls()
    repeated = named.filter(pl.col("item").is_duplicated())["item"]
    if len(repeated):
        raise InputError(
            f"item {min(repeated)} has several values of {cluster_column}.",
            remedy="A cluster column has one value per item, such as the document of a segment.",
        )
    clusters: dict[str, str | None] = dict.fromkeys(values["item"])
    clusters.update(named.iter_rows())
    return clusters


def _build_score_cube_of_test_set(
    dataset: Dataset,
    test_set: str,
    rows: pl.Series,
    output_scores: OutputScores,
    human_scores: Mapping[str, Scores],
) -> ScoreCube:
    """Arrange the scores of one test set by system and item.

    `rows` are the row numbers of its outputs.
    """
    keys = dataset.outputs.select("system", "item")[rows]
    row_numbers = rows.to_numpy()
    grid = ScoreGrid.from_rows(keys["system"], keys["item"], sort_items=sorted)

    def arrange_by_system_and_item(values_by_name: Mapping[str, Scores]) -> dict[str, Scores]:
        """Arrange each array of values of outputs as a matrix with a row per system and a column per item."""
        return {
            key: grid.arrange_as_system_by_item_matrix(values[row_numbers])
            for key, values in values_by_name.items()
        }

    # A human score may be given in some test sets only.
    rated = {key: values for key, values in human_scores.items() if not np.isnan(values[row_numbers]).all()}
    return ScoreCube(
        dataset=test_set,
        systems=grid.systems,
        items=grid.items,
        human_scores=arrange_by_system_and_item(rated),
        metric_scores=arrange_by_system_and_item(output_scores.segment_scores),
        statistics=arrange_by_system_and_item(output_scores.statistics),
    )
