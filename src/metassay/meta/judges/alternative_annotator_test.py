"""The alternative annotator test: can a judge replace one of the annotators? (Calderon et al., 2025).

Each annotator j is left out in turn. On every item that j and others rated, S_f is how close the judge is to
the remaining annotators, and S_h how close j is to them:

    W_f = 1[S_f ≥ S_h]    W_h = 1[S_h ≥ S_f]    ρ_j = mean of W_f, the advantage probability

H0: mean(W_h − W_f) ≥ ε is tested with a one-sided t-test over items, and the p-values of all annotators are
adjusted by Benjamini and Yekutieli. The winning rate ω is the share of annotators for whom H0 is rejected;
the judge passes at ω ≥ ½. ε is the advantage granted to humans because of their cost: .2 for experts, .15 for
skilled annotators, .1 for a crowd.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from metassay.stats.arrays import FloatArray
from metassay.stats.levels import SIGNIFICANCE_LEVEL
from metassay.stats.multiplicity import adjust_p_values_by_benjamini_yekutieli

# Annotators who share fewer items with others are left out.
MINIMUM_ITEMS = 30


@dataclass(frozen=True)
class AlternativeAnnotatorTest:
    """Result of a test whether a judge can replace human annotators (alternative annotator test).

    Arrays have one entry per annotator, NaN for those who were left out (`items` has their number of items).
    `winning_rate` and `advantage` are NaN if all annotators were left out.
    """

    winning_rate: float
    advantage: float
    epsilon: float
    advantages: FloatArray
    p: FloatArray
    p_fdr: FloatArray
    items: NDArray[np.int64]
    """Number of items that each annotator shares with the judge and another annotator."""

    @property
    def passes(self) -> bool:
        """Whether the judge passes the test: it can replace at least half of the annotators."""
        return self.winning_rate >= 0.5


def alternative_annotator_test(
    judge_ratings: FloatArray,
    annotator_ratings: FloatArray,
    *,
    epsilon: float = 0.2,
    categories: bool = False,
) -> AlternativeAnnotatorTest:
    """Test whether a judge can replace human annotators.

    It can if it agrees with the other annotators as well as each annotator does. NaN is a missing rating.
    Closeness to others is the negative root mean squared distance; with `categories`, the share of them who
    gave the same rating.
    """
    annotator_count = len(annotator_ratings)
    advantages = np.full(annotator_count, np.nan)
    p_values = np.full(annotator_count, np.nan)
    item_counts = np.zeros(annotator_count, dtype=np.int64)
    for annotator, ratings in enumerate(annotator_ratings):
        all_others = np.delete(annotator_ratings, annotator, axis=0)
        rated_by_others = (~np.isnan(all_others)).any(axis=0)
        shared_items = np.flatnonzero(~np.isnan(judge_ratings) & ~np.isnan(ratings) & rated_by_others)
        item_counts[annotator] = len(shared_items)
        if len(shared_items) < MINIMUM_ITEMS:
            continue
        others = all_others[:, shared_items]
        judge_closeness = _measure_closeness_to_other_ratings(
            judge_ratings[shared_items], others, categories=categories
        )
        annotator_closeness = _measure_closeness_to_other_ratings(
            ratings[shared_items], others, categories=categories
        )
        judge_wins = judge_closeness >= annotator_closeness
        annotator_wins = annotator_closeness >= judge_closeness
        advantages[annotator] = judge_wins.mean()
        p_values[annotator] = _compute_non_inferiority_p_value(
            annotator_wins.astype(np.float64) - judge_wins, epsilon
        )
    p_fdr = adjust_p_values_by_benjamini_yekutieli(p_values)
    is_tested = ~np.isnan(p_values)
    winning_rate = np.nan
    advantage = np.nan
    if is_tested.any():
        winning_rate = float((p_fdr[is_tested] <= SIGNIFICANCE_LEVEL).mean())
        advantage = float(advantages[is_tested].mean())
    return AlternativeAnnotatorTest(
        winning_rate, advantage, epsilon, advantages, p_values, p_fdr, item_counts
    )


def _measure_closeness_to_other_ratings(
    ratings: FloatArray, other_ratings: FloatArray, *, categories: bool
) -> FloatArray:
    """Compute for each item how close a rating is to the ratings of the other annotators."""
    if categories:
        is_equal = np.where(np.isnan(other_ratings), np.nan, other_ratings == ratings)
        return np.asarray(np.nanmean(is_equal, axis=0))
    return np.asarray(-np.sqrt(np.nanmean((other_ratings - ratings) ** 2, axis=0)))


def _compute_non_inferiority_p_value(differences: FloatArray, epsilon: float) -> float:
    """Compute the one-sided p-value of the hypothesis that the mean difference is at least ε.

    It is 0 or 1 if all differences are equal.
    """
    sd = differences.std(ddof=1)
    excess = differences.mean() - epsilon
    if sd == 0:
        return 0.0 if excess < 0 else 1.0
    standard_error = sd / np.sqrt(len(differences))
    return float(stdtr(len(differences) - 1, excess / standard_error))
