"""Differences of correlations after exchanges of scores, against scipy on scores that were really exchanged."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from metassay.stats.exchanged_correlations import build_correlation_difference_function
from metassay.stats.score_exchanges import ScoreExchanges, draw_random_score_exchanges_in_blocks


def correlate_with_scipy(human: np.ndarray, scores: np.ndarray, *, per_system: bool) -> float:
    """Correlate over all cells, or average the correlations within systems that are defined."""
    if not per_system:
        return float(stats.pearsonr(human.ravel(), scores.ravel()).statistic)
    return float(
        np.mean(
            [
                stats.pearsonr(*rows).statistic
                for rows in zip(human, scores)
                if np.ptp(rows[0]) and np.ptp(rows[1])
            ]
        )
    )


def find_exchanged_cells(exchanges: ScoreExchanges, draw: int) -> np.ndarray:
    """Return which scores one draw exchanges, [systems, segments]."""
    if exchanges.cells is not None:
        return exchanges.cells[draw].astype(bool)
    return exchanges.rows[draw][:, None] ^ exchanges.columns[draw][None, :]


@pytest.mark.parametrize("kind", ["perm-inputs", "perm-systems", "perm-both", "cells"])
@pytest.mark.parametrize("per_system", [False, True])
@pytest.mark.parametrize("by_rank", [False, True])
def test_differences_are_those_of_exchanged_scores(kind: str, per_system: bool, by_rank: bool) -> None:
    rng = np.random.default_rng(0)
    human = rng.normal(3, 2, size=(4, 15))
    scores = human + rng.normal(size=(3, 4, 15))
    compute_exchanged_differences = build_correlation_difference_function(
        human, scores, lambda values: values, by_rank=by_rank, per_system=per_system
    )
    if by_rank:
        # The ranks of each metric, among all cells or within each system, are exchanged as standard scores.
        axis = -1 if per_system else None
        human = stats.zscore(stats.rankdata(human, axis=axis), axis=axis)
        scores = np.stack(
            [stats.zscore(stats.rankdata(each, axis=axis), axis=axis) for each in scores]
        ).reshape(3, 4, 15)
    for _, exchanges in draw_random_score_exchanges_in_blocks(kind, draws=5, systems=4, segments=15, seed=1):
        differences = compute_exchanged_differences(exchanges)
        for draw in range(len(exchanges)):
            cells = find_exchanged_cells(exchanges, draw)
            for position, (i, j) in enumerate(combinations(range(3), 2)):
                first = np.where(cells, scores[j], scores[i])
                second = np.where(cells, scores[i], scores[j])
                expected = correlate_with_scipy(human, first, per_system=per_system) - correlate_with_scipy(
                    human, second, per_system=per_system
                )
                assert differences[draw, position] == pytest.approx(expected, abs=2e-6)
