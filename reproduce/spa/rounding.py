"""Count significant comparisons by PA if ties of the permutation test are lost to rounding.

PA is a share of system pairs, so that many permuted differences equal the observed one exactly. Such ties
count against significance. If two equal differences of shares are compared with `>=` in floating point,
rounding can make the permuted one appear smaller, and the tie is lost.
"""

from __future__ import annotations

import numpy as np

from metassay.data.score_arrays import ScoreArrays
from metassay.stats.arrays import FloatArray

SIGNIFICANCE_LEVEL = 0.05
DRAWS = 1000


def count_significant_comparisons(scores: ScoreArrays, *, exact_ties: bool, seed: int) -> int:
    """Count pairs of metrics whose PA differs significantly: PERM-INPUTS, two-sided, 1000 draws.

    With `exact_ties`, differences are rounded to nine digits before they are compared.
    """
    first, second = np.triu_indices(len(scores.human), 1)
    human_means = scores.human.mean(axis=1)
    human_signs = np.sign(human_means[first] - human_means[second])
    means = scores.metrics.mean(axis=(1, 2), keepdims=True)
    deviations = scores.metrics.std(axis=(1, 2), keepdims=True)
    standardized = (scores.metrics - means) / deviations

    def compute_pairwise_accuracy(system_scores: FloatArray) -> FloatArray:
        differences = np.round(system_scores[..., first] - system_scores[..., second], 12)
        accuracies: FloatArray = (np.sign(differences) == human_signs).mean(axis=-1)
        return accuracies

    observed = compute_pairwise_accuracy(standardized.mean(axis=2))
    items = standardized.shape[2]
    is_swapped = (np.random.default_rng(seed).random((DRAWS, items)) < 0.5).astype(np.float64)
    swapped_sums = np.einsum("di,msi->mds", is_swapped, standardized, optimize=True)
    sums = standardized.sum(axis=2)
    significant = 0
    for a in range(len(observed)):
        for b in range(a):
            better, worse = (a, b) if observed[a] >= observed[b] else (b, a)
            from_better = swapped_sums[better]
            from_worse = swapped_sums[worse]
            accuracy_better = compute_pairwise_accuracy(from_better + sums[worse] - from_worse)
            accuracy_worse = compute_pairwise_accuracy(from_worse + sums[better] - from_better)
            permuted = np.abs(accuracy_better - accuracy_worse)
            difference = observed[better] - observed[worse]
            if exact_ties:
                permuted = np.round(permuted, 9)
                difference = np.round(difference, 9)
            significant += (permuted >= difference).mean() <= SIGNIFICANCE_LEVEL
    return int(significant)
