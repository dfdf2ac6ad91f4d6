"""The share that a judge calls good, corrected for its errors (Rogan and Gladen, 1978).

Sensitivity Se is the share of outputs that humans call good which the judge calls good too, specificity Sp
the same for bad. Both are estimated on the outputs with human labels. The share p̂ that the judge calls good
becomes

    (p̂ + Sp − 1) / (Se + Sp − 1),    clipped to [0, 1].

Se and Sp come from the labelled outputs, p̂ from all; both are resampled by item. Where good or bad outputs
are rare, resamples may contain none of them. Every resample therefore adds pseudo-outputs of random weight
to the labelled ones, half an output of each kind on average (Jeffreys' prior, as in a Bayesian bootstrap).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from metassay.stats.arrays import FloatArray, IntArray, divide_or_nan
from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.intervals import percentile_interval

# With a smaller Se + Sp − 1 a judge carries too little information to be corrected.
MINIMUM_INFORMATION = 0.2
# With fewer labelled good or bad outputs, their number decides nothing about the judge's information.
FEW_LABELS = 10
# Outputs that are added to each of good and bad, called good and called bad.
PSEUDO_OUTPUTS = 0.5


@dataclass(frozen=True)
class ShareCorrection:
    """Share of outputs that a judge calls good, before and after correction for its errors.

    The corrected share has a 95 % interval.
    """

    value: float
    low: float
    high: float
    judged: float
    sensitivity: float
    specificity: float
    labelled: int
    """Number of outputs with a human label."""


def correct_share_for_judge_errors(
    share: FloatArray, sensitivity: FloatArray, specificity: FloatArray
) -> FloatArray:
    """Correct the share of outputs that a judge calls good for the errors of the judge.

    Its sensitivity and specificity say how often it recognises good and bad outputs (Rogan and Gladen, 1978).
    The result is (share + specificity - 1) / (sensitivity + specificity - 1), limited to [0, 1].
    """
    information = sensitivity + specificity - 1
    undefined = np.full(np.shape(information), np.nan)
    corrected = np.divide(share + specificity - 1, information, out=undefined, where=information > 1e-9)
    return np.asarray(np.clip(corrected, 0, 1))


def estimate_corrected_share_of_good_outputs(
    verdicts: FloatArray, gold_labels: FloatArray, items: IntArray, bootstrap: ClusterBootstrap
) -> ShareCorrection:
    """Estimate the true share of good outputs from the verdicts of a judge.

    Human labels of some outputs tell how often the judge errs. Verdicts are 1 (good), 0 (bad) or ½
    (undecided); gold labels are 1, 0, or NaN without a label.
    """
    is_read = ~np.isnan(verdicts)
    verdicts = verdicts[is_read]
    is_good = (gold_labels[is_read] == 1).astype(np.float64)
    is_bad = (gold_labels[is_read] == 0).astype(np.float64)
    # ratios of these sums are the share, the sensitivity and the specificity
    numerators = np.stack([verdicts, verdicts * is_good, (1 - verdicts) * is_bad])
    denominators = np.stack([np.ones(len(verdicts)), is_good, is_bad])
    totals = denominators.sum(axis=1)
    rates = divide_or_nan(numerators.sum(axis=1), totals)
    labelled = int(is_good.sum() + is_bad.sum())
    if labelled:
        rates = np.where(np.isnan(rates), 0.5, rates)
    share, sensitivity, specificity = rates.tolist()
    has_information = sensitivity + specificity - 1 >= MINIMUM_INFORMATION  # false if either is NaN
    has_few_labels = labelled > 0 and min(is_good.sum(), is_bad.sum()) < FEW_LABELS
    if not (has_information or has_few_labels):
        return ShareCorrection(np.nan, np.nan, np.nan, share, sensitivity, specificity, labelled)
    numerator_sums = bootstrap.compute_sums_on_resamples(numerators, items[is_read])
    denominator_sums = bootstrap.compute_sums_on_resamples(denominators, items[is_read])
    rng = np.random.default_rng(0)  # the same pseudo-outputs for every judge
    right, wrong = rng.gamma(PSEUDO_OUTPUTS, size=(2, 2, bootstrap.resamples))
    numerator_sums[1:] += right
    denominator_sums[1:] += right + wrong
    resampled_share, resampled_sensitivity, resampled_specificity = divide_or_nan(
        numerator_sums, denominator_sums
    )
    resampled = correct_share_for_judge_errors(resampled_share, resampled_sensitivity, resampled_specificity)
    # without information a resample says nothing: the share may be anything
    resampled = np.where(np.isnan(resampled), rng.random(len(resampled)), resampled)
    lows, highs = percentile_interval(resampled[None])
    value = float(np.median(resampled))
    if has_information:
        value = float(correct_share_for_judge_errors(rates[0], rates[1], rates[2]))
    low = min(float(lows[0]), value)
    high = max(float(highs[0]), value)
    return ShareCorrection(value, low, high, share, sensitivity, specificity, labelled)
