"""Finding 1: whether contexts change which metric is best, and what one metric for all contexts costs.

A human pair is two outputs of one item with different human scores. A metric is right if it scores the better
output higher; a tie is wrong, or half right. By domain, a pair belongs to the domain of its item. By system,
it belongs to both systems. Documents are the independent units.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from reproduce.findings.score_sets import ScoreSet

from metassay.stats.arrays import FloatArray, LongArray
from metassay.stats.rank_correlation import correlate_rows
from metassay.stats.regret import ContextAccuracies, estimate_metric_regret
from metassay.stats.resampling import draw_bootstrap_counts

STRICT, HALF = "strict", "half"
"""A tie of the metric is wrong, or half right."""
PERMUTATIONS = 499
RESAMPLES = 500
SPLITS = 200
WORLDS = 400
CONTENDERS = 10
"""Metrics with the highest accuracy on all pairs, among which a user would choose."""
INTERACTIONS = (0.0, 0.0025, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.04, 0.05)
"""Standard deviations of the metric × context interaction in the simulation, in accuracy."""
_DECIMALS = 12


@dataclass(frozen=True)
class DocumentCounts:
    """Right pairs [metrics, documents, contexts] and pairs [documents, contexts] of one column of contexts.

    `total_right` [metrics, documents] and `total_pairs` [documents] count each pair once.
    """

    contexts: tuple[str, ...]
    right: FloatArray
    pairs: FloatArray
    total_right: FloatArray
    total_pairs: FloatArray

    def compute_accuracies(self, weights: FloatArray) -> FloatArray:
        """Compute accuracies [draws, metrics, contexts] with documents weighted by [draws, documents]."""
        metrics, documents, contexts = self.right.shape
        by_document = self.right.transpose(1, 0, 2).reshape(documents, -1)
        right = (weights @ by_document).reshape(len(weights), metrics, contexts)
        pairs = weights @ self.pairs
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(right / pairs[:, None, :])

    def compute_total_accuracies(self, weights: FloatArray) -> FloatArray:
        """Compute accuracies on all pairs, [draws, metrics]."""
        return np.asarray((weights @ self.total_right.T) / (weights @ self.total_pairs)[:, None])


def count_by_domain(scores: ScoreSet, ties: str = STRICT) -> DocumentCounts:
    """Count the right pairs of each document; a document lies in one domain."""
    assert scores.domains is not None
    right, pairs = _count_by_document_and_system(scores, ties)
    total_right = right.sum(axis=2) / 2  # each pair was counted for two systems
    total_pairs = pairs.sum(axis=1) / 2
    names, codes = np.unique(scores.domains, return_inverse=True)
    is_in_domain = codes[:, None] == np.arange(len(names))
    return DocumentCounts(
        tuple(map(str, names)),
        total_right[:, :, None] * is_in_domain,
        total_pairs[:, None] * is_in_domain,
        total_right,
        total_pairs,
    )


def count_by_system(scores: ScoreSet, ties: str = STRICT) -> DocumentCounts:
    """Count the right pairs of each document for both systems of a pair."""
    right, pairs = _count_by_document_and_system(scores, ties)
    names = tuple(f"system {number}" for number in range(len(scores.human)))
    return DocumentCounts(names, right, pairs, right.sum(axis=2) / 2, pairs.sum(axis=1) / 2)


def _count_by_document_and_system(scores: ScoreSet, ties: str) -> tuple[FloatArray, FloatArray]:
    """Count right pairs [metrics, documents, systems] and pairs [documents, systems]."""
    systems = len(scores.human)
    first, second = np.triu_indices(systems, 1)
    human_sign = np.sign(scores.human[first] - scores.human[second]).astype(np.int8)
    belongs = np.zeros((len(first), systems))
    belongs[np.arange(len(first)), first] = 1
    belongs[np.arange(len(first)), second] = 1
    pairs = _sum_by_document((human_sign != 0).T @ belongs, scores.documents)
    right = []
    for metric in scores.metrics:
        metric_sign = np.sign(metric[first] - metric[second])
        credit = (metric_sign == human_sign).astype(np.float64)
        if ties == HALF:
            credit[metric_sign == 0] = 0.5
        credit[human_sign == 0] = 0
        right.append(_sum_by_document(credit.T @ belongs, scores.documents))
    return np.stack(right), pairs


def _sum_by_document(values: FloatArray, documents: LongArray) -> FloatArray:
    """Sum rows [items, columns] over the items of each document."""
    sums = np.zeros((documents.max() + 1, values.shape[1]))
    np.add.at(sums, documents, values)
    return sums


def permute_contexts(counts: DocumentCounts, column: str, rng: np.random.Generator) -> FloatArray:
    """Compute accuracies [metrics, contexts] with contexts exchanged at random.

    Domains are exchanged between documents, systems within each document.
    """
    documents, contexts = counts.pairs.shape
    if column == "domain":
        codes = counts.pairs.argmax(axis=1)
        is_in_domain = rng.permutation(codes)[:, None] == np.arange(contexts)
        return np.asarray((counts.total_right @ is_in_domain) / (counts.total_pairs @ is_in_domain))
    order = np.argsort(rng.random((documents, contexts)), axis=1)
    pairs = np.take_along_axis(counts.pairs, order, axis=1).sum(axis=0)
    right = counts.right[:, np.arange(documents)[:, None], order].sum(axis=1)
    return np.asarray(right / pairs)


def measure_agreement(accuracies: FloatArray) -> float:
    """Compute the mean tau_AP (both directions, ties allowed) over all pairs of contexts."""
    rows = np.round(accuracies.T, _DECIMALS)
    first, second = np.triu_indices(len(rows), 1)
    return float(np.nanmean(correlate_rows(rows[first], rows[second], "tau_ap_b")))


def measure_interaction(accuracies: FloatArray) -> float:
    """Compute the mean square of the metric × context interaction of accuracies [metrics, contexts]."""
    interaction = (
        accuracies
        - accuracies.mean(axis=1, keepdims=True)
        - accuracies.mean(axis=0, keepdims=True)
        + accuracies.mean()
    )
    metrics, contexts = accuracies.shape
    return float((interaction**2).sum() / ((metrics - 1) * (contexts - 1)))


def study_contexts(scores: ScoreSet, column: str, seed: int, ties: str = STRICT) -> dict[str, Any]:
    """Compare the rankings of metrics between contexts with chance, and estimate what they are worth."""
    rng = np.random.default_rng(seed)
    counts = count_by_domain(scores, ties) if column == "domain" else count_by_system(scores, ties)
    documents = len(counts.total_pairs)
    once = np.ones((1, documents))
    observed = counts.compute_accuracies(once)[0]
    permuted = [permute_contexts(counts, column, rng) for _ in range(PERMUTATIONS)]
    agreement = measure_agreement(observed)
    chance = np.array([measure_agreement(accuracies) for accuracies in permuted])
    weights = draw_bootstrap_counts(documents, documents, RESAMPLES, rng)
    resamples = counts.compute_accuracies(weights)
    resamples = resamples[~np.isnan(resamples).any(axis=(1, 2))]
    total = counts.compute_total_accuracies(once)[0]
    best = int(total.argmax())
    contenders = np.argsort(-total)[:CONTENDERS]
    shares = counts.pairs.sum(axis=0) / counts.pairs.sum()
    contexts = [
        ContextAccuracies(
            accuracy=observed[:, context],
            resamples=resamples[:, :, context].T,
            clusters=int((counts.pairs[:, context] > 0).sum()),
            items=int(counts.pairs[:, context].sum()),
        )
        for context in range(len(counts.contexts))
    ]
    regret = estimate_metric_regret(contexts, best)
    assert regret is not None
    gain = measure_held_out_gain(counts, shares, rng)
    return {
        "set": scores.name,
        "column": column,
        "ties": ties,
        "metrics": len(scores.metric_names),
        "contexts": len(counts.contexts),
        "documents": documents,
        "pairs": int(counts.total_pairs.sum()),
        "tau_ap": agreement,
        "chance_median": float(np.median(chance)),
        "chance_low": float(np.quantile(chance, 0.025)),
        "chance_high": float(np.quantile(chance, 0.975)),
        "p": float((1 + (chance <= agreement + 1e-12).sum()) / (1 + PERMUTATIONS)),
        "best": scores.metric_names[best],
        "accuracy": float(total[best]),
        "largest_regret": float((observed.max(axis=0) - observed[best]).max()),
        "regret": regret.value,
        "regret_low": regret.low,
        "regret_high": regret.high,
        "held_out_gain": gain,
        "all": estimate_interaction(observed, permuted, resamples),
        "contenders": estimate_interaction(
            observed[contenders],
            [accuracies[contenders] for accuracies in permuted],
            resamples[:, contenders],
        ),
        "simulation": simulate_local_choice(observed[contenders], resamples[:, contenders], shares, rng),
    }


def estimate_interaction(
    observed: FloatArray, permuted: list[FloatArray], resamples: FloatArray
) -> dict[str, float]:
    """Estimate the standard deviation of the true interaction, and that of the noise around it.

    The noise is the mean square of the interaction when contexts are exchanged at random.
    """
    noise = float(np.mean([measure_interaction(accuracies) for accuracies in permuted]))
    interactions = np.array([measure_interaction(accuracies) for accuracies in resamples])
    # The mean square of a resample holds the noise twice: of the data and of the resample.
    low, high = np.quantile(interactions - 2 * noise, [0.025, 0.975])
    variances = {
        "interaction": measure_interaction(observed) - noise,
        "low": low,
        "high": high,
        "noise": noise,
    }
    return {name: float(np.sqrt(max(variance, 0.0))) for name, variance in variances.items()}


def measure_held_out_gain(counts: DocumentCounts, shares: FloatArray, rng: np.random.Generator) -> float:
    """Choose on half of the documents, locally and globally; return the mean gain on the other half.

    The gain is the accuracy of the metric chosen in each context less that of the metric chosen on all pairs.
    """
    documents = len(counts.total_pairs)
    is_training = np.argsort(rng.random((SPLITS, documents)), axis=1) < documents // 2
    training = is_training.astype(np.float64)
    local = counts.compute_accuracies(training)
    overall = counts.compute_total_accuracies(training)
    held_out = counts.compute_accuracies(1 - training)
    gains = []
    for split in range(SPLITS):
        if np.isnan(local[split]).any() or np.isnan(held_out[split]).any():
            continue
        chosen_locally = local[split].argmax(axis=0)
        chosen_globally = overall[split].argmax()
        contexts = np.arange(len(shares))
        differences = held_out[split][chosen_locally, contexts] - held_out[split][chosen_globally]
        gains.append(float(shares @ differences))
    return float(np.mean(gains)) if gains else float("nan")


def simulate_local_choice(
    observed: FloatArray, resamples: FloatArray, shares: FloatArray, rng: np.random.Generator
) -> list[dict[str, float]]:
    """Simulate the gain of a local choice for metric × context interactions of several sizes.

    The true accuracy of metric m in context c is its observed mean over contexts plus a normal interaction.
    What a user sees has the sampling error of the bootstrap, with its correlation between metrics. The gain
    is the true accuracy of the metrics chosen in each context less that of the metric chosen on all pairs.
    """
    means = observed @ shares
    deviations = resamples - observed
    results = []
    for interaction in INTERACTIONS:
        gains = []
        correct = []
        for _ in range(WORLDS):
            effects = interaction * rng.standard_normal(observed.shape)
            truth = means[:, None] + effects
            seen = truth + deviations[rng.integers(len(deviations))]
            local = truth[seen.argmax(axis=0), np.arange(len(shares))]
            globally = truth[(seen @ shares).argmax()]
            gains.append(float(shares @ (local - globally)))
            correct.append(float(shares @ (truth.max(axis=0) - globally)))
        results.append(
            {
                "interaction": interaction,
                "gain": float(np.mean(gains)),
                "standard_error": float(np.std(gains) / np.sqrt(WORLDS)),
                "positive": float(np.mean(np.array(gains) > 0)),
                "possible": float(np.mean(correct)),
            }
        )
    return results
