"""Predicting how alike two contexts order the metrics from what is known about the contexts.

A good prediction lets a metric be adopted for a new context without assaying it there (Deviyani and Diaz,
2025, section 6.2).

And how accuracies hold up: how much they vary between contexts, and how low they are at worst where contexts
come in another mix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from metassay.errors import InputError
from metassay.meta.contexts.pair_outcomes import Contexts
from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.random import make_keyed_generator

Metadata = Mapping[str, Sequence[str | float]]
_EXCHANGES = 499
_ROUNDING = 1e-9


@dataclass(frozen=True)
class AgreementPrediction:
    """Least-squares prediction of agreements, and its error on contexts it has not seen.

    `coefficients` say by how much the agreement changes when two contexts share a category, or per standard
    deviation between their numbers. `rmse` and `mae` are errors for pairs with a context left out of the fit;
    `baseline_rmse` is that of predicting the mean of the others. `explained` is 1 - (rmse / baseline_rmse)².
    `p` is how often contexts that exchange what is known of them at random are fitted as well (Mantel, 1967).
    """

    intercept: float
    coefficients: Mapping[str, float]
    rmse: float
    mae: float
    baseline_rmse: float
    explained: float
    pairs: int
    p: float


def enclosing(contexts: Contexts, others: Sequence[Contexts]) -> Metadata:
    """What other columns say of each context: those in which every context lies inside a single value."""
    known: dict[str, list[str]] = {}
    for other in others:
        both = (contexts.codes >= 0) & (other.codes >= 0)
        here, there = contexts.codes[both], other.codes[both]
        inside = np.full(len(contexts.values), -1, dtype=np.int32)
        inside[here] = there
        if (inside >= 0).all() and (inside[here] == there).all():
            known[other.name] = [other.values[code] for code in inside]
    return known


def predict_agreement(matrix: FloatArray, metadata: Metadata, seed: int = 0) -> AgreementPrediction | None:
    """Fit agreements [contexts, contexts] to `metadata`, one value per context, leaving one context out.

    Words are compared as same or different, numbers by their distance in standard deviations. None where
    no field or agreement varies, or fewer than three pairs of contexts per coefficient would remain to learn
    from.
    """
    for name, values in metadata.items():
        if len(values) != len(matrix):
            raise InputError(f"metadata {name} has {len(values)} values for {len(matrix)} contexts.")
    first, second = np.triu_indices(len(matrix), 1)
    known = ~np.isnan(matrix[first, second])
    first, second = first[known], second[known]
    if not len(first):
        return None
    features = {name: _similarity(values, first, second) for name, values in metadata.items()}
    features = {name: column for name, column in features.items() if np.ptp(column, axis=None) > 0}
    left = len(first) - (len(matrix) - 1)  # pairs that remain when a context is left out
    if not features or left < 3 * (1 + len(features)):
        return None
    target = matrix[first, second]
    if np.ptp(target) < _ROUNDING:
        return None
    design = np.column_stack([np.ones(len(first)), *features.values()])
    fitted = np.linalg.lstsq(design, target)[0]
    errors, baseline = _left_out_errors(design, target, first, second, len(matrix))
    rmse, baseline_rmse = float(np.sqrt((errors**2).mean())), float(np.sqrt((baseline**2).mean()))
    return AgreementPrediction(
        intercept=float(fitted[0]),
        coefficients=dict(zip(features, fitted[1:].tolist())),
        rmse=rmse,
        mae=float(np.abs(errors).mean()),
        baseline_rmse=baseline_rmse,
        explained=1 - (rmse / baseline_rmse) ** 2 if baseline_rmse > 0 else float("nan"),
        pairs=len(first),
        p=_chance(matrix, metadata, (first, second), _unexplained(design, target), seed),
    )


def _chance(
    matrix: FloatArray, metadata: Metadata, pairs: tuple[LongArray, LongArray], observed: float, seed: int
) -> float:
    """Share of random exchanges of the contexts' metadata after which as little stays unexplained."""
    rng = make_keyed_generator(seed, len(matrix))
    first, second = pairs
    target = matrix[first, second]
    alike = [_similarity(values, *np.indices(matrix.shape)) for values in metadata.values()]
    reached = 0
    for _ in range(_EXCHANGES):
        place = rng.permutation(len(matrix))
        columns = [table[place[first], place[second]] for table in alike]
        design = np.column_stack([np.ones(len(first)), *columns])
        reached += _unexplained(design, target) <= observed * (1 + 1e-9)
    return (1 + reached) / (1 + _EXCHANGES)


def _unexplained(design: FloatArray, target: FloatArray) -> float:
    products = design.T @ target
    return float(target @ target - products @ np.linalg.lstsq(design.T @ design, products)[0])


def _similarity(values: Sequence[str | float], first: LongArray, second: LongArray) -> FloatArray:
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        numbers = np.asarray(values, dtype=np.float64)
        spread = float(numbers.std())
        return np.asarray(np.abs(numbers[first] - numbers[second]) / (spread if spread > 0 else 1))
    words = np.asarray([str(value) for value in values])
    return np.asarray(words[first] == words[second], dtype=np.float64)


def _left_out_errors(
    design: FloatArray, target: FloatArray, first: LongArray, second: LongArray, contexts: int
) -> tuple[FloatArray, FloatArray]:
    """Errors on the pairs of each context in turn, fitted without it; and those of the others' mean."""
    errors, baseline = [], []
    for context in range(contexts):
        out = (first == context) | (second == context)
        if not out.any() or out.all():
            continue
        fitted = np.linalg.lstsq(design[~out], target[~out])[0]
        errors.append(target[out] - design[out] @ fitted)
        baseline.append(target[out] - target[~out].mean())
    return np.concatenate(errors), np.concatenate(baseline)


def known_metadata(
    contexts: Sequence[Contexts], columns: Sequence[Contexts], given: Mapping[str, Metadata]
) -> dict[str, Metadata]:
    """What is known about each column's contexts: other columns that enclose them, and what was given."""
    known: dict[str, Metadata] = {}
    for asked, column in zip(contexts, columns):
        place = {value: c for c, value in enumerate(asked.values)}
        kept = [place[value] for value in column.values]  # values without pairs are gone
        fields = {name: [values[c] for c in kept] for name, values in given.get(column.name, {}).items()}
        known[column.name] = {**enclosing(column, [each for each in columns if each is not column]), **fields}
    return known


_STEPS = 200


def robust_accuracy(accuracy: FloatArray, shares: FloatArray, radius: float = 0.1) -> FloatArray:
    """The lowest accuracy under any mix of contexts near the observed one, [metrics].

    min over q of Σ q_c a_c subject to KL(q‖p) ≤ radius, p the shares of the contexts (Duchi, Glynn and
    Namkoong, 2016, with the Kullback–Leibler ball). The minimiser is q ∝ p · exp(-t · a), t ≥ 0 as large as
    the ball allows. Contexts where a metric has no accuracy are left out for it.
    """
    return np.array([_robust(row, shares, radius) for row in accuracy])


def _robust(accuracy: FloatArray, shares: FloatArray, radius: float) -> float:
    known = ~np.isnan(accuracy) & (shares > 0)
    if not known.any():
        return float("nan")
    a, p = accuracy[known], shares[known] / shares[known].sum()
    gap = a - a.min()
    if -np.log(p[gap == 0].sum()) <= radius:
        return float(a.min())  # the ball reaches the worst contexts alone
    low, high = 0.0, 1.0
    while _divergence(p, gap, high) < radius:
        high *= 2
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in {low, high}:
            break
        low, high = (middle, high) if _divergence(p, gap, middle) < radius else (low, middle)
    tilted = p * np.exp(-low * gap)
    return float(a.min() + (tilted * gap).sum() / tilted.sum())


def _divergence(p: FloatArray, gap: FloatArray, tilt: float) -> float:
    weights = p * np.exp(-tilt * gap)
    total = weights.sum()
    return float(-tilt * (weights * gap).sum() / total - np.log(total))


def net_spread(accuracy: FloatArray, variance: FloatArray) -> FloatArray:
    """Standard deviation of true accuracies between contexts, [metrics] from [metrics, contexts].

    The variance between contexts less the mean sampling variance inside them, 0 at least: what would be left
    with unlimited data. NaN with fewer than two contexts.
    """
    known = ~np.isnan(accuracy)
    count = known.sum(axis=1)
    centre = np.divide(np.nansum(accuracy, axis=1), count, out=np.zeros(len(count)), where=count > 0)
    squares = np.where(known, (accuracy - centre[:, None]) ** 2, 0).sum(axis=1)
    between = squares / np.maximum(count - 1, 1)
    inside = np.where(known, np.nan_to_num(variance), 0).sum(axis=1) / np.maximum(count, 1)
    return np.where(count > 1, np.sqrt(np.maximum(between - inside, 0)), np.nan)
