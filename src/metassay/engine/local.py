"""Scoring on this machine: batches of texts over threads, parts kept as they finish, and ranked lists."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.rankings import RankedLists, grade_mappings, ranked_lists
from metassay.engine.batches import Rows, key
from metassay.errors import InputError, MetricFailure
from metassay.metrics.base import Batch, Metric, Scores
from metassay.metrics.ranking_base import RankingMetric, score_rankings
from metassay.plugins import defined_at, source_hash

Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total)."""
Piece = dict[str, tuple[Scores, float]]
"""Of one batch, the scores of each metric and the seconds they took."""


PROBE_ROWS = 256
"""So many outputs are scored to learn what a metric costs."""
LISTS_AT_ONCE = 16_384


class Parts(Protocol):
    """Where finished scores are kept, so that a stopped run goes on where it was."""

    def load(self, metric: Metric, number: int) -> dict[bytes, float]:
        """The scores of a part, by key; empty where it is not finished."""
        ...

    def save(self, metric: Metric, number: int, scores: dict[bytes, float]) -> None:
        """Keep a finished part."""
        ...


@dataclass(frozen=True)
class Scored:
    """Scores per metric, in the order of the rows, and the seconds each metric took."""

    scores: dict[str, Scores]
    seconds: dict[str, float] = field(default_factory=dict)


def default_workers(workers: int | None) -> int:
    """The number of threads: as asked, else one per core that this process may use."""
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers < 1:
        raise InputError(f"{workers} workers cannot work.", remedy="Use --workers 1 or more.")
    return workers


def score_rows(
    metrics: Sequence[Metric],
    rows: Rows,
    *,
    workers: int | None = None,
    parts: Parts | None = None,
    progress: Progress | None = None,
) -> Scored:
    """Every metric on every row. Metrics share a batch, so that those of a family share their work.

    Rankings take another way: all measures in one pass over grades, with nothing worth keeping.
    """
    for metric in metrics:
        rows.check(metric)
    if rows.qrels is not None:
        return score_ranked_rows(metrics, rows.frame, rows.qrels, workers=workers)
    pieces = list(rows.cuts())
    with _threads(default_workers(workers)) as pool:
        futures = {
            pool.submit(_score_piece, metrics, number, piece, parts): number
            for number, piece in enumerate(pieces)
        }
        found: dict[int, Piece] = {}
        for done, future in enumerate(_finished(futures), start=1):
            found[futures[future]] = future.result()
            if progress is not None:
                progress("scoring", done, len(pieces))
    ordered = [found[number] for number in range(len(pieces))]
    return Scored(
        {m.spec: np.concatenate([np.empty(0), *(piece[m.spec][0] for piece in ordered)]) for m in metrics},
        {m.spec: sum(piece[m.spec][1] for piece in ordered) for m in metrics},
    )


def measured_cost(metrics: Sequence[Metric], rows: Rows) -> dict[str, float]:
    """Seconds per 1,000 outputs, measured on a sample with one thread, after a first call that compiles."""
    sample = Rows(rows.frame.sample(min(PROBE_ROWS, len(rows)), seed=0), rows.qrels)
    cost = {}
    for metric in metrics:
        rows.check(metric)
        if not metric.timed:
            continue
        metric.score(sample.batch(metric.needs | metric.optional))
        started = time.perf_counter()
        metric.score(sample.batch(metric.needs | metric.optional))
        cost[metric.spec] = 1000 * (time.perf_counter() - started) / len(sample)
    return cost


@contextmanager
def _threads(count: int) -> Iterator[ThreadPoolExecutor]:
    """A pool that waits for its threads when all went well, and for none of them on an error or interrupt."""
    pool = ThreadPoolExecutor(count)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _finished(futures: Iterable[Future[Piece]]) -> Iterator[Future[Piece]]:
    """Futures as they finish; the short waits let an interrupt through."""
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
        yield from done


def _score_piece(metrics: Sequence[Metric], number: int, rows: Rows, parts: Parts | None) -> Piece:
    """Scores of one piece: each distinct content once, kept or found in `parts`."""
    found: Piece = {}
    for needs in dict.fromkeys(metric.needs | metric.optional for metric in metrics):
        digests = rows.digests(needs)
        first = {digest: row for row, digest in reversed(list(enumerate(digests)))}
        chosen = np.array(sorted(first.values()), dtype=np.int64)
        place = {digests[row]: position for position, row in enumerate(chosen)}
        back = np.array([place[digest] for digest in digests], dtype=np.int64)
        distinct = _Distinct(rows.take(chosen), [digests[row] for row in chosen], needs)
        for metric in metrics:
            if metric.needs | metric.optional == needs:
                started = time.perf_counter()
                scores = distinct.score(metric, number, parts if metric.cacheable else None)
                found[metric.spec] = scores[back], time.perf_counter() - started
    return found


class _Distinct:
    """The distinct rows of a piece, and the batch that metrics with the same needs share."""

    def __init__(self, rows: Rows, digests: list[bytes], needs: frozenset[str]) -> None:
        self.rows, self.digests, self.needs = rows, digests, needs
        self._batch = rows.batch(needs)

    def score(self, metric: Metric, number: int, parts: Parts | None) -> Scores:
        if parts is None:
            return checked(metric, metric.score(self._batch), self.rows)
        signature = metric.signature
        keys = [key(signature, digest) for digest in self.digests]
        kept = parts.load(metric, number)
        missing = [row for row, own in enumerate(keys) if own not in kept]
        if missing:
            partial = self.rows if len(missing) == len(keys) else self.rows.take(missing)
            batch = self._batch if partial is self.rows else partial.batch(self.needs)
            fresh = checked(metric, metric.score(batch), partial)
            kept = kept | {keys[row]: score for row, score in zip(missing, fresh.tolist())}
            parts.save(metric, number, {own: score for own, score in kept.items() if not np.isnan(score)})
        return np.array([kept[own] for own in keys])


def checked(metric: Metric, scores: NDArray[np.float64], rows: Rows) -> Scores:
    """Scores as float64[n]; an infinity is an error of the metric, reported with the item."""
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != (len(rows),):
        raise failure(metric, f"{metric} returned {scores.shape} scores for {len(rows)} outputs.")
    if np.isinf(scores).any():
        item = rows.frame["item"][int(np.isinf(scores).argmax())] if "item" in rows.frame.columns else "?"
        raise failure(metric, f"{metric} is infinite on item {item}.")
    return scores


def failure(metric: Metric, what: str) -> MetricFailure:
    """What a metric did wrong: our error or, with the place where the metric is defined, the user's."""
    if not source_hash(metric):
        return MetricFailure(what)
    error = MetricFailure(f"{defined_at(type(metric))}: {what}")
    error.exit_code = InputError.exit_code
    return error


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
