"""Scoring on this machine: batches of texts over threads, parts kept as they finish, and ranked lists."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.data.ranked_lists import RankedLists, build_grade_mappings, build_ranked_lists
from metassay.engine import RayCluster, make_parts
from metassay.engine.batches import Parts, Rows, distinct
from metassay.errors import InputError, MetricFailure, PartsDone
from metassay.metrics.base import Batch, Metric, Scores
from metassay.metrics.ranking_metric import RankingMetric, score_rankings
from metassay.plugins import find_definition, hash_user_source
from metassay.recorded_warnings import RecordedWarnings, WarningRecorder, reissue_warnings

Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total)."""
Piece = dict[str, tuple[Scores, float, RecordedWarnings]]
"""Of one batch, the scores of each metric, the seconds they took, and what was warned of."""


PROBE_ROWS = 256
"""So many outputs are scored to learn what a metric costs."""
LISTS_AT_ONCE = 16_384


@dataclass(frozen=True)
class Scored:
    """Scores per metric, in the order of the rows, and the seconds each metric took."""

    scores: dict[str, Scores]
    seconds: dict[str, float] = field(default_factory=dict)
    parts: int = 0
    """How many batches they were scored in."""


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
    only: Collection[int] | None = None,
    first: int = 0,
    cluster: RayCluster | None = None,
    progress: Progress | None = None,
) -> Scored:
    """Every metric on every row. Metrics share a batch, so that those of a family share their work.

    Batches are numbered from `first`. With `only`, those are scored and kept, and `PartsDone` is raised:
    whoever has all goes on.
    With a cluster, it makes the parts first, and what is missing then is made here.
    Rankings take another way: all measures in one pass over grades, with nothing worth keeping.
    """
    for metric in metrics:
        rows.check(metric)
    if rows.qrels is not None:
        return score_ranked_rows(metrics, rows.frame, rows.qrels, workers=workers)
    pieces = list(rows.cuts())
    kept = {m.spec: Kept(parts, m.spec, m.signature) for m in metrics if parts is not None and m.is_cacheable}
    if cluster is not None and parts is not None:
        numbered = dict(enumerate(pieces, start=first))
        make_parts(cluster, [m for m in metrics if m.spec in kept], numbered, parts, workers, progress)
    with WarningRecorder() as heard, _threads(default_workers(workers)) as pool:
        futures = {
            pool.submit(score_piece, metrics, number, piece, kept, heard): number
            for number, piece in enumerate(pieces, start=first)
            if only is None or number in only
        }
        found: dict[int, Piece] = {}
        for done, future in enumerate(_finished(futures), start=1):
            found[futures[future]] = future.result()
            if progress is not None:
                progress("scoring", done, len(futures))
    if only is not None:
        raise PartsDone(sorted(found), first + len(pieces))
    ordered = [found[number] for number in range(first, first + len(pieces))]
    for piece in ordered:
        reissue_warnings(note for _, _, notes in piece.values() for note in notes)
    return Scored(
        {m.spec: np.concatenate([np.empty(0), *(piece[m.spec][0] for piece in ordered)]) for m in metrics},
        {m.spec: sum(piece[m.spec][1] for piece in ordered) for m in metrics},
        len(pieces),
    )


def measured_cost(metrics: Sequence[Metric], rows: Rows) -> dict[str, float]:
    """Seconds per 1,000 outputs, measured on a sample with one thread, after a first call that compiles."""
    sample = Rows(rows.frame.sample(min(PROBE_ROWS, len(rows)), seed=0), rows.qrels)
    cost = {}
    for metric in metrics:
        rows.check(metric)
        if not metric.can_be_timed:
            continue
        metric.score(sample.batch(metric.needs | metric.optional_fields))
        started = time.perf_counter()
        metric.score(sample.batch(metric.needs | metric.optional_fields))
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


def score_piece(
    metrics: Sequence[Metric], number: int, rows: Rows, kept: Mapping[str, Kept], heard: WarningRecorder
) -> Piece:
    """Scores of one piece: each distinct content once, kept or found; what is trivial is never kept."""
    found: Piece = {}
    costly, trivial = ([m for m in metrics if m.is_trivial is wanted] for wanted in (False, True))
    for needs in dict.fromkeys(metric.needs | metric.optional_fields for metric in costly):
        contents = _Distinct(rows, needs, heard)
        for metric in costly:
            if metric.needs | metric.optional_fields == needs:
                started = time.perf_counter()
                scores, notes = contents.score(metric, number, kept.get(metric.spec))
                found[metric.spec] = scores[contents.back], time.perf_counter() - started, notes
        alike = [m for m in trivial if m.needs <= needs and m.spec not in found]
        again = _score_again(alike, contents.rows, contents.made, heard)
        for spec, (scores, seconds, notes) in again.items():
            found[spec] = scores[contents.back], seconds, notes
    return found | _score_again([m for m in trivial if m.spec not in found], rows, None, heard)


def _score_again(metrics: Sequence[Metric], rows: Rows, batch: Batch | None, heard: WarningRecorder) -> Piece:
    """Every row, whether its content was scored before or not; `batch` is theirs where it was made."""
    if not metrics:
        return {}
    if batch is None:
        batch = rows.batch(frozenset[str]().union(*(metric.needs for metric in metrics)))
    found: Piece = {}
    for metric in metrics:
        started = time.perf_counter()
        scores = checked(metric, metric.score(batch), rows)
        found[metric.spec] = scores, time.perf_counter() - started, heard.take_warnings()
    return found


@dataclass(frozen=True)
class Kept:
    """The kept scores of one metric."""

    parts: Parts
    metric: str
    signature: str


class _Distinct:
    """The distinct rows of a piece, and the batch that metrics with the same needs share.

    `back` is the place of each row's content among them. `digests` are in order, and `order` says of which
    row each is: sorted once, for all metrics.
    """

    made: Batch | None = None
    """The batch, once it was made."""

    def __init__(self, rows: Rows, needs: frozenset[str], heard: WarningRecorder) -> None:
        digests = rows.digests(needs)
        chosen, self.back, self.order = distinct(digests)
        self.rows, self.digests = rows.take(chosen), digests[chosen[self.order]]
        self.needs, self.heard = needs, heard

    @property
    def batch(self) -> Batch:
        """Made when the first metric must be computed: a part that is kept needs no texts."""
        if self.made is None:
            self.made = self.rows.batch(self.needs)
        return self.made

    def score(self, metric: Metric, number: int, kept: Kept | None) -> tuple[Scores, RecordedWarnings]:
        """The score of each row, and what was warned of as they were made."""
        if kept is None:
            scores = checked(metric, metric.score(self.batch), self.rows)
            return scores, self.heard.take_warnings()
        place = (kept.metric, kept.signature, number, self.digests)
        found, notes = kept.parts.find(*place)
        scores = np.empty(len(found))
        scores[self.order] = found
        missing = np.flatnonzero(np.isnan(scores))
        if len(missing):
            whole = len(missing) == len(scores)
            rows = self.rows if whole else self.rows.take(missing)
            fresh = checked(metric, metric.score(self.batch if whole else rows.batch(self.needs)), rows)
            scores[missing], notes = fresh, (*notes, *self.heard.take_warnings())
            if not np.isnan(fresh).all():
                kept.parts.keep(*place, scores[self.order], notes)
        return scores, notes


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
    if not hash_user_source(metric):
        return MetricFailure(what)
    error = MetricFailure(f"{find_definition(type(metric))}: {what}")
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
    lists = build_ranked_lists(frame["item"], frame["output"], qrels)
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
        fields["qrels"] = build_grade_mappings(index["item"], qrels)
    scores = np.asarray(metric.score(Batch(fields)), dtype=np.float64)
    if scores.shape != (len(lists),):
        raise failure(metric, f"{metric} returned {scores.shape} scores for {len(lists)} lists.")
    if np.isinf(scores).any():
        raise failure(
            metric, f"{metric} is infinite on item {index['item'][int(np.isinf(scores).argmax())]}."
        )
    return scores, time.perf_counter() - started
