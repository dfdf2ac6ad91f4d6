"""Weights of outputs by how typical they are of their context.

Local accuracy counts all outputs alike; yet "different outputs have different probabilities of occurring in a
specific context" (Deviyani and Diaz, 2025). Weights by density let typical outputs count more than odd ones.
"""

from __future__ import annotations

import numpy as np

from metassay.errors import InputError
from metassay.stats.arrays import FloatArray, IntArray

_CENTRES = 2000  # kernels per context: more change the density little and cost time in proportion


def weight_outputs_by_density_in_context(output_features: FloatArray, context_codes: IntArray) -> FloatArray:
    """Compute a weight for each output, which is larger the more common its features (such as its length) are
    in its context. The mean weight in each context is 1.

    `output_features` is [outputs, features], scaled here to unit variance over all outputs; `context_codes`
    are the outputs' contexts, -1 for none (weight 1). The density is a Gaussian kernel estimate with Scott's
    bandwidth, n^(-1 / (d + 4)); a feature that does not vary is left out.
    """
    output_features = np.asarray(output_features, dtype=np.float64)
    if output_features.ndim != 2 or len(output_features) != len(context_codes):
        raise InputError("features need the shape outputs × features, and one context code for each output.")
    if not np.isfinite(output_features).all():
        raise InputError("a feature is missing or infinite.", remedy="Fill it in or leave the feature out.")
    spread = output_features.std(axis=0)
    varying = output_features[:, spread > 0]
    scaled = (varying - varying.mean(axis=0)) / spread[spread > 0]
    weights = np.ones(len(output_features))
    for context in np.unique(context_codes[context_codes >= 0]):
        members = np.flatnonzero(context_codes == context)
        density = _estimate_kernel_density(scaled[members])
        weights[members] = density / density.mean()
    return weights


def _estimate_kernel_density(points: FloatArray) -> FloatArray:
    """Estimate the density of points at their own positions by Gaussian kernels, up to a constant factor."""
    count, dimensions = points.shape
    if dimensions == 0 or count < 2:
        return np.ones(count)
    width = count ** (-1 / (dimensions + 4)) * max(float(points.std(axis=0).mean()), 1e-3)
    # Centres lie evenly through the sorted points, so that no random choice is needed.
    chosen = np.linspace(0, count - 1, min(count, _CENTRES)).round().astype(np.int64)
    centres = points[np.lexsort(points.T[::-1])][chosen]
    density = np.empty(count)
    for start in range(0, count, _CENTRES):
        batch = points[start : start + _CENTRES]
        squares = ((batch[:, None, :] - centres) ** 2).sum(axis=2)
        density[start : start + _CENTRES] = np.exp(-squares / (2 * width**2)).mean(axis=1)
    return density
