"""Metric scores mapped to the human scale: against scikit-learn, and without using the mapped segments."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.errors import InputError
from metassay.meta.dependence.correction import FOLDS, assign_clusters_to_folds, convert_to_human_scale
from metassay.meta.pairwise import pairwise_accuracy, soft_pairwise_accuracy
from metassay.meta.people.mapping_evaluation import OWN, POOLED, RAW, UNSEEN, MappingEvaluator

NAMES = {"dataset": "test", "metric": "m", "is_baseline": False}


@pytest.fixture
def scores():
    rng = np.random.default_rng(1)
    human = rng.normal(size=(5, 60)) + np.linspace(0, 1.5, 5)[:, None]
    metric = human + rng.normal(size=human.shape) + rng.normal(size=(5, 1))
    return human, np.round(metric, 1), np.arange(60)


def test_single_fits_equal_those_of_scikit_learn(scores):
    from sklearn.isotonic import IsotonicRegression

    human, metric, clusters = scores
    human = human.copy()
    human[1, 7] = metric[2, 9] = np.nan
    corrected = convert_to_human_scale(human, metric, clusters, bootstraps=0)
    is_scored = ~(np.isnan(human) | np.isnan(metric))
    for fold in range(FOLDS):
        in_fold = corrected.folds == fold
        is_training = is_scored & ~in_fold

        def fit_and_predict(is_training, metric_scores):
            model = IsotonicRegression(out_of_bounds="clip")
            model.fit(metric[is_training], human[is_training])
            predicted = model.predict(np.nan_to_num(metric_scores.ravel()))
            return np.where(np.isnan(metric_scores), np.nan, predicted.reshape(metric_scores.shape))

        np.testing.assert_allclose(
            corrected.pooled_scores[:, in_fold], fit_and_predict(is_training, metric[:, in_fold]), atol=1e-10
        )
        for system in range(5):
            of_system = is_training & (np.arange(5) == system)[:, None]
            np.testing.assert_allclose(
                corrected.system_scores[system, in_fold],
                fit_and_predict(of_system, metric[system, in_fold]),
                atol=1e-10,
            )
        of_others = is_training.copy()
        of_others[[1, 3]] = False
        both = fit_and_predict(of_others, metric[[1, 3]][:, in_fold])
        # the pairs are 0-1 … 0-4, 1-2, 1-3: number 5 is the pair of systems 1 and 3
        np.testing.assert_allclose(corrected.unseen_differences[5, in_fold], both[0] - both[1], atol=1e-10)
    assert np.isnan(corrected.pooled_scores[2, 9])
    assert not np.isnan(corrected.pooled_scores[1, 7])  # nobody rated it, but the metric scored it


@pytest.mark.parametrize("bootstraps", [0, 20])
def test_human_scores_of_a_fold_do_not_change_its_mapped_scores(scores, bootstraps):
    human, metric, clusters = scores
    before = convert_to_human_scale(human, metric, clusters, bootstraps=bootstraps)
    changed = human.copy()
    changed[:, 17] -= 40
    after = convert_to_human_scale(changed, metric, clusters, bootstraps=bootstraps)
    in_same_fold = before.folds == before.folds[17]
    np.testing.assert_array_equal(before.pooled_scores[:, in_same_fold], after.pooled_scores[:, in_same_fold])
    np.testing.assert_array_equal(before.system_scores[:, in_same_fold], after.system_scores[:, in_same_fold])
    assert not np.array_equal(before.pooled_scores[:, ~in_same_fold], after.pooled_scores[:, ~in_same_fold])
    changed = human.copy()
    changed[[1, 3]] += 25
    after = convert_to_human_scale(changed, metric, clusters, bootstraps=bootstraps)
    np.testing.assert_array_equal(before.unseen_differences[5], after.unseen_differences[5])
    assert not np.array_equal(before.pooled_scores, after.pooled_scores)


def test_constant_metric_is_mapped_to_the_human_means_of_the_other_folds(scores):
    human, _, clusters = scores
    corrected = convert_to_human_scale(human, np.zeros_like(human), clusters, bootstraps=0)
    for fold in range(FOLDS):
        in_fold = corrected.folds == fold
        np.testing.assert_allclose(
            corrected.system_scores[:, in_fold],
            np.repeat(human[:, ~in_fold].mean(axis=1)[:, None], in_fold.sum(), 1),
        )
    assert np.ptp(corrected.pooled_scores[:, corrected.folds == 0]) == pytest.approx(0)
    np.testing.assert_allclose(corrected.unseen_differences, 0, atol=1e-12)


def test_clusters_are_in_one_fold_and_folds_have_nearly_equal_sizes():
    folds = assign_clusters_to_folds(23, seed=3)
    assert sorted(np.bincount(folds)) == [4, 4, 5, 5, 5]
    assert not np.array_equal(folds, assign_clusters_to_folds(23, seed=4))
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(10), 4)
    corrected = convert_to_human_scale(
        rng.normal(size=(3, 40)), rng.normal(size=(3, 40)), clusters, bootstraps=5
    )
    assert all(len({*corrected.folds[clusters == cluster]}) == 1 for cluster in range(10))
    with pytest.raises(InputError, match="too few for 5 folds"):
        assign_clusters_to_folds(4, seed=0)


def test_agreement_is_the_mean_over_folds(scores):
    human, metric, clusters = scores
    corrected = convert_to_human_scale(human, metric, clusters, bootstraps=10)
    rows = {
        row.mapping: row
        for row in MappingEvaluator(human, clusters, draws=200, seed=0).evaluate_score_conversions(
            metric, **vars(corrected), **NAMES
        )
    }
    assert list(rows) == [RAW, POOLED, UNSEEN, OWN]
    for name, mapped in ((RAW, metric), (POOLED, corrected.pooled_scores), (OWN, corrected.system_scores)):
        parts = [
            (human[:, corrected.folds == fold], mapped[:, corrected.folds == fold]) for fold in range(FOLDS)
        ]
        assert rows[name].spa == pytest.approx(np.mean([soft_pairwise_accuracy(*part) for part in parts]))
        assert rows[name].pa == pytest.approx(np.mean([pairwise_accuracy(*part) for part in parts]))
    gain = rows[OWN].spa - rows[RAW].spa
    assert rows[OWN].spa_gain == pytest.approx(gain)
    assert rows[OWN].spa_low < rows[OWN].spa_high
    assert rows[RAW].spa_gain is None
    assert rows[RAW].tied == 0
    i, j = np.triu_indices(5, 1)
    apart = metric[i] != metric[j]
    equal = np.isclose(corrected.pooled_scores[i], corrected.pooled_scores[j], atol=1e-12)[apart].mean()
    assert rows[POOLED].tied == pytest.approx(equal)


def test_unrated_system_is_mapped_but_not_evaluated(scores):
    human, metric, clusters = scores
    human = human.copy()
    human[4] = np.nan
    corrected = convert_to_human_scale(human, metric, clusters, bootstraps=5)
    assert not np.isnan(corrected.pooled_scores[4]).any()
    assert np.isnan(corrected.system_scores[4]).all()
    with_unrated = MappingEvaluator(human, clusters, draws=20, seed=0).evaluate_score_conversions(
        metric, **vars(corrected), **NAMES
    )
    without = convert_to_human_scale(human[:4], metric[:4], clusters, bootstraps=5)
    without_unrated = MappingEvaluator(human[:4], clusters, draws=20, seed=0).evaluate_score_conversions(
        metric[:4], **vars(without), **NAMES
    )
    assert with_unrated == without_unrated
