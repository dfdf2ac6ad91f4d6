"""Estimates from few labels: equal to ppi-python, unbiased, with intervals that cover."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from metassay.meta.decisions.control_variates import (
    ITEMS_LIKE_THESE,
    THESE_ITEMS,
    LabelledSample,
    estimate_mean_human_scores,
)


def draw_population(seed: int, items: int = 400):
    """Skewed human scores, as MQM has them, and a metric that correlates with them."""
    generator = np.random.default_rng(seed)
    has_error = generator.random((3, items)) < 0.4
    human = -np.where(has_error, generator.exponential(5.0, (3, items)), 0.0)
    metric = 0.3 * human + generator.normal(size=human.shape)
    return human, metric


def label_items(human, labelled_items):
    labels = np.full(human.shape, np.nan)
    labels[:, labelled_items] = human[:, labelled_items]
    return labels


def estimate(sample, *, target=THESE_ITEMS, seed=0, resamples=400):
    return estimate_mean_human_scores(
        sample,
        target=target,
        generator=np.random.default_rng(seed),
        resamples=resamples,
    )


def test_estimates_equal_prediction_powered_inference() -> None:
    ppi = pytest.importorskip("ppi_py")
    human, metric = draw_population(0)
    generator = np.random.default_rng(1)
    labelled_items = generator.choice(human.shape[1], 60, replace=False)
    unlabelled_items = np.setdiff1d(np.arange(human.shape[1]), labelled_items)
    sample = LabelledSample(label_items(human, labelled_items), metric, np.arange(human.shape[1]))
    values = estimate(sample).values
    for series in range(len(human)):
        # Scaled so that ppi-python's slope stays inside [0, 1], to which it is clipped.
        scores = metric[series] * 4
        expected = ppi.ppi_mean_pointestimate(
            human[series, labelled_items], scores[labelled_items], scores[unlabelled_items]
        )
        assert values[series] == pytest.approx(float(np.squeeze(expected)), abs=1e-9)


def test_estimates_equal_the_formula_of_power_tuned_inference() -> None:
    """Angelopoulos, Duchi and Zrnic (2023), written out, where ppi-python is not installed.

    With n labelled and N unlabelled items: θ = λ mean(f unlabelled) + mean(y - λ f labelled), and
    λ = Cov(y, f) / ((1 + n / N) Var(f)).
    """
    human, metric = draw_population(0)
    labelled_items = np.random.default_rng(1).choice(human.shape[1], 60, replace=False)
    is_labelled = np.isin(np.arange(human.shape[1]), labelled_items)
    sample = LabelledSample(label_items(human, labelled_items), metric, np.arange(human.shape[1]))
    values = estimate(sample).values
    for series in range(len(human)):
        labels = human[series, is_labelled]
        predictions = metric[series, is_labelled]
        other_predictions = metric[series, ~is_labelled]
        covariance = np.mean(labels * predictions) - labels.mean() * predictions.mean()
        slope = covariance / (1 + len(labels) / len(other_predictions)) / np.var(metric[series], ddof=1)
        expected = slope * other_predictions.mean() + np.mean(labels - slope * predictions)
        assert values[series] == pytest.approx(expected, abs=1e-12)


def test_labels_alone_give_their_mean() -> None:
    human, metric = draw_population(2)
    labelled_items = np.arange(0, 400, 5)
    sample = LabelledSample(label_items(human, labelled_items), metric, np.arange(400))
    result = estimate(replace(sample, metric=None))
    np.testing.assert_allclose(result.values, human[:, labelled_items].mean(axis=1), atol=1e-12)
    # HC3: residuals divided by 1 − 1/n; and a finite population.
    deviations = human[:, labelled_items] - human[:, labelled_items].mean(axis=1, keepdims=True)
    expected = np.sqrt(((deviations / (1 - 1 / 80)) ** 2).sum(axis=1)) / 80 * np.sqrt(1 - 80 / 400)
    np.testing.assert_allclose(result.standard_errors, expected, rtol=1e-12)


def test_everything_labelled_leaves_no_uncertainty_about_these_items() -> None:
    human, metric = draw_population(3)
    sample = LabelledSample(human, metric, np.arange(400))
    result = estimate(sample)
    np.testing.assert_allclose(result.values, human.mean(axis=1), atol=1e-12)
    np.testing.assert_allclose(result.standard_errors, 0, atol=1e-12)
    about_similar_items = estimate(sample, target=ITEMS_LIKE_THESE)
    # With every item labelled the metric cancels: the usual standard error of a mean remains.
    usual = human.std(axis=1, ddof=1) / np.sqrt(400)
    np.testing.assert_allclose(about_similar_items.standard_errors, usual, rtol=0.02)


def test_estimate_does_not_depend_on_the_scale_of_the_metric() -> None:
    human, metric = draw_population(4)
    labels = label_items(human, np.arange(0, 400, 7))
    first = estimate(LabelledSample(labels, metric, np.arange(400)))
    second = estimate(LabelledSample(labels, -250 * metric + 1e6, np.arange(400)))
    np.testing.assert_allclose(first.values, second.values, rtol=1e-7)
    np.testing.assert_allclose(
        first.compute_confidence_intervals_of_means(),
        second.compute_confidence_intervals_of_means(),
        rtol=1e-6,
    )


def test_inverse_probabilities_remove_the_bias_of_unequal_sampling() -> None:
    human, metric = draw_population(5, items=1000)
    probabilities = np.where(human[0] < -3, 0.5, 0.1)  # bad outputs were more likely to be labelled
    generator = np.random.default_rng(6)
    errors_weighted = []
    errors_naive = []
    for _ in range(200):
        labels = label_items(human, np.flatnonzero(generator.random(1000) < probabilities))[:1]
        units = np.arange(1000)
        weighted = estimate(LabelledSample(labels, metric[:1], units, probabilities), resamples=2)
        naive = estimate(LabelledSample(labels, None, units), resamples=2)
        errors_weighted.append(weighted.values[0] - human[0].mean())
        errors_naive.append(naive.values[0] - human[0].mean())
    standard_error = np.std(errors_weighted) / np.sqrt(200)
    assert abs(np.mean(errors_weighted)) < 4 * standard_error
    assert np.mean(errors_naive) < -0.5


@pytest.mark.slow
@pytest.mark.parametrize("labelled_count", [50, 100, 200])
@pytest.mark.parametrize("metric_kind", ["useful", "inverted", "constant", "unrelated"])
def test_intervals_cover_the_mean_in_95_percent(labelled_count, metric_kind) -> None:
    human, useful = draw_population(7, items=1500)
    unrelated = np.random.default_rng(8).normal(size=human.shape)
    metrics = {
        "useful": useful,
        "inverted": -useful,
        "constant": np.ones_like(useful),
        "unrelated": unrelated,
    }
    generator = np.random.default_rng(9)
    covered = []
    widths_relative_to_labels_only = []
    for repetition in range(150):
        labels = label_items(human, generator.choice(1500, labelled_count, replace=False))
        sample = LabelledSample(labels, metrics[metric_kind], np.arange(1500))
        low, high = estimate(sample, seed=repetition).compute_confidence_intervals_of_means()
        low_without, high_without = estimate(
            replace(sample, metric=None), seed=repetition
        ).compute_confidence_intervals_of_means()
        covered.append((low <= human.mean(axis=1)) & (human.mean(axis=1) <= high))
        widths_relative_to_labels_only.append((high - low).mean() / (high_without - low_without).mean())
    assert 0.91 <= np.mean(covered) <= 0.985
    assert np.mean(widths_relative_to_labels_only) <= 1.05


def test_equal_probabilities_are_the_same_as_none_also_for_documents() -> None:
    human, metric = draw_population(7)
    documents = np.arange(400) // 4
    labels = label_items(human, np.flatnonzero(documents % 5 == 0))
    probabilities = np.full(400, 0.2)
    random_sample = estimate(LabelledSample(labels, metric, documents))
    weighted_sample = estimate(LabelledSample(labels, metric, documents, probabilities))
    np.testing.assert_allclose(weighted_sample.values, random_sample.values)
    np.testing.assert_allclose(weighted_sample.standard_errors, random_sample.standard_errors)
