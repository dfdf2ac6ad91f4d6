"""`RankingData`: the scores of one data set on which metrics are ranked against one human score.

A system without any human score, or without any metric score, is left out and named. Items that lack the
human score of a system are dropped for all metrics. Gaps of one metric drop items for that metric alone, and
a comparison of two metrics uses the items that both have. A metric with scores for less than half of the
items of the others is left out and named, because a few items may favour it. Matching is by id, never by
position.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from metassay.data.score_arrays import ScoreArrays
from metassay.data.score_cube import Metadata, ScoreCube
from metassay.meta.people.caveats import RankingCaveat, SparseMetrics
from metassay.stats.arrays import LongArray
from metassay.stats.random import NOISE_METRIC, spawn_random_generator

# The context of all items.
GLOBAL = "global"
CONSTANT, RANDOM = "constant", "random"
BASELINES = (CONSTANT, RANDOM)
# Share of the items of the most complete metric that a metric must have to be ranked.
SMALLEST_SHARE_OF_ITEMS = 0.5


@dataclass(frozen=True)
class RankingData:
    """Outputs of a data set with human scores, and the scores of all metrics and of two baselines (one
    constant, one random).

    The baselines come after the metrics in everything that is ordered by metric.
    """

    cube: ScoreCube
    scores: ScoreArrays
    """One row per entry of `metric_names`."""
    dropped_items: int
    """Items that were left out because they lack a human score."""
    dropped_metadata: Metadata = field(default_factory=dict)
    """Metadata columns of these items."""
    uninformed: frozenset[str] = frozenset()
    """Metrics that know nothing about single outputs: they are listed, but never named best."""
    pairwise: bool = False
    """Whether gaps are left in, so that each pair of systems is compared on the items that both have."""
    caveats: tuple[RankingCaveat, ...] = ()
    """What a user should know, for example which metrics were left out."""

    @property
    def metric_names(self) -> tuple[str, ...]:
        """Names of the metrics, sorted, followed by those of the baselines."""
        return (*self.cube.metric_scores, *BASELINES)

    @property
    def metric_count(self) -> int:
        """Number of metrics, not counting the baselines."""
        return len(self.cube.metric_scores)

    @property
    def metric_positions(self) -> LongArray:
        """Positions of the metrics, without those of the baselines."""
        return np.arange(self.metric_count)

    @property
    def is_scored_by_all_metrics(self) -> NDArray[np.bool_]:
        """Boolean mask of the items for which every metric scored the outputs of all systems."""
        return np.asarray(self.scores.has_all_scores[: self.metric_count].all(axis=0))

    def count_items_scored_by_metric(self, metric_position: int) -> int:
        """Count the items on which a metric is compared with human scores."""
        if not self.pairwise:
            return int(self.scores.has_all_scores[metric_position].sum())
        has_both = ~np.isnan(self.scores.metrics[metric_position] + self.scores.human)
        return int((has_both.sum(axis=0) >= 2).sum())

    def select_items(self, is_selected: NDArray[np.bool_]) -> RankingData:
        """Return a copy with the selected items only."""
        return replace(
            self,
            cube=self.cube.select_items_and_systems(items=is_selected),
            scores=self.scores.select_items_and_systems(items=is_selected),
        )

    def select_items_of_context(self, column: str, value: str) -> RankingData:
        """Return a copy with the items that have the given value in a metadata column."""
        is_inside = np.array([label == value for label in self.cube.item_metadata[column]])
        dropped = self.dropped_metadata.get(column, ()).count(value)
        return replace(self.select_items(is_inside), dropped_items=dropped)

    def add_caveats(self, *caveats: RankingCaveat) -> RankingData:
        """Return a copy with additional caveats of the ranking."""
        return replace(self, caveats=(*self.caveats, *caveats))


def prepare_ranking_data(
    score_cube: ScoreCube,
    *,
    human: str,
    metrics: Sequence[str] | None = None,
    uninformed: Collection[str] = (),
    cluster: str | None = None,
    pairwise: bool = False,
    seed: int = 0,
) -> RankingData:
    """Select the outputs with human scores and the metrics to rank, and add two baselines: a constant and
    a random metric.

    Without `metrics` all metrics are ranked. With `pairwise` an item needs the human score of two systems
    only; see `pairwise_deletion`.
    """
    rated = score_cube.select_metrics(metrics).select_outputs_with_human_scores(
        human, every_system=not pairwise
    )
    item_counts = _count_items_scored_by_each_metric(rated, pairwise=pairwise)
    most = max(item_counts.values())
    sparse = {name: n for name, n in item_counts.items() if 0 < n < SMALLEST_SHARE_OF_ITEMS * most}
    if sparse:
        rated = rated.select_metrics([name for name in item_counts if name not in sparse])
    scores = rated.to_score_arrays(human, tuple(rated.metric_scores), cluster)
    constant = np.zeros(scores.human.shape)
    noise = spawn_random_generator(seed, NOISE_METRIC).normal(size=scores.human.shape)
    with_baselines = ScoreArrays(scores.human, np.stack([*scores.metrics, constant, noise]), scores.clusters)
    rated_items = set(rated.items)
    dropped = score_cube.select_items_and_systems(
        items=np.array([item not in rated_items for item in score_cube.items])
    )
    return RankingData(
        rated,
        with_baselines,
        dropped_items=len(dropped.items),
        dropped_metadata=dropped.item_metadata,
        uninformed=frozenset(uninformed),
        pairwise=pairwise,
        caveats=(SparseMetrics(sparse, most),) if sparse else (),
    )


def _count_items_scored_by_each_metric(score_cube: ScoreCube, *, pairwise: bool) -> dict[str, int]:
    """Count the items that each metric scored for every system; with `pairwise`, for two systems."""
    required_systems = 2 if pairwise else len(score_cube.systems)
    item_counts = {}
    for name, scores in score_cube.metric_scores.items():
        systems_with_score = (~np.isnan(scores)).sum(axis=0)
        item_counts[name] = int((systems_with_score >= required_systems).sum())
    return item_counts
