"""Pairwise accuracy and its soft form: published figures, the public tool's figures, identities."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.stats import kendalltau

from metassay.data.score_arrays import ScoreArrays
from metassay.meta.pairwise import pairwise_accuracy, soft_pairwise_accuracy
from metassay.meta.people.meta_metrics.registry import parse_meta_metric
from metassay.meta.people.meta_metrics.soft_pairwise_accuracy import (
    compute_pair_p_values,
    corpus_soft_pairwise_accuracy,
)
from metassay.stats.soft_accuracy import soft_accuracy

PAIRS = ("en-de", "he-en", "zh-en")


@pytest.fixture(scope="session")
def wmt23(real_data: Callable[[str], Path]) -> Callable[[str], tuple[np.ndarray, dict[str, np.ndarray]]]:
    """Human scores and metrics of a language pair, systems in sorted order."""

    def load(lp: str) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        table = pl.read_parquet(real_data(f"wmt23/wmt23_{lp}_metrics.parquet")).sort("system", "seg_id")
        systems = table["system"].n_unique()
        names = [name for name in table.columns if name not in {"lp", "system", "seg_id"}]
        arrays = {name: table[name].to_numpy().reshape(systems, -1) for name in names}
        return arrays.pop("mqm"), arrays

    return load


@pytest.mark.parametrize(
    ("lp", "metric", "published"),
    [
        ("en-de", "GEMBA-MQM-src", 0.9819),
        ("he-en", "GEMBA-MQM-src", 0.9429),
        ("zh-en", "GEMBA-MQM-src", 0.9366),
        ("en-de", "COMET-refA", 0.9603),
        ("he-en", "XCOMET-XXL-refB", 0.9369),
    ],
)
def test_method_mtme_gives_the_public_tools_figures(wmt23, lp: str, metric: str, published: float) -> None:
    human, metrics = wmt23(lp)
    assert soft_pairwise_accuracy(human, metrics[metric], method="mtme") == pytest.approx(published, abs=1e-4)


def test_pairwise_accuracy_over_the_249_system_pairs_of_wmt23(wmt23) -> None:
    known = {
        "XCOMET-Ensemble": 0.924,
        "MetricX-23": 0.900,
        "COMET": 0.912,
        "BLEURT-20": 0.896,
        "BLEU": 0.827,
        "chrF": 0.795,
    }
    right, pairs = dict.fromkeys(known, 0.0), 0
    for lp in PAIRS:
        human, metrics = wmt23(lp)
        here = len(human) * (len(human) - 1) // 2
        pairs += here
        for name in known:
            suffix = "refB" if lp == "he-en" else "refA"
            right[name] += here * pairwise_accuracy(human, metrics[f"{name}-{suffix}"])
    assert pairs == 249
    for name, published in known.items():
        assert right[name] / pairs == pytest.approx(published, abs=5e-4)


@pytest.mark.parametrize("lp", PAIRS)
def test_tau_is_twice_the_accuracy_less_one_where_nothing_ties(wmt23, lp: str) -> None:
    human, metrics = wmt23(lp)
    for scores in metrics.values():
        tau = kendalltau(human.mean(axis=1), scores.mean(axis=1)).statistic
        assert tau == pytest.approx(2 * pairwise_accuracy(human, scores) - 1, abs=1e-12)


@pytest.mark.parametrize("lp", ["en-de", *(pytest.param(lp, marks=pytest.mark.slow) for lp in PAIRS[1:])])
def test_the_normal_limit_stays_within_two_thousandths_of_many_permutations(wmt23, lp: str) -> None:
    human, metrics = wmt23(lp)
    scores = np.stack([human, *metrics.values()])
    normal = compute_pair_p_values(scores)
    drawn = compute_pair_p_values(scores, method="permutation", permutations=200_000)
    assert len(metrics) == 43
    assert np.abs(soft_accuracy(normal[0], normal[1:]) - soft_accuracy(drawn[0], drawn[1:])).max() < 0.002


@pytest.mark.parametrize("method", ["normal", "permutation"])
def test_the_order_of_systems_does_not_matter(method: str) -> None:
    rng = np.random.default_rng(0)
    human, metric = rng.integers(-5, 1, (6, 30)).astype(float), rng.integers(0, 4, (6, 30)).astype(float)
    order = rng.permutation(6)
    there = soft_pairwise_accuracy(human, metric, method=method)
    assert soft_pairwise_accuracy(human[order], metric[order], method=method) == pytest.approx(
        there, abs=1e-12
    )


def test_a_metric_that_equals_the_human_scores_is_perfect() -> None:
    human = np.random.default_rng(1).normal(size=(5, 20))
    for method in ("normal", "permutation", "mtme"):
        assert soft_pairwise_accuracy(human, human, method=method) == 1.0
    assert pairwise_accuracy(human, human) == 1.0
    assert pairwise_accuracy(human, -human) == 0.0
    assert soft_pairwise_accuracy(human, 3 * human + 7) == pytest.approx(1.0, abs=1e-12)


def test_a_constant_metric_gets_its_known_value(wmt23) -> None:
    human, _ = wmt23("en-de")
    assert soft_pairwise_accuracy(human, np.zeros_like(human)) == pytest.approx(0.520, abs=5e-4)


def test_segments_with_a_gap_are_dropped_for_both() -> None:
    rng = np.random.default_rng(2)
    human, metric = rng.normal(size=(4, 10)), rng.normal(size=(4, 10))
    human[1, 3] = metric[2, 8] = np.nan
    kept = [k for k in range(10) if k not in {3, 8}]
    assert soft_pairwise_accuracy(human, metric) == soft_pairwise_accuracy(human[:, kept], metric[:, kept])
    assert pairwise_accuracy(human, metric) == pairwise_accuracy(human[:, kept], metric[:, kept])


@pytest.mark.parametrize(
    ("human", "metric"),
    [
        (np.zeros((2, 3)), np.zeros((2, 4))),
        (np.zeros((1, 3)), np.zeros((1, 3))),
        (np.zeros(3), np.zeros(3)),
        (np.full((2, 3), np.nan), np.zeros((2, 3))),
        (np.full((2, 3), np.inf), np.zeros((2, 3))),
    ],
)
def test_scores_that_cannot_be_compared_are_refused(human: np.ndarray, metric: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"."):
        soft_pairwise_accuracy(human, metric)
    with pytest.raises(ValueError, match=r"."):
        pairwise_accuracy(human, metric)


def test_unknown_methods_and_empty_draws_are_refused() -> None:
    human = np.eye(3)
    with pytest.raises(ValueError, match="unknown method"):
        soft_pairwise_accuracy(human, human, method="exact")
    with pytest.raises(ValueError, match="too few"):
        soft_pairwise_accuracy(human, human, method="permutation", permutations=0)


def test_one_segment_is_defined() -> None:
    assert soft_pairwise_accuracy([[1.0], [0.0]], [[0.0], [1.0]]) == pytest.approx(1 - 0.6826895, abs=1e-6)
    assert pairwise_accuracy([[1.0], [0.0]], [[2.0], [1.0]]) == 1.0


def test_processes_and_hash_seeds_agree_to_the_last_bit() -> None:
    code = (
        "import numpy as np; from metassay.meta.pairwise import soft_pairwise_accuracy as spa;"
        "r = np.random.default_rng(0); print(repr(spa(r.normal(size=(9, 200)), r.normal(size=(9, 200)),"
        " method='permutation')))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": str(seed), "OPENBLAS_NUM_THREADS": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (1, 2)
    }
    assert len(said) == 1


def test_a_corpus_score_that_is_a_mean_has_the_same_spa() -> None:
    rng = np.random.default_rng(3)
    human, metric = rng.normal(size=(5, 30)), rng.normal(size=(5, 30))
    statistics = np.stack([metric, np.ones_like(metric)], axis=-1)
    corpus = corpus_soft_pairwise_accuracy(human, statistics, lambda s: s[..., 0] / s[..., 1])
    assert corpus == pytest.approx(soft_pairwise_accuracy(human, metric, method="permutation"), abs=1e-12)


def test_a_corpus_score_is_permuted_by_its_statistics() -> None:
    """A ratio of sums, transcribed: exchange whole segments of two systems, score both again."""
    rng = np.random.default_rng(4)
    statistics = np.stack([rng.random((3, 12)), 1 + rng.random((3, 12))], axis=-1)
    human = rng.normal(size=(3, 12))

    def ratio(s: np.ndarray) -> np.ndarray:
        return s[..., 0] / s[..., 1]

    found = corpus_soft_pairwise_accuracy(human, statistics, ratio, permutations=20_000, seed=1)
    own = np.random.default_rng(9)
    p = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        swap = (own.random((20_000, 12)) < 0.5)[..., None]
        x = np.where(swap, statistics[j], statistics[i]).sum(axis=1)
        y = np.where(swap, statistics[i], statistics[j]).sum(axis=1)
        observed = ratio(statistics[i].sum(axis=0)) - ratio(statistics[j].sum(axis=0))
        p.append((ratio(x) - ratio(y) >= observed).mean())
    p_human = compute_pair_p_values(human, method="permutation", permutations=20_000, seed=1)
    assert found == pytest.approx(soft_accuracy(p_human, np.array(p)), abs=0.01)
    with pytest.raises(ValueError, match="do not fit"):
        corpus_soft_pairwise_accuracy(human[:2], statistics, ratio)


@pytest.mark.parametrize("name", ["pearson", "spearman", "kendall", "kendall_c"])
def test_correlations_per_system_are_the_mean_of_scipys(name: str) -> None:
    rng = np.random.default_rng(3)
    human = rng.integers(0, 4, size=(4, 50)).astype(float)
    metrics = human + rng.integers(-2, 3, size=(2, 4, 50))
    human[3] = 1.0  # people never differ on this system: left out
    scipys = {
        "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
        "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
        "kendall": lambda x, y: stats.kendalltau(x, y).statistic,
        "kendall_c": lambda x, y: stats.kendalltau(x, y, variant="c").statistic,
    }
    found = parse_meta_metric(f"{name}:per_system").evaluate_metrics(ScoreArrays(human, metrics))
    expected = [np.mean([scipys[name](h, m) for h, m in zip(human[:3], metric)]) for metric in metrics]
    np.testing.assert_allclose(found, expected, atol=1e-12)
