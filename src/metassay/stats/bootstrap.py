"""Cluster bootstrap of ratios, for many columns at once.

Every resample gives every cluster a Poisson(1) weight, which a counter-based hash derives from key, cluster
and resample. No weight needs to be stored, groups that share clusters are resampled together, and the result
does not depend on how the work is divided.
"""

from __future__ import annotations

import math

import numpy as np

from metassay.stats.arrays import FloatArray, IntArray, divide_or_nan
from metassay.stats.streams import SPLITMIX_STEP, hash_integers

_ROUNDING_ERROR = 1e-9  # a sum of weights below this would be 0 without rounding
_CLUSTERS_PER_BLOCK = 1024  # clusters whose weights are in memory at a time: 8 MB for 1,000 resamples


class ClusterBootstrap:
    """Bootstrap that resamples clusters, such as documents, and computes a ratio of two sums on each
    resample.

    The ratio is sum(w * numerator) / sum(w * denominator). All calls on one object share the weights w, so
    that estimates of overlapping groups stay paired.
    """

    def __init__(self, rng: np.random.Generator, resamples: int) -> None:
        self.resamples = resamples
        self._key = np.uint64(rng.integers(0, 2**64, dtype=np.uint64))
        self._weight_table = _POISSON_WEIGHTS
        self._first_weights = np.empty((0, resamples))
        """Weights of the first clusters: if there are few, every context needs the same ones again."""

    def draw_cluster_weights(self, clusters: IntArray) -> FloatArray:
        """Draw how often each bootstrap resample contains each cluster.

        Returns [clusters, resamples].
        """
        cluster_count = int(clusters.max(initial=-1)) + 1
        if cluster_count > _CLUSTERS_PER_BLOCK or clusters.min(initial=0) < 0:
            return _draw_cluster_weights_by_hashing(self._key, clusters, self.resamples, self._weight_table)
        # Another thread may replace the attribute by fewer weights meanwhile, so it is read once.
        first_weights = self._first_weights
        if cluster_count > len(first_weights):
            first_clusters = np.arange(cluster_count, dtype=np.int32)
            first_weights = _draw_cluster_weights_by_hashing(
                self._key, first_clusters, self.resamples, self._weight_table
            )
            self._first_weights = first_weights
        return np.take(first_weights, clusters, axis=0)

    def compute_sums_on_resamples(self, value_rows: FloatArray, cluster_numbers: IntArray) -> FloatArray:
        """Sum each row of values over the clusters that each bootstrap resample contains.

        Returns [rows, resamples].
        """
        sums = np.zeros((len(value_rows), self.resamples))
        for start in range(0, len(cluster_numbers), _CLUSTERS_PER_BLOCK):
            block = slice(start, start + _CLUSTERS_PER_BLOCK)
            sums += value_rows[:, block] @ self.draw_cluster_weights(cluster_numbers[block])
        return sums

    def resample_ratios(
        self, numerators: FloatArray, denominators: FloatArray, clusters: IntArray
    ) -> FloatArray:
        """Divide the sum of the numerators by the sum of the denominators on each bootstrap resample.

        Returns [rows, resamples], NaN where the denominators sum to 0. `numerators` is [rows, units],
        `denominators` [rows, units] or [1, units].
        """
        sums = self.compute_sums_on_resamples(np.concatenate([numerators, denominators]), clusters)
        return _divide_or_nan_if_nearly_zero(sums[: len(numerators)], sums[len(numerators) :])


class ClusterHalves(ClusterBootstrap):
    """Random splits of clusters into two halves. Each cluster is in either half with probability 1/2."""

    def __init__(self, rng: np.random.Generator, splits: int) -> None:
        super().__init__(rng, splits)
        self._weight_table = _COIN_WEIGHTS

    def compute_ratios_in_random_halves(
        self, numerators: FloatArray, denominators: FloatArray, cluster_numbers: IntArray
    ) -> tuple[FloatArray, FloatArray]:
        """Divide the sum of the numerators by the sum of the denominators in each random half."""
        columns = np.concatenate([numerators, denominators])
        first_sums = self.compute_sums_on_resamples(columns, cluster_numbers)
        # A cluster that is not in the first half is in the second.
        second_sums = columns.sum(axis=1, keepdims=True) - first_sums
        count = len(numerators)
        first_ratios = _divide_or_nan_if_nearly_zero(first_sums[:count], first_sums[count:])
        second_ratios = _divide_or_nan_if_nearly_zero(second_sums[:count], second_sums[count:])
        return first_ratios, second_ratios


def _draw_cluster_weights_by_hashing(
    key: np.uint64, clusters: IntArray, resamples: int, weight_table: FloatArray
) -> FloatArray:
    """Return how often each bootstrap resample contains each cluster.

    It is a random number that depends only on the key, the cluster and the resample.
    """
    start = hash_integers(key + clusters.astype(np.uint64) * SPLITMIX_STEP)
    # −(−n // 4) rounds n / 4 up.
    steps = np.arange(1, -(-resamples // 4) + 1, dtype=np.uint64) * SPLITMIX_STEP
    hashes = hash_integers(start[:, None] + steps)
    # Little-endian on every machine, so that the same seed gives the same weights.
    quarters = hashes.astype("<u8", copy=False).view("<u2")
    weights: FloatArray = weight_table[quarters[:, :resamples]]
    return weights


def _divide_or_nan_if_nearly_zero(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Divide two arrays elementwise. The result is NaN where the denominator is 0 up to rounding errors."""
    return divide_or_nan(numerator, np.where(denominator > _ROUNDING_ERROR, denominator, 0.0))


def _tabulate_poisson_weights() -> FloatArray:
    """Return a table that turns random 16-bit numbers into draws from a Poisson distribution.

    Its mean is 1.
    """
    # The middle of each step.
    probabilities = np.arange(2**16) / 2**16 + 2**-17
    cumulative = np.cumsum([math.exp(-1) / math.factorial(count) for count in range(12)])
    return np.searchsorted(cumulative, probabilities, side="right").astype(np.float64)


_POISSON_WEIGHTS = _tabulate_poisson_weights()
_COIN_WEIGHTS = (np.arange(2**16) % 2).astype(np.float64)
