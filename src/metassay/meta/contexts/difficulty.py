"""Accuracy by difficulty: the closer the two texts of a pair, the harder it is to tell which is better."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from metassay.meta.contexts.accuracy import sort_pairs_by_item
from metassay.meta.contexts.column_analysis import estimate_accuracy_intervals
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes
from metassay.results.assay import BinAccuracy, Difficulty, DifficultyBin, HumanPairDistances
from metassay.results.base import none_if_nan
from metassay.stats import random
from metassay.stats.arrays import FloatArray, IntArray
from metassay.stats.bootstrap import ClusterBootstrap

# Bins of about equally many pairs, by the share of edited characters.
_BINS = 5
_FEWEST_PAIRS = 20  # in a bin
# Pairs assigned to bins at a time, which bounds memory.
_SHARES_PER_BATCH = 2**20


@dataclass(frozen=True)
class DifficultyBins:
    """Pairs of two outputs, grouped into bins by the share of characters that differ between the two. Small
    differences are harder to notice.

    `codes` has the bin of each pair, `median` is the median share of all pairs.
    """

    codes: IntArray
    median: float
    bins: list[DifficultyBin]


def group_pairs_by_share_of_edited_characters(edit_shares: FloatArray) -> DifficultyBins:
    """Divide pairs of outputs into up to five bins of about equal size, by the share of characters that
    differ between the two outputs.

    Pairs with equal shares are in the same bin.
    """
    ordered = np.sort(edit_shares)
    starts = _find_starts_of_equal_sized_bins(ordered)
    lowest = ordered[starts[:-1]]
    codes = np.empty(len(edit_shares), dtype=np.int32)
    for start in range(0, len(edit_shares), _SHARES_PER_BATCH):
        batch = slice(start, start + _SHARES_PER_BATCH)
        codes[batch] = np.searchsorted(lowest, edit_shares[batch], side="right") - 1
    bins = []
    for start, stop in pairwise(starts):
        shares = ordered[start:stop]
        bins.append(
            DifficultyBin(
                low=float(shares[0]),
                median=_compute_median_of_sorted_values(shares),
                high=float(shares[-1]),
                pairs=len(shares),
            )
        )
    median = _compute_median_of_sorted_values(ordered) if len(ordered) else float("nan")
    return DifficultyBins(codes, median, bins)


def measure_accuracy_by_difficulty(
    pair_outcomes: PairOutcomes,
    difficulty_bins: DifficultyBins,
    human_pairs: HumanPairDistances | None,
    *,
    ties: str,
    resamples: int,
    seed: int,
) -> Difficulty | None:
    """Measure the accuracy of every metric in each bin of output pairs that differ in a similar share of
    characters. Returns None if there is only one bin.

    `human_pairs` says, for comparison, how far the outputs of human pairs are apart.
    """
    bin_count = len(difficulty_bins.bins)
    if bin_count < 2:
        return None
    contexts = PairContexts("difficulty", tuple(map(str, range(bin_count))), difficulty_bins.codes)
    pairs, (contexts,) = sort_pairs_by_item(pair_outcomes, [contexts])
    with threadpool_limits(1):  # so that results have the same bytes on any machine
        bootstrap = ClusterBootstrap(random.create_random_generator_for_name(seed, "bootstrap"), resamples)
        estimates, low, high = estimate_accuracy_intervals(pairs, contexts, ties, bootstrap)
    tie_share = estimates.accuracy_sums.compute_tie_shares()
    items = estimates.accuracy_sums.count_scored_items()
    rows = []
    for m, metric in enumerate(pairs.metrics):
        for code in range(bin_count):
            rows.append(
                BinAccuracy(
                    metric=metric,
                    bin=code,
                    accuracy=none_if_nan(estimates.accuracy[m, code]),
                    low=none_if_nan(low[m, code]),
                    high=none_if_nan(high[m, code]),
                    ties=none_if_nan(tie_share[m, code]),
                    items=int(items[m, code]),
                    pairs=int(estimates.pairs[m, code]),
                )
            )
    return Difficulty(
        measure="edit_share",
        median=difficulty_bins.median,
        bins=difficulty_bins.bins,
        accuracy=rows,
        human_pairs=human_pairs,
    )


def compute_edit_distance_quartiles(
    human_score_name: str, relative_edit_distances: FloatArray
) -> HumanPairDistances | None:
    """Compute quartiles of the edit distance between the two outputs of pairs with human scores. Returns None
    without pairs.
    """
    if not len(relative_edit_distances):
        return None
    low, median, high = np.quantile(relative_edit_distances, (0.25, 0.5, 0.75)).tolist()
    return HumanPairDistances(
        human=human_score_name, pairs=len(relative_edit_distances), low=low, median=median, high=high
    )


def _compute_median_of_sorted_values(sorted_values: FloatArray) -> float:
    """Compute the median of values that are sorted already."""
    return float((sorted_values[(len(sorted_values) - 1) // 2] + sorted_values[len(sorted_values) // 2]) / 2)


def _find_starts_of_equal_sized_bins(sorted_shares: FloatArray) -> list[int]:
    """Divide sorted values into bins of about equal size. Returns the position at which each bin starts,
    followed by the number of values.
    """
    size = len(sorted_shares)
    bin_count = max(min(_BINS, size // _FEWEST_PAIRS), 1)
    is_new_share = np.append(True, sorted_shares[1:] != sorted_shares[:-1])
    first_of_share = np.flatnonzero(is_new_share)[:size]
    bin_of_share = first_of_share * bin_count // max(size, 1)
    is_new_bin = np.append(True, bin_of_share[1:] != bin_of_share[:-1])[: len(first_of_share)]
    return [*first_of_share[is_new_bin].tolist(), size]
