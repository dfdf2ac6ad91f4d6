"""H1: whether the accuracy of a metric changes with the context.

Three tests per metric on contexts × (right, wrong) pairs: chi-square as published (Deviyani and Diaz, 2025,
section 4.3); a permutation test that respects what pairs share; Cochran–Mantel–Haenszel within perturbations.
Each is adjusted by Holm over the metrics. The permutation test decides.

The permutation test exchanges context labels between units that are independent of one another. *Crossed*: a
cluster has outputs in several contexts (its systems). If each item is a cluster of its own, whole outputs
exchange labels within their item. If clusters hold several items, all outputs of a cluster in one context
exchange labels together, because a system may do alike on the items of a document. *Nested*: a cluster lies
in one context (its domain), so whole clusters exchange labels. Where exchanges at one level cannot link all
contexts (`system+domain`), the groups they do link are compared at the next, and the p-value is the smallest,
multiplied by the number of levels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from metassay.meta.contexts.accuracy import ALL_PAIRS, RIGHT_PAIRS, TIE_CREDIT
from metassay.meta.contexts.pair_outcomes import MISSING, RIGHT, TIE, PairContexts, PairOutcomes
from metassay.results.assay import AccuracyTest
from metassay.results.base import none_if_nan
from metassay.stats.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    LongArray,
    argsort_integers,
    count_occurrences,
    divide_or_zero,
    find_starts_of_equal_rows,
)
from metassay.stats.contingency import chi_square_test, cochran_mantel_haenszel_test
from metassay.stats.label_permutation import run_label_permutation_test
from metassay.stats.multiplicity import adjust_p_values_by_holm

# Below this sum of squares all items of a metric have the same accuracy, up to rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class AccuracyTests:
    """Results of testing whether each metric is equally accurate in all contexts, such as all domains.

    `p_family` are permutation p-values adjusted for all metrics together. `exchanges` names the levels of the
    permutation test; `exchangeable_share` is the share of units that could get another label, at the level
    where it is smallest. `cluster_variance_ratio` is computed by
    `compute_accuracy_similarity_within_clusters`; NaN where each item is a cluster of its own.
    """

    metrics: tuple[str, ...]
    chi2: FloatArray
    dof: LongArray
    p: FloatArray
    cramers_v: FloatArray
    p_permutation: FloatArray
    p_family: FloatArray
    p_cmh: FloatArray
    cluster_variance_ratio: FloatArray
    exchanges: tuple[str, ...]
    exchangeable_share: float

    def to_result_rows(self) -> list[AccuracyTest]:
        """Return the test results of each metric in JSON form, with p-values also adjusted for the number of
        metrics (Holm).
        """
        p_holm = adjust_p_values_by_holm(self.p)
        p_permutation_holm = adjust_p_values_by_holm(self.p_permutation)
        p_cmh_holm = adjust_p_values_by_holm(self.p_cmh)
        rows = []
        for m, metric in enumerate(self.metrics):
            rows.append(
                AccuracyTest(
                    metric=metric,
                    chi2=none_if_nan(self.chi2[m]),
                    dof=int(self.dof[m]),
                    p=none_if_nan(self.p[m]),
                    cramers_v=none_if_nan(self.cramers_v[m]),
                    p_permutation=none_if_nan(self.p_permutation[m]),
                    p_cmh=none_if_nan(self.p_cmh[m]),
                    p_holm=none_if_nan(p_holm[m]),
                    p_permutation_holm=none_if_nan(p_permutation_holm[m]),
                    p_cmh_holm=none_if_nan(p_cmh_holm[m]),
                    cluster_variance_ratio=none_if_nan(self.cluster_variance_ratio[m]),
                )
            )
        return rows


@dataclass(frozen=True)
class ExchangeableUnits:
    """Groups of output pairs, such as all pairs of one document, that a permutation test moves to another
    context as a whole. Holds the numbers of correctly ordered and of all pairs in each group.

    A unit is one such group: the pairs of an output, or of a cluster of items, or of the part of a cluster in
    one context. Contexts (`labels`) are exchanged within blocks. Units are sorted by block; those of block b
    are `block_starts[b]:block_starts[b + 1]`. `right` and `total` are counts of pairs [units, metrics],
    doubled so that half a tie is a whole number; `total` has one column if it is the same for all metrics.
    """

    name: str
    right: IntArray
    total: IntArray
    labels: IntArray
    block_starts: LongArray

    def compute_share_of_exchangeable_units(self) -> float:
        """Compute the share of outputs or clusters of items that the permutation test can move to a different
        context.
        """
        lowest = np.minimum.reduceat(self.labels, self.block_starts[:-1])
        highest = np.maximum.reduceat(self.labels, self.block_starts[:-1])
        sizes = np.diff(self.block_starts)
        return float(sizes[lowest < highest].sum() / sizes.sum())


def run_accuracy_tests_between_contexts(
    pair_outcomes: PairOutcomes,
    pair_contexts: PairContexts,
    pair_counts: FloatArray,
    *,
    ties: str,
    rng: np.random.Generator,
    permutations: int = 999,
    workers: int = 1,
    is_large: BoolArray | None = None,
) -> AccuracyTests:
    """Test for each metric whether it orders pairs of outputs equally accurately in all contexts, such as all
    domains.

    `pair_counts` are `AccuracySums.totals` of contexts crossed with perturbations. Contexts that are not
    large take no part in the permutation test. Its p is NaN where no labels can be exchanged, for example
    where contexts are the clusters themselves.
    """
    right, pairs = _count_correct_and_all_pairs(pair_counts, len(pair_contexts.values))
    chi_square_tests = [chi_square_test(r.sum(axis=0), n.sum(axis=0)) for r, n in zip(right, pairs)]
    stratified_tests = [cochran_mantel_haenszel_test(r, n) for r, n in zip(right, pairs)]
    tested_contexts = pair_contexts if is_large is None else pair_contexts.select_contexts(is_large)
    p_by_level = []
    p_family_by_level = []
    level_names = []
    exchangeable_share = 1.0
    for level in iterate_exchangeable_outputs_and_clusters(pair_outcomes, tested_contexts, ties=ties):
        permuted = run_label_permutation_test(
            level.right,
            level.total,
            level.labels,
            level.block_starts,
            rng=rng,
            permutations=permutations,
            workers=workers,
        )
        if np.isnan(permuted.p).all():
            continue
        p_by_level.append(permuted.p)
        p_family_by_level.append(permuted.p_family)
        level_names.append(level.name)
        exchangeable_share = min(exchangeable_share, level.compute_share_of_exchangeable_units())
    metric_count = len(chi_square_tests)
    return AccuracyTests(
        metrics=pair_outcomes.metrics,
        chi2=np.array([test.statistic for test in chi_square_tests]),
        dof=np.array([test.dof for test in chi_square_tests]),
        p=np.array([test.p for test in chi_square_tests]),
        cramers_v=np.array([test.cramers_v for test in chi_square_tests]),
        p_permutation=_combine_p_values_by_bonferroni(p_by_level, metric_count),
        p_family=_combine_p_values_by_bonferroni(p_family_by_level, metric_count),
        p_cmh=np.array([test.p for test in stratified_tests]),
        cluster_variance_ratio=compute_accuracy_similarity_within_clusters(
            pair_outcomes, tested_contexts, ties=ties
        ),
        exchanges=tuple(level_names),
        exchangeable_share=exchangeable_share,
    )


def _combine_p_values_by_bonferroni(p_values_of_tests: list[FloatArray], metric_count: int) -> FloatArray:
    """Combine the p-values of several tests of each metric: the smallest one times the number of tests."""
    if not p_values_of_tests:
        return np.full(metric_count, np.nan)
    # Bonferroni over the levels: each tests the same hypothesis with other units.
    table = np.stack(p_values_of_tests)
    known_levels = (~np.isnan(table)).sum(axis=0)
    smallest = np.where(known_levels > 0, np.nan_to_num(table, nan=np.inf).min(axis=0), np.nan)
    return np.asarray(np.minimum(smallest * known_levels, 1))


def split_contexts_by_perturbation(pair_outcomes: PairOutcomes, pair_contexts: PairContexts) -> PairContexts:
    """Assign each pair of outputs to a combination of its context and its perturbation."""
    count = len(pair_outcomes.perturbation_names)
    codes = np.where(pair_contexts.codes < 0, -1, pair_contexts.codes * count + pair_outcomes.perturbations)
    names = tuple(
        f"{value}\t{name}" for value in pair_contexts.values for name in pair_outcomes.perturbation_names
    )
    return PairContexts(f"{pair_contexts.column}\tperturbation", names, codes.astype(np.int32))


def _count_correct_and_all_pairs(
    pair_counts: FloatArray, context_count: int
) -> tuple[FloatArray, FloatArray]:
    """Return the number of correctly ordered pairs and the number of all pairs, for each metric, perturbation
    and context.

    A tie counts as much as its credit. Both arrays are [metrics, perturbations, contexts].
    """
    shape = (len(pair_counts), context_count, -1)
    right = pair_counts[:, RIGHT_PAIRS].reshape(shape)
    pairs = pair_counts[:, ALL_PAIRS].reshape(shape)
    return np.swapaxes(right, 1, 2), np.swapaxes(pairs, 1, 2)


def iterate_exchangeable_outputs_and_clusters(
    pair_outcomes: PairOutcomes, pair_contexts: PairContexts, *, ties: str
) -> Iterator[ExchangeableUnits]:
    """Yield the groups of output pairs that a permutation test may move between contexts: first outputs or
    parts of clusters (such as documents), then whole clusters.

    A level at which no exchange is possible is left out.
    """
    in_context = pair_contexts.codes >= 0
    if not in_context.any():
        return
    labels = pair_contexts.codes
    # Pairs outside every context have no label to exchange.
    if not in_context.all():
        pair_outcomes = pair_outcomes.select_pairs(in_context)
        labels = labels[in_context]
    is_used = count_occurrences(pair_contexts.codes, len(pair_contexts.values)) > 0
    if not is_used.all():
        # The test needs labels without gaps.
        labels = (np.cumsum(is_used) - 1).astype(np.int32)[labels]
    if _has_cluster_of_several_items(pair_outcomes):
        within_clusters = "contexts within clusters"
        units = _encode_combinations(pair_outcomes.clusters, labels)
    else:
        within_clusters = "outputs within items"
        units = pair_outcomes.outputs
    one_block = np.zeros(pair_outcomes.pair_count, dtype=np.int32)
    levels = (
        (within_clusters, units, pair_outcomes.clusters),
        ("clusters", pair_outcomes.clusters, one_block),
    )
    for name, level_units, blocks in levels:
        group_count, group_of_label = _group_contexts_that_share_clusters(labels, blocks)
        if group_count == int(labels.max()) + 1:
            continue  # every block lies in one context: nothing to exchange at this level
        yield _count_correct_pairs_by_unit(name, pair_outcomes, labels, level_units, blocks, ties)
        if group_count == 1:
            return
        # Labels that were exchanged at this level count as one at the next, coarser level.
        labels = group_of_label[labels]


def _has_cluster_of_several_items(pair_outcomes: PairOutcomes) -> bool:
    """Return whether some cluster, such as a document, contains more than one item."""
    is_first_pair = np.diff(pair_outcomes.items, prepend=-1) != 0
    items_per_cluster = count_occurrences(
        pair_outcomes.clusters[is_first_pair], int(pair_outcomes.clusters.max()) + 1
    )
    return bool(items_per_cluster.max() > 1)


def _encode_combinations(first_codes: IntArray, second_codes: IntArray) -> IntArray:
    """Return an integer for each combination of two codes, such as a cluster and a context. Combinations are
    numbered in the order of the first code.
    """
    combined = first_codes.astype(np.int64) * (int(second_codes.max()) + 1) + second_codes
    numbers = np.unique(combined, return_inverse=True)[1]
    return np.asarray(numbers, dtype=np.int32)


def compute_accuracy_similarity_within_clusters(
    pair_outcomes: PairOutcomes, pair_contexts: PairContexts, *, ties: str
) -> FloatArray:
    """Measure for each metric how similar its accuracies are on items of the same cluster, such as a
    document. The result is about 1 if they are independent, and larger if they are similar.

    Let r be the accuracy of an item in a context, less the means of the item and of the context. The result
    is Σ over contexts and clusters of (Σ r)², divided by Σ r². NaN where clusters hold one item each, or lie
    in one context.
    """
    in_context = pair_contexts.codes >= 0
    undefined = np.full(len(pair_outcomes.metrics), np.nan)
    if not in_context.any():
        return undefined
    pair_outcomes = pair_outcomes.select_pairs(in_context)
    labels = pair_contexts.codes[in_context]
    if not _has_cluster_of_several_items(pair_outcomes):
        return undefined
    cells = _count_correct_pairs_by_unit(
        "items",
        pair_outcomes,
        labels,
        _encode_combinations(pair_outcomes.items, labels),
        pair_outcomes.items,
        ties,
    )
    item_of_cell = np.repeat(np.arange(len(cells.block_starts) - 1), np.diff(cells.block_starts))
    first_pair = np.unique(pair_outcomes.items, return_index=True)[1]
    cluster_of_cell = pair_outcomes.clusters[first_pair][item_of_cell]
    combinations = _encode_combinations(cluster_of_cell, cells.labels)
    ratios = []
    for m in range(len(pair_outcomes.metrics)):
        total = cells.total[:, m if cells.total.shape[1] > 1 else 0]
        accuracy = divide_or_zero(cells.right[:, m], total)
        # Difficult items are difficult in every context, and contexts may differ: both effects are removed.
        residuals = _subtract_group_means(accuracy, item_of_cell)
        residuals = _subtract_group_means(residuals, cells.labels)
        squares = float((residuals**2).sum())
        sums = np.bincount(combinations, residuals)
        ratios.append(float((sums**2).sum()) / squares if squares > _ROUNDING else np.nan)
    return np.array(ratios)


def _subtract_group_means(values: FloatArray, group_codes: IntArray | LongArray) -> FloatArray:
    """Subtract from each value the mean of the group that it belongs to."""
    counts = np.maximum(np.bincount(group_codes), 1)
    means = np.bincount(group_codes, values) / counts
    return np.asarray(values - means[group_codes])


def _group_contexts_that_share_clusters(
    context_of_pair: IntArray, cluster_of_pair: IntArray
) -> tuple[int, IntArray]:
    """Group contexts that occur in the same clusters, such as documents. Returns the number of groups and the
    group of each context.

    Two labels that occur in one block are in the same group, and so are labels linked by a chain of blocks.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    label_count = int(context_of_pair.max()) + 1
    label_of_block = np.empty(int(cluster_of_pair.max()) + 1, dtype=np.int32)
    label_of_block[cluster_of_pair] = context_of_pair  # any label of the block
    links = np.ones(len(context_of_pair), dtype=np.bool_), (context_of_pair, label_of_block[cluster_of_pair])
    _, component = connected_components(coo_array(links, shape=(label_count, label_count)), directed=False)
    is_used = count_occurrences(context_of_pair, label_count) > 0
    groups, group = np.unique(component[is_used], return_inverse=True)
    group_of_label = np.full(label_count, -1, dtype=np.int32)
    group_of_label[is_used] = group
    return len(groups), group_of_label


def _count_correct_pairs_by_unit(
    name: str,
    pair_outcomes: PairOutcomes,
    context_of_pair: IntArray,
    unit_of_pair: IntArray,
    block_of_pair: IntArray,
    ties: str,
) -> ExchangeableUnits:
    """Count the output pairs that each metric orders correctly, and all pairs, in each group of pairs that a
    permutation test moves between contexts as a whole.

    `unit_of_pair` has the group of each pair: an output, an item or a cluster. Contexts are exchanged between
    the groups of one block.
    """
    # Outputs are sorted within their items already; other units are numbered in the order of their blocks.
    order = _argsort_with_stable_ties(
        block_of_pair if unit_of_pair is pair_outcomes.outputs else unit_of_pair
    )
    unit_of_pair = unit_of_pair[order]
    block_of_pair = block_of_pair[order]
    context_of_pair = context_of_pair[order]
    first_pairs = find_starts_of_equal_rows(unit_of_pair)[:-1]
    doubled_tie_credit = round(2 * TIE_CREDIT[ties])
    metric_count = len(pair_outcomes.metrics)
    has_missing = pair_outcomes.outcomes.min() == MISSING
    right = np.empty((len(first_pairs), metric_count), dtype=np.int32)
    total = np.empty((len(first_pairs), metric_count if has_missing else 1), dtype=np.int32)
    for m, metric_outcomes in enumerate(pair_outcomes.outcomes):
        sorted_outcomes = metric_outcomes[order]
        doubled_accuracies = np.int8(2) * (sorted_outcomes == RIGHT) + np.int8(doubled_tie_credit) * (
            sorted_outcomes == TIE
        )
        right[:, m] = np.add.reduceat(doubled_accuracies, first_pairs, dtype=np.int32)
        if m < total.shape[1]:
            scored = np.int8(2) * (sorted_outcomes != MISSING)
            total[:, m] = np.add.reduceat(scored, first_pairs, dtype=np.int32)
    if (total == total[:, :1]).all():
        total = total[:, :1].copy()
    return ExchangeableUnits(
        name,
        right,
        total,
        context_of_pair[first_pairs],
        find_starts_of_equal_rows(block_of_pair[first_pairs]),
    )


def _argsort_with_stable_ties(keys: IntArray) -> IntArray | slice:
    """Return the positions that sort an array of integers, where equal integers keep their order. Returns a
    full slice if they are sorted already.
    """
    if (keys[1:] >= keys[:-1]).all():
        return slice(None)
    return argsort_integers(keys, int(keys.max()) + 1)
