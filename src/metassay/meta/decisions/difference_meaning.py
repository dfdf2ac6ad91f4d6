"""Look up how often people agree with the differences between new systems.

The curves come from a run of `rank` on systems that people rated. Nothing is extrapolated: differences that
are larger than any in that run, or within the noise of the metric, and much smaller test sets get a reason
instead of a number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metassay.meta.decisions.agreement_curves import SYSTEMS
from metassay.results.rank import AgreementCurve
from metassay.results.score import DifferenceMeaning
from metassay.stats.arrays import FloatArray

SMALLEST_SHARE_OF_ITEMS = 0.5
"""With fewer items than this share of those of the run, differences are noisier than there."""


def find_system_curve(
    curves: Sequence[AgreementCurve], metric_names: Sequence[str], dataset: str
) -> AgreementCurve | None:
    """Find the curve for differences of systems over all items by a metric that has one of these names.

    A curve of the same data set comes first. Without one, the only curve is taken, or none of several.
    """
    names = {name.lower() for name in metric_names}
    candidates = [
        curve
        for curve in curves
        if curve.is_global and curve.between == SYSTEMS and curve.metric.lower() in names
    ]
    of_dataset = [curve for curve in candidates if curve.dataset == dataset]
    if of_dataset:
        return of_dataset[0]
    return candidates[0] if len(candidates) == 1 else None


def explain_differences(
    scores: FloatArray,
    systems: Sequence[str],
    curve: AgreementCurve | None,
    *,
    metric: str,
    human: str,
    group: str | None = None,
) -> list[DifferenceMeaning]:
    """Say of all pairs of systems how often people agree with the difference of their mean scores.

    `scores` is `[systems, items]`, higher is better, NaN where missing; a pair is compared on the items that
    both systems have.
    """
    meanings = []
    for first in range(len(systems)):
        for second in range(first + 1, len(systems)):
            differences = scores[first] - scores[second]
            differences = differences[~np.isnan(differences)]
            if not len(differences):
                continue
            difference = float(differences.mean())
            better, worse = (first, second) if difference >= 0 else (second, first)
            reason = _find_reason(curve, abs(difference), len(differences))
            point = None
            if curve is not None and reason is None:
                point = curve.find_agreement(difference)
            meanings.append(
                DifferenceMeaning(
                    group=group,
                    metric=metric,
                    better=systems[better],
                    worse=systems[worse],
                    difference=abs(difference),
                    human=human,
                    dataset=None if curve is None else curve.dataset,
                    agreement=None if point is None else point.probability,
                    low=None if point is None else point.low,
                    high=None if point is None else point.high,
                    reason=reason,
                )
            )
    return meanings


def _find_reason(curve: AgreementCurve | None, size: float, items: int) -> str | None:
    """Find out why nothing is known about a difference; None if something is."""
    if curve is None:
        return "the run has no curve for this metric and data set"
    if items < SMALLEST_SHARE_OF_ITEMS * curve.items:
        return f"only {items} segments, and {curve.items} in the run"
    if size < curve.smallest_difference:
        return f"below {curve.smallest_difference:.3g}, the noise of the metric"
    if size > curve.largest_difference:
        return f"above {curve.largest_difference:.3g}, the largest difference in the run"
    return None
