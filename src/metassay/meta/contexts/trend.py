"""Whether accuracy rises or falls along contexts that are numbers or ranges of numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtr

from metassay.meta.contexts.accuracy import AccuracySums
from metassay.results.base import none_if_nan
from metassay.stats.arrays import BoolArray, FloatArray, average_ranks, divide_or_nan
from metassay.stats.correlation import correlate

# Fewer contexts than this show no trend.
FEWEST_CONTEXTS = 5
_BUCKET = re.compile(r"^[\[(]\s*(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)\s*,")
_IDENTIFIER = re.compile(
    r"(^|[_ .-])(id|item|seg|segment|doc|document|chapter|speaker|session|system|rater|topic|query|user)s?$",
    re.IGNORECASE,
)


def are_contexts_numeric(column_name: str, context_names: Sequence[str]) -> bool:
    """Return whether all contexts of a column are numbers or ranges of numbers, such as text lengths. Columns
    of identifiers do not count.

    >>> are_contexts_numeric("length:3", ["[1,5]", "[6,9]"]), are_contexts_numeric("doc_id", ["7", "9"])
    (True, False)
    """
    are_numbers = all(parse_number_from_context_name(context) is not None for context in context_names)
    return are_numbers and not _IDENTIFIER.search(column_name)


def parse_number_from_context_name(context_name: str) -> float | None:
    """Read the number in the name of a context, or the lower end of an interval such as `[1,5]`. Returns None
    for other names.

    >>> [parse_number_from_context_name(name) for name in ("[-2.5,-1]", "7", "news")]
    [-2.5, 7.0, None]
    """
    bucket = _BUCKET.match(context_name)
    try:
        position = float(bucket.group(1) if bucket else context_name)
    except ValueError:
        return None
    return position if math.isfinite(position) else None


def correlate_accuracy_with_numeric_contexts(
    column_name: str, context_names: Sequence[str], accuracies: FloatArray
) -> list[float | None] | None:
    """Compute for each metric Spearman's correlation between its accuracy in a context and the number of the
    context, such as a text length.

    `accuracies` is [metrics, contexts]. None for a metric that is defined in too few contexts or never
    varies; None altogether where the contexts have no order or are few.
    """
    if not are_contexts_numeric(column_name, context_names) or len(context_names) < FEWEST_CONTEXTS:
        return None
    positions = _parse_numbers_from_context_names(context_names)
    return [_correlate_accuracies_with_context_values(positions, row) for row in accuracies]


def compute_p_values_of_accuracy_trends(
    column_name: str, accuracy_sums: AccuracySums, has_enough_items: BoolArray
) -> FloatArray:
    """Test for each metric whether its accuracy rises or falls along ordered contexts, such as text lengths.
    Returns the p-values.

    The contrast L = Σ_c w_c a_c, w the centred ranks of the contexts, over its standard error from the spread
    between clusters: cluster k adds Σ_c w_c (accuracy_kc - a_c weight_kc) / weight_c to L, whether contexts
    are crossed with clusters or hold them. Student's t with clusters - 1 degrees of freedom. NaN without an
    order.
    """
    large_contexts = np.flatnonzero(has_enough_items)
    undefined = np.full(len(accuracy_sums.weighted_accuracy), np.nan)
    if len(large_contexts) < FEWEST_CONTEXTS or not are_contexts_numeric(column_name, accuracy_sums.contexts):
        return undefined
    rank_weights = average_ranks(
        _parse_numbers_from_context_names([accuracy_sums.contexts[c] for c in large_contexts])
    )
    rank_weights -= rank_weights.mean()
    weight = np.broadcast_to(accuracy_sums.weight, accuracy_sums.weighted_accuracy.shape)
    contrast = np.zeros(len(weight))
    cluster_parts = np.zeros((len(weight), int(accuracy_sums.clusters.max()) + 1))
    for rank_weight, context in zip(rank_weights, large_contexts):
        cells = accuracy_sums.get_cluster_slice_of_context(int(context))
        weighted_accuracy = accuracy_sums.weighted_accuracy[:, cells]
        cell_weights = weight[:, cells]
        total_weight = cell_weights.sum(axis=1, keepdims=True)
        accuracy = divide_or_nan(weighted_accuracy.sum(axis=1, keepdims=True), total_weight)
        cell_count = max(cells.stop - cells.start, 2)
        residual = divide_or_nan(weighted_accuracy - accuracy * cell_weights, total_weight)
        residual = residual * math.sqrt(cell_count / (cell_count - 1))
        contrast += rank_weight * accuracy[:, 0]
        cluster_parts[:, accuracy_sums.clusters[cells]] += rank_weight * residual
    cluster_count = len(np.unique(accuracy_sums.clusters))
    if cluster_count < 2:
        return undefined
    standard_error = np.sqrt((cluster_parts**2).sum(axis=1))
    t = divide_or_nan(np.abs(contrast), standard_error)
    return np.asarray(2 * stdtr(cluster_count - 1, -t))


def _parse_numbers_from_context_names(contexts: Sequence[str]) -> FloatArray:
    """Read the number in the name of each context, such as the lower end of `[1,5]`."""
    return np.array([parse_number_from_context_name(context) for context in contexts], dtype=np.float64)


def _correlate_accuracies_with_context_values(
    context_values: FloatArray, accuracies: FloatArray
) -> float | None:
    """Compute Spearman's correlation between accuracies in contexts and the numbers of the contexts. Returns
    None for too few contexts.
    """
    is_defined = ~np.isnan(accuracies)
    if is_defined.sum() < FEWEST_CONTEXTS:
        return None
    return none_if_nan(correlate("spearman", context_values[is_defined], accuracies[is_defined]))
