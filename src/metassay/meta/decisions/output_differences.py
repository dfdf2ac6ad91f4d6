"""What a difference between two outputs of an item means: how often people agree with it.

Pairs in which people prefer one output are sorted by the size of the metric's difference and divided into
bins of equal size. The share of right pairs per bin, made non-decreasing by isotonic regression, is the
probability of agreement: no shape is assumed, because single outputs do not follow a logistic curve (a very
large difference may still be wrong, if a rater overlooked an error). Intervals resample items.
"""

from __future__ import annotations

import numpy as np

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.decisions.system_differences import (
    AGREEMENT_SHARES,
    TAILS,
    HumanAgreement,
    build_agreement_points,
)
from metassay.results.rank import AgreementThreshold
from metassay.stats.arrays import FloatArray, divide_or_zero
from metassay.stats.isotonic import fit_non_decreasing_rows
from metassay.stats.resampling import draw_bootstrap_counts

# Bins of score differences with equally many pairs, to which the agreement curve is fitted.
BINS = 20
RESAMPLES = 200
# Weight of a bin that a resample leaves empty; isotonic regression needs positive weights.
_SMALLEST_WEIGHT = 1e-9


def estimate_agreement_on_output_pairs(
    scores: ScoreArrays, metric_index: int, rng: np.random.Generator, resample_count: int = RESAMPLES
) -> HumanAgreement | None:
    """Estimate how often people and a metric prefer the same output, depending on the score difference.

    Outputs of the same item are compared. Returns None if people, or the metric, prefer no output.
    """
    first, second = np.triu_indices(len(scores.human), 1)
    human_differences = scores.human[first] - scores.human[second]
    metric_differences = scores.metrics[metric_index][first] - scores.metrics[metric_index][second]
    is_preferred = human_differences != 0
    sizes = np.abs(metric_differences[is_preferred])
    if not len(sizes) or not sizes.any():
        return None
    signs = np.sign(human_differences[is_preferred]) * np.sign(metric_differences[is_preferred])
    pair_accuracies = (1 + signs) / 2  # 1 right, 0 wrong, 1/2 tied by the metric
    clusters = np.broadcast_to(scores.cluster_index, human_differences.shape)[is_preferred]
    edges = np.unique(np.quantile(sizes, np.linspace(0, 1, BINS + 1)[1:-1]))
    bins = np.searchsorted(edges, sizes, side="right")
    shape = (len(edges) + 1, scores.cluster_count)
    positions = bins * scores.cluster_count + clusters
    counts = np.bincount(positions, minlength=shape[0] * shape[1]).reshape(shape)
    right = np.bincount(positions, weights=pair_accuracies, minlength=shape[0] * shape[1]).reshape(shape)
    is_filled = counts.sum(axis=1) > 0
    size_sums = np.bincount(bins, weights=sizes, minlength=shape[0])
    bin_sizes = size_sums[is_filled] / counts[is_filled].sum(axis=1)
    drawn = draw_bootstrap_counts(scores.cluster_count, scores.cluster_count, resample_count, rng)
    weights = np.concatenate([np.ones((1, scores.cluster_count)), drawn])
    curves = _fit_agreement_by_score_difference(weights @ right[is_filled].T, weights @ counts[is_filled].T)
    all_sizes = np.abs(metric_differences)
    return HumanAgreement(
        pairs=len(sizes),
        accuracy=float(pair_accuracies.mean()),
        smallest_difference=0.0,
        largest_difference=float(sizes.max()),
        # One point per bin and one for the largest difference, up to which the curve stays constant.
        points=build_agreement_points(
            np.append(bin_sizes, sizes.max()), np.column_stack([curves, curves[:, -1]])
        ),
        thresholds=[
            _find_threshold_on_curves(curves, bin_sizes, share, all_sizes) for share in AGREEMENT_SHARES
        ],
    )


def _fit_agreement_by_score_difference(
    correct_pair_counts: FloatArray, pair_counts: FloatArray
) -> FloatArray:
    """Fit curves that tell how often people agree with a metric at each score difference.

    The curves never decrease. There is one for each bootstrap resample. `correct_pair_counts` and
    `pair_counts` are numbers of pairs, `[draws, bins]`. Returns shares of pairs, `[draws, bins]`.
    """
    shares = np.divide(
        correct_pair_counts, pair_counts, out=np.full(correct_pair_counts.shape, 0.5), where=pair_counts > 0
    )
    weights = np.maximum(pair_counts, _SMALLEST_WEIGHT)
    return fit_non_decreasing_rows(shares, weights)[0]


def _find_threshold_on_curves(
    agreement_curves: FloatArray,
    bin_differences: FloatArray,
    required_agreement: float,
    all_differences: FloatArray,
) -> AgreementThreshold:
    """Find the smallest score difference of two outputs at which people agree as often as required.

    `difference` of the result is None if no difference is large enough. `coverage` is the share of pairs that
    differ by at least as much.
    """
    differences = _interpolate_thresholds(agreement_curves, bin_differences, required_agreement)
    is_reached = np.isfinite(differences[0])
    low, high = np.quantile(differences[1:], TAILS, method="nearest")
    return AgreementThreshold(
        agreement=required_agreement,
        difference=float(differences[0]) if is_reached else None,
        low=float(low) if is_reached else None,
        high=float(high) if is_reached and np.isfinite(high) else None,
        coverage=float((all_differences >= differences[0]).mean()) if is_reached else 0.0,
    )


def _interpolate_thresholds(
    agreement_curves: FloatArray, bin_differences: FloatArray, required_agreement: float
) -> FloatArray:
    """Find the score difference at which each agreement curve reaches the required agreement.

    It is infinite if the curve stays below.
    """
    is_reached = agreement_curves >= required_agreement
    bins = is_reached.argmax(axis=1)
    bins_before = np.maximum(bins - 1, 0)
    rows = np.arange(len(agreement_curves))
    rise = agreement_curves[rows, bins] - agreement_curves[rows, bins_before]
    missing = required_agreement - agreement_curves[rows, bins_before]
    fractions = divide_or_zero(missing, rise)
    steps = bin_differences[bins] - bin_differences[bins_before]
    differences = bin_differences[bins_before] + fractions * steps
    return np.where(is_reached.any(axis=1), differences, np.inf)
