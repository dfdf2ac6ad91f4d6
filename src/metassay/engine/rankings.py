"""Scoring ranked lists: all measures in one pass over grades, lists shared out over threads."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl

from metassay.data.rankings import RankedLists, grade_mappings, ranked_lists
from metassay.engine.local import Scored, default_workers, failure
from metassay.errors import InputError
from metassay.metrics.base import Batch, Metric, Scores
from metassay.metrics.ranking_base import RankingMetric, score_rankings

LISTS_AT_ONCE = 16_384


def score_ranked_rows(
    metrics: Sequence[Metric], frame: pl.DataFrame, qrels: pl.DataFrame | None, *, workers: int | None = None
) -> Scored:
    """Every metric on every row of `frame` (`item`, `system`, `output` as document ids, best first)."""
    if qrels is None:
        raise InputError(
            "rankings cannot be scored without relevance judgements.", remedy="Pass --qrels FILE."
        )
    lists = ranked_lists(frame["item"], frame["output"], qrels)
    return score_lists(metrics, lists, frame.select("item", "system"), qrels, workers=workers)


def score_lists(
    metrics: Sequence[Metric],
    lists: RankedLists,
    index: pl.DataFrame,
    qrels: pl.DataFrame,
    *,
    workers: int | None = None,
) -> Scored:
    """Every metric on every list; `index` has the `item` and `system` of each."""
    started = time.perf_counter()
    own = [metric for metric in metrics if isinstance(metric, RankingMetric)]
    pieces = np.split(np.arange(len(lists)), range(LISTS_AT_ONCE, len(lists), LISTS_AT_ONCE))
    with ThreadPoolExecutor(default_workers(workers)) as pool:
        tables = list(pool.map(lambda piece: score_rankings(own, lists.take(piece)), pieces)) if own else []
    table = np.concatenate(tables) if tables else np.empty((len(lists), 0))
    scores = {metric.spec: np.ascontiguousarray(table[:, place]) for place, metric in enumerate(own)}
    shared = (time.perf_counter() - started) / max(len(own), 1)
    seconds = {metric.spec: shared for metric in own}
    for metric in metrics:
        if metric.spec not in scores:
            scores[metric.spec], seconds[metric.spec] = _score_other(metric, lists, index, qrels)
    return Scored(scores, seconds)


def _score_other(
    metric: Metric, lists: RankedLists, index: pl.DataFrame, qrels: pl.DataFrame
) -> tuple[Scores, float]:
    """A metric that is not of ours, or a sentinel: it sees document ids and a mapping of grades."""
    started = time.perf_counter()
    fields: dict[str, Sequence[object]] = {
        "output": lists,
        "item": index["item"].to_list(),
        "system": index["system"].to_list(),
    }
    if "qrels" in metric.needs:
        fields["qrels"] = grade_mappings(index["item"], qrels)
    scores = np.asarray(metric.score(Batch(fields)), dtype=np.float64)
    if scores.shape != (len(lists),):
        raise failure(metric, f"{metric} returned {scores.shape} scores for {len(lists)} lists.")
    if np.isinf(scores).any():
        raise failure(
            metric, f"{metric} is infinite on item {index['item'][int(np.isinf(scores).argmax())]}."
        )
    return scores, time.perf_counter() - started
