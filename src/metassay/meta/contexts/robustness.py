"""How accuracies hold up over contexts: how much they vary, and how low they are under another mix."""

from __future__ import annotations

import numpy as np

from metassay.stats.arrays import FloatArray, divide_or_zero

# More halvings than a float64 has bits, so that the bisection ends by precision.
_BISECTION_STEPS = 200


def compute_distributionally_robust_accuracy(
    accuracies: FloatArray, context_shares: FloatArray, max_divergence: float = 0.1
) -> FloatArray:
    """Compute for each metric the lowest mean accuracy over all mixes of contexts (such as domains) that are
    similar to the observed mix.

    min over q of Σ q_c a_c subject to KL(q‖p) ≤ radius, p the shares of the contexts (Duchi, Glynn and
    Namkoong, 2016, with the Kullback–Leibler ball). The minimiser is q ∝ p · exp(-t · a), t ≥ 0 as large as
    the ball allows. Contexts where a metric has no accuracy are left out for it.
    """
    return np.array(
        [_minimize_accuracy_over_context_shares(row, context_shares, max_divergence) for row in accuracies]
    )


def _minimize_accuracy_over_context_shares(
    accuracies: FloatArray, observed_shares: FloatArray, max_divergence: float
) -> float:
    """Find the lowest mean accuracy over all mixes of contexts within a given Kullback–Leibler divergence
    from the observed mix.
    """
    is_known = ~np.isnan(accuracies) & (observed_shares > 0)
    if not is_known.any():
        return float("nan")
    a = accuracies[is_known]
    p = observed_shares[is_known] / observed_shares[is_known].sum()
    gaps = a - a.min()
    if -np.log(p[gaps == 0].sum()) <= max_divergence:
        return float(a.min())  # the ball reaches the worst contexts alone
    low = 0.0
    high = 1.0
    # The worst mix within a Kullback–Leibler ball is p tilted exponentially towards low accuracies. Bisection
    # finds the tilt that lies on the surface of the ball.
    while _compute_divergence_of_tilted_shares(p, gaps, high) < max_divergence:
        high *= 2
    for _ in range(_BISECTION_STEPS):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        if _compute_divergence_of_tilted_shares(p, gaps, middle) < max_divergence:
            low = middle
        else:
            high = middle
    tilted = p * np.exp(-low * gaps)
    return float(a.min() + (tilted * gaps).sum() / tilted.sum())


def _compute_divergence_of_tilted_shares(shares: FloatArray, accuracy_gaps: FloatArray, tilt: float) -> float:
    """Shift the shares of contexts towards those with low accuracy, and compute the Kullback–Leibler
    divergence from the observed shares.
    """
    weights = shares * np.exp(-tilt * accuracy_gaps)
    total = weights.sum()
    return float(-tilt * (weights * accuracy_gaps).sum() / total - np.log(total))


def estimate_true_accuracy_variation(accuracies: FloatArray, variances: FloatArray) -> FloatArray:
    """Estimate for each metric how much its true accuracy varies between contexts: the standard deviation
    without sampling error.

    The variance between contexts less the mean sampling variance inside them, at least 0. NaN with fewer than
    two contexts. Both arguments are [metrics, contexts].
    """
    is_known = ~np.isnan(accuracies)
    count = is_known.sum(axis=1)
    centre = divide_or_zero(np.nansum(accuracies, axis=1), count)
    squares = np.where(is_known, (accuracies - centre[:, None]) ** 2, 0).sum(axis=1)
    between = squares / np.maximum(count - 1, 1)
    # Accuracies differ between contexts by sampling alone as well: this part is subtracted.
    inside = np.where(is_known, np.nan_to_num(variances), 0).sum(axis=1) / np.maximum(count, 1)
    return np.where(count > 1, np.sqrt(np.maximum(between - inside, 0)), np.nan)
