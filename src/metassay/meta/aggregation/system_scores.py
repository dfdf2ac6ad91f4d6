"""From segments to systems: corpus, segment and bootstrap aggregation (Cavalin et al., 2024).

| aggregation | name    | definition                                                             |
|-------------|---------|------------------------------------------------------------------------|
| corpus      | BLEU    | statistics summed over segments, one score                             |
| segment     | m-BLEU  | mean of the segment scores                                             |
| bootstrap   | x-BLEU  | mean of corpus scores over 1000 resamples of 1000 segments             |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metassay.data.score_cube import ScoreCube
from metassay.metrics.base import Scores, StatisticsMetric
from metassay.stats.arrays import to_json_values
from metassay.stats.bootstrap import small_sample_factor
from metassay.stats.random import make_text_generator
from metassay.stats.resampling import (
    FromStatistics,
    draw_bootstrap_scores,
    make_mean_statistics,
    mean_from_statistics,
)

AGGREGATIONS = ("corpus", "segment", "bootstrap")
PREFIXES = {"corpus": "", "segment": "m-", "bootstrap": "x-"}
"""How the paper marks the aggregation in a metric's name."""


@dataclass(frozen=True)
class SystemScore:
    """The scores of one system on one test set, with standard errors."""

    group: str
    system: str
    metric: str
    scores: Mapping[str, float]
    errors: Mapping[str, float]
    """Standard errors by a bootstrap over segments: of corpus and segment scores on as many segments as there
    are, of the bootstrap on its own resamples; NaN for a single segment."""

    def to_dict(self) -> dict[str, Any]:
        """One entry of `systems`."""
        return {
            "group": self.group,
            "system": self.system,
            "metric": self.metric,
            **{name: to_json_values(self.scores[name]) for name in AGGREGATIONS},
            "standard_errors": {name: to_json_values(self.errors[name]) for name in AGGREGATIONS},
        }


@dataclass(frozen=True)
class Resampling:
    """How much is drawn: for `bootstrap`, and for the analyses on fewer segments."""

    resamples: int = 1000
    size: int = 1000
    repeats: int = 1000
    downsampled: tuple[int, ...] = (1, 10, 100)
    seed: int = 0

    def stream(self, group: str, purpose: str, segments: int) -> np.random.Generator:
        """Random numbers that depend on the seed, the test set, the purpose and the number of segments alone.

        Systems and metrics with the same segments see the same resamples.
        """
        return make_text_generator(self.seed, f"{group}\0{purpose}\0{segments}")


def system_scores(
    cube: ScoreCube, metric: StatisticsMetric, resampling: Resampling, cells: NDArray[np.bool_] | None = None
) -> list[SystemScore]:
    """Every system of a test set under the three aggregations; `cells` restricts segments by system."""
    statistics, segments = cube.statistics[metric.spec], cube.metric_scores[metric.spec]
    present = ~np.isnan(statistics[..., 0])
    if cells is not None:
        present &= cells
    found: dict[int, SystemScore] = {}
    for rows, columns in _same_segments(present):
        chosen = statistics[np.ix_(rows, columns)]
        scored = _scores(cube.dataset, metric, chosen, segments[np.ix_(rows, columns)], resampling)
        for row, (scores, errors) in zip(rows, scored):
            found[int(row)] = SystemScore(cube.dataset, cube.systems[row], metric.spec, scores, errors)
    return [found[row] for row in sorted(found)]


def _scores(
    group: str, metric: StatisticsMetric, statistics: Scores, segments: Scores, resampling: Resampling
) -> list[tuple[dict[str, float], dict[str, float]]]:
    """Scores and standard errors of systems that have the same segments."""
    count = segments.shape[1]
    bootstrap = _bootstrap(group, metric, statistics, resampling)
    # one matrix for both, so that their standard errors come from the same resamples
    both = np.concatenate([statistics, make_mean_statistics(segments)], axis=2)
    corpus_draws, segment_draws = draw_bootstrap_scores(
        both,
        lambda sums: np.stack([metric.from_statistics(sums[..., :-2]), mean_from_statistics(sums[..., -2:])]),
        resampling.stream(group, "standard error", count),
        draws=resampling.resamples,
    )
    scores = {
        "corpus": metric.from_statistics(statistics.sum(axis=1)),
        "segment": mean_from_statistics(make_mean_statistics(segments).sum(axis=1)),
        "bootstrap": bootstrap.mean(axis=1),
    }
    known = 1.0 if count > 1 else np.nan  # resamples of a single segment do not vary, which tells nothing
    errors = {
        "corpus": corpus_draws.std(axis=1, ddof=1) * known,
        "segment": segment_draws.std(axis=1, ddof=1) * known,
        "bootstrap": bootstrap.std(axis=1, ddof=1) * known,
    }
    return [
        ({k: float(v[i]) for k, v in scores.items()}, {k: float(v[i]) for k, v in errors.items()})
        for i in range(len(segments))
    ]


def _bootstrap(group: str, metric: StatisticsMetric, statistics: Scores, resampling: Resampling) -> Scores:
    """Corpus scores on resamples of fixed size: [systems, resamples]."""
    rng = resampling.stream(group, "bootstrap", statistics.shape[1])
    return draw_bootstrap_scores(
        statistics, metric.from_statistics, rng, draws=resampling.resamples, size=resampling.size
    )


def corpus_scores(cube: ScoreCube, metric: StatisticsMetric) -> Scores:
    """The corpus score of each system, on the segments it has; NaN where it has none."""
    statistics = cube.statistics[metric.spec]
    scores = metric.from_statistics(np.nansum(statistics, axis=1))
    return np.where(np.isnan(statistics[..., 0]).all(axis=1), np.nan, scores)


def bootstrap_means(cube: ScoreCube, metric: StatisticsMetric, resampling: Resampling) -> Scores:
    """The bootstrap score of each system; NaN where it has no segments."""
    statistics = cube.statistics[metric.spec]
    means = np.full(len(cube.systems), np.nan)
    for rows, columns in _same_segments(~np.isnan(statistics[..., 0])):
        scores = _bootstrap(cube.dataset, metric, statistics[np.ix_(rows, columns)], resampling)
        means[rows] = scores.mean(axis=1)
    return means


def score_intervals(
    statistics: Scores, from_statistics: FromStatistics, group: str, resampling: Resampling
) -> tuple[Scores, Scores]:
    """95 % intervals of the score of each system, by percentiles over resampled segments.

    They are stretched about the score as few segments ask for, t / z · √(n / (n - 1)) (Hesterberg, 2015); of
    a single segment there is none. Statistics are [systems, segments, s], NaN where a system has no (defined)
    score.
    """
    ends = np.full((2, len(statistics)), np.nan)
    for rows, columns in _same_segments(~np.isnan(statistics[..., 0])):
        rng = resampling.stream(group, "interval", len(columns))
        chosen, count = statistics[np.ix_(rows, columns)], len(columns)
        if count == 1:
            continue
        draws = draw_bootstrap_scores(chosen, from_statistics, rng, draws=resampling.resamples)
        score = from_statistics(chosen.sum(axis=1))
        stretch = small_sample_factor(np.array(count)) * np.sqrt(count / (count - 1))
        ends[:, rows] = score + (np.quantile(draws, [0.025, 0.975], axis=1) - score) * stretch
    return ends[0], ends[1]


def _same_segments(present: NDArray[np.bool_]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Systems (rows) by the segments (columns) they have; systems without any are left out."""
    patterns: dict[bytes, list[int]] = {}
    for row, mask in enumerate(present):
        if mask.any():
            patterns.setdefault(mask.tobytes(), []).append(row)
    return [(np.array(rows), np.flatnonzero(present[rows[0]])) for rows in patterns.values()]


def oriented(metric: StatisticsMetric, score: float) -> float:
    """The score, turned so that higher is better."""
    return score if metric.higher_is_better else -score


def named(metric: str, aggregation: str) -> str:
    """The paper's name of a metric under an aggregation: `m-bleu` is the mean over segments."""
    return PREFIXES[aggregation] + metric


def pearson(x: Sequence[float] | Scores, y: Sequence[float] | Scores) -> float:
    """Pearson's correlation of the pairs where both are defined; NaN where there is none."""
    left, right = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    both = ~(np.isnan(left) | np.isnan(right))
    left, right = left[both], right[both]
    if len(left) < 2 or np.ptp(left) == 0 or np.ptp(right) == 0:
        return float("nan")
    return float(np.corrcoef(left, right)[0, 1])
