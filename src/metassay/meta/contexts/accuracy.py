"""Local metric accuracy: how often a metric prefers the better output, in each context.

For item x of a context, Q_x holds every pair of an output that belongs to the context (Deviyani and Diaz,
2025, equations 1 and 2): an output and its perturbed version, or the outputs of two systems, one of which
belongs to the context:

    ACC(Q_x) = weighted mean over the pairs of Q_x of 1[score(better) > score(worse)]
    ACC(Q)   = weighted mean over items of ACC(Q_x)

A pair has the weight of its output, an item the mean weight of its pairs; without weights both are plain
means. A tie is wrong (`ties="strict"`) or counts half (`ties="half"`). A pair that a metric could not score
is left out for that metric.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from metassay.errors import InputError
from metassay.meta.contexts.pair_outcomes import MISSING, RIGHT, TIE, OutcomeArray, PairContexts, PairOutcomes
from metassay.stats.arrays import (
    FloatArray,
    IntArray,
    LongArray,
    argsort_integers,
    count_occurrences,
    divide_or_nan,
    find_starts_of_equal_rows,
)
from metassay.stats.bootstrap import ClusterBootstrap
from metassay.stats.compilation import kernel

# Pairs whose outcomes are summed at a time, which bounds memory for data sets with millions of pairs.
_PAIRS_PER_BATCH = 2**20
TIE_CREDIT = {"strict": 0.0, "half": 0.5}

# Rows of `AccuracySums.totals`.
_WEIGHTED_ACCURACY, _WEIGHT, RIGHT_PAIRS, _TIES, ALL_PAIRS, _ITEMS, _OUTPUTS = range(7)


@dataclass(frozen=True)
class AccuracySums:
    """Sums from which the accuracy of each metric is computed, for each context (such as a domain) and each
    cluster of items (such as a document). Accuracy is the share of output pairs in which a metric scores the
    better output higher.

    `weighted_accuracy` and `weight` are [metrics, cells], where a cell is the part of a cluster that lies in
    one context: the weighted sum of its items' accuracies and the sum of their weights, so that the ratio of
    their sums is the accuracy. Cells are sorted by context; those of context c are `starts[c]:starts[c + 1]`,
    and `clusters` has the code of each cell's cluster. `totals` is [metrics, 7, contexts]: weighted
    accuracy and weight of the pairs, then unweighted: right pairs (a tie adds its credit), ties, pairs, items
    and outputs. `weight` has a single row if every metric scored every pair.
    """

    contexts: tuple[str, ...]
    weighted_accuracy: FloatArray
    weight: FloatArray
    clusters: IntArray
    starts: LongArray
    totals: FloatArray

    def compute_accuracies(self) -> FloatArray:
        """Compute the accuracy of each metric in each context, such as a domain, averaged over items.

        Returns an array [metrics, contexts], NaN for a context without pairs.
        """
        return divide_or_nan(
            self._sum_cluster_values_by_context(self.weighted_accuracy),
            self._sum_cluster_values_by_context(self.weight),
        )

    def compute_accuracy_over_pairs(self) -> FloatArray:
        """Compute the accuracy of each metric in each context, averaged over pairs of outputs instead of
        items.
        """
        return divide_or_nan(self.totals[:, _WEIGHTED_ACCURACY], self.totals[:, _WEIGHT])

    def compute_tie_shares(self) -> FloatArray:
        """Compute for each metric and context the share of output pairs in which both outputs got equal
        scores.
        """
        return divide_or_nan(self.totals[:, _TIES], self.totals[:, ALL_PAIRS])

    def count_scored_pairs(self) -> LongArray:
        """Count the pairs of outputs that each metric scored in each context."""
        return self.totals[:, ALL_PAIRS].astype(np.int64)

    def count_scored_items(self) -> LongArray:
        """Count for each metric and context the items with at least one pair of outputs that the metric
        scored.
        """
        return self.totals[:, _ITEMS].astype(np.int64)

    def count_scored_outputs(self) -> LongArray:
        """Count for each metric and context the outputs that are part of a pair that the metric scored."""
        return self.totals[:, _OUTPUTS].astype(np.int64)

    def count_scored_clusters(self) -> LongArray:
        """Count for each metric and context the clusters of items, such as documents, with at least one pair
        of outputs that the metric scored.
        """
        return self._sum_cluster_values_by_context(self.weight > 0).astype(np.int64)

    def estimate_accuracy_variances(self) -> FloatArray:
        """Estimate the sampling variance of each accuracy from differences between clusters of items, such as
        documents.

        n / (n - 1) * sum over clusters of (weighted accuracy - accuracy * weight)² / (sum of weights)²; NaN
        for one cluster.
        """
        # The sum of squares is written out, so that no array of residuals by cell is needed.
        accuracy = np.nan_to_num(self.compute_accuracies())
        clusters = self.count_scored_clusters().astype(np.float64)
        squares = self._sum_cluster_values_by_context(self.weighted_accuracy, self.weighted_accuracy)
        squares -= 2 * accuracy * self._sum_cluster_values_by_context(self.weighted_accuracy, self.weight)
        squares += accuracy**2 * self._sum_cluster_values_by_context(self.weight, self.weight)
        small_sample_factor = divide_or_nan(clusters, clusters - 1)
        total_weight = self._sum_cluster_values_by_context(self.weight)
        # Rounding can make a sum of squares slightly negative.
        return small_sample_factor * divide_or_nan(np.maximum(squares, 0), total_weight**2)

    def compute_p_values_of_accuracy_below_half(self) -> FloatArray:
        """Test for each metric and context whether the metric scores the better output higher in fewer than
        half of the pairs. Returns one-sided p-values.

        NaN for a single cluster. Student's t; the variance is at least ¼ / n, that of n equal clusters at
        accuracy ½, because a metric that is never right shows no variance.
        """
        clusters = self.count_scored_clusters().astype(np.float64)
        least_variance = divide_or_nan(np.full(clusters.shape, 0.25), clusters)
        variance = np.maximum(self.estimate_accuracy_variances(), least_variance)
        t = divide_or_nan(self.compute_accuracies() - 0.5, np.sqrt(variance))
        return np.asarray(stdtr(clusters - 1, t))

    def copy_without_cluster_sums(self) -> AccuracySums:
        """Return a copy without the sums for single clusters of items, which take most of the memory."""
        no_cells = np.empty((len(self.weighted_accuracy), 0))
        return replace(
            self,
            weighted_accuracy=no_cells,
            weight=no_cells,
            clusters=self.clusters[:0].copy(),
            starts=np.zeros_like(self.starts),
        )

    def get_cluster_slice_of_context(self, context_position: int) -> slice:
        """Return the range of array positions that holds the clusters of one context, as a slice."""
        return slice(int(self.starts[context_position]), int(self.starts[context_position + 1]))

    def resample_accuracies_in_context(
        self, context_position: int, bootstrap: ClusterBootstrap
    ) -> FloatArray:
        """Compute the accuracy of each metric in one context on bootstrap resamples, in which clusters of
        items (such as documents) are drawn with replacement.
        """
        cells = self.get_cluster_slice_of_context(context_position)
        return bootstrap.resample_ratios(
            self.weighted_accuracy[:, cells], self.weight[:, cells], self.clusters[cells]
        )

    def _sum_cluster_values_by_context(
        self, cluster_values: NDArray[Any], multipliers: FloatArray | None = None
    ) -> FloatArray:
        """Add up the values of the clusters in each context. Values are first multiplied by `multipliers`, if
        given.

        Returns an array [metrics, contexts].
        """
        sums = np.zeros((len(cluster_values), len(self.starts) - 1))
        has_cells = self.starts[1:] > self.starts[:-1]
        # `reduceat` returns an element, not 0, for an empty range: contexts without cells are left out.
        starts = self.starts[:-1][has_cells]
        if not len(starts):
            return sums
        # One metric at a time, to hold one row of products in memory.
        for m, row in enumerate(cluster_values):
            if multipliers is None:
                products = row.astype(np.float64)
            else:
                products = row * multipliers[m if len(multipliers) > 1 else 0]
            sums[m, has_cells] = np.add.reduceat(products, starts)
        return sums


def sort_pairs_by_item(
    pair_outcomes: PairOutcomes, contexts: Sequence[PairContexts]
) -> tuple[PairOutcomes, list[PairContexts]]:
    """Sort pairs of outputs by item, and the pairs of one item by output. Returns the sorted pairs and the
    contexts of the sorted pairs.

    `count_correct_pairs` expects this order.
    """
    items, outputs = pair_outcomes.items, pair_outcomes.outputs
    is_later_item = items[1:] > items[:-1]
    is_same_item = items[1:] == items[:-1]
    # Pairs usually come in this order already.
    if (is_later_item | (is_same_item & (outputs[1:] >= outputs[:-1]))).all():
        return pair_outcomes, list(contexts)
    # Two passes over small codes (outputs by item, pairs by output) instead of a sort by two keys.
    output_count = int(outputs.max()) + 1
    item_of_output = np.zeros(output_count, dtype=np.int32)
    item_of_output[outputs] = items
    rank_of_output = np.empty(output_count, dtype=np.int32)
    outputs_by_item = argsort_integers(item_of_output, int(item_of_output.max()) + 1)
    rank_of_output[outputs_by_item] = np.arange(output_count, dtype=np.int32)
    order = argsort_integers(rank_of_output[outputs], output_count)
    return pair_outcomes.select_pairs(order), [column.select_pairs(order) for column in contexts]


def repeat_pairs_that_span_two_contexts(
    pair_outcomes: PairOutcomes, pair_contexts: PairContexts
) -> tuple[PairOutcomes, PairContexts]:
    """List a pair of outputs twice if its two outputs belong to different contexts, so that it counts in both
    contexts.

    A metric that prefers the name of a system would be right in every pair that this system wins. Counted
    for the better output alone, these are all of its pairs. Pairs with a perturbed version stay as they are.
    """
    if pair_contexts.worse_codes is None or pair_outcomes.worse_outputs is None:
        return pair_outcomes, pair_contexts
    listed_twice = np.flatnonzero(pair_contexts.worse_codes != pair_contexts.codes)
    selection = np.concatenate([np.arange(pair_outcomes.pair_count), listed_twice])
    listed = replace(
        pair_outcomes.select_pairs(selection),
        outputs=np.concatenate([pair_outcomes.outputs, pair_outcomes.worse_outputs[listed_twice]]),
        worse_outputs=None,
    )
    codes = np.concatenate([pair_contexts.codes, pair_contexts.worse_codes[listed_twice]])
    sorted_pairs, sorted_contexts = sort_pairs_by_item(
        listed, [PairContexts(pair_contexts.column, pair_contexts.values, codes)]
    )
    return sorted_pairs, sorted_contexts[0]


def count_correct_pairs(
    pair_outcomes: PairOutcomes, pair_contexts: PairContexts, *, ties: str = "strict"
) -> AccuracySums:
    """Count the pairs of outputs in which each metric scores the better output higher, in each context (such
    as a domain) and cluster of items (such as a document). The pairs must be sorted by item.
    """
    batches = split_contexts_into_batches(pair_contexts)
    sums_by_batch = count_correct_pairs_in_batches(pair_outcomes, pair_contexts, ties=ties)
    if len(batches) == 1:
        return next(sums_by_batch)
    metrics = len(pair_outcomes.metrics)
    # An upper bound: a cluster may hold several items of a context.
    most_cells = 0
    for _, pairs in batches:
        most_cells += (
            len(find_starts_of_equal_rows(pair_contexts.codes[pairs], pair_outcomes.items[pairs])) - 1
        )
    # Filled batch by batch: concatenating finished batches would need twice the memory.
    weighted_accuracy = np.empty((metrics, most_cells))
    # Metrics that scored all pairs share one row of weights.
    weight = np.empty((metrics if _has_missing_outcomes(pair_outcomes) else 1, most_cells))
    clusters = np.empty(most_cells, np.int32)
    starts = [np.zeros(1, np.int64)]
    totals = []
    cell_count = 0
    for accuracy_sums in sums_by_batch:
        cells = slice(cell_count, cell_count + len(accuracy_sums.clusters))
        weighted_accuracy[:, cells] = accuracy_sums.weighted_accuracy
        weight[:, cells] = accuracy_sums.weight
        clusters[cells] = accuracy_sums.clusters
        starts.append(accuracy_sums.starts[1:] + cell_count)
        totals.append(accuracy_sums.totals)
        cell_count = cells.stop
    return AccuracySums(
        pair_contexts.values,
        weighted_accuracy[:, :cell_count],
        weight[:, :cell_count],
        clusters[:cell_count],
        np.concatenate(starts),
        np.concatenate(totals, axis=2),
    )


def _has_missing_outcomes(pair_outcomes: PairOutcomes) -> bool:
    """Return whether some metric could not score some pair of outputs."""
    return int(pair_outcomes.outcomes.min()) == MISSING


def count_correct_pairs_in_batches(
    pair_outcomes: PairOutcomes, pair_contexts: PairContexts, *, ties: str = "strict"
) -> Iterator[AccuracySums]:
    """Count the pairs of outputs in which each metric scores the better output higher, for a few contexts at
    a time to save memory. Yields the sums for each batch of contexts.
    """
    if ties not in TIE_CREDIT:
        raise InputError(f"unknown treatment of ties {ties!r}.", remedy="Known: half, strict.")
    has_missing = _has_missing_outcomes(pair_outcomes)
    for context_range, pairs in split_contexts_into_batches(pair_contexts):
        yield _count_correct_pairs_in_contexts(
            pair_outcomes,
            pair_contexts,
            pairs,
            context_range,
            has_missing=has_missing,
            tie_credit=TIE_CREDIT[ties],
        )


def split_contexts_into_batches(pair_contexts: PairContexts) -> list[tuple[slice, IntArray | slice]]:
    """Split contexts into batches with about a million pairs of outputs each. Returns for each batch the
    slice of its contexts and the positions of its pairs.
    """
    if len(pair_contexts.values) == 1 and pair_contexts.codes.min(initial=0) == 0:
        return [(slice(0, 1), slice(0, len(pair_contexts.codes)))]
    ends = np.cumsum(count_occurrences(pair_contexts.codes, len(pair_contexts.values)))
    order = argsort_integers(pair_contexts.codes, len(ends))
    batches: list[tuple[slice, IntArray | slice]] = []
    first_context = 0
    first_pair = 0
    while first_context < len(ends):
        # A context with more pairs than a batch is a batch of its own.
        enough = int(np.searchsorted(ends, first_pair + _PAIRS_PER_BATCH)) + 1
        next_context = min(max(enough, first_context + 1), len(ends))
        next_pair = int(ends[next_context - 1])
        batches.append((slice(first_context, next_context), order[first_pair:next_pair]))
        first_context = next_context
        first_pair = next_pair
    return batches


def _count_correct_pairs_in_contexts(
    pair_outcomes: PairOutcomes,
    pair_contexts: PairContexts,
    pair_positions: IntArray | slice,
    context_range: slice,
    *,
    has_missing: bool,
    tie_credit: float,
) -> AccuracySums:
    """Count the pairs of outputs in which each metric scores the better output higher, for a range of
    contexts and each cluster of items.
    """
    outputs = pair_outcomes.outputs[pair_positions]
    codes = pair_contexts.codes[pair_positions]
    first_context = context_range.start
    item_starts = find_starts_of_equal_rows(codes, pair_outcomes.items[pair_positions])
    context_of_item = codes[item_starts[:-1]] - first_context
    cluster_of_item = pair_outcomes.clusters[pair_positions][item_starts[:-1]]
    cell_of_item, first_item_of_cell = _find_combinations_of_context_and_cluster(
        context_of_item, cluster_of_item
    )
    weights = np.empty(0) if pair_outcomes.weights is None else pair_outcomes.weights[pair_positions]
    metrics = len(pair_outcomes.metrics)
    context_count = context_range.stop - first_context
    cell_count = len(first_item_of_cell)
    weighted_accuracy = np.zeros((metrics, cell_count))
    weight = np.zeros((metrics if has_missing else 1, cell_count))
    totals = np.zeros((metrics, 7, context_count))
    for m in range(metrics):
        # A shared row is computed anew for each metric, with the same result.
        weight_row = weight[m if has_missing else 0]
        weight_row.fill(0)
        _add_item_accuracies_to_sums(
            pair_outcomes.outcomes[m][pair_positions],
            outputs,
            weights,
            item_starts,
            cell_of_item,
            context_of_item,
            tie_credit,
            weighted_accuracy[m],
            weight_row,
            totals[m],
        )
    context_of_cell = context_of_item[first_item_of_cell]
    starts = np.searchsorted(context_of_cell, np.arange(context_count + 1)).astype(np.int64)
    return AccuracySums(
        pair_contexts.values[context_range],
        weighted_accuracy,
        weight,
        cluster_of_item[first_item_of_cell],
        starts,
        totals,
    )


def compute_accuracy_by_context(
    pair_outcomes: PairOutcomes, pair_contexts: PairContexts, *, ties: str
) -> tuple[FloatArray, FloatArray]:
    """Compute the accuracy of each metric in each context. Also returns the numbers of correctly ordered
    pairs, ties, pairs, items and outputs.

    The numbers are those of `AccuracySums.totals`.
    """
    accuracies = []
    totals = []
    for accuracy_sums in count_correct_pairs_in_batches(pair_outcomes, pair_contexts, ties=ties):
        accuracies.append(accuracy_sums.compute_accuracies())
        totals.append(accuracy_sums.totals)
    return np.concatenate(accuracies, axis=1), np.concatenate(totals, axis=2)


def _find_combinations_of_context_and_cluster(
    context_of_item: IntArray, cluster_of_item: IntArray
) -> tuple[LongArray, LongArray]:
    """Find the combinations of context and cluster (such as a domain and a document) that occur among items,
    and number them.

    Returns the number of each item's combination, and the first item of each combination. A combination is a
    cell of `AccuracySums`.
    """
    keys = context_of_item.astype(np.int64) * (int(cluster_of_item.max(initial=0)) + 1) + cluster_of_item
    if (keys[1:] > keys[:-1]).all():  # every item is a cluster of its own
        numbers = np.arange(len(keys), dtype=np.int64)
        return numbers, numbers
    _, first, cells = np.unique(keys, return_index=True, return_inverse=True)
    return cells.astype(np.int64), first.astype(np.int64)


@kernel
def _add_item_accuracies_to_sums(
    outcome_of_pair: OutcomeArray,
    output_of_pair: IntArray,
    weight_of_pair: FloatArray,
    first_pair_of_item: LongArray,
    context_cluster_of_item: LongArray,
    context_of_item: IntArray,
    tie_credit: float,
    accuracy_by_context_cluster: FloatArray,
    weight_by_context_cluster: FloatArray,
    totals_by_context: FloatArray,
) -> None:
    """Compute the accuracy of one metric on each item, and add it to the sum for the context and cluster of
    the item. The arrays of sums are changed in place.

    The accuracy and the mean weight of every item are added to `accuracy_by_context_cluster` and
    `weight_by_context_cluster` of its context and cluster, sums over its pairs to `totals_by_context` of its
    context.
    """
    for item in range(len(context_cluster_of_item)):
        right, tied, scored, output_count, earned, available = _count_pair_outcomes_of_item(
            outcome_of_pair,
            output_of_pair,
            weight_of_pair,
            first_pair_of_item[item],
            first_pair_of_item[item + 1],
            tie_credit,
        )
        if scored == 0:
            continue
        accuracy_by_context_cluster[context_cluster_of_item[item]] += earned / scored
        weight_by_context_cluster[context_cluster_of_item[item]] += available / scored
        context_totals = totals_by_context[:, context_of_item[item]]
        context_totals[_WEIGHTED_ACCURACY] += earned
        context_totals[_WEIGHT] += available
        context_totals[RIGHT_PAIRS] += right + tied * tie_credit
        context_totals[_TIES] += tied
        context_totals[ALL_PAIRS] += scored
        context_totals[_ITEMS] += 1
        context_totals[_OUTPUTS] += output_count


@kernel
def _count_pair_outcomes_of_item(
    outcomes: OutcomeArray,
    outputs: IntArray,
    weights: FloatArray,
    first_pair: int,
    end_pair: int,
    tie_credit: float,
) -> tuple[int, int, int, int, float, float]:
    """Count pairs of outputs of one item: those with scores of a metric, those that the metric orders
    correctly, and those with equal scores.

    Also returns the number of better outputs and two sums of weights: of the correctly ordered pairs, with
    ties in part, and of all scored pairs. The pairs of an output are neighbours; without weights each pair
    has 1.
    """
    right = 0
    tied = 0
    scored = 0
    output_count = 0
    last_output = -1
    earned = 0.0
    available = 0.0
    for pair in range(first_pair, end_pair):
        if outcomes[pair] == MISSING:
            continue
        weight = weights[pair] if len(weights) > 0 else 1.0
        scored += 1
        available += weight
        if outcomes[pair] == RIGHT:
            earned += weight
            right += 1
        elif outcomes[pair] == TIE:
            earned += weight * tie_credit
            tied += 1
        output_count += outputs[pair] != last_output
        last_output = outputs[pair]
    return right, tied, scored, output_count, earned, available
