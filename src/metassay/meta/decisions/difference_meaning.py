"""Look up how often people agree with the differences between new systems.

The curves come from a run of `rank` on systems that people rated. Nothing is extrapolated: differences that
are larger than any in that run, or within the noise of the metric, other language pairs and much smaller test
sets get a reason instead of a number.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from metassay.meta.decisions.agreement_curves import SYSTEMS
from metassay.results.rank import AgreementCurve
from metassay.results.score import (
    DifferenceBeyondRun,
    DifferenceMeaning,
    DifferenceWithinNoise,
    FewItems,
    NoCurve,
    OtherLanguagePair,
    UnknownAgreement,
)
from metassay.stats.arrays import FloatArray
from metassay.text.languages import parse_language

# With fewer items than this share of those of the run, differences are noisier than there.
SMALLEST_SHARE_OF_ITEMS = 0.5


def find_agreement_curve(
    agreement_curves: Sequence[AgreementCurve], metric_names: Sequence[str], dataset: str
) -> AgreementCurve | None:
    """Find the curve that tells how often people agree with score differences of a metric.

    Returns None if there is none. A curve of the same data set comes first. Without one, the only curve of
    another data set is taken; with several, none.
    """
    names = {name.lower() for name in metric_names}
    candidates = []
    for curve in agreement_curves:
        if curve.is_global and curve.between == SYSTEMS and curve.metric.lower() in names:
            candidates.append(curve)
    of_dataset = [curve for curve in candidates if curve.dataset == dataset]
    if of_dataset:
        return of_dataset[0]
    return candidates[0] if len(candidates) == 1 else None


def predict_human_agreement(
    metric_scores: FloatArray,
    systems: Sequence[str],
    agreement_curve: AgreementCurve | None,
    *,
    metric: str,
    human: str,
    dataset: str,
    group: str | None = None,
) -> list[DifferenceMeaning]:
    """Predict for every two systems how often people agree with a metric about which one is better.

    `metric_scores` is `[systems, items]`, higher is better, NaN where missing; a pair is compared on the
    items that both systems have. `dataset` is the test set of the scores, such as `2023/en-de`.
    """
    meanings = []
    for first in range(len(systems)):
        for second in range(first + 1, len(systems)):
            differences = metric_scores[first] - metric_scores[second]
            differences = differences[~np.isnan(differences)]
            if not len(differences):
                continue
            difference = float(differences.mean())
            better, worse = (first, second) if difference >= 0 else (second, first)
            reason = _find_reason_for_missing_prediction(
                agreement_curve, dataset, abs(difference), len(differences)
            )
            point = None
            if agreement_curve is not None and reason is None:
                point = agreement_curve.find_human_agreement_with_difference(difference)
            meanings.append(
                DifferenceMeaning(
                    group=group,
                    metric=metric,
                    better=systems[better],
                    worse=systems[worse],
                    difference=abs(difference),
                    human=human,
                    dataset=None if agreement_curve is None else agreement_curve.dataset,
                    agreement=None if point is None else point.probability,
                    low=None if point is None else point.low,
                    high=None if point is None else point.high,
                    reason=reason,
                )
            )
    return meanings


def _find_reason_for_missing_prediction(
    agreement_curve: AgreementCurve | None, dataset: str, difference: float, item_count: int
) -> UnknownAgreement | None:
    """Return the reason why agreement with a score difference cannot be predicted, or None if it can."""
    if agreement_curve is None:
        return NoCurve()
    # Curves of one language pair predict another one wrongly by up to 7 percentage points.
    rated_pair = find_language_pair(agreement_curve.dataset)
    scored_pair = find_language_pair(dataset)
    if rated_pair is not None and scored_pair is not None and rated_pair != scored_pair:
        return OtherLanguagePair(of_run=rated_pair, of_data=scored_pair)
    if item_count < SMALLEST_SHARE_OF_ITEMS * agreement_curve.items:
        return FewItems(item_count, items_of_run=agreement_curve.items)
    if difference < agreement_curve.smallest_difference:
        return DifferenceWithinNoise(agreement_curve.smallest_difference)
    if difference > agreement_curve.largest_difference:
        return DifferenceBeyondRun(agreement_curve.largest_difference)
    return None


def find_language_pair(dataset: str) -> str | None:
    """Return the language pair in the name of a test set, such as `en-de`, or None if there is none.

    >>> find_language_pair("2023/en-de"), find_language_pair("summaries")
    ('en-de', None)
    """
    for part in dataset.split("/"):
        source, _, target = part.partition("-")
        if parse_language(source) is not None and parse_language(target) is not None:
            return part
    return None
