"""How often a judge orders outputs of different items as humans do, for data with one output per item.

Over all pairs of outputs with different human scores, the accuracy is a mean over pairs: 1 for the
order of the humans, ½ for equal scores, else 0. One output is in many pairs, so that pairs are not
independent: the variance is the jackknife over items.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metassay.meta.judges.estimates import NO_LIMIT, ItemEstimate
from metassay.stats.arrays import BoolArray, FloatArray
from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.intervals import ClusteredProportions, clustered_wilson_interval

_ROWS_PER_BLOCK = 500  # outputs that are compared with all others at a time


@dataclass(frozen=True)
class JudgeAndHumanItemScores:
    """Scores of a judge and of humans for items with one output each.

    Items without both scores are left out.
    """

    judge_scores: FloatArray
    human_scores: FloatArray
    label_positions: NDArray[np.int64]
    """The item of each output, which is also where its context label is."""

    def estimate_judge_accuracy(
        self, bootstrap: ClusterBootstrap, is_selected: BoolArray | None = None
    ) -> ItemEstimate:
        """Estimate how often a judge orders two outputs as humans do, over all or selected outputs.

        `bootstrap` is not used: the interval needs no resamples.
        """
        del bootstrap
        selected = slice(None) if is_selected is None else is_selected
        return estimate_share_of_pairs_ordered_like_humans(
            self.judge_scores[selected], self.human_scores[selected]
        )


def estimate_share_of_pairs_ordered_like_humans(
    judge_scores: FloatArray, human_scores: FloatArray
) -> ItemEstimate:
    """Estimate how often a judge orders two outputs as humans do, with a 95 % interval.

    The interval is Wilson's with the jackknife variance; NaN where a single output decides whether there are
    pairs at all.
    """
    correct_pair_counts, pair_counts = _count_pairs_ordered_like_humans(judge_scores, human_scores)
    pairs = pair_counts.sum() / 2
    if pairs == 0:
        return ItemEstimate(np.nan, np.nan, np.nan, 0)
    correct_pairs = correct_pair_counts.sum() / 2
    accuracy = correct_pairs / pairs
    pairs_without_output = pairs - pair_counts
    if (pairs_without_output == 0).any():
        return ItemEstimate(float(accuracy), np.nan, np.nan, int(pairs))
    accuracies_without_output = (correct_pairs - correct_pair_counts) / pairs_without_output
    output_count = len(judge_scores)
    variance = (output_count - 1) * accuracies_without_output.var()
    low, high = clustered_wilson_interval(
        ClusteredProportions(
            np.array([accuracy]), np.array([variance]), np.array([output_count]), np.array([NO_LIMIT])
        )
    )
    return ItemEstimate(float(accuracy), float(low[0]), float(high[0]), int(pairs))


def _count_pairs_ordered_like_humans(
    judge_scores: FloatArray, human_scores: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Count for each output its pairs with other outputs, and those that a judge orders as humans do.

    A tie of the judge counts half. Returns the number of equally ordered pairs, then the number of all pairs.
    """
    correct_pair_counts = np.zeros(len(judge_scores))
    pair_counts = np.zeros(len(judge_scores))
    for start in range(0, len(judge_scores), _ROWS_PER_BLOCK):
        block = slice(start, start + _ROWS_PER_BLOCK)
        judge_order = np.sign(judge_scores[block, None] - judge_scores)
        human_order = np.sign(human_scores[block, None] - human_scores)
        has_order = human_order != 0
        pair_accuracies = 1 - np.abs(judge_order - human_order) / 2
        correct_pair_counts[block] = np.where(has_order, pair_accuracies, 0).sum(axis=1)
        pair_counts[block] = has_order.sum(axis=1)
    return correct_pair_counts, pair_counts
