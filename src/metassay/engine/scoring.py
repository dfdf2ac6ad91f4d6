"""Score texts on this machine: batches are distributed over threads and stored as they finish."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from metassay.engine.batches import OutputRows
from metassay.engine.ray_cluster import RayCluster, score_batches_on_cluster
from metassay.engine.row_scores import RowScores, check_metric_scores
from metassay.engine.score_store import ScoreStore
from metassay.engine.workers import choose_worker_count
from metassay.metrics.base import Batch, Metric, Scores
from metassay.options import Progress
from metassay.recorded_warnings import RecordedWarnings, WarningRecorder, reissue_warnings
from metassay.stats.arrays import LongArray
from metassay.stats.hashes import find_distinct_hashes

# How many outputs are scored to measure what a metric costs.
COST_SAMPLE_ROWS = 256


class MetricScores(NamedTuple):
    """The scores of one metric on one batch of outputs, the seconds it took, and the warnings it issued."""

    scores: Scores
    seconds: float
    recorded_warnings: RecordedWarnings


# The scores of one batch by metric.
BatchScores = dict[str, MetricScores]


class SelectedBatches(NamedTuple):
    """The numbers of the batches that this process scored, and how many batches the data has in total."""

    numbers: tuple[int, ...]
    batch_count: int


def score_rows(
    metrics: Sequence[Metric],
    output_rows: OutputRows,
    *,
    workers: int | None = None,
    store: ScoreStore | None = None,
    first_batch: int = 0,
    cluster: RayCluster | None = None,
    progress: Progress | None = None,
) -> RowScores:
    """Score every output of a table with every metric.

    All metrics score a batch together, so that related metrics share tokenisation and alignment. Batches are
    numbered from `first_batch`. A `cluster` scores first; what is then missing in the store is scored here.
    Rankings are scored in one pass over their grades and not stored.
    """
    for metric in metrics:
        output_rows.check_fields_needed_by_metric(metric)
    if output_rows.qrels is not None:
        from metassay.engine.ranking_scores import score_ranked_rows

        return score_ranked_rows(metrics, output_rows.frame, output_rows.qrels, workers=workers)
    batches = dict(enumerate(output_rows.split_into_batches(), start=first_batch))
    if cluster is not None and store is not None:
        storable = [metric for metric in metrics if metric.is_cacheable]
        score_batches_on_cluster(cluster, storable, batches, store, workers, progress)
    # Reads what the cluster stored, and computes the rest.
    batch_scores = _score_batches(metrics, batches, store, workers, progress)
    return _join_batch_scores(metrics, [batch_scores[number] for number in batches])


def score_selected_batches(
    metrics: Sequence[Metric],
    output_rows: OutputRows,
    selected_batch_numbers: Collection[int],
    *,
    store: ScoreStore,
    workers: int | None = None,
    first_batch: int = 0,
    progress: Progress | None = None,
) -> SelectedBatches:
    """Score only the batches with the given numbers and store their scores, so that several processes can
    share the work of one run.
    """
    for metric in metrics:
        output_rows.check_fields_needed_by_metric(metric)
    batches = dict(enumerate(output_rows.split_into_batches(), start=first_batch))
    selected = {number: batch for number, batch in batches.items() if number in selected_batch_numbers}
    _score_batches(metrics, selected, store, workers, progress)
    return SelectedBatches(tuple(selected), len(batches))


def _score_batches(
    metrics: Sequence[Metric],
    batches: Mapping[int, OutputRows],
    store: ScoreStore | None,
    workers: int | None,
    progress: Progress | None,
) -> dict[int, BatchScores]:
    """Score batches of outputs in several threads. Returns the scores of each batch by its number."""
    finished: dict[int, BatchScores] = {}
    with WarningRecorder() as recorder, _open_thread_pool(choose_worker_count(workers)) as pool:
        futures = {
            pool.submit(score_batch, metrics, number, batch, store, recorder): number
            for number, batch in batches.items()
        }
        for future in _yield_finished_futures(futures):
            finished[futures[future]] = future.result()
            if progress is not None:
                progress("scoring", len(finished), len(batches))
    return finished


def measure_metric_run_times(metrics: Sequence[Metric], output_rows: OutputRows) -> dict[str, float]:
    """Measure how many seconds each metric takes for 1,000 outputs, using one thread and a sample of the
    outputs.

    Each metric is called twice; the first call, which may compile kernels, is not counted.
    """
    sample = OutputRows(
        output_rows.frame.sample(min(COST_SAMPLE_ROWS, len(output_rows)), seed=0), output_rows.qrels
    )
    costs = {}
    for metric in metrics:
        output_rows.check_fields_needed_by_metric(metric)
        if not metric.can_be_timed:
            continue
        needs = metric.needs | metric.optional_fields
        metric.score(sample.build_metric_batch(needs))
        started = time.perf_counter()
        metric.score(sample.build_metric_batch(needs))
        costs[metric.spec] = 1000 * (time.perf_counter() - started) / len(sample)
    return costs


def score_batch(
    metrics: Sequence[Metric],
    batch_number: int,
    output_rows: OutputRows,
    store: ScoreStore | None,
    recorder: WarningRecorder,
) -> BatchScores:
    """Score one batch of outputs with all metrics. Equal rows are scored only once, and stored scores are
    reused.

    Trivial metrics score every row, since that costs less than to find the distinct ones.
    """
    batch_scores: BatchScores = {}
    trivial = [metric for metric in metrics if metric.is_trivial]
    costly = [metric for metric in metrics if not metric.is_trivial]
    for needs in dict.fromkeys(metric.needs | metric.optional_fields for metric in costly):
        distinct_rows = _DistinctRows(output_rows, needs, recorder)
        for metric in costly:
            if metric.needs | metric.optional_fields == needs:
                started = time.perf_counter()
                scores, recorded_warnings = distinct_rows.score_with_metric(metric, batch_number, store)
                scores = scores[distinct_rows.numbers]
                seconds = time.perf_counter() - started
                batch_scores[metric.spec] = MetricScores(scores, seconds, recorded_warnings)
        # The texts are at hand anyway. If all scores were stored, no batch was built, and building one costs
        # more than it saves.
        if distinct_rows.batch is not None:
            covered = [m for m in trivial if m.needs <= needs and m.spec not in batch_scores]
            trivial_scores = _score_all_rows(covered, distinct_rows.rows, distinct_rows.batch, recorder)
            for spec, result in trivial_scores.items():
                batch_scores[spec] = result._replace(scores=result.scores[distinct_rows.numbers])
    remaining = [metric for metric in trivial if metric.spec not in batch_scores]
    if remaining:
        needs = frozenset[str]().union(*(metric.needs for metric in remaining))
        batch_scores |= _score_all_rows(
            remaining, output_rows, output_rows.build_metric_batch(needs), recorder
        )
    return batch_scores


def _score_all_rows(
    metrics: Sequence[Metric], output_rows: OutputRows, batch: Batch, recorder: WarningRecorder
) -> BatchScores:
    """Score every row of a batch with each metric, without looking for equal rows."""
    batch_scores: BatchScores = {}
    for metric in metrics:
        started = time.perf_counter()
        scores = check_metric_scores(metric, metric.score(batch), output_rows.frame)
        seconds = time.perf_counter() - started
        batch_scores[metric.spec] = MetricScores(scores, seconds, recorder.pop_recorded_warnings())
    return batch_scores


class _DistinctRows:
    """The different rows of a batch, without repetitions, for metrics that read the same fields.

    `numbers` is the number of each row's content. `content_hashes` are sorted, once for all metrics, and
    `order` has the number of the content that each belongs to.
    """

    def __init__(
        self, output_rows: OutputRows, needed_fields: frozenset[str], recorder: WarningRecorder
    ) -> None:
        content_hashes = output_rows.hash_row_contents(needed_fields)
        first_rows, self.numbers, self.order = find_distinct_hashes(content_hashes)
        self.rows = output_rows.select_rows(first_rows)
        self.content_hashes = content_hashes[first_rows[self.order]]
        self.needs = needed_fields
        self.recorder = recorder
        self.batch: Batch | None = None
        """Made when the first metric must be computed: stored scores need no texts."""

    def score_with_metric(
        self, metric: Metric, batch_number: int, store: ScoreStore | None
    ) -> tuple[Scores, RecordedWarnings]:
        """Return the score of each distinct row by a metric, and the warnings of the metric. Stored scores
        are reused, and missing ones are computed and stored.
        """
        if store is None or not metric.is_cacheable:
            scores = check_metric_scores(metric, metric.score(self._get_or_build_batch()), self.rows.frame)
            return scores, self.recorder.pop_recorded_warnings()
        stored_scores, recorded_warnings = store.load_batch_scores(metric, batch_number, self.content_hashes)
        scores = np.empty(len(stored_scores))
        # Stored scores are sorted by hash; `order` brings them back into the order of the rows.
        scores[self.order] = stored_scores
        missing = np.flatnonzero(np.isnan(scores))
        if len(missing):
            new_scores = self._score_distinct_rows(metric, missing)
            scores[missing] = new_scores
            recorded_warnings = (*recorded_warnings, *self.recorder.pop_recorded_warnings())
            # Undefined scores are not stored, so that a batch without any new score need not be written
            # again.
            if not np.isnan(new_scores).all():
                store.save_batch_scores(
                    metric, batch_number, self.content_hashes, scores[self.order], recorded_warnings
                )
        return scores, recorded_warnings

    def _score_distinct_rows(self, metric: Metric, row_numbers: LongArray) -> Scores:
        """Compute the scores of some of the distinct rows, given by their positions."""
        if len(row_numbers) == len(self.rows):
            return check_metric_scores(metric, metric.score(self._get_or_build_batch()), self.rows.frame)
        rows = self.rows.select_rows(row_numbers)
        return check_metric_scores(metric, metric.score(rows.build_metric_batch(self.needs)), rows.frame)

    def _get_or_build_batch(self) -> Batch:
        """Return all distinct rows in the form that metrics accept, which is built only once."""
        if self.batch is None:
            self.batch = self.rows.build_metric_batch(self.needs)
        return self.batch


def _join_batch_scores(metrics: Sequence[Metric], scores_of_batches: Sequence[BatchScores]) -> RowScores:
    """Concatenate the scores of all batches, and issue the warnings that were recorded during scoring."""
    for batch in scores_of_batches:
        for result in batch.values():
            reissue_warnings(result.recorded_warnings)
    scores = {}
    seconds = {}
    for metric in metrics:
        results = [batch[metric.spec] for batch in scores_of_batches]
        # `concatenate` refuses an empty list, which occurs if there are no rows.
        scores[metric.spec] = np.concatenate([np.empty(0), *(result.scores for result in results)])
        seconds[metric.spec] = sum(result.seconds for result in results)
    return RowScores(scores, seconds, len(scores_of_batches))


@contextmanager
def _open_thread_pool(workers: int) -> Iterator[ThreadPoolExecutor]:
    """Context manager that yields a thread pool. After an error in the block, it does not wait for running
    threads.
    """
    pool = ThreadPoolExecutor(workers)
    try:
        yield pool
    except BaseException:
        # Waiting for batches that are being scored can take long, and an interrupt should end the program
        # now.
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


def _yield_finished_futures(futures: Iterable[Future[BatchScores]]) -> Iterator[Future[BatchScores]]:
    """Yield each future when it has finished. Waits in short steps, so that the user can interrupt the
    program.
    """
    waiting = set(futures)
    while waiting:
        done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
        yield from done
