"""Score ranked lists: all built-in metrics in one pass over relevance grades."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl

from metassay.data.ranked_lists import RankedLists, build_grades_by_document, build_ranked_lists
from metassay.engine.row_scores import RowScores, check_metric_scores
from metassay.engine.workers import choose_worker_count
from metassay.errors import InputError
from metassay.metrics.base import Batch, Metric, Scores
from metassay.metrics.ranking_metric import RankingMetric, score_rankings

LISTS_PER_BATCH = 16_384


def score_ranked_rows(
    metrics: Sequence[Metric], rows: pl.DataFrame, qrels: pl.DataFrame | None, *, workers: int | None = None
) -> RowScores:
    """Score ranked lists of document ids with every metric, using relevance judgements (`qrels`)."""
    if qrels is None:
        raise InputError(
            "rankings cannot be scored without relevance judgements.", remedy="Pass --qrels FILE."
        )
    lists = build_ranked_lists(rows["item"], rows["output"], qrels)
    return score_ranked_lists(metrics, lists, rows.select("item", "system"), qrels, workers=workers)


def score_ranked_lists(
    metrics: Sequence[Metric],
    ranked_lists: RankedLists,
    item_and_system: pl.DataFrame,
    qrels: pl.DataFrame,
    *,
    workers: int | None = None,
) -> RowScores:
    """Score ranked lists of documents with every metric.

    `item_and_system` has a row for each list, with the item and the system that it belongs to.
    """
    started = time.perf_counter()
    ranking_metrics = [metric for metric in metrics if isinstance(metric, RankingMetric)]
    score_matrix = _score_by_grades(ranking_metrics, ranked_lists, workers)
    # All metrics share the pass over the grades, so they share its time evenly.
    seconds_per_metric = (time.perf_counter() - started) / max(len(ranking_metrics), 1)
    scores: dict[str, Scores] = {}
    seconds: dict[str, float] = {}
    for column, ranking_metric in enumerate(ranking_metrics):
        scores[ranking_metric.spec] = np.ascontiguousarray(score_matrix[:, column])
        seconds[ranking_metric.spec] = seconds_per_metric
    for metric in metrics:
        if metric.spec not in scores:
            started = time.perf_counter()
            scores[metric.spec] = _score_by_document_ids(metric, ranked_lists, item_and_system, qrels)
            seconds[metric.spec] = time.perf_counter() - started
    return RowScores(scores, seconds)


def _score_by_grades(
    metrics: Sequence[RankingMetric], ranked_lists: RankedLists, workers: int | None
) -> Scores:
    """Score ranked lists with metrics that read only the relevance grade of the document at each rank.

    Returns an array [lists, metrics].
    """
    if not metrics:
        return np.empty((len(ranked_lists), 0))
    batches = np.split(
        np.arange(len(ranked_lists)), range(LISTS_PER_BATCH, len(ranked_lists), LISTS_PER_BATCH)
    )
    with ThreadPoolExecutor(choose_worker_count(workers)) as pool:
        matrices = list(
            pool.map(lambda rows: score_rankings(metrics, ranked_lists.select_lists(rows)), batches)
        )
    return np.concatenate(matrices)


def _score_by_document_ids(
    metric: Metric, ranked_lists: RankedLists, item_and_system: pl.DataFrame, qrels: pl.DataFrame
) -> Scores:
    """Score ranked lists with a metric that reads document ids, such as a metric that the user wrote."""
    fields: dict[str, Sequence[object]] = {
        "output": ranked_lists,
        "item": item_and_system["item"].to_list(),
        "system": item_and_system["system"].to_list(),
    }
    if "qrels" in metric.needs:
        fields["qrels"] = build_grades_by_document(item_and_system["item"], qrels)
    return check_metric_scores(metric, metric.score(Batch(fields)), item_and_system)
