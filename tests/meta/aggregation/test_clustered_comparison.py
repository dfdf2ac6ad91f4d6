"""Tests of systems over whole documents, in simulations where all systems are equally good."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.data.score_cube import ScoreCube
from metassay.meta.aggregation.system_comparison import compare_systems
from metassay.metrics.registry import parse_metric

SEGMENTS_PER_DOCUMENT = 10
DATA_SETS = 200


def draw_equal_systems(rng: np.random.Generator, documents: int) -> ScoreCube:
    """Draw four equally good systems, each better in some documents and worse in others."""
    segments = documents * SEGMENTS_PER_DOCUMENT
    document_effects = rng.normal(size=(4, documents, 1))
    scores = document_effects + rng.normal(size=(4, documents, SEGMENTS_PER_DOCUMENT))
    return ScoreCube(
        dataset="simulated",
        systems=("a", "b", "c", "d"),
        items=tuple(f"{item:03d}" for item in range(segments)),
        human_scores={},
        metric_scores={"meteor": scores.reshape(4, segments)},
        item_metadata={"doc_id": tuple(str(item // SEGMENTS_PER_DOCUMENT) for item in range(segments))},
    )


def measure_false_positives(documents: int, cluster_column: str | None) -> float:
    """Return the share of data sets in which any two of four equally good systems are said to differ."""
    found = 0
    for seed in range(DATA_SETS):
        cube = draw_equal_systems(np.random.default_rng(seed), documents)
        comparisons = compare_systems(
            cube, parse_metric("meteor"), "randomization", draws=500, seed=seed, cluster_column=cluster_column
        )
        found += min(comparison.p_holm for comparison in comparisons) <= 0.05
    return found / DATA_SETS


@pytest.mark.parametrize("documents", [10, 40])
def test_clusters_hold_the_level_that_segments_exceed(documents):
    assert measure_false_positives(documents, "doc_id") <= 0.085
    assert measure_false_positives(documents, None) >= 0.5
