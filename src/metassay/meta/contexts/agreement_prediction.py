"""Predicting how alike two contexts order the metrics from properties of the contexts.

A good prediction lets a metric be adopted for a new context without assaying it there (Deviyani and Diaz,
2025, section 6.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from metassay.errors import InputError
from metassay.meta.contexts.pair_outcomes import PairContexts, PairOutcomes
from metassay.results.assay import AgreementPrediction
from metassay.stats.arrays import FloatArray, LongArray, count_occurrences

# Facts about the contexts of a column: by name, one value per context.
ContextProperties = Mapping[str, Sequence[str | float]]
# With the observed order itself, 500 orders: the smallest p-value is .002.
EXCHANGES = 499
# Agreements that differ by less are equal up to rounding, so that there is nothing to predict.
_ROUNDING = 1e-9
# Fewer pairs of contexts per coefficient would let the fit follow noise.
_PAIRS_PER_COEFFICIENT = 3


def predict_rank_correlation_of_two_contexts(
    rank_correlations: FloatArray,
    context_properties: ContextProperties,
    *,
    are_contexts_exchangeable: bool = True,
    exchanges: int = EXCHANGES,
) -> AgreementPrediction | None:
    """Fit a linear model that predicts, from properties of two contexts (such as domains), how similarly
    metrics are ranked in both. Returns the coefficients and the prediction errors on left-out contexts.

    `rank_correlations` is [contexts, contexts], NaN where unknown. None where there are too few pairs of
    contexts for the fit, or the agreement or all properties are constant. The p-value comes from a test with
    `exchanges` random orders of the contexts.
    """
    for name, values in context_properties.items():
        if len(values) != len(rank_correlations):
            raise InputError(
                f"metadata {name} has {len(values)} values for {len(rank_correlations)} contexts."
            )
    first, second = np.triu_indices(len(rank_correlations), 1)
    is_known = ~np.isnan(rank_correlations[first, second])
    first, second = first[is_known], second[is_known]
    if not len(first):
        return None
    similarities = {
        name: _compare_property_of_contexts(values, first, second)
        for name, values in context_properties.items()
    }
    similarities = {name: column for name, column in similarities.items() if np.ptp(column, axis=None) > 0}
    pairs_without_a_context = len(first) - (len(rank_correlations) - 1)
    if not similarities or pairs_without_a_context < _PAIRS_PER_COEFFICIENT * (1 + len(similarities)):
        return None
    agreements = rank_correlations[first, second]
    if np.ptp(agreements) < _ROUNDING:
        return None
    design = np.column_stack([np.ones(len(first)), *similarities.values()])
    coefficients = np.linalg.lstsq(design, agreements)[0]
    errors, baseline_errors = _compute_cross_validation_errors(
        design, agreements, first, second, len(rank_correlations)
    )
    rmse = float(np.sqrt((errors**2).mean()))
    baseline_rmse = float(np.sqrt((baseline_errors**2).mean()))
    observed = _compute_residual_sum_of_squares(design, agreements)
    return AgreementPrediction(
        intercept=float(coefficients[0]),
        coefficients=dict(zip(similarities, coefficients[1:].tolist())),
        rmse=rmse,
        mae=float(np.abs(errors).mean()),
        baseline_rmse=baseline_rmse,
        explained=1 - (rmse / baseline_rmse) ** 2 if baseline_rmse > 0 else None,
        pairs=len(first),
        p=_compute_permutation_p_value(
            rank_correlations, context_properties, (first, second), observed, exchanges
        )
        if are_contexts_exchangeable
        else None,
    )


def are_contexts_exchangeable(pair_outcomes: PairOutcomes, pair_contexts: PairContexts) -> bool:
    """Return whether a permutation test may exchange contexts: either every two contexts share clusters of
    items (such as documents), or no two contexts do.

    Neither holds where columns are crossed: `A+news` shares its documents with `B+news`, not with `A+talk`.
    """
    in_context = pair_contexts.codes >= 0
    clusters = pair_outcomes.clusters[in_context]
    codes = pair_contexts.codes[in_context]
    context_count = len(pair_contexts.values)
    combined = np.unique(clusters.astype(np.int64) * context_count + codes)
    clusters, codes = np.divmod(combined, context_count)
    shares = np.zeros((context_count, context_count), dtype=np.bool_)
    for context in range(context_count):
        is_inside = np.zeros(int(clusters.max(initial=0)) + 1, dtype=np.bool_)
        is_inside[clusters[codes == context]] = True
        shares[context] = count_occurrences(codes[is_inside[clusters]].astype(np.int32), context_count) > 0
    of_different_contexts = shares[~np.eye(context_count, dtype=np.bool_)]
    return bool(of_different_contexts.all() or not of_different_contexts.any())


def collect_properties_of_contexts(
    all_contexts: Sequence[PairContexts],
    nonempty_contexts: Sequence[PairContexts],
    user_properties: Mapping[str, ContextProperties],
) -> dict[str, ContextProperties]:
    """Collect the properties of each context: those given by the user, and the columns that have a single
    value in each context.

    `nonempty_contexts` are the given ones without contexts that have no pairs; properties of those are
    dropped.
    """
    properties: dict[str, ContextProperties] = {}
    for given, used in zip(all_contexts, nonempty_contexts):
        positions = {value: c for c, value in enumerate(given.values)}
        kept = [positions[value] for value in used.values]
        other_columns = [contexts for contexts in nonempty_contexts if contexts is not used]
        column_properties: dict[str, Sequence[str | float]] = {}
        column_properties.update(find_columns_with_one_value_per_context(used, other_columns))
        for name, values in user_properties.get(used.column, {}).items():
            column_properties[name] = [values[c] for c in kept]
        properties[used.column] = column_properties
    return properties


def find_columns_with_one_value_per_context(
    pair_contexts: PairContexts, other_columns: Sequence[PairContexts]
) -> dict[str, list[str]]:
    """Find the columns that have a single value within each context. Returns for each such column the value
    in each context.

    Each document lies in one domain, so that `domain` is such a column for the contexts of `document`.
    """
    enclosing: dict[str, list[str]] = {}
    for other in other_columns:
        in_both = (pair_contexts.codes >= 0) & (other.codes >= 0)
        codes = pair_contexts.codes[in_both]
        other_codes = other.codes[in_both]
        value_of_context = np.full(len(pair_contexts.values), -1, dtype=np.int32)
        value_of_context[codes] = other_codes
        if (value_of_context >= 0).all() and (value_of_context[codes] == other_codes).all():
            enclosing[other.column] = [other.values[code] for code in value_of_context]
    return enclosing


def _compute_permutation_p_value(
    agreement_matrix: FloatArray,
    context_properties: ContextProperties,
    pairs: tuple[LongArray, LongArray],
    observed_residuals: float,
    exchanges: int,
) -> float:
    """Test whether properties of contexts predict how similarly metrics are ranked in two contexts. Returns
    the p-value of a permutation test, which assigns the properties to the contexts at random.
    """
    rng = np.random.default_rng([0, len(agreement_matrix)])
    first, second = pairs
    agreements = agreement_matrix[first, second]
    similarities = [
        _compare_property_of_contexts(values, *np.indices(agreement_matrix.shape))
        for values in context_properties.values()
    ]
    reached = 0
    for _ in range(exchanges):
        order = rng.permutation(len(agreement_matrix))
        columns = [table[order[first], order[second]] for table in similarities]
        design = np.column_stack([np.ones(len(first)), *columns])
        reached += _compute_residual_sum_of_squares(design, agreements) <= observed_residuals * (1 + 1e-9)
    return (1 + reached) / (1 + exchanges)


def _compute_residual_sum_of_squares(predictors: FloatArray, target: FloatArray) -> float:
    """Fit a linear model by least squares, and return the sum of squared residuals."""
    products = predictors.T @ target
    return float(target @ target - products @ np.linalg.lstsq(predictors.T @ predictors, products)[0])


def _compare_property_of_contexts(
    property_values: Sequence[str | float], first_contexts: LongArray, second_contexts: LongArray
) -> FloatArray:
    """Compare one property between the two contexts of each pair. Returns the distance of numbers in standard
    deviations, or 1 for equal and 0 for different words.
    """
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in property_values):
        numbers = np.asarray(property_values, dtype=np.float64)
        spread = float(numbers.std())
        return np.asarray(
            np.abs(numbers[first_contexts] - numbers[second_contexts]) / (spread if spread > 0 else 1)
        )
    words = np.asarray([str(value) for value in property_values])
    return np.asarray(words[first_contexts] == words[second_contexts], dtype=np.float64)


def _compute_cross_validation_errors(
    predictors: FloatArray,
    target: FloatArray,
    first_contexts: LongArray,
    second_contexts: LongArray,
    context_count: int,
) -> tuple[FloatArray, FloatArray]:
    """Leave out each context in turn, fit a linear model to the others, and compute the prediction errors on
    the context that was left out. Also returns the errors of predicting the mean.
    """
    errors = []
    baseline_errors = []
    for context in range(context_count):
        is_left_out = (first_contexts == context) | (second_contexts == context)
        if not is_left_out.any() or is_left_out.all():
            continue
        coefficients = np.linalg.lstsq(predictors[~is_left_out], target[~is_left_out])[0]
        errors.append(target[is_left_out] - predictors[is_left_out] @ coefficients)
        baseline_errors.append(target[is_left_out] - target[~is_left_out].mean())
    return np.concatenate(errors), np.concatenate(baseline_errors)
