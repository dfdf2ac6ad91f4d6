"""How often people agree with a difference in metric scores, between systems and between single outputs."""

from __future__ import annotations

from collections.abc import Sequence

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.decisions.output_differences import estimate_agreement_on_output_pairs
from metassay.meta.decisions.system_differences import (
    HumanAgreement,
    compute_human_preferences_on_resamples,
    estimate_agreement_on_system_pairs,
)
from metassay.results.rank import AgreementCurve
from metassay.stats.random import AGREEMENT_THRESHOLDS, hash_name_to_integer, spawn_random_generator

SYSTEMS = "systems"
OUTPUTS = "outputs"
# Two systems make one pair, to which no curve can be fitted.
FEWEST_SYSTEMS = 3


def estimate_agreement_curves(
    scores: ScoreArrays,
    metric_names: Sequence[str],
    *,
    dataset: str,
    context: str,
    context_column: str | None = None,
    seed: int = 0,
) -> list[AgreementCurve]:
    """Estimate how often people agree with a metric, depending on how far apart two metric scores are.

    One curve is for differences between the mean scores of two systems, and one for differences between two
    outputs of an item. There is none for systems if there are fewer than three systems, and none for a metric
    that is constant. `metric_names` are in the order of `scores.metrics`.
    """
    systems, items = scores.human.shape
    key = (
        AGREEMENT_THRESHOLDS,
        hash_name_to_integer(dataset),
        hash_name_to_integer(f"{context_column}={context}"),
    )
    resamples = None
    if systems >= FEWEST_SYSTEMS:
        resamples = compute_human_preferences_on_resamples(scores, spawn_random_generator(seed, *key))
    curves = []
    for position, metric in enumerate(metric_names):
        agreements: dict[str, HumanAgreement | None] = {}
        if resamples is not None:
            agreements[SYSTEMS] = estimate_agreement_on_system_pairs(scores, position, resamples)
        # every metric gets the same resamples, so that its curve does not depend on the other metrics
        output_rng = spawn_random_generator(seed, *key, 1)
        agreements[OUTPUTS] = estimate_agreement_on_output_pairs(scores, position, output_rng)
        for between, agreement in agreements.items():
            if agreement is not None:
                curve = AgreementCurve(
                    dataset=dataset,
                    context=context,
                    context_column=context_column,
                    between=between,
                    metric=metric,
                    items=items,
                    pairs=agreement.pairs,
                    accuracy=agreement.accuracy,
                    smallest_difference=agreement.smallest_difference,
                    largest_difference=agreement.largest_difference,
                    points=agreement.points,
                    thresholds=agreement.thresholds,
                )
                curves.append(curve)
    return curves
