"""Corpus-level metrics against people: BLEU and chrF as they are reported, not as means of segment scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from metassay.data.assemble import RawTable, assemble
from metassay.data.dataset import Dataset
from metassay.data.scores import WHOLE
from metassay.errors import InputError
from metassay.meta.people.comparable import Comparable
from metassay.meta.people.pairwise import (
    corpus_soft_pairwise_accuracy,
    pairwise_accuracy,
    soft_pairwise_accuracy,
)
from metassay.meta.people.significance import Procedure
from metassay.metrics.base import StatisticsMetric
from metassay.metrics.registry import parse_metrics
from metassay.stats.arrays import FloatArray
from metassay.stats.correlation import system_agreement
from metassay.workflows.preparing import scoring_rows
from metassay.workflows.read import Paths, guess_task, read

DEFAULT = ("bleu", "chrf")


def corpus_agreement(
    source: Dataset | pl.DataFrame | Paths,
    data: Sequence[Comparable],
    procedure: Procedure,
    metrics: Sequence[str] = DEFAULT,
) -> list[dict[str, Any]]:
    """SPA and PA of corpus scores beside those of segment means, computed from the texts in `source`."""
    dataset = _dataset(source)
    rows: list[dict[str, Any]] = []
    for metric in parse_metrics(metrics):
        if not isinstance(metric, StatisticsMetric):
            raise InputError(f"{metric.spec} has no sufficient statistics, hence no corpus score of its own.")
        texts = scoring_rows(dataset)
        statistics = np.concatenate([metric.statistics(cut.batch(metric.needs)) for cut in texts.cuts()])
        rows += [_row(one, metric, _arranged(dataset, one, statistics), procedure) for one in data]
    return rows


def _row(
    data: Comparable, metric: StatisticsMetric, statistics: FloatArray, procedure: Procedure
) -> dict[str, Any]:
    sign = 1.0 if metric.higher_is_better else -1.0

    def score(summed: FloatArray) -> FloatArray:
        return sign * np.asarray(metric.from_statistics(summed), dtype=np.float64)

    complete = ~np.isnan(statistics).any(axis=(0, 2))
    if not complete.any():
        raise InputError(f"{data.dataset}: no rated segment has a text of every system.")
    human, known = data.human[:, complete], statistics[:, complete]
    segments = score(known)
    corpus = score(known.sum(axis=1))
    permutations = {"permutations": procedure.permutations, "seed": procedure.seed}
    return {
        "dataset": data.dataset,
        "metric": metric.spec,
        "segments": int(complete.sum()),
        "spa_corpus": corpus_soft_pairwise_accuracy(human, known, score, **permutations),
        "spa_segment": soft_pairwise_accuracy(human, segments, method="permutation", **permutations),
        "pa_corpus": float(system_agreement("pa", human.mean(axis=1), corpus)),
        "pa_segment": pairwise_accuracy(human, segments),
    }


def _arranged(dataset: Dataset, data: Comparable, statistics: FloatArray) -> FloatArray:
    """Statistics as `[systems, segments, s]` in the order of the human scores, NaN where there is no text."""
    prefix = "" if data.dataset == WHOLE else f"{data.dataset}/"
    named = (name if name.startswith(prefix) else prefix + name for name in data.segment_ids)
    column = {name: k for k, name in enumerate(named)}
    row = {name: i for i, name in enumerate(data.systems)}
    arranged = np.full((len(row), len(column), statistics.shape[1]), np.nan)
    for at, (item, system) in enumerate(dataset.outputs.select("item", "system").iter_rows()):
        if system in row and item in column:
            arranged[row[system], column[item]] = statistics[at]
    return arranged


def _dataset(source: Dataset | pl.DataFrame | Paths) -> Dataset:
    if isinstance(source, Dataset):
        return source
    if isinstance(source, pl.DataFrame):
        return assemble([RawTable("", source)], task=guess_task(source.columns))
    return read(source)
