"""Repair, not only diagnosis: a metric's scores read as human scores, through f_G or each system's f_k.

Every output is mapped by functions that were fitted without its segment: clusters are dealt into folds, and
those of one fold are mapped by what was fitted to the others. Agreement with people is measured fold by fold:
over all folds together even f_k of a constant would repeat people's own means, since every segment serves
the other folds.

f_G needs people for some systems, and f_k for each: its mean over a system's outputs is nearly the mean that
people gave the system on the other folds, whatever the metric. How well f_G does for systems that nobody has
rated is seen pair by pair, each pair mapped by an f_G that saw neither of the two.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metassay.errors import InputError
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.isotonic import Counts, fit_isotonic, predict
from metassay.stats.random import CORRECTION_FOLDS, branch
from metassay.stats.resampling import draw_counts
from metassay.stats.score_order import sort_scores

FOLDS = 5
UNSEEN_FITS = 20
"""Resamples for pairs of unseen systems: there are many pairs, and each needs fits of its own."""


@dataclass(frozen=True)
class Corrected:
    """One metric's scores as read through f_G (`pooled`) and f_k (`own`), `[systems, segments]`.

    NaN where the metric has none, or nobody rated the system. `unseen` is `[pairs, segments]`: what each two
    systems, in the order of `numpy.triu_indices`, differ by under an f_G fitted without both.
    """

    pooled: FloatArray
    own: FloatArray
    unseen: FloatArray
    fold: LongArray
    """The fold of each segment."""


def deal_folds(clusters: int, seed: int, folds: int = FOLDS) -> LongArray:
    """The fold of each cluster, all of nearly equal size."""
    if clusters < folds:
        raise InputError(
            f"{clusters} segments or clusters are too few for {folds} folds.",
            remedy="A correction is fitted on some and tried on others.",
        )
    order = branch(seed, CORRECTION_FOLDS).permutation(clusters)
    fold = np.empty(clusters, dtype=np.int64)
    fold[order] = np.arange(clusters) % folds
    return fold


def corrected(
    human: FloatArray, metric: FloatArray, clusters: LongArray, *, bootstraps: int = 200, seed: int = 0
) -> Corrected:
    """Cross-validated f_G(m) and f_k(m) from `[systems, segments]` scores, higher is better, NaN missing.

    `clusters` numbers the cluster of each segment from 0. Each function is the mean over `bootstraps` fits to
    resampled clusters, or one fit where that is 0.
    """
    fold = deal_folds(int(clusters.max()) + 1, seed)[clusters]
    counts = draw_counts(int(clusters.max()) + 1, bootstraps, seed)
    if not bootstraps:
        counts = np.ones((1, int(clusters.max()) + 1), dtype=np.uint32)
    systems, known = len(human), ~(np.isnan(human) | np.isnan(metric))
    pooled, own = np.full(metric.shape, np.nan), np.full(metric.shape, np.nan)
    pairs = list(itertools.combinations(range(systems), 2))
    unseen = np.full((len(pairs), metric.shape[1]), np.nan)
    for held in range(FOLDS):
        out = fold == held
        train = known & ~out
        pooled[:, out] = _mapped(human, metric, train, clusters, counts, metric[:, out])
        for k in range(systems):
            mine = train & (np.arange(systems) == k)[:, None]
            own[k, out] = _mapped(human, metric, mine, clusters, counts, metric[k, out])
        for place, (i, j) in enumerate(pairs):
            others = train.copy()
            others[[i, j]] = False
            both = _mapped(human, metric, others, clusters, counts[:UNSEEN_FITS], metric[[i, j]][:, out])
            unseen[place, out] = both[0] - both[1]
    return Corrected(pooled, own, unseen, fold)


def _mapped(
    human: FloatArray,
    metric: FloatArray,
    train: NDArray[np.bool_],
    clusters: LongArray,
    counts: Counts,
    at: FloatArray,
) -> FloatArray:
    """The mean fit to the training outputs, read at other scores; NaN where there is nothing to fit to."""
    if not train.any():
        return np.full(at.shape, np.nan)
    scores, people = sort_scores(metric[train]), human[train]
    cluster = np.broadcast_to(clusters, train.shape)[train]
    fits = np.stack([fit_isotonic(scores, people, count[cluster].astype(np.float64)) for count in counts])
    drawn = fits[~np.isnan(fits).any(axis=1)]
    if not len(drawn):
        return np.full(at.shape, np.nan)
    values = predict(scores, drawn.mean(axis=0), at.ravel()).reshape(at.shape)
    return np.where(np.isnan(at), np.nan, values)
