"""The share that a judge calls good, corrected for its errors (Rogan and Gladen, 1978).

Sensitivity Se is the share of outputs that humans call good which the judge calls good too, specificity Sp
the same for bad. Both are estimated on the outputs with human labels. The share p̂ that the judge calls good
becomes

    (p̂ + Sp − 1) / (Se + Sp − 1),    clipped to [0, 1].

Se and Sp come from the labelled outputs, p̂ from all; both are resampled by item.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metassay.stats.arrays import FloatArray
from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.intervals import percentile_interval

IntArray = NDArray[np.int32]

MINIMUM_INFORMATION = 0.2
"""With a smaller Se + Sp − 1 a judge carries too little information to be corrected."""
MOST_UNDEFINED = 0.05
"""Share of resamples that may be undefined; with more there is no interval."""


@dataclass(frozen=True)
class ShareCorrection:
    """The corrected share with its 95 % interval, and the share as judged; NaN where it is undefined."""

    value: float
    low: float
    high: float
    judged: float
    sensitivity: float
    specificity: float
    labelled: int
    """Number of outputs with a human label."""


def rogan_gladen(share: FloatArray, sensitivity: FloatArray, specificity: FloatArray) -> FloatArray:
    """Share of good outputs, corrected for the errors of a judge; NaN if the judge has no information."""
    information = sensitivity + specificity - 1
    undefined = np.full(np.shape(information), np.nan)
    corrected = np.divide(share + specificity - 1, information, out=undefined, where=information > 1e-9)
    return np.asarray(np.clip(corrected, 0, 1))


def correct_share(
    verdicts: FloatArray, gold: FloatArray, items: IntArray, bootstrap: ClusterBootstrap
) -> ShareCorrection:
    """Correct the mean of `verdicts` (1 good, 0 bad, ½ undecided) with `gold` (1, 0, NaN without a label).

    An undecided verdict counts half on either side. Resamples in which the judge carries no information are
    dropped; if they are more than 5 %, the interval is undefined.
    """
    is_read = ~np.isnan(verdicts)
    verdicts = verdicts[is_read]
    is_good = (gold[is_read] == 1).astype(np.float64)
    is_bad = (gold[is_read] == 0).astype(np.float64)
    # ratios of these sums are the share, the sensitivity and the specificity
    numerators = np.stack([verdicts, verdicts * is_good, (1 - verdicts) * is_bad])
    denominators = np.stack([np.ones(len(verdicts)), is_good, is_bad])
    totals = denominators.sum(axis=1)
    rates = np.divide(numerators.sum(axis=1), totals, out=np.full(3, np.nan), where=totals > 0)
    share, sensitivity, specificity = rates.tolist()
    labelled = int(is_good.sum() + is_bad.sum())
    has_information = sensitivity + specificity - 1 >= MINIMUM_INFORMATION  # false if either is NaN
    if not has_information:
        return ShareCorrection(np.nan, np.nan, np.nan, share, sensitivity, specificity, labelled)
    value = float(rogan_gladen(rates[0], rates[1], rates[2]))
    resampled = rogan_gladen(*bootstrap.resample_ratios(numerators, denominators, items[is_read]))
    lows, highs = percentile_interval(resampled[None])
    low = float(lows[0])
    high = float(highs[0])
    if np.isnan(resampled).mean() > MOST_UNDEFINED:
        low = np.nan
        high = np.nan
    return ShareCorrection(value, low, high, share, sensitivity, specificity, labelled)
