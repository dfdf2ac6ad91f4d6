"""Which metrics err on the same pairs, and which order all pairs in the same way."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

import numpy as np

from metassay.meta.contexts.pair_outcomes import MISSING, RIGHT, PairOutcomes
from metassay.stats.arrays import FloatArray, divide_or_nan

_BATCH = 1 << 20  # pairs at a time, so that counts stay exact in float32


def correlate_errors_of_metrics(pair_outcomes: PairOutcomes) -> FloatArray:
    """Compute for every two metrics how strongly their errors on pairs of outputs coincide, as a correlation
    (phi coefficient).

    1: two metrics err on exactly the same pairs; near 0: their errors are unrelated, and a vote of both gains
    most. NaN where a metric is always right or never.
    """
    count = len(pair_outcomes.metrics)
    both_scored = np.zeros((count, count))
    first_right = np.zeros((count, count))
    both_right = np.zeros((count, count))
    for start in range(0, pair_outcomes.pair_count, _BATCH):
        batch = pair_outcomes.outcomes[:, start : start + _BATCH]
        scored = (batch != MISSING).astype(np.float32)
        right = (batch == RIGHT).astype(np.float32)
        both_scored += scored @ scored.T
        first_right += right @ scored.T  # right by the row's metric, scored by the column's
        both_right += right @ right.T
    covariance = both_scored * both_right - first_right * first_right.T
    row_spread = np.sqrt(first_right * (both_scored - first_right))
    column_spread = np.sqrt(first_right.T * (both_scored - first_right.T))
    return divide_or_nan(covariance, row_spread * column_spread)


def group_metrics_with_identical_pair_orders(pair_outcome_tables: Sequence[PairOutcomes]) -> list[list[str]]:
    """Find groups of metrics that ordered every pair of outputs in the same way, such as `wil` and `wip`."""
    groups: dict[bytes, list[str]] = {}
    for m, metric in enumerate(pair_outcome_tables[0].metrics):
        digest = blake2b(digest_size=16)
        for outcomes in pair_outcome_tables:
            digest.update(np.ascontiguousarray(outcomes.outcomes[m]).tobytes())
        groups.setdefault(digest.digest(), []).append(metric)
    return [group for group in groups.values() if len(group) > 1]
