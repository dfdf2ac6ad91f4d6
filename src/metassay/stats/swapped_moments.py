"""Pearson's and Spearman's correlation over all cells after swaps, from sums alone.

The correlation with people needs the sums of x, x^2 and x h over all cells. Each is linear in the swapped
cells, so a draw needs those sums of each metric and nothing of each pair. For Spearman every metric is
replaced by its ranks over all cells before anything is swapped.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from metassay.stats.swaps import FloatArray, Swaps


def swapped_correlations(
    human: FloatArray, scores: FloatArray, per_unit: Callable[[FloatArray], FloatArray], *, by_rank: bool
) -> Callable[[Swaps], NDArray[np.float32]]:
    """A function from a block of swaps to r(A') - r(B') for all pairs of metrics, `[draws, pairs]`.

    `human` is `[systems, segments]`, `scores` `[metrics, systems, segments]`; `per_unit` sums segments into
    the units that are swapped.
    """
    if by_rank:
        human, scores = _ranked(human[None])[0], _ranked(scores)
    people = human - human.mean()
    moments = [per_unit(part) for part in (scores, scores * scores, scores * people)]
    totals = [part.sum(axis=(1, 2)) for part in moments]
    cells, spread = human.size, float((people * people).sum())
    first, second = np.triu_indices(len(scores), 1)

    def differences(swaps: Swaps) -> NDArray[np.float32]:
        swapped = [swaps.swapped_sums(part).sum(axis=-1) for part in moments]
        moved = [part[:, second] - part[:, first] for part in swapped]
        ours = _correlation([total[first] + change for total, change in zip(totals, moved)], cells, spread)
        theirs = _correlation([total[second] - change for total, change in zip(totals, moved)], cells, spread)
        apart: NDArray[np.float32] = (ours - theirs).astype(np.float32)
        return apart

    return differences


def _correlation(moments: list[FloatArray], cells: int, spread: float) -> FloatArray:
    x, xx, xh = moments
    variance = xx - x * x / cells
    defined = (variance > 1e-12 * xx) & (spread > 0)
    below = np.sqrt(np.where(defined, variance * spread, 1.0))
    return np.where(defined, xh / below, np.nan)


def _ranked(scores: FloatArray) -> FloatArray:
    """Ranks over all cells of each metric, standardised so that two metrics can be exchanged."""
    ranks = np.stack([rankdata(metric).reshape(metric.shape) for metric in scores])
    ranks -= ranks.mean(axis=(1, 2), keepdims=True)
    deviation = ranks.std(axis=(1, 2), keepdims=True)
    scaled: FloatArray = np.divide(ranks, deviation, out=np.zeros_like(ranks), where=deviation > 0)
    return scaled
