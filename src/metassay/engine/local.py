"""Scoring on this machine: batches over threads, parts kept as they finish."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from metassay.engine.batches import cuts, keys, to_batch
from metassay.errors import InputError, MetricFailure
from metassay.metrics.base import Metric

Progress = Callable[[str, int, int], None]
"""Called with (stage, done, total)."""
Piece = tuple[NDArray[np.float64], float]
"""The scores of one batch, and the seconds they took."""


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

    scores: dict[str, NDArray[np.float64]]
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
    frame: pl.DataFrame,
    *,
    workers: int | None = None,
    parts: Parts | None = None,
    progress: Progress | None = None,
) -> Scored:
    """Every metric on every row of `frame` (`output`, `language`, and what the metrics need)."""
    for metric in metrics:
        check_needs(metric, frame)
    pieces = list(cuts(frame))
    jobs = [(metric, number, piece) for metric in metrics for number, piece in pieces]
    found: dict[tuple[str, int], Piece] = {}
    with ThreadPoolExecutor(default_workers(workers)) as pool:
        futures = {pool.submit(_score_piece, *job, parts): job for job in jobs}
        for done, future in enumerate(_finished(futures), start=1):
            metric, number, _ = futures[future]
            found[metric.spec, number] = future.result()
            if progress is not None:
                progress("scoring", done, len(jobs))
    empty = np.empty(0)
    return Scored(
        {m.spec: np.concatenate([empty, *(found[m.spec, n][0] for n, _ in pieces)]) for m in metrics},
        {m.spec: sum(found[m.spec, n][1] for n, _ in pieces) for m in metrics},
    )


def check_needs(metric: Metric, frame: pl.DataFrame) -> None:
    """Refuse a metric that reads a field which the data does not have."""
    columns = {"source": "src", "references": "ref", "qrels": "--qrels"}
    for name in sorted(metric.needs):
        if name not in frame.columns:
            raise InputError(
                f"{metric} needs {name}, and the data has none.",
                remedy=f"Add a column {columns.get(name, name)}, or choose other metrics.",
            )


def _finished(futures: Iterable[Future[Piece]]) -> Iterator[Future[Piece]]:
    """Futures as they finish; at the first failure, or an interrupt, those not begun are dropped."""
    waiting = set(futures)
    try:
        while waiting:
            done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_EXCEPTION)
            yield from done
    finally:
        for future in waiting:
            future.cancel()


def _score_piece(metric: Metric, number: int, piece: pl.DataFrame, parts: Parts | None) -> Piece:
    """Scores of one piece: each distinct key once, kept or found in `parts`."""
    started = time.perf_counter()
    row_keys = keys(piece, metric)
    kept = parts.load(metric, number) if parts is not None and metric.cacheable else {}
    first = {key: row for row, key in reversed(list(enumerate(row_keys)))}
    missing = sorted(row for key, row in first.items() if key not in kept)
    if missing:
        fresh = score_checked(metric, piece[missing])
        kept = kept | {row_keys[row]: score for row, score in zip(missing, fresh.tolist())}
        if parts is not None and metric.cacheable:
            defined = {key: score for key, score in kept.items() if not np.isnan(score)}
            parts.save(metric, number, defined)
    return np.array([kept[key] for key in row_keys]), time.perf_counter() - started


def score_checked(metric: Metric, piece: pl.DataFrame) -> NDArray[np.float64]:
    """Scores as float64[n]; an infinity is an error of the metric, reported with the item."""
    scores = np.asarray(metric.score(to_batch(piece, metric)), dtype=np.float64)
    if scores.shape != (piece.height,):
        raise MetricFailure(f"{metric} returned {scores.shape} scores for {piece.height} outputs.")
    if np.isinf(scores).any():
        row = int(np.isinf(scores).argmax())
        item = piece["item"][row] if "item" in piece.columns else row
        raise MetricFailure(f"{metric} is infinite on item {item}.")
    return scores
