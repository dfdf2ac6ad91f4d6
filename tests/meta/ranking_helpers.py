"""Rank the metrics of score cubes in tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from metassay.data.score_cube import ScoreCube
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.registry import parse_meta_metrics
from metassay.meta.people.ranking import MetricRanking, RankingPlan, rank_metrics
from metassay.meta.people.ranking_data import prepare_ranking_data


def rank_cubes(
    cubes: Sequence[ScoreCube],
    *,
    meta: str = "spa",
    settings: ComparisonSettings | None = None,
    contexts: Sequence[str] = (),
    holm: bool = False,
    fewest_items: int = 20,
    **selection: Any,
) -> list[MetricRanking]:
    """Rank the metrics of cubes; `selection` are keywords of `prepare_ranking_data`."""
    settings = settings or ComparisonSettings()
    plan = RankingPlan(
        parse_meta_metrics(meta),
        settings,
        context_columns=tuple(contexts),
        fewest_items=fewest_items,
        holm=holm,
    )
    datasets = [prepare_ranking_data(cube, human="mqm", seed=settings.seed, **selection) for cube in cubes]
    return rank_metrics(datasets, plan)


def to_json_object(ranking: Any) -> dict[str, Any]:
    """Return the JSON object of a ranking."""
    content: dict[str, Any] = msgspec.to_builtins(ranking.to_result())
    return content
