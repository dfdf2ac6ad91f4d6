"""The alternative annotator test: may a judge stand in for one of the people? (Calderon et al., 2025).

Each annotator j is left out in turn. On every item that j and others rated, S_f is how close the judge, and
S_h how close j, comes to the remaining annotators:

    W_f = 1[S_f ≥ S_h]    W_h = 1[S_h ≥ S_f]    ρ_j = mean of W_f, the advantage probability

H0: mean(W_h − W_f) ≥ ε is tested with a one-sided t-test over items, and the p-values of all annotators are
adjusted by Benjamini and Yekutieli. The winning rate ω is the share of annotators against whom H0 is
rejected; the judge passes at ω ≥ ½. ε is the advantage granted to people for what they cost: .2 for experts,
.15 for skilled annotators, .1 for a crowd.

The share that a judge calls good, corrected for the judge's errors (Rogan and Gladen, 1978).

With sensitivity Se (the share of what people call good that the judge calls good too) and specificity Sp
(likewise for bad) on the part that people labelled, the share p̂ that the judge calls good becomes

    (p̂ + Sp − 1) / (Se + Sp − 1),    clipped to [0, 1].

Se and Sp come from the labelled part and p̂ from all that was judged; both are resampled, by item.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from metassay.stats.arrays import FloatArray
from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.intervals import percentile_interval
from metassay.stats.multiplicity import adjust_benjamini_yekutieli

FEWEST_ITEMS = 30
"""Annotators with fewer items that others rated too do not take part."""
LEVEL = 0.05


@dataclass(frozen=True)
class AlternativeTest:
    """The outcome for one judge; arrays are per annotator, NaN for those who do not take part.

    `winning_rate` and `advantage` are NaN where no annotator takes part.
    """

    winning_rate: float
    advantage: float
    epsilon: float
    advantages: FloatArray
    p: FloatArray
    p_fdr: FloatArray
    items: NDArray[np.int64]

    @property
    def passes(self) -> bool:
        """Whether the judge beats at least half of the annotators."""
        return self.winning_rate >= 0.5


def alternative_annotator_test(
    judge: FloatArray, people: FloatArray, *, epsilon: float = 0.2, categories: bool = False
) -> AlternativeTest:
    """The test from a judge's ratings [items] and people's [annotators, items], NaN where there is none.

    Closeness to the others is the negative root of the mean squared distance, or with `categories` the share
    of them who say the same.
    """
    annotators = len(people)
    advantages, p = np.full(annotators, np.nan), np.full(annotators, np.nan)
    items = np.zeros(annotators, dtype=np.int64)
    for j in range(annotators):
        shared = np.flatnonzero(
            ~np.isnan(judge) & ~np.isnan(people[j]) & (~np.isnan(np.delete(people, j, axis=0))).any(axis=0)
        )
        items[j] = len(shared)
        if len(shared) < FEWEST_ITEMS:
            continue
        others = np.delete(people, j, axis=0)[:, shared]
        ours = _closeness(judge[shared], others, categories=categories)
        theirs = _closeness(people[j, shared], others, categories=categories)
        advantages[j] = (ours >= theirs).mean()
        p[j] = _p_not_worse((theirs >= ours).astype(np.float64) - (ours >= theirs), epsilon)
    p_fdr = adjust_benjamini_yekutieli(p)
    taking_part = ~np.isnan(p)
    if not taking_part.any():
        return AlternativeTest(np.nan, np.nan, epsilon, advantages, p, p_fdr, items)
    return AlternativeTest(
        float((p_fdr[taking_part] <= LEVEL).mean()),
        float(advantages[taking_part].mean()),
        epsilon,
        advantages,
        p,
        p_fdr,
        items,
    )


def _closeness(rating: FloatArray, others: FloatArray, *, categories: bool) -> FloatArray:
    """How close ratings [items] come to the others' [annotators, items]; every item has one of these."""
    if categories:
        agreeing = np.where(np.isnan(others), np.nan, others == rating)
        return np.asarray(np.nanmean(agreeing, axis=0))
    return np.asarray(-np.sqrt(np.nanmean((others - rating) ** 2, axis=0)))


def _p_not_worse(difference: FloatArray, epsilon: float) -> float:
    """One-sided p-value of H0: mean difference ≥ ε. Without any spread the mean itself decides."""
    size, spread = len(difference), difference.std(ddof=1)
    gap = difference.mean() - epsilon
    if spread == 0:
        return 0.0 if gap < 0 else 1.0
    return float(stdtr(size - 1, gap / (spread / np.sqrt(size))))


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
    drawn = rogan_gladen(*bootstrap.resample_ratios(top, bottom, cluster))
    low, high = percentile_interval(drawn[None])
    if np.isnan(drawn).mean() > 0.05:
        low = high = np.array([np.nan])
    return Corrected(value, float(low[0]), float(high[0]), share, sensitivity, specificity, labelled)
