"""The meta-metric `labels_saved` in `rank`: values, tests between metrics, sentences."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from in_sample_share import compute_in_sample_share
from metassay import rank
from metassay.data.score_arrays import ScoreArrays
from metassay.meta.people.meta_metrics.comparison_settings import ComparisonSettings
from metassay.meta.people.meta_metrics.labels_saved import LabelsSavedShare
from metassay.stats.labels_saved import compute_system_differences


def simulate_metrics(seed: int, noise: tuple[float, ...], *, items: int = 150) -> ScoreArrays:
    """Skewed human scores of four systems, and a metric for each amount of noise that is added to them."""
    generator = np.random.default_rng(seed)
    human = -generator.exponential(2.0, (4, items)) + np.arange(4)[:, None]
    metrics = [human + deviation * generator.normal(size=human.shape) for deviation in noise]
    return ScoreArrays(human, np.stack(metrics))


def to_rows(scores: ScoreArrays) -> pl.DataFrame:
    systems, items = scores.human.shape
    columns = {
        "system": np.repeat([f"s{system}" for system in range(systems)], items),
        "seg_id": np.tile(np.arange(items), systems),
        "mqm": scores.human.ravel(),
    }
    for name, metric in zip("AB", scores.metrics):
        columns[name] = metric.ravel()
    return pl.DataFrame(columns)


def test_value_is_for_a_difference_and_for_mean_for_the_mean_of_a_system() -> None:
    scores = simulate_metrics(0, (1.0, 6.0), items=800)
    ranking = rank(to_rows(scores), human="mqm", meta="labels_saved").rankings[0]
    best = ranking.metrics[0]
    differences = compute_in_sample_share(
        compute_system_differences(scores.human), compute_system_differences(scores.metrics[0])
    )
    means = compute_in_sample_share(scores.human, scores.metrics[0])
    assert best.metric == "A"
    assert best.value == pytest.approx(differences, abs=0.01)
    assert best.for_mean == pytest.approx(means, abs=0.01)
    assert best.low < best.value < best.high
    assert best.for_mean_low < best.for_mean < best.for_mean_high
    assert [comparison.better for comparison in ranking.comparisons if comparison.p < 0.05] == ["A"]
    baselines = {row.metric: row.value for row in ranking.metrics if row.baseline}
    assert baselines["constant"] == 0.0
    assert abs(baselines["random"]) < 0.01


def test_metrics_that_save_equally_many_labels_are_rarely_separated() -> None:
    settings = ComparisonSettings(draws=199)
    simulations = 300
    separated = 0
    for seed in range(simulations):
        scores = simulate_metrics(seed, (3.0, 3.0), items=100)
        differences = LabelsSavedShare().compare_metrics(scores, settings)
        separated += differences.compute_p_values()[1][0] <= 0.05  # two-sided
    assert separated / simulations <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / simulations)


def test_the_sentence_converts_shares_to_rated_items() -> None:
    result = rank(to_rows(simulate_metrics(1, (2.0, 6.0), items=400)), human="mqm", meta="labels_saved")
    best = result.rankings[0].metrics[0]
    sentence = result.build_page().lead[0]
    assert sentence.startswith("With A, 100 rated items (mqm, ")
    assert f" are worth {round(100 / (1 - best.for_mean))} (95 % interval " in sentence
    assert f" for a system's score and {round(100 / (1 - best.value))} (95 % interval " in sentence


def test_useless_metrics_are_not_said_to_save_labels() -> None:
    scores = simulate_metrics(2, (1.0, 1.0))
    generator = np.random.default_rng(3)
    scores = ScoreArrays(scores.human, generator.normal(size=scores.metrics.shape))
    result = rank(to_rows(scores), human="mqm", meta="labels_saved")
    assert result.build_page().lead[0].startswith("No metric is shown to save human labels (mqm)")


@pytest.mark.real_data
def test_figures_on_wmt23_are_close_to_the_published_ones(real_data) -> None:
    scores = real_data("wmt23/wmt23_en-de_metrics.parquet")
    metrics = "XCOMET-Ensemble-refA,chrF-refA,GEMBA-MQM-src"
    ranking = rank(scores, human="mqm", meta="labels_saved", metrics=metrics).rankings[0]
    shares = {row.metric: (row.for_mean, row.value) for row in ranking.metrics}
    # in-sample, from an independent implementation: .458, .143 and .030, .029; GEMBA-MQM saves 13 to 20 % only
    assert shares["XCOMET-Ensemble-refA"] == pytest.approx((0.458, 0.143), abs=0.015)
    assert shares["chrF-refA"] == pytest.approx((0.030, 0.029), abs=0.005)
    assert 0.13 < shares["GEMBA-MQM-src"][0] < 0.20
