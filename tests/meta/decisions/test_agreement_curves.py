"""What a difference means: curves of agreement between systems and between outputs."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize_scalar

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.decisions.agreement_curves import estimate_agreement_curves
from metassay.meta.decisions.output_differences import estimate_agreement_on_output_pairs
from metassay.meta.decisions.system_differences import (
    compute_human_preferences_on_resamples,
    estimate_agreement_on_system_pairs,
    fit_logistic_slopes,
)
from metassay.stats.sign_flip import compute_normal_p_values


def simulate_scores(seed: int, *, systems: int = 12, items: int = 400) -> ScoreArrays:
    """Systems of different quality, scored by people and by a metric that has a bias for each system."""
    generator = np.random.default_rng(seed)
    quality = generator.normal(size=(systems, 1)) * 0.3
    human = quality + generator.normal(size=(systems, items))
    bias = generator.normal(size=(systems, 1)) * 0.2
    metric = human + bias + generator.normal(size=human.shape)
    return ScoreArrays(human, metric[None])


def load_wmt23(path: str, metric: str) -> ScoreArrays:
    table = pl.read_parquet(path).sort("system", "seg_id")
    systems = table["system"].n_unique()
    human = table["mqm"].cast(pl.Float64).to_numpy().reshape(systems, -1)
    scores = table[metric].cast(pl.Float64).to_numpy().reshape(systems, -1)
    rated = ~np.isnan(human).any(axis=0)
    return ScoreArrays(human[:, rated], scores[None][:, :, rated])


def test_the_slope_maximises_the_likelihood() -> None:
    generator = np.random.default_rng(0)
    differences = generator.exponential(size=(1, 40))
    agreement = generator.uniform(0.3, 1.0, size=(1, 40))

    def compute_loss(slope: float) -> float:
        probability = 1 / (1 + np.exp(-slope * differences))
        return -(agreement * np.log(probability) + (1 - agreement) * np.log(1 - probability)).sum()

    expected = minimize_scalar(compute_loss, bounds=(0, 5), method="bounded", options={"xatol": 1e-10}).x
    slope = fit_logistic_slopes(differences, agreement, np.ones((1, 40)))[0]
    assert slope == pytest.approx(expected, abs=1e-6)


def test_thresholds_lie_on_the_curve_and_are_ordered() -> None:
    scores = simulate_scores(1)
    systems, outputs = estimate_agreement_curves(scores, ["m"], dataset="d", context="global")
    for curve in (systems, outputs):
        differences = [row.difference for row in curve.thresholds if row.difference is not None]
        assert differences == sorted(differences)
        threshold = curve.thresholds[0]
        assert threshold.low <= threshold.difference
        assert threshold.high is None or threshold.high >= threshold.difference
        assert curve.find_human_agreement_with_difference(threshold.difference).probability == pytest.approx(
            0.8, abs=0.01
        )
    assert outputs.thresholds[0].coverage < outputs.pairs
    assert outputs.thresholds[0].high is not None


def test_nothing_is_said_beyond_the_largest_difference() -> None:
    systems, outputs = estimate_agreement_curves(simulate_scores(2), ["m"], dataset="d", context="global")
    for curve in (systems, outputs):
        assert curve.find_human_agreement_with_difference(-curve.largest_difference) is not None
        assert curve.find_human_agreement_with_difference(curve.largest_difference * 1.001) is None
    assert systems.find_human_agreement_with_difference(systems.smallest_difference / 2) is None


def test_a_metric_that_prefers_the_worse_has_no_threshold() -> None:
    scores = simulate_scores(3)
    reversed_scores = ScoreArrays(scores.human, -scores.human[None])
    for curve in estimate_agreement_curves(reversed_scores, ["m"], dataset="d", context="global"):
        assert curve.accuracy < 0.1
        assert [threshold.difference for threshold in curve.thresholds] == [None, None, None]


def test_a_constant_metric_has_no_curve() -> None:
    scores = simulate_scores(4)
    constant = ScoreArrays(scores.human, np.ones_like(scores.metrics))
    assert estimate_agreement_curves(constant, ["m"], dataset="d", context="global") == []


def test_probabilities_for_systems_are_calibrated_on_other_items_and_systems() -> None:
    """Reliability table: the mean certainty of people on new systems equals the predicted probability."""
    predicted = []
    observed = []
    for seed in range(40):
        curve = estimate_agreement_curves(simulate_scores(seed), ["m"], dataset="d", context="global")[0]
        new = simulate_scores(1000 + seed)
        first, second = np.triu_indices(len(new.human), 1)
        means = new.metrics[0].mean(axis=1)
        first_is_better = 1 - compute_normal_p_values(new.human)
        for pair, difference in enumerate(means[first] - means[second]):
            point = curve.find_human_agreement_with_difference(difference)
            if point is not None:
                predicted.append(point.probability)
                observed.append(first_is_better[pair] if difference > 0 else 1 - first_is_better[pair])
    predicted_array = np.array(predicted)
    observed_array = np.array(observed)
    for low, high in ((0.5, 0.75), (0.75, 0.9), (0.9, 1.0)):
        inside = (predicted_array >= low) & (predicted_array < high)
        assert observed_array[inside].mean() == pytest.approx(predicted_array[inside].mean(), abs=0.05)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("language_pair", "metric", "expected"),
    [
        ("en-de", "BLEU-refA", 2.3),
        ("he-en", "BLEU-refB", 3.3),
        ("zh-en", "BLEU-refA", 3.7),
        ("en-de", "chrF-refA", 2.6),
        ("zh-en", "chrF-refA", 3.2),
        ("en-de", "COMET-refA", 0.006),
        ("zh-en", "COMET-refA", 0.013),
    ],
)
def test_differences_of_systems_on_wmt23_equal_the_published_ones(
    real_data, language_pair, metric, expected
) -> None:
    """The difference with which people agree in 80 %, from an independent implementation on WMT23."""
    scores = load_wmt23(real_data(f"wmt23/wmt23_{language_pair}_metrics.parquet"), metric)
    resamples = compute_human_preferences_on_resamples(scores, np.random.default_rng(0), resample_count=200)
    threshold = estimate_agreement_on_system_pairs(scores, 0, resamples).thresholds[0]
    assert threshold.difference == pytest.approx(expected, rel=0.03)
    assert threshold.low < threshold.difference < threshold.high


@pytest.mark.real_data
def test_pairs_of_outputs_on_wmt23_are_calibrated_on_held_out_items(real_data) -> None:
    """XCOMET is right in about .70 of human pairs, and above .82 on its most confident quarter."""
    scores = load_wmt23(real_data("wmt23/wmt23_en-de_metrics.parquet"), "XCOMET-Ensemble-refA")
    generator = np.random.default_rng(0)
    sizes, outcomes, predictions = [], [], []
    for _ in range(10):
        is_training = generator.permutation(scores.human.shape[1]) % 2 == 0
        training = scores.select_items_and_systems(items=is_training)
        curve = estimate_agreement_on_output_pairs(training, 0, generator, resample_count=2)
        held_out = scores.select_items_and_systems(items=~is_training)
        first, second = np.triu_indices(len(held_out.human), 1)
        human = (held_out.human[first] - held_out.human[second]).ravel()
        metric = (held_out.metrics[0][first] - held_out.metrics[0][second]).ravel()[human != 0]
        is_right = np.where(metric == 0, 0.5, np.sign(metric) == np.sign(human[human != 0]))
        differences = [point.difference for point in curve.points]
        probabilities = [point.probability for point in curve.points]
        sizes.append(np.abs(metric))
        outcomes.append(is_right)
        predictions.append(np.interp(np.abs(metric), differences, probabilities))
    size = np.concatenate(sizes)
    outcome = np.concatenate(outcomes)
    predicted = np.concatenate(predictions)
    assert outcome.mean() == pytest.approx(0.70, abs=0.03)
    assert outcome[size >= np.quantile(size, 0.75)].mean() > 0.82
    for low, high in ((0.4, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.0)):
        inside = (predicted >= low) & (predicted < high)
        assert outcome[inside].mean() == pytest.approx(predicted[inside].mean(), abs=0.03)


def test_two_points_with_the_same_difference_need_no_interpolation() -> None:
    systems, _ = estimate_agreement_curves(simulate_scores(1), ["m"], dataset="d", context="global")
    point = systems.points[0]
    curve = msgspec.structs.replace(
        systems,
        points=[point, point],
        smallest_difference=point.difference,
        largest_difference=point.difference,
    )
    assert curve.find_human_agreement_with_difference(point.difference) == point
