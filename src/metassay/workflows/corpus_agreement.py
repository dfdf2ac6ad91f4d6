"""Corpus-level metrics against people: BLEU and chrF as they are reported, not as means of segment scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from metassay.data.cube import WHOLE, Grid
from metassay.data.dataset import Dataset
from metassay.errors import InputError
from metassay.meta.people.meta_metrics import Procedure
from metassay.meta.people.meta_metrics.pa import pairwise_accuracy
from metassay.meta.people.meta_metrics.spa import corpus_soft_pairwise_accuracy, soft_pairwise_accuracy
from metassay.meta.people.rated import Rated
from metassay.metrics.base import StatisticsMetric
from metassay.metrics.registry import parse_metrics
from metassay.stats.arrays import FloatArray
from metassay.stats.correlation import system_agreement
from metassay.workflows.preparing import scoring_rows
from metassay.workflows.read import Paths, read

DEFAULT = ("bleu", "chrf")


def corpus_agreement(
    source: Dataset | pl.DataFrame | Paths,
    data: Sequence[Rated],
    procedure: Procedure,
    metrics: Sequence[str] = DEFAULT,
) -> list[dict[str, Any]]:
    """SPA and PA of corpus scores beside those of segment means, computed from the texts in `source`."""
    dataset = read(source)
    rows: list[dict[str, Any]] = []
    for metric in (metric.on(dataset.languages) for metric in parse_metrics(metrics)):
        if not isinstance(metric, StatisticsMetric):
            raise InputError(f"{metric.spec} has no sufficient statistics, hence no corpus score of its own.")
        texts = scoring_rows(dataset)
        statistics = np.concatenate([metric.statistics(cut.batch(metric.needs)) for cut in texts.cuts()])
        rows += [_row(one, metric, _arranged(dataset, one, statistics), procedure) for one in data]
    return rows


def _row(
    data: Rated, metric: StatisticsMetric, statistics: FloatArray, procedure: Procedure
) -> dict[str, Any]:
    sign = 1.0 if metric.higher_is_better else -1.0

    def score(summed: FloatArray) -> FloatArray:
        return sign * np.asarray(metric.from_statistics(summed), dtype=np.float64)

    complete = ~np.isnan(statistics).any(axis=(0, 2))
    if not complete.any():
        raise InputError(f"{data.cube.dataset}: no rated segment has a text of every system.")
    human, known = data.human[:, complete], statistics[:, complete]
    segments = score(known)
    corpus = score(known.sum(axis=1))
    permutations = {"permutations": procedure.permutations, "seed": procedure.seed}
    return {
        "dataset": data.cube.dataset,
        "metric": metric.spec,
        "segments": int(complete.sum()),
        "spa_corpus": corpus_soft_pairwise_accuracy(human, known, score, **permutations),
        "spa_segment": soft_pairwise_accuracy(human, segments, method="permutation", **permutations),
        "pa_corpus": float(system_agreement("pa", human.mean(axis=1), corpus)),
        "pa_segment": pairwise_accuracy(human, segments),
    }


def _arranged(dataset: Dataset, data: Rated, statistics: FloatArray) -> FloatArray:
    """Statistics as `[systems, segments, s]` in the order of the human scores, NaN where there is no text."""
    prefix = "" if data.cube.dataset == WHOLE else f"{data.cube.dataset}/"
    items = [name if name.startswith(prefix) else prefix + name for name in data.cube.segments]
    outputs = dataset.outputs
    return Grid.onto(data.cube.systems, items, outputs["system"], outputs["item"]).array(statistics)
