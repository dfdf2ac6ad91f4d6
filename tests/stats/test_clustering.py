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


@pytest.mark.parametrize("count", [3, 4, 7, 14])
def test_the_number_of_groups_is_that_of_the_largest_silhouette_of_scikit_learn(count):
    rng = np.random.default_rng(count)
    for _ in range(20):
        points = rng.normal(size=(count, 2)) + 3 * rng.integers(0, 4, size=(count, 2))
        distance = np.linalg.norm(points[:, None] - points, axis=-1)
        divisions = [
            AgglomerativeClustering(groups, metric="precomputed", linkage="average").fit_predict(distance)
            for groups in range(2, min(10, count - 1) + 1)
        ]
        silhouettes = [silhouette_score(distance, each, metric="precomputed") for each in divisions]
        _, group = group_similar_rows(1 - distance)
        if max(silhouettes) <= 0:
            assert (group == 0).all()
        else:
            best = divisions[int(np.argmax(silhouettes))]
            assert ((group[:, None] == group) == (best[:, None] == best)).all()


def test_no_division_is_chosen_for_a_silhouette_of_0():
    """Where all distances are equal, every division has the silhouette 0."""
    _, group = group_similar_rows(np.full((6, 6), 0.5))
    assert (group == 0).all()
