"""Pearson's and Spearman's correlation after swaps, over all cells or system by system, from sums alone.

The correlation with people needs the sums of x, x^2 and x h over the cells. Each is linear in the swapped
cells, so a draw needs those sums of each metric and nothing of each pair. For Spearman every metric is
replaced by its ranks, over all cells or within each system, before anything is swapped.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from metassay.stats.arrays import FloatArray
from metassay.stats.swaps import Swaps


def swapped_correlations(
    human: FloatArray,
    scores: FloatArray,
    per_unit: Callable[[FloatArray], FloatArray],
    *,
    by_rank: bool,
    per_system: bool = False,
) -> Callable[[Swaps], NDArray[np.float32]]:
    """A function from a block of swaps to r(A') - r(B') for all pairs of metrics, `[draws, pairs]`.

    `human` is `[systems, segments]`, `scores` `[metrics, systems, segments]`; `per_unit` sums segments into
    the units that are swapped. With `per_system`, r is the mean of the systems' own correlations.
    """
    groups = -1 if per_system else (-2, -1)
    if by_rank:
        human, scores = _ranked(human[None], groups)[0], _ranked(scores, groups)
    people = human - human.mean(axis=groups, keepdims=True)
    moments = [per_unit(part) for part in (scores, scores * scores, scores * people)]
    spread = (people * people).sum(axis=groups)
    cells = human.size // spread.size
    first, second = np.triu_indices(len(scores), 1)

    def grouped(sums: FloatArray) -> FloatArray:
        """From `[..., systems]` to `[..., groups]`."""
        return sums if per_system else sums.sum(axis=-1, keepdims=True)

    totals = [grouped(part.sum(axis=-1)) for part in moments]

    def differences(swaps: Swaps) -> NDArray[np.float32]:
        swapped = [grouped(swaps.swapped_sums(part)) for part in moments]
        moved = [part[:, second] - part[:, first] for part in swapped]
        ours = _correlation([total[first] + change for total, change in zip(totals, moved)], cells, spread)
        theirs = _correlation([total[second] - change for total, change in zip(totals, moved)], cells, spread)
        apart: NDArray[np.float32] = (ours - theirs).astype(np.float32)
        return apart

    return differences


def _correlation(moments: list[FloatArray], cells: int, spread: FloatArray) -> FloatArray:
    """The mean over groups, the last axis, of the correlations that are defined; NaN where none is."""
    x, xx, xh = moments
    variance = xx - x * x / cells
    defined = (variance > 1e-12 * xx) & (spread > 0)
    below = np.sqrt(np.where(defined, variance * spread, 1.0))
    r = np.where(defined, xh / below, 0.0)
    count = defined.sum(axis=-1)
    mean: FloatArray = np.divide(r.sum(axis=-1), count, out=np.full(count.shape, np.nan), where=count > 0)
    return mean


def _ranked(scores: FloatArray, groups: int | tuple[int, int]) -> FloatArray:
    """Ranks of each metric within each group, standardised so that two metrics can be exchanged."""
    if groups == -1:
        ranks = rankdata(scores, axis=-1)
    else:
        ranks = rankdata(scores.reshape(len(scores), -1), axis=-1).reshape(scores.shape)
    ranks = ranks - ranks.mean(axis=groups, keepdims=True)
    deviation = ranks.std(axis=groups, keepdims=True)
    scaled: FloatArray = np.divide(ranks, deviation, out=np.zeros_like(ranks), where=deviation > 0)
    return scaled
