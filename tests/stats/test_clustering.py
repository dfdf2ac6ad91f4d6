"""Clusters of contexts: planted groups are found, silhouettes equal scikit-learn's."""

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import silhouette_score

from metassay.stats.clustering import group_similar_rows, mean_silhouette


def planted(groups, inside=0.9, outside=0.1, noise=0.02, seed=0):
    rng = np.random.default_rng(seed)
    groups = np.asarray(groups)
    matrix = np.where(groups[:, None] == groups, inside, outside) + rng.normal(0, noise, (len(groups),) * 2)
    matrix = (matrix + matrix.T) / 2
    np.fill_diagonal(matrix, 1)
    return matrix


def test_planted_groups_are_found_and_lie_together():
    truth = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0])
    order, group = group_similar_rows(planted(truth))
    assert sorted(order) == list(range(10))
    assert len(np.unique(group)) == 3
    assert ((group[:, None] == group) == (truth[:, None] == truth)).all()
    assert (np.diff(group[order]) >= 0).all()


def test_leaves_follow_a_chain():
    places = np.random.default_rng(3).permutation(12)
    agreement = 1 - np.abs(places[:, None] - places) / 12
    order, _ = group_similar_rows(agreement)
    assert (np.abs(np.diff(places[order])) == 1).all()


def test_contexts_all_alike_are_one_group():
    _, group = group_similar_rows(np.ones((5, 5)))
    assert (group == 0).all()


def test_few_contexts_keep_their_order():
    order, group = group_similar_rows(np.array([[1.0, 0.2], [0.2, 1.0]]))
    assert order.tolist() == [0, 1]
    assert group.tolist() == [0, 0]


def test_undefined_agreement_is_no_agreement():
    matrix = planted([0, 0, 0, 1, 1])
    matrix[0, 3] = matrix[3, 0] = np.nan
    _, group = group_similar_rows(matrix)
    assert len(set(group[:3])) == 1
    assert len(set(group[3:])) == 1


def test_silhouette_equals_scikit_learn():
    rng = np.random.default_rng(4)
    for _ in range(20):
        points = rng.random((15, 2))
        distance = np.linalg.norm(points[:, None] - points, axis=2)
        division = rng.integers(0, 4, 15)
        expected = silhouette_score(distance, division, metric="precomputed")
        assert mean_silhouette(distance, division) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(6))
def test_groups_are_those_of_average_linkage_with_the_widest_silhouette(seed):
    """scikit-learn's average linkage at every number of groups, and its silhouettes."""
    rng = np.random.default_rng(seed)
    points = rng.random((9, 2))
    distance = np.linalg.norm(points[:, None] - points, axis=2) / 2
    divisions = [
        AgglomerativeClustering(count, metric="precomputed", linkage="average").fit_predict(distance)
        for count in range(2, 9)
    ]
    best = max(divisions, key=lambda division: silhouette_score(distance, division, metric="precomputed"))
    _, group = group_similar_rows(1 - distance)
    assert ((group[:, None] == group) == (best[:, None] == best)).all()
