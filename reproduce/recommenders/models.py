"""Recommenders of many families in short sparse-matrix code.

Each takes the users' histories (a binary users × items matrix) and a generator, and returns a function from
row numbers to scores [users, items]. They are for comparing measures, not for winning: settings are the usual
ones, the same for every data set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import svds

Histories: TypeAlias = sparse.csr_array
Floats = NDArray[np.float64]
Scorer = Callable[[NDArray[np.int64]], Floats]
Model = Callable[[Histories, np.random.Generator], Scorer]
NEIGHBOURS, FACTORS = 50, 32


def random(histories: Histories, rng: np.random.Generator) -> Scorer:
    """A random order."""
    noise = rng.random(histories.shape)
    return lambda users: noise[users]


def popularity(histories: Histories, rng: np.random.Generator) -> Scorer:  # noqa: ARG001
    """How many people have the item."""
    counts = _count_users_per_item(histories)
    return lambda users: np.tile(counts, (len(users), 1))


def niche_popularity(histories: Histories, rng: np.random.Generator) -> Scorer:
    """Popularity among the users of the same group, grouped by taste."""
    taste = _compute_factors(histories, 8, rng)[0]
    centres = taste[rng.choice(len(taste), size=min(12, len(taste)), replace=False)]
    for _ in range(10):
        nearest = ((taste[:, None, :] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
        centres = np.array([
            taste[nearest == group].mean(axis=0) if (nearest == group).any() else centres[group]
            for group in range(len(centres))
        ])  # fmt: skip
    members = sparse.csr_array((np.ones(len(nearest)), (nearest, np.arange(len(nearest)))))
    counts = (members @ histories).toarray()
    return lambda users: counts[nearest[users]]


def item_knn(histories: Histories, rng: np.random.Generator) -> Scorer:  # noqa: ARG001
    """Cosine neighbourhoods of items (Sarwar et al., 2001)."""
    return _score_by_items(histories, _select_nearest(_compute_cosines(histories.T.tocsr())))


def item_knn_jaccard(histories: Histories, rng: np.random.Generator) -> Scorer:  # noqa: ARG001
    """Neighbourhoods of items by the share of common users."""
    together = (histories.T @ histories).toarray()
    counts = np.diag(together)
    union = counts[:, None] + counts[None] - together
    return _score_by_items(histories, _select_nearest(together / np.maximum(union, 1)))


def user_knn(histories: Histories, rng: np.random.Generator) -> Scorer:  # noqa: ARG001
    """Cosine neighbourhoods of users."""
    near = sparse.csr_array(_select_nearest(_compute_cosines(histories)))
    return lambda users: (near[users] @ histories).toarray()


def association_rules(histories: Histories, rng: np.random.Generator) -> Scorer:  # noqa: ARG001
    """Confidence of the rule from each item of the history."""
    together = (histories.T @ histories).toarray()
    np.fill_diagonal(together, 0)
    return _score_by_items(histories, together / np.maximum(_count_users_per_item(histories), 1)[:, None])


def pointwise_information(histories: Histories, rng: np.random.Generator) -> Scorer:  # noqa: ARG001
    """Positive pointwise mutual information with each item of the history, discounted for rare items."""
    together = (histories.T @ histories).toarray()
    np.fill_diagonal(together, 0)
    counts = np.maximum(_count_users_per_item(histories), 1)
    with np.errstate(divide="ignore"):
        information = np.log(together * histories.shape[0] / np.outer(counts, counts))
    return _score_by_items(histories, np.maximum(information, 0) * together / (together + 20))


def ease(histories: Histories, rng: np.random.Generator) -> Scorer:  # noqa: ARG001
    """The closed-form item autoencoder (Steck, 2019)."""
    gram = (histories.T @ histories).toarray()
    inverse = np.linalg.inv(gram + 250.0 * np.eye(len(gram)))
    weights = -inverse / np.diag(inverse)
    np.fill_diagonal(weights, 0)
    return _score_by_items(histories, weights)


def slim(histories: Histories, rng: np.random.Generator) -> Scorer:  # noqa: ARG001
    """Sparse linear item weights, not negative (Ning and Karypis, 2011), by projected coordinate descent."""
    gram = (histories.T @ histories).toarray()
    weights = np.zeros_like(gram)
    curvature = np.diag(gram) + 10.0
    for _ in range(5):
        for item in range(len(gram)):
            gradient = gram[item] - gram[item] @ weights + np.diag(gram)[item] * weights[item]
            weights[item] = np.maximum(gradient - 5.0, 0) / curvature[item]
            weights[item, item] = 0
    return _score_by_items(histories, weights)


def pure_svd(histories: Histories, rng: np.random.Generator) -> Scorer:
    """A truncated singular value decomposition (Cremonesi, Koren and Turrin, 2010)."""
    users, items = _compute_factors(histories, FACTORS, rng)
    return lambda rows: users[rows] @ items


def weighted_factors(histories: Histories, rng: np.random.Generator) -> Scorer:
    """Weighted matrix factorisation by alternating least squares (Hu, Koren and Volinsky, 2008)."""
    items = 0.1 * rng.standard_normal((histories.shape[1], FACTORS))
    users = np.zeros((histories.shape[0], FACTORS))
    columns = histories.T.tocsr()
    for _ in range(6):
        users = _solve_least_squares(histories, items)
        items = _solve_least_squares(columns, users)
    return lambda rows: users[rows] @ items.T


def bayesian_ranking(histories: Histories, rng: np.random.Generator) -> Scorer:
    """Factors learnt from pairs of a seen and an unseen item (BPR, Rendle et al., 2009)."""
    users = 0.1 * rng.standard_normal((histories.shape[0], FACTORS))
    items = 0.1 * rng.standard_normal((histories.shape[1], FACTORS))
    seen_by, seen = histories.nonzero()
    for _ in range(30):
        order = rng.permutation(len(seen))
        for batch in np.array_split(order, max(len(order) // 512, 1)):
            who, liked = seen_by[batch], seen[batch]
            other = rng.integers(histories.shape[1], size=len(batch))
            difference = items[liked] - items[other]
            push = 1 / (1 + np.exp((users[who] * difference).sum(axis=1)))
            step = 0.05 * push[:, None]
            moved = step * users[who]
            np.add.at(users, who, step * difference - 0.0005 * users[who])
            np.add.at(items, liked, moved - 0.0005 * items[liked])
            np.add.at(items, other, -moved - 0.0005 * items[other])
    return lambda rows: users[rows] @ items.T


def latent_classes(histories: Histories, rng: np.random.Generator) -> Scorer:
    """Probabilistic latent semantic analysis by expectation maximisation (Hofmann, 2004)."""
    users = rng.dirichlet(np.ones(20), size=histories.shape[0])
    items = rng.dirichlet(np.ones(histories.shape[1]), size=20)
    row, column = histories.nonzero()
    for _ in range(25):
        expected = (users[row] * items[:, column].T).sum(axis=1)
        ratio = sparse.csr_array((1 / np.maximum(expected, 1e-12), (row, column)), shape=histories.shape)
        users, items = users * (ratio @ items.T), items * (ratio.T @ users).T
        users /= np.maximum(users.sum(axis=1, keepdims=True), 1e-12)
        items /= np.maximum(items.sum(axis=1, keepdims=True), 1e-12)
    return lambda rows: users[rows] @ items


def nonnegative_factors(histories: Histories, rng: np.random.Generator) -> Scorer:
    """Nonnegative matrix factorisation by multiplicative updates (Lee and Seung, 2001)."""
    users, items = rng.random((histories.shape[0], 20)), rng.random((20, histories.shape[1]))
    for _ in range(40):
        users *= (histories @ items.T) / np.maximum(users @ (items @ items.T), 1e-12)
        items *= (histories.T @ users).T / np.maximum((users.T @ users) @ items, 1e-12)
    return lambda rows: users[rows] @ items


def random_walk(histories: Histories, rng: np.random.Generator) -> Scorer:  # noqa: ARG001
    """Three steps from the user over the graph of users and items (P3-alpha, Cooper et al., 2014)."""
    return _build_walk(histories, popularity_penalty=0.0)


def damped_random_walk(histories: Histories, rng: np.random.Generator) -> Scorer:  # noqa: ARG001
    """The same, popular items held back (RP3-beta, Paudel et al., 2017)."""
    return _build_walk(histories, popularity_penalty=0.6)


def graph_filter(histories: Histories, rng: np.random.Generator) -> Scorer:
    """A low-pass filter on the item graph (GF-CF, Shen et al., 2021)."""
    by_user = np.maximum(histories.sum(axis=1), 1) ** -0.5
    by_item = np.maximum(_count_users_per_item(histories), 1) ** -0.5
    normal = sparse.csr_array(histories.multiply(by_user[:, None]).multiply(by_item[None]))
    gram = (normal.T @ normal).toarray()
    low = _compute_factors(normal, FACTORS, rng)[1]
    low = low / np.maximum(np.linalg.norm(low, axis=1, keepdims=True), 1e-12)
    smooth = by_item[:, None] * (low.T @ low) / by_item[None]
    return _score_by_items(histories, gram + 0.3 * smooth)


MODELS: dict[str, Model] = {
    function.__name__: function
    for function in (
        random,
        popularity,
        niche_popularity,
        item_knn,
        item_knn_jaccard,
        user_knn,
        association_rules,
        pointwise_information,
        ease,
        slim,
        pure_svd,
        weighted_factors,
        bayesian_ranking,
        latent_classes,
        nonnegative_factors,
        random_walk,
        damped_random_walk,
        graph_filter,
    )
}


def _count_users_per_item(histories: Histories) -> Floats:
    return np.asarray(histories.sum(axis=0), dtype=np.float64).ravel()


def _score_by_items(histories: Histories, weights: Floats) -> Scorer:
    return lambda users: np.asarray(histories[users] @ weights)


def _compute_cosines(rows: Histories) -> Floats:
    sizes = np.sqrt(np.maximum(rows.sum(axis=1), 1))
    return (rows @ rows.T).toarray() / np.outer(sizes, sizes)


def _select_nearest(similarity: Floats) -> Floats:
    """The similarities with everything but the nearest neighbours of each column set to 0."""
    np.fill_diagonal(similarity, 0)
    neighbour_count = min(NEIGHBOURS, len(similarity) - 1)
    bound = -np.partition(-similarity, neighbour_count - 1, axis=0)[neighbour_count - 1]
    return np.where(similarity >= bound, similarity, 0)


def _compute_factors(matrix: Histories, count: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    count = min(count, min(matrix.shape) - 1)
    left, sizes, right = svds(matrix.astype(np.float64), k=count, v0=rng.random(min(matrix.shape)))
    return left * sizes, right


def _solve_least_squares(rows: Histories, fixed: Floats, confidence: float = 20.0) -> Floats:
    """One half of alternating least squares: for each row, weight 1 on gaps and 1 + confidence on entries."""
    gram = fixed.T @ fixed + 5.0 * np.eye(fixed.shape[1])
    solved = np.zeros((rows.shape[0], fixed.shape[1]))
    for row in range(rows.shape[0]):
        liked_factors = fixed[rows.indices[rows.indptr[row] : rows.indptr[row + 1]]]
        if len(liked_factors):
            solved[row] = np.linalg.solve(
                gram + confidence * liked_factors.T @ liked_factors,
                (1 + confidence) * liked_factors.sum(axis=0),
            )
    return solved


def _build_walk(histories: Histories, popularity_penalty: float) -> Scorer:
    counts = np.maximum(_count_users_per_item(histories), 1)
    to_items = histories.multiply(1 / np.maximum(histories.sum(axis=1), 1)[:, None])
    to_users = histories.T.multiply(1 / counts[:, None])
    twice = (sparse.csr_array(to_users) @ sparse.csr_array(to_items)).toarray() / counts**popularity_penalty
    start = sparse.csr_array(to_items)
    return lambda users: np.asarray(start[users] @ twice)
