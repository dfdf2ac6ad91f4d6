"""The analyses that `rank --analysis` adds: rows of plain values, one list per analysis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from metassay.data.dataset import Dataset
from metassay.data.score_arrays import ScoreArrays
from metassay.data.score_cube import ScoreCube
from metassay.data.score_grid import ScoreGrid
from metassay.errors import InputError
from metassay.meta.people.meta_metrics import MetaMetric, Procedure, parse_meta
from metassay.meta.people.meta_metrics.soft_pairwise_accuracy import (
    corpus_soft_pairwise_accuracy,
    pairwise_accuracy,
    soft_pairwise_accuracy,
)
from metassay.meta.people.metric_comparison import shared_name
from metassay.meta.people.ranking_data import RankingData
from metassay.meta.people.stability import (
    agreement_thresholds,
    discrimination,
    human_ceiling,
    segments_to_separate_metrics,
    segments_to_separate_systems,
    stability_over_segments,
    stability_over_systems,
)
from metassay.metrics.base import StatisticsMetric
from metassay.metrics.registry import parse_metrics
from metassay.stats.arrays import FloatArray, to_json_values
from metassay.stats.correlation import correlate_systems
from metassay.stats.random import hash_name
from metassay.workflows.read import Paths, build_scoring_rows, read

DEFAULT = ("bleu", "chrf")
Rows = list[dict[str, Any]]


def corpus_agreement(
    source: Dataset | pl.DataFrame | Paths,
    data: Sequence[RankingData],
    procedure: Procedure,
    metrics: Sequence[str] = DEFAULT,
) -> list[dict[str, Any]]:
    """SPA and PA of corpus scores beside those of segment means, computed from the texts in `source`."""
    dataset = read(source)
    rows: list[dict[str, Any]] = []
    for metric in (metric.bind_to_data(dataset.languages) for metric in parse_metrics(metrics)):
        if not isinstance(metric, StatisticsMetric):
            raise InputError(f"{metric.spec} has no sufficient statistics, hence no corpus score of its own.")
        texts = build_scoring_rows(dataset)
        statistics = np.concatenate(
            [metric.statistics(batch.to_batch(metric.needs)) for batch in texts.split_into_batches()]
        )
        rows += [_row(one, metric, _arranged(dataset, one, statistics), procedure) for one in data]
    return rows


def _row(
    data: RankingData, metric: StatisticsMetric, statistics: FloatArray, procedure: Procedure
) -> dict[str, Any]:
    sign = 1.0 if metric.higher_is_better else -1.0

    def score(summed: FloatArray) -> FloatArray:
        return sign * np.asarray(metric.from_statistics(summed), dtype=np.float64)

    complete = ~np.isnan(statistics).any(axis=(0, 2))
    if not complete.any():
        raise InputError(f"{data.cube.dataset}: no rated segment has a text of every system.")
    human, known = data.scores.human[:, complete], statistics[:, complete]
    segments = score(known)
    corpus = score(known.sum(axis=1))
    permutations = {"permutations": procedure.permutations, "seed": procedure.seed}
    return {
        "dataset": data.cube.dataset,
        "metric": metric.spec,
        "segments": int(complete.sum()),
        "spa_corpus": corpus_soft_pairwise_accuracy(human, known, score, **permutations),
        "spa_segment": soft_pairwise_accuracy(human, segments, method="permutation", **permutations),
        "pa_corpus": float(correlate_systems("pa", human.mean(axis=1), corpus)),
        "pa_segment": pairwise_accuracy(human, segments),
    }


def _arranged(dataset: Dataset, data: RankingData, statistics: FloatArray) -> FloatArray:
    """Statistics as `[systems, segments, s]` in the order of the human scores, NaN where there is no text."""
    outputs = dataset.outputs
    grid = ScoreGrid.locate_rows(
        outputs["system"], outputs["item"], data.cube.systems, data.cube.qualified_items
    )
    return grid.arrange(statistics)


@dataclass(frozen=True)
class Question:
    """What the analyses work on: the data sets, the meta-metrics, and how to draw."""

    source: Any
    cubes: Sequence[ScoreCube]
    data: Sequence[RankingData]
    human: str
    metas: tuple[MetaMetric, ...]
    procedure: Procedure

    def complete(self) -> Iterator[tuple[RankingData, ScoreArrays]]:
        """Each data set with the metrics proper on the segments that all of them have."""
        for data in self.data:
            if not data.items_of_all_metrics.any():
                raise InputError(
                    f"{data.cube.dataset}: no segment has the scores of all metrics.",
                    remedy="Leave out the metrics with gaps: name the others with --metrics.",
                )
            metrics = data.scores.select_metrics(data.metric_positions)
            yield data, metrics.restrict_to(items=data.items_of_all_metrics)

    def with_pairwise(self) -> tuple[MetaMetric, ...]:
        """The meta-metrics asked for, and PA and SPA beside them: the comparison of the paper."""
        return tuple(dict.fromkeys([*self.metas, *parse_meta("pa,spa")]))


def analyse(
    name: str,
    source: Any,
    cubes: Sequence[ScoreCube],
    data: Sequence[RankingData],
    *,
    human: str,
    meta: str | Sequence[str],
    procedure: Procedure,
) -> Rows:
    """The rows of one analysis; `source` is what the user named, for analyses that need the texts."""
    return ANALYSES[name](Question(source, cubes, data, human, parse_meta(meta), procedure))


def _stability(question: Question) -> Rows:
    rows: Rows = []
    draws = {"trials": question.procedure.draws, "seed": question.procedure.seed}
    for data, judged in question.complete():
        for meta in question.with_pairwise():
            known = {"dataset": data.cube.dataset, "meta": str(meta)}
            for row in stability_over_systems(meta, judged, **draws):
                rows.append(known | {"ablated": "systems"} | row)
            for row in stability_over_segments(meta, judged, **draws):
                rows.append(
                    known | {"ablated": "segments"} | row | {"metric": data.metric_names[row["metric"]]}
                )
    return rows


def _discrimination(question: Question) -> Rows:
    return [
        {
            "dataset": data.cube.dataset,
            "meta": str(meta),
            "systems": len(data.cube.systems),
            **discrimination(meta, judged, _own(question.procedure, data)),
        }
        for data, judged in question.complete()
        for meta in question.with_pairwise()
    ]


def _ceiling(question: Question) -> Rows:
    rows: Rows = []
    procedure = question.procedure
    for cube in question.cubes:
        prefix = f"{question.human}:"
        raters = {name: cube.orient_scores(name) for name in cube.human_scores if name.startswith(prefix)}
        if len(raters) < 2:
            raise InputError(
                f"{cube.dataset}: the ceiling needs the scores of several raters.",
                remedy=f"Join the ratings (rater, category, severity), or name columns {prefix}NAME.",
            )
        for meta in question.metas:
            for row in human_ceiling(meta, raters, draws=procedure.draws, seed=procedure.seed):
                rows.append({"dataset": cube.dataset, "meta": str(meta)} | row)
    return rows


def _thresholds(question: Question) -> Rows:
    """Per metric, over the system pairs of all data sets that have it."""
    pairs = list(question.complete())
    places = [{shared_name(data.metric_names[m]): int(m) for m in data.metric_positions} for data, _ in pairs]
    rows: Rows = []
    for name in sorted({name for own in places for name in own}):
        having = [(judged, own[name]) for (_, judged), own in zip(pairs, places) if name in own]
        found = agreement_thresholds(
            [j for j, _ in having], [m for _, m in having], seed=question.procedure.seed
        )
        for threshold in found:
            rows.append(
                {
                    "metric": name,
                    "agreement": threshold.agreement,
                    "difference": to_json_values(threshold.difference),
                    "low": to_json_values(threshold.low),
                    "high": to_json_values(threshold.high),
                }
            )
    return rows


def _power(question: Question) -> Rows:
    """Segments to separate systems (by people, by each metric), and the best metric from the others."""
    rows: Rows = []
    for data, judged in question.complete():
        for m, scores in enumerate([judged.human, *judged.metrics]):
            needed = segments_to_separate_systems(scores)
            rows.append(
                {
                    "dataset": data.cube.dataset,
                    "separates": "systems",
                    "by": question.human if m == 0 else data.metric_names[m - 1],
                    "median_segments": _finite(float(np.median(needed))),
                    "separable_now": float((needed <= judged.human.shape[1]).mean()),
                }
            )
        for meta in question.metas:
            rows += _metrics_apart(data, judged, meta, question.procedure)
    return rows


def _metrics_apart(data: RankingData, judged: ScoreArrays, meta: MetaMetric, procedure: Procedure) -> Rows:
    needed = segments_to_separate_metrics(meta, judged, draws=procedure.draws, seed=procedure.seed)
    if needed is None:
        return []
    return [
        {
            "dataset": data.cube.dataset,
            "separates": "metrics",
            "by": str(meta),
            "median_segments": _finite(float(np.median(needed))) if len(needed) else None,
            "separable_now": float((needed <= judged.human.shape[1]).mean()) if len(needed) else None,
        }
    ]


def _corpus(question: Question) -> Rows:
    return corpus_agreement(question.source, question.data, question.procedure)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _own(procedure: Procedure, data: RankingData) -> Procedure:
    return replace(procedure, stream=hash_name(data.cube.dataset))


ANALYSES: dict[str, Callable[[Question], Rows]] = {
    "stability": _stability,
    "discrimination": _discrimination,
    "ceiling": _ceiling,
    "thresholds": _thresholds,
    "power": _power,
    "corpus": _corpus,
}
