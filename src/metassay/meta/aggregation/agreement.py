"""What the choice of aggregation changes: agreement among them, on few segments, and with people."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from metassay.data.score_cube import ScoreCube
from metassay.errors import InputError
from metassay.meta.aggregation.system_scores import (
    AGGREGATIONS,
    Resampling,
    SystemScore,
    named,
    oriented,
    pearson,
    system_scores,
)
from metassay.metrics.base import Scores, StatisticsMetric
from metassay.stats.arrays import to_json_values
from metassay.stats.resampling import (
    draw_subset_counts,
    make_mean_statistics,
    mean_from_statistics,
    sum_resamples,
)

MEAN = "mean"
"""The name of the row that averages over test sets."""


@dataclass(frozen=True)
class Aggregation:
    """Everything that `metassay aggregate` reports, as rows."""

    systems: list[SystemScore]
    between: list[dict[str, Any]]
    """Pearson of any two metrics under any aggregation, over all systems of all test sets."""
    downsampled: list[dict[str, Any]]
    """Pearson after keeping few segments: median and 95 % range over the repeats."""
    human: list[dict[str, Any]]
    """Pearson of system scores with the mean human score, per test set and on average."""

    def to_dict(self) -> dict[str, Any]:
        """The four tables as plain values."""
        return {
            "systems": [row.to_dict() for row in self.systems],
            "between": self.between,
            "downsampled": self.downsampled,
            "human": self.human,
        }


def aggregate_scores(
    cubes: Sequence[ScoreCube], metrics: Sequence[StatisticsMetric], resampling: Resampling | None = None
) -> Aggregation:
    """All analyses on the systems of these test sets."""
    if not cubes or not metrics:
        raise InputError("aggregation needs at least one test set and one metric with statistics.")
    resampling = resampling or Resampling()
    with threadpool_limits(1):  # the same bytes on any machine's cores
        scores = {
            metric.spec: [row for cube in cubes for row in system_scores(cube, metric, resampling)]
            for metric in metrics
        }
        return Aggregation(
            [row for rows in scores.values() for row in rows],
            _between(metrics, scores),
            [
                row
                for metric in metrics
                for row in _downsampled(cubes, metric, scores[metric.spec], resampling)
            ],
            _human(cubes, metrics, scores, resampling),
        )


def _between(
    metrics: Sequence[StatisticsMetric], scores: Mapping[str, Sequence[SystemScore]]
) -> list[dict[str, Any]]:
    columns: dict[str, dict[tuple[str, str], float]] = {
        named(metric.spec, aggregation): {
            (row.group, row.system): oriented(metric, row.scores[aggregation]) for row in scores[metric.spec]
        }
        for metric in metrics
        for aggregation in AGGREGATIONS
    }
    rows = []
    for x, y in itertools.combinations(columns, 2):
        both = sorted(columns[x].keys() & columns[y].keys())
        value = pearson([columns[x][key] for key in both], [columns[y][key] for key in both])
        rows.append({"x": x, "y": y, "groups": len(both), "pearson": to_json_values(value)})
    return rows


def _downsampled(
    cubes: Sequence[ScoreCube],
    metric: StatisticsMetric,
    scores: Sequence[SystemScore],
    resampling: Resampling,
) -> list[dict[str, Any]]:
    """Scores on N random segments: corpus and segment with each other and with the full bootstrap."""
    bootstrap = {(row.group, row.system): row.scores["bootstrap"] for row in scores}
    rows = []
    for size in resampling.downsampled:
        drawn = [_drawn(cube, metric, size, resampling) for cube in cubes]
        corpus, segment = (np.concatenate([part[k] for part in drawn]) for k in (0, 1))
        full = np.array(
            [bootstrap[cube.dataset, system] for cube in cubes for system in _present(cube, metric)]
        )
        full = np.broadcast_to(full[:, None], corpus.shape)
        comparisons = (("corpus", "segment", corpus, segment), ("corpus", "bootstrap", corpus, full))
        for aggregation, against, x, y in (*comparisons, ("segment", "bootstrap", segment, full)):
            values = _columnwise_pearson(x, y)
            low, median, high = _quantiles(values)
            rows.append(
                {"metric": metric.spec, "aggregation": aggregation, "against": against, "segments": size}
                | {"median": median, "low": low, "high": high}
            )
    return rows


def _present(cube: ScoreCube, metric: StatisticsMetric) -> list[str]:
    there = (~np.isnan(cube.statistics[metric.spec][..., 0])).any(axis=1)
    return [cube.systems[row] for row in np.flatnonzero(there)]


def _drawn(
    cube: ScoreCube, metric: StatisticsMetric, size: int, resampling: Resampling
) -> tuple[Scores, Scores]:
    """Corpus and segment scores [systems, repeats] on random subsets; all systems share the subsets.

    A segment that a system lacks adds nothing to that system's sums.
    """
    statistics = cube.statistics[metric.spec]
    there = ~np.isnan(statistics[..., 0])
    kept = there.any(axis=1)
    count = statistics.shape[1]
    rng = resampling.stream(cube.dataset, f"downsampled {size}", count)
    counts = draw_subset_counts(count, min(size, count), resampling.repeats, rng)
    sums = sum_resamples(np.where(there[kept][..., None], statistics[kept], 0.0), counts)
    means = sum_resamples(make_mean_statistics(cube.metric_scores[metric.spec][kept]), counts)
    return metric.from_statistics(np.ascontiguousarray(sums)), mean_from_statistics(means)


def _columnwise_pearson(x: Scores, y: Scores) -> Scores:
    return np.array([pearson(x[:, k], y[:, k]) for k in range(x.shape[1])])


def _quantiles(values: Scores) -> tuple[float | None, float | None, float | None]:
    defined = values[~np.isnan(values)]
    if len(defined) == 0:
        return None, None, None
    low, median, high = np.quantile(defined, (0.025, 0.5, 0.975))
    return float(low), float(median), float(high)


def _human(
    cubes: Sequence[ScoreCube],
    metrics: Sequence[StatisticsMetric],
    scores: Mapping[str, Sequence[SystemScore]],
    resampling: Resampling,
) -> list[dict[str, Any]]:
    """Correlations on the rated segments, per test set with at least two rated systems, then their mean."""
    rows: list[dict[str, Any]] = []
    for human in sorted({name for cube in cubes for name in cube.human_scores}):
        rated = [cube for cube in cubes if human in cube.human_scores and _rated_systems(cube, human) >= 2]
        for metric in metrics:
            found = {
                cube.dataset: _correlations(cube, human, metric, scores[metric.spec], resampling)
                for cube in rated
            }
            rows += _human_rows(human, metric.spec, found)
    return rows


def _rated_systems(cube: ScoreCube, human: str) -> int:
    return int((~np.isnan(cube.human_scores[human])).any(axis=1).sum())


def _correlations(
    cube: ScoreCube,
    human: str,
    metric: StatisticsMetric,
    full: Sequence[SystemScore],
    resampling: Resampling,
) -> dict[str, tuple[int, float]]:
    """For each aggregation, the number of systems and Pearson with the mean human score."""
    gold = cube.human_scores[human]
    rated = ~np.isnan(gold)
    there = ~np.isnan(cube.statistics[metric.spec][..., 0])
    if (rated | ~there).all():  # everything that is scored is rated: the scores are known
        rows = [row for row in full if row.group == cube.dataset]
    else:
        rows = system_scores(cube, metric, resampling, rated)
    index = {system: k for k, system in enumerate(cube.systems)}
    means = [float(np.nanmean(gold[index[row.system]])) for row in rows]
    return {
        aggregation: (
            len(rows),
            pearson([oriented(metric, row.scores[aggregation]) for row in rows], means),
        )
        for aggregation in AGGREGATIONS
    }


def _human_rows(
    human: str, metric: str, found: Mapping[str, Mapping[str, tuple[int, float]]]
) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for aggregation in AGGREGATIONS:
        label: dict[str, Any] = {"human": human, "metric": metric, "aggregation": aggregation}
        for group, values in found.items():
            systems, value = values[aggregation]
            rows.append(label | {"group": group, "systems": systems, "pearson": to_json_values(value)})
        defined = [v[aggregation][1] for v in found.values() if not np.isnan(v[aggregation][1])]
        if defined:
            total = sum(values[aggregation][0] for values in found.values())
            rows.append(label | {"group": MEAN, "systems": total, "pearson": float(np.mean(defined))})
    return rows
