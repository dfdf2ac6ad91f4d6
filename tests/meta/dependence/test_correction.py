"""Metric scores mapped to the human scale: against scikit-learn, and without using the mapped segments."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.errors import InputError
from metassay.meta.dependence.correction import FOLDS, assign_folds, correct_metric_scores
from metassay.meta.pairwise import pairwise_accuracy, soft_pairwise_accuracy
from metassay.meta.people.mapping_evaluation import OWN, POOLED, RAW, UNSEEN, MappingEvaluator


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
    found = correct_metric_scores(human, metric, clusters, bootstraps=0)
    known = ~(np.isnan(human) | np.isnan(metric))
    for held in range(FOLDS):
        out = found.fold == held
        train = known & ~out

        def fitted(train, at):
            model = IsotonicRegression(out_of_bounds="clip").fit(metric[train], human[train])
            return np.where(np.isnan(at), np.nan, model.predict(np.nan_to_num(at.ravel())).reshape(at.shape))

        np.testing.assert_allclose(found.pooled[:, out], fitted(train, metric[:, out]), atol=1e-10)
        for k in range(5):
            mine = train & (np.arange(5) == k)[:, None]
            np.testing.assert_allclose(found.own[k, out], fitted(mine, metric[k, out]), atol=1e-10)
        others = train.copy()
        others[[1, 3]] = False
        both = fitted(others, metric[[1, 3]][:, out])
        np.testing.assert_allclose(found.unseen[5, out], both[0] - both[1], atol=1e-10)  # 0-1 … 0-4, 1-2, 1-3
    assert np.isnan(found.pooled[2, 9])
    assert not np.isnan(found.pooled[1, 7])  # nobody rated it, but the metric scored it


@pytest.mark.parametrize("bootstraps", [0, 20])
def test_human_scores_of_a_fold_do_not_change_its_mapped_scores(scores, bootstraps):
    human, metric, clusters = scores
    before = correct_metric_scores(human, metric, clusters, bootstraps=bootstraps)
    changed = human.copy()
    changed[:, 17] -= 40
    after = correct_metric_scores(changed, metric, clusters, bootstraps=bootstraps)
    same = before.fold == before.fold[17]
    np.testing.assert_array_equal(before.pooled[:, same], after.pooled[:, same])
    np.testing.assert_array_equal(before.own[:, same], after.own[:, same])
    assert not np.array_equal(before.pooled[:, ~same], after.pooled[:, ~same])
    changed = human.copy()
    changed[[1, 3]] += 25
    after = correct_metric_scores(changed, metric, clusters, bootstraps=bootstraps)
    np.testing.assert_array_equal(before.unseen[5], after.unseen[5])
    assert not np.array_equal(before.pooled, after.pooled)


def test_constant_metric_is_mapped_to_the_human_means_of_the_other_folds(scores):
    human, _, clusters = scores
    found = correct_metric_scores(human, np.zeros_like(human), clusters, bootstraps=0)
    for held in range(FOLDS):
        out = found.fold == held
        np.testing.assert_allclose(
            found.own[:, out], np.repeat(human[:, ~out].mean(axis=1)[:, None], out.sum(), 1)
        )
    assert np.ptp(found.pooled[:, found.fold == 0]) == pytest.approx(0)
    np.testing.assert_allclose(found.unseen, 0, atol=1e-12)


def test_clusters_are_in_one_fold_and_folds_have_nearly_equal_sizes():
    fold = assign_folds(23, seed=3)
    assert sorted(np.bincount(fold)) == [4, 4, 5, 5, 5]
    assert not np.array_equal(fold, assign_folds(23, seed=4))
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(10), 4)
    found = correct_metric_scores(rng.normal(size=(3, 40)), rng.normal(size=(3, 40)), clusters, bootstraps=5)
    assert all(len({*found.fold[clusters == own]}) == 1 for own in range(10))
    with pytest.raises(InputError, match="too few for 5 folds"):
        assign_folds(4, seed=0)


def test_agreement_is_the_mean_over_folds(scores):
    human, metric, clusters = scores
    found = correct_metric_scores(human, metric, clusters, bootstraps=10)
    rows = {
        row.mapping: row
        for row in MappingEvaluator(human, clusters, draws=200, seed=0).evaluate(metric, found)
    }
    assert list(rows) == [RAW, POOLED, UNSEEN, OWN]
    for name, own in ((RAW, metric), (POOLED, found.pooled), (OWN, found.own)):
        parts = [(human[:, found.fold == held], own[:, found.fold == held]) for held in range(FOLDS)]
        assert rows[name].spa == pytest.approx(np.mean([soft_pairwise_accuracy(*part) for part in parts]))
        assert rows[name].pa == pytest.approx(np.mean([pairwise_accuracy(*part) for part in parts]))
    gain = rows[OWN].spa - rows[RAW].spa
    assert rows[OWN].spa_gain == pytest.approx(gain)
    assert rows[OWN].spa_low < rows[OWN].spa_high
    assert rows[RAW].spa_gain is None
    assert rows[RAW].tied == 0
    i, j = np.triu_indices(5, 1)
    apart = metric[i] != metric[j]
    equal = np.isclose(found.pooled[i], found.pooled[j], atol=1e-12)[apart].mean()
    assert rows[POOLED].tied == pytest.approx(equal)


def test_unrated_system_is_mapped_but_not_evaluated(scores):
    human, metric, clusters = scores
    human = human.copy()
    human[4] = np.nan
    found = correct_metric_scores(human, metric, clusters, bootstraps=5)
    assert not np.isnan(found.pooled[4]).any()
    assert np.isnan(found.own[4]).all()
    here = MappingEvaluator(human, clusters, draws=20, seed=0).evaluate(metric, found)
    without = correct_metric_scores(human[:4], metric[:4], clusters, bootstraps=5)
    there = MappingEvaluator(human[:4], clusters, draws=20, seed=0).evaluate(metric[:4], without)
    assert here == there
