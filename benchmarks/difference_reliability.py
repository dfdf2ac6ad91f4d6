"""Check whether people agree with a difference in metric scores as often as `rank` says.

    python benchmarks/difference_reliability.py [splits]

The curves of `--analysis thresholds` are fitted on one half of the items of a language pair of WMT23, and
their probabilities compared with the other half (held-out items); or fitted on all items of one language pair
and compared with another language pair. Probabilities are calibrated if the last two columns are equal.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator

import numpy as np

from decision_data import load_population
from metassay.data.score_arrays import ScoreArrays
from metassay.meta.decisions.agreement_curves import (
    OUTPUTS,
    SYSTEMS,
    estimate_agreement_curves,
)
from metassay.results.rank import AgreementCurve
from metassay.stats.sign_flip import compute_normal_p_values

LANGUAGE_PAIRS = ("WMT23 en-de", "WMT23 he-en", "WMT23 zh-en")
METRICS = ("XCOMET-Ensemble", "COMET", "chrF", "BLEU")
EDGES = (0.0, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
Predictions = list[tuple[float, float]]
"""Predicted probability of agreement, and how far people agreed (0 to 1)."""


def load_scores(name: str) -> ScoreArrays:
    """Load the human scores and those of four metrics."""
    population = load_population(name)
    by_name = {metric.rpartition("-ref")[0]: scores for metric, scores in population.metrics.items()}
    return ScoreArrays(population.human, np.stack([by_name[metric] for metric in METRICS]))


def list_splits(splits: int) -> Iterator[tuple[str, ScoreArrays, ScoreArrays]]:
    """List what is held out, the data to fit, and the data to predict."""
    scores_by_name = {name: load_scores(name) for name in LANGUAGE_PAIRS}
    generator = np.random.default_rng(0)
    for scores in scores_by_name.values():
        for _ in range(splits):
            is_fitted = generator.permutation(scores.human.shape[1]) % 2 == 0
            yield (
                "items",
                scores.select_items_and_systems(items=is_fitted),
                scores.select_items_and_systems(items=~is_fitted),
            )
    for fitted in LANGUAGE_PAIRS:
        for predicted in LANGUAGE_PAIRS:
            if fitted != predicted:
                yield "language pair", scores_by_name[fitted], scores_by_name[predicted]


def predict_systems(curve: AgreementCurve, scores: ScoreArrays, metric: int) -> Predictions:
    """Predict agreement on pairs of systems; people agree with the certainty of their paired test."""
    first, second = np.triu_indices(len(scores.human), 1)
    means = scores.metrics[metric].mean(axis=1)
    first_is_better = 1 - compute_normal_p_values(scores.human)
    predictions = []
    for pair, difference in enumerate(means[first] - means[second]):
        point = curve.find_human_agreement_with_difference(difference)
        if point is not None:
            agreement = first_is_better[pair] if difference > 0 else 1 - first_is_better[pair]
            predictions.append((point.probability, float(agreement)))
    return predictions


def predict_outputs(curve: AgreementCurve, scores: ScoreArrays, metric: int) -> Predictions:
    """Predict agreement on pairs of outputs of which people prefer one."""
    first, second = np.triu_indices(len(scores.human), 1)
    human = (scores.human[first] - scores.human[second]).ravel()
    differences = (scores.metrics[metric][first] - scores.metrics[metric][second]).ravel()
    is_predicted = (human != 0) & (np.abs(differences) <= curve.largest_difference)
    human = human[is_predicted]
    differences = differences[is_predicted]
    outcomes = np.where(differences == 0, 0.5, np.sign(differences) == np.sign(human))
    sizes = [point.difference for point in curve.points]
    probabilities = np.interp(np.abs(differences), sizes, [point.probability for point in curve.points])
    return list(zip(probabilities, outcomes))


def main(splits: int = 5) -> None:
    predictions: dict[tuple[str, str], Predictions] = {}
    for held_out, fitted, predicted in list_splits(splits):
        for curve in estimate_agreement_curves(fitted, METRICS, dataset="", context="global"):
            predict = predict_systems if curve.between == SYSTEMS else predict_outputs
            rows = predict(curve, predicted, METRICS.index(curve.metric))
            predictions.setdefault((curve.between, held_out), []).extend(rows)
    print("| pairs of | held out | predicted | pairs | mean prediction | people agree |")
    print("|---|---|---|---|---|---|")
    for between in (SYSTEMS, OUTPUTS):
        for held_out in ("items", "language pair"):
            rows = np.array(predictions[between, held_out])
            for low, high in itertools.pairwise(EDGES):
                inside = rows[(rows[:, 0] >= low) & (rows[:, 0] < high)]
                if len(inside):
                    means = " | ".join(f"{mean:.2f}" for mean in np.mean(inside, axis=0))
                    print(f"| {between} | {held_out} | {low:.2f}–{high:.2f} | {len(inside)} | {means} |")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
