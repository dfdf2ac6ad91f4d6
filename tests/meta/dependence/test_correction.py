"""Scores read as human scores: against scikit-learn, and what may not influence what."""

from __future__ import annotations

import numpy as np
import pytest

from metassay.errors import InputError
from metassay.meta.dependence.analysis import FOLDS, corrected, deal_folds
from metassay.meta.pairwise import pairwise_accuracy, soft_pairwise_accuracy
from metassay.meta.people.intervals import OWN, POOLED, RAW, UNSEEN, Trial


@pytest.fixture
def scores():
    rng = np.random.default_rng(1)
    human = rng.normal(size=(5, 60)) + np.linspace(0, 1.5, 5)[:, None]
    metric = human + rng.normal(size=human.shape) + rng.normal(size=(5, 1))
    return human, np.round(metric, 1), np.arange(60)


def test_one_fit_is_scikit_learns(scores):
    from sklearn.isotonic import IsotonicRegression

    human, metric, clusters = scores
    human = human.copy()
    human[1, 7] = metric[2, 9] = np.nan
    found = corrected(human, metric, clusters, bootstraps=0)
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
def test_people_never_touch_what_they_judge(scores, bootstraps):
    human, metric, clusters = scores
    before = corrected(human, metric, clusters, bootstraps=bootstraps)
    changed = human.copy()
    changed[:, 17] -= 40
    after = corrected(changed, metric, clusters, bootstraps=bootstraps)
    same = before.fold == before.fold[17]
    np.testing.assert_array_equal(before.pooled[:, same], after.pooled[:, same])
    np.testing.assert_array_equal(before.own[:, same], after.own[:, same])
    assert not np.array_equal(before.pooled[:, ~same], after.pooled[:, ~same])
    changed = human.copy()
    changed[[1, 3]] += 25
    after = corrected(changed, metric, clusters, bootstraps=bootstraps)
    np.testing.assert_array_equal(before.unseen[5], after.unseen[5])
    assert not np.array_equal(before.pooled, after.pooled)


def test_a_constant_through_its_own_fit_is_peoples_mean_elsewhere(scores):
    human, _, clusters = scores
    found = corrected(human, np.zeros_like(human), clusters, bootstraps=0)
    for held in range(FOLDS):
        out = found.fold == held
        np.testing.assert_allclose(
            found.own[:, out], np.repeat(human[:, ~out].mean(axis=1)[:, None], out.sum(), 1)
        )
    assert np.ptp(found.pooled[:, found.fold == 0]) == pytest.approx(0)
    np.testing.assert_allclose(found.unseen, 0, atol=1e-12)


def test_documents_stay_whole_and_folds_are_alike():
    fold = deal_folds(23, seed=3)
    assert sorted(np.bincount(fold)) == [4, 4, 5, 5, 5]
    assert not np.array_equal(fold, deal_folds(23, seed=4))
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(10), 4)
    found = corrected(rng.normal(size=(3, 40)), rng.normal(size=(3, 40)), clusters, bootstraps=5)
    assert all(len({*found.fold[clusters == own]}) == 1 for own in range(10))
    with pytest.raises(InputError, match="too few for 5 folds"):
        deal_folds(4, seed=0)


def test_values_are_means_over_folds_of_the_published_measures(scores):
    human, metric, clusters = scores
    found = corrected(human, metric, clusters, bootstraps=10)
    rows = {row["mapping"]: row for row in Trial(human, clusters, draws=200, seed=0).rows(metric, found)}
    assert list(rows) == [RAW, POOLED, UNSEEN, OWN]
    for name, own in ((RAW, metric), (POOLED, found.pooled), (OWN, found.own)):
        parts = [(human[:, found.fold == held], own[:, found.fold == held]) for held in range(FOLDS)]
        assert rows[name]["spa"] == pytest.approx(np.mean([soft_pairwise_accuracy(*part) for part in parts]))
        assert rows[name]["pa"] == pytest.approx(np.mean([pairwise_accuracy(*part) for part in parts]))
    gain = rows[OWN]["spa"] - rows[RAW]["spa"]
    assert rows[OWN]["spa_gain"] == pytest.approx(gain)
    assert rows[OWN]["spa_low"] < rows[OWN]["spa_high"]
    assert rows[RAW]["spa_gain"] is None
    assert rows[RAW]["tied"] == 0
    i, j = np.triu_indices(5, 1)
    apart = metric[i] != metric[j]
    equal = np.isclose(found.pooled[i], found.pooled[j], atol=1e-12)[apart].mean()
    assert rows[POOLED]["tied"] == pytest.approx(equal)


def test_a_system_that_nobody_rated_is_mapped_and_not_judged(scores):
    human, metric, clusters = scores
    human = human.copy()
    human[4] = np.nan
    found = corrected(human, metric, clusters, bootstraps=5)
    assert not np.isnan(found.pooled[4]).any()
    assert np.isnan(found.own[4]).all()
    here = Trial(human, clusters, draws=20, seed=0).rows(metric, found)
    without = corrected(human[:4], metric[:4], clusters, bootstraps=5)
    there = Trial(human[:4], clusters, draws=20, seed=0).rows(metric[:4], without)
    assert here == there
