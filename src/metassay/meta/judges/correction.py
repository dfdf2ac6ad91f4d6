"""The share that a judge calls good, corrected for the judge's errors (Rogan and Gladen, 1978).

With sensitivity Se (the share of what people call good that the judge calls good too) and specificity Sp
(likewise for bad) on the part that people labelled, the share p̂ that the judge calls good becomes

    (p̂ + Sp − 1) / (Se + Sp − 1),    clipped to [0, 1].

Se and Sp come from the labelled part and p̂ from all that was judged; both are resampled, by item.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metassay.stats.arrays import FloatArray
from metassay.stats.bootstrap import ClusterBootstrap, percentiles

IntArray = NDArray[np.int32]

LEAST_INFORMATION = 0.2
"""Below this Se + Sp − 1 a judge says too little to be corrected."""


@dataclass(frozen=True)
class Corrected:
    """A corrected share with its 95 % interval, beside the share as judged; NaN where it is undefined."""

    value: float
    low: float
    high: float
    judged: float
    sensitivity: float
    specificity: float
    labelled: int


def rogan_gladen(share: FloatArray, sensitivity: FloatArray, specificity: FloatArray) -> FloatArray:
    """The corrected share; NaN where the judge tells good from bad too little (or the wrong way round)."""
    information = sensitivity + specificity - 1
    out = np.full(np.shape(information), np.nan)
    corrected = np.divide(share + specificity - 1, information, out=out, where=information > 1e-9)
    return np.asarray(np.clip(corrected, 0, 1))


def corrected_share(
    judged: FloatArray, gold: FloatArray, item: IntArray, bootstrap: ClusterBootstrap
) -> Corrected:
    """Correct the mean of `judged` (1 good, 0 bad, ½ undecided) by `gold` (1 or 0, NaN where unlabelled).

    An undecided judgement counts half on either side. Resamples in which the judge says too little are
    dropped; where they are more than one in twenty the interval is NaN.
    """
    read = ~np.isnan(judged)
    said, true, cluster = judged[read], gold[read], item[read]
    good, bad = (true == 1).astype(np.float64), (true == 0).astype(np.float64)
    top = np.stack([said, said * good, (1 - said) * bad])
    bottom = np.stack([np.ones(len(said)), good, bad])
    whole = np.divide(top.sum(1), bottom.sum(1), out=np.full(3, np.nan), where=bottom.sum(1) > 0)
    share, sensitivity, specificity = (float(value) for value in whole)
    labelled = int(good.sum() + bad.sum())
    if not sensitivity + specificity - 1 >= LEAST_INFORMATION:
        return Corrected(np.nan, np.nan, np.nan, share, sensitivity, specificity, labelled)
    value = float(rogan_gladen(whole[0], whole[1], whole[2]))
    drawn = rogan_gladen(*bootstrap.ratios(top, bottom, cluster))
    low, high = percentiles(drawn[None])
    if np.isnan(drawn).mean() > 0.05:
        low = high = np.array([np.nan])
    return Corrected(value, float(low[0]), float(high[0]), share, sensitivity, specificity, labelled)
